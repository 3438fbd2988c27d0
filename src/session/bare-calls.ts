// Scheme b with many short calls: at the end of a recording, the methods below the roots get their original code back before the roots do.
// Some root calls then run while only the root has probes. They show by how much the recorded times are too long.

import { setTimeout as later } from 'node:timers/promises'
import { debug } from '../base/debug.ts'
import { type BareCalls, bareCalls, isWorthComparing, spreadOfBare } from '../cct/bare-calls.ts'
import type { LatestCalls } from '../cct/root-calls.ts'
import type { Engine } from './engine.ts'
import { eventsOf } from './session-options.ts'
import type { Span } from './span.ts'

/** Only calls with probes that began in the last 2 s are compared. In a session shorter than 3 s, the JIT may still be compiling. */
const CHARGED_DURATION_MS = 2_000
const MIN_SESSION_DURATION_MS = 3_000
/** Timeout for steady calls. A redefined method is interpreted until the JIT compiles it again in tiers, which may take a few intervals. */
const STEADY_TIMEOUT_MS = 1_500
const SAMPLE_INTERVAL_MS = 150
/**
 * The calls are steady if two consecutive medians differ by less than 5 %, the spread of the calls without probes is small, and the JVM
 * compiled at most 2 methods between the medians. Compilations are counted since interpreted code also has stable medians.
 */
const MAX_MEDIAN_CHANGE = 0.05
const MAX_COMPILATIONS = 2
/**
 * Limits for the additional redefinition. Its pause is estimated by the longest pause so far, and its duration by the total duration of all
 * redefinitions so far.
 */
const MAX_PAUSE_MS = 125
const MAX_REDEFINITION_MS = 500

/** Thrown if methods called without probes were still being compiled. Such slow calls would make the probes look too cheap. */
export class NotSteady extends Error {
  constructor() {
    super(
      `after ${STEADY_TIMEOUT_MS / 1000} s the JVM was still compiling calls without probes below the root`,
    )
  }
}

/** Returns whether the methods below the roots have only call probes, and the client runs on the target's machine. */
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
    roots.length === 1 && // with several roots, one root may be faster without probes and thus have a larger share of the calls
    roots[0]!.name !== '<init>'
  )
}

function isQuick({ installation }: Engine): boolean {
  const { hotSwapMs, longestPauseMs } = installation
  return longestPauseMs !== null && longestPauseMs < MAX_PAUSE_MS && hotSwapMs < MAX_REDEFINITION_MS
}

export function mayCompare(engine: Engine, span: Span): boolean {
  return isPlain(engine) && isQuick(engine) && span.durationMs >= MIN_SESSION_DURATION_MS
}

/**
 * Compares calls with and without probes. Must be called after the end of recording, while the target still has its probes, and only if
 * `mayCompare` returns true. A separate builder (`endRows`) receives the calls without probes, so they appear in no row.
 *
 * @returns null if the comparison is not worthwhile or not possible
 * @throws NotSteady
 */
export async function callsWithoutProbes(engine: Engine, span: Span): Promise<BareCalls | null> {
  const { calibration, clock, installation, recorder, turns } = engine
  const before: { charged?: LatestCalls | null } = {}
  // Runs after all queued tasks, so all methods revealed before have probes, and the pauses for them are excluded from the profile's rows.
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
  while (!isSteady && performance.now() - begun < STEADY_TIMEOUT_MS) {
    await later(SAMPLE_INTERVAL_MS)
    const [last, before] = [found, compiled]
    const bare = await recorder.bareCalls(from)
    found = bareCalls(charged, bare, costs)
    compiled = compilations()
    isSteady =
      last !== null &&
      found !== null &&
      Math.abs(found.bareNs / last.bareNs - 1) < MAX_MEDIAN_CHANGE &&
      spreadOfBare(bare) < (1 + MAX_MEDIAN_CHANGE) ** 2 &&
      compiled - before <= MAX_COMPILATIONS
  }
  debug.end?.(
    found === null
      ? 'root calls without probes below them cannot be compared'
      : `${found.calls} root calls without probes below them: charged/bare ${found.low.toFixed(2)} to ${found.high.toFixed(2)}${isSteady ? '' : ', not steady'}`,
  )
  if (found !== null && !isSteady) throw new NotSteady()
  return found
}

/** @returns the root calls with probes; null if a method below the roots keeps its probes, or if a comparison is not worthwhile */
async function leaveRootsAlone(engine: Engine, span: Span): Promise<LatestCalls | null> {
  const { clock, installation, recorder, revealer, targetState } = engine
  const from = span.latestTicks - (CHARGED_DURATION_MS * 1e6) / clock.nsPerTick
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
