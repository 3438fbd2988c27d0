// At the end of a recording with scheme b in which calls are dense, what the roots call gets its own code back before they do, and some calls
// of the roots go by without a probe below them. So the report can say how much its times are overstated.

import { setTimeout as later } from 'node:timers/promises'
import { debug } from '../base/debug.ts'
import { type BareCalls, bareCalls, isWorthComparing, spreadOfBare } from '../cct/bare-calls.ts'
import type { LatestCalls } from '../cct/root-calls.ts'
import type { Engine } from './engine.ts'
import { eventsOf } from './session-options.ts'
import type { Span } from './span.ts'

/** The calls before the end that are compared began within that time. In a shorter session code was still being compiled. */
const CHARGED_MS = 2_000
const LEAST_SESSION_MS = 3_000
/** Code that has been redefined is interpreted until it is compiled again, in steps: between two looks there is time for one. */
const MOST_MS = 1_500
const LOOK_MS = 150
/**
 * Two looks agree where their medians differ by less, calls without probes are alike, and the JVM has compiled no more between them: slow
 * code may be steady, too. How alike calls with probes are does not matter.
 */
const STEADY = 0.05
const MOST_COMPILED = 2
/** One more redefinition may stop the JVM as long as the longest so far, and take as long as all so far. */
const LONGEST_PAUSE_MS = 125
const LONGEST_REDEFINITION_MS = 500

/** Nothing is known then: code that was still being compiled would make the times of the recording seem too short. */
export class NotSteady extends Error {
  constructor() {
    super(`after ${MOST_MS / 1000} s calls without probes below the root were still being compiled`)
  }
}

/** Whether all that there is below the roots is probes of calls, and client and target are on one machine. */
function isPlain({ door, instrumenter, options, revealer }: Engine): boolean {
  const { callSites, followThreads, scheme, trace } = options
  const roots = [...revealer.methods].filter((it) => it.root)
  return (
    scheme === 'b' &&
    eventsOf(options).tellsTime &&
    !eventsOf(options).tellsWaits &&
    door.elsewhere === undefined &&
    instrumenter.leftOutMethods.size === 0 &&
    [callSites, followThreads, trace].every((it) => it === undefined || it === false) &&
    roots.length === 1 && // of several, calls of the one may be faster without probes, and so more than of the other
    roots[0]!.name !== '<init>'
  )
}

function isQuick({ installation }: Engine): boolean {
  const { hotSwapMs, longestPauseMs } = installation
  return longestPauseMs !== null && longestPauseMs < LONGEST_PAUSE_MS && hotSwapMs < LONGEST_REDEFINITION_MS
}

export function mayCompare(engine: Engine, span: Span): boolean {
  return isPlain(engine) && isQuick(engine) && span.durationMs >= LEAST_SESSION_MS
}

/**
 * Called after the end of recording, while the target still has its probes, and only if `mayCompare` returns true. The calls without probes
 * go to a builder of their own (`endRows`), so that they are in no row.
 *
 * @returns null if it is not worth it, or the calls cannot be compared
 * @throws NotSteady
 */
export async function callsWithoutProbes(engine: Engine, span: Span): Promise<BareCalls | null> {
  const { calibration, clock, installation, recorder, turns } = engine
  const before: { charged?: LatestCalls | null } = {}
  // In its turn: what was revealed before is in, and its pauses are in the rows.
  await turns.request(async () => {
    installation.settle()
    before.charged = await leaveRootsAlone(engine, span)
  })
  const { charged = null } = before
  if (charged === null) return null
  const begun = performance.now()
  const from = installation.swaps.latest.at(-1)?.endTicks ?? clock.nowTicks
  const costs = { innerTicks: calibration.innerTicks, nsPerTick: clock.nsPerTick }
  const compilations = (): number => engine.door.compilations?.() ?? 0
  let found: BareCalls | null = null
  let compiled = compilations()
  let isSteady = false
  while (!isSteady && performance.now() - begun < MOST_MS) {
    await later(LOOK_MS)
    const [last, before] = [found, compiled]
    const bare = await recorder.bareCalls(from)
    found = bareCalls(charged, bare, costs)
    compiled = compilations()
    isSteady =
      last !== null &&
      found !== null &&
      Math.abs(found.bareNs / last.bareNs - 1) < STEADY &&
      spreadOfBare(bare) < (1 + STEADY) ** 2 &&
      compiled - before <= MOST_COMPILED
  }
  debug.end?.(
    found === null
      ? 'root calls without probes below them cannot be compared'
      : `${found.calls} root calls without probes below them: charged/bare ${found.low.toFixed(2)} to ${found.high.toFixed(2)}${isSteady ? '' : ', not steady'}`,
  )
  if (found !== null && !isSteady) throw new NotSteady()
  return found
}

/** @returns the calls before that; null if the roots are not alone, or need not be */
async function leaveRootsAlone(engine: Engine, span: Span): Promise<LatestCalls | null> {
  const { clock, installation, recorder, revealer, targetState } = engine
  const from = span.latestTicks - (CHARGED_MS * 1e6) / clock.nsPerTick
  const charged = await recorder.endRows(span.latestTicks, from)
  targetState.endRows()
  if (!isWorthComparing(charged, clock.nsPerTick)) {
    debug.end?.(`${charged.times.length} root calls: not compared with calls without probes`)
    return null
  }
  const below = [...revealer.methods].filter((it) => !it.root).map(({ id }) => id)
  if (below.length === 0) return null
  const refused = await installation.leaveOut(new Set(below))
  if (refused.length === 0) return charged
  debug.end?.(`${refused.length} methods below the root keep their probes: not compared`)
  return null
}
