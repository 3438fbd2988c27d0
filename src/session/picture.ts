// Snapshots of the recorded data, as trees.

import type { SlowWant } from '../cct/slow-times.ts'
import type { Snapshot, Tree } from '../cct/tree.ts'
import type { Engine } from './engine.ts'
import { eventsOf, firstMethodOf, modeOf } from './session-options.ts'
import type { Span } from './span.ts'

/** Returns a snapshot. With scheme adaptive, it includes rows that are only sampled. */
export async function pictureOf(
  engine: Engine,
  span: Span,
  perThread: boolean,
  slow?: SlowWant,
): Promise<Snapshot> {
  const snapshot = await recordedBy(engine, span, perThread, slow)
  return engine.inside === null ? snapshot : engine.inside.picture(snapshot)
}

/** Returns a tree with all sampled rows, merged over all threads. */
export async function allRows(engine: Engine, span: Span): Promise<Tree> {
  const snapshot = await recordedBy(engine, span, false)
  return (engine.inside?.picture(snapshot, 1) ?? snapshot).merged
}

/** Returns a tree with only the rows that have calls, merged over all threads. */
export async function timedRows(engine: Engine, span: Span): Promise<Tree> {
  return (await recordedBy(engine, span, false)).merged
}

async function recordedBy(
  { calibration, clock, options, recorder, targetState }: Engine,
  span: Span,
  perThread: boolean,
  slow?: SlowWant,
): Promise<Snapshot> {
  return await recorder.snapshot({
    mode: modeOf(options),
    calibration,
    nsPerTick: clock.nsPerTick,
    // The execution of an open frame since its last event is unknown.
    ...(eventsOf(options).tellsTime && { nowTicks: span.latestTicks }),
    threads: targetState.threads,
    perThread,
    ...(slow !== undefined && { slow }),
    firstMethod: firstMethodOf(options),
    ...(options.sampleEvery !== undefined && { every: options.sampleEvery }),
  })
}
