// Snapshots of the recorded data, as trees.

import type { SegmentTimes } from '../cct/segments.ts'
import { type SlowWant, withoutSpans } from '../cct/slow-times.ts'
import type { Snapshot, Tree } from '../cct/tree.ts'
import type { Engine } from './engine.ts'
import { eventsOf, firstMethodOf, modeOf, valueRowsOf } from './session-options.ts'
import type { Span } from './span.ts'

/** Returns a snapshot. With scheme adaptive, and in mode alloc, it includes rows that are only sampled. */
export async function pictureOf(
  engine: Engine,
  span: Span,
  perThread: boolean,
  slow?: SlowWant,
): Promise<Snapshot> {
  const snapshot = withShows(await recordedBy(engine, span, perThread, slow), engine)
  const { inside, unprobed } = engine
  const picture = (inside ?? unprobed)?.picture(snapshot) ?? snapshot
  if (picture.slow === undefined) return picture
  return { ...picture, slow: inside?.slowPicture(picture.slow) ?? withoutSpans(picture.slow) }
}

/** Adds the paths of --show to slow calls. */
function withShows(snapshot: Snapshot, { options }: Engine): Snapshot {
  const { slow } = snapshot
  const { show: shows = [] } = options
  return slow === undefined || shows.length === 0 ? snapshot : { ...snapshot, slow: { ...slow, shows } }
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

/** Returns the segments of the recording so far; undefined if they are not kept. */
export async function segmentsOf(
  { clock, options, recorder }: Engine,
  span: Span,
): Promise<SegmentTimes | undefined> {
  return eventsOf(options).tellsTime
    ? await recorder.segments(span.latestTicks, clock.nsPerTick)
    : await recorder.segments(undefined, 1)
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
    // In other modes than time, the cost of an open frame since its last event is unknown.
    ...(eventsOf(options).tellsTime && { nowTicks: span.latestTicks }),
    threads: targetState.threads,
    perThread,
    ...(slow !== undefined && { slow }),
    firstMethod: firstMethodOf(options),
    valueRows: valueRowsOf(options),
    ...(options.sampleEvery !== undefined && { every: options.sampleEvery }),
  })
}
