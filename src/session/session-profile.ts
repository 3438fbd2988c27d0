// Builds a profile from the recorded data and the facts of a session.

import { dirname } from 'node:path'
import type { MeasuredCalibration } from '../base/compensation.ts'
import { withDenseIds } from '../cct/allocation.ts'
import type { SegmentTimes } from '../cct/segments.ts'
import type { Trace } from '../cct/trace.ts'
import type { Snapshot } from '../cct/tree.ts'
import { METRICS } from '../measures/columns.ts'
import { PROBES } from '../measures/probes.ts'
import { treeRoomWarning } from '../profile/gaps.ts'
import { type Overflow, overflowWarnings } from '../profile/overflows.ts'
import type { Profile, RegionTimes, SkippedMethod } from '../profile/profile.ts'
import { unseenPart } from '../profile/sampled-rows.ts'
import { withSoundTrace } from '../profile/trace-file.ts'
import type { Engine } from './engine.ts'
import { withPlaceholders } from './names.ts'
import { collapsedWarning } from './recorder/context-bound.ts'
import type { RecorderStats } from './recorder/recorder.ts'
import type { Recording } from './recording.ts'
import { eventsOf, modeOf, type SessionOptions, type SessionRequest } from './session-options.ts'

export interface Recorded {
  /** Cost of the probes that was subtracted in `snapshot`. */
  readonly calibration: MeasuredCalibration
  readonly snapshot: Snapshot
  readonly stats: RecorderStats
  /** Times of the regions; undefined unless regions were timed. */
  readonly regions: RegionTimes[] | undefined
  /** Segments of the recording; undefined if they are not kept. */
  readonly segments: SegmentTimes | undefined
  /** The traced calls; undefined unless calls were traced. */
  readonly trace: Trace | undefined
}

export function sessionProfile({ controller, end, engine, span }: Recording, recorded: Recorded): Profile {
  const { arming, byHand, clock, facts, inside, installation, names, options, targetState } = engine
  const { snapshot, stats, regions, segments, trace } = recorded
  const mode = modeOf(options)
  const { hasClasses } = METRICS[mode]
  const openCalls = openCallsOf(options, stats)
  const { merged } = snapshot
  const beginTicks = span.latestTicks - (span.durationMs * 1e6) / clock.nsPerTick
  // Omits the recent activity of threads, since only live views use it.
  const threads = snapshot.threads.map(({ id, name, tree }) => ({ id, name, tree }))
  const methodNames = withPlaceholders(names.all(), [
    merged,
    ...threads.map((it) => it.tree),
    ...(segments === undefined ? [] : [segments]),
  ])
  return withSoundTrace({
    target: {
      pid: engine.pid,
      jdk: facts.version,
      vm: facts.vm,
      mainClass: engine.main,
    },
    mode,
    ...PROBES[mode].facts?.(options),
    ...(options.sampling !== undefined && {
      sampling: {
        ...options.sampling,
        by: 'probes',
        samples: stats.samples.count,
        bytecodes: stats.samples.sum,
      },
    }),
    ...(hasClasses && { allocation: targetState.allocationFacts(options, stats) }),
    scheme: options.scheme,
    roots: rootNames(options),
    selection: {
      include: options.include.map((it) => it.text),
      exclude: options.exclude.map((it) => it.text),
      jdk: options.jdk,
      ...(byHand.changes.length > 0 && { byHand: byHand.changes }),
    },
    startedAt: span.startedAt.toISOString(),
    ...(engine.jvmStartedAt !== undefined && { jvmStartedAt: engine.jvmStartedAt }),
    durationMs: span.durationMs,
    calibration: calibrationFacts(engine, recorded.calibration),
    instrumentation: instrumentationFacts(engine, stats),
    warmupMs: Math.max(0, installation.settledAt - span.begun),
    truncated: end.isTruncated,
    warnings: engine.allWarnings(),
    events: { count: stats.events, waitMs: clock.toNs(stats.waitTicks) / 1e6 },
    kept: targetState.kept,
    ...(engine.sites !== null && { callSites: true as const }),
    ...(inside !== null && {
      stacks: {
        ...inside.stackFacts(
          beginTicks,
          arming?.pauses ?? [],
          installation.swaps.latest,
          controller?.rowsFromMs ?? 0,
        ),
        unseenPart: unseenPart(merged),
      },
    }),
    ...(inside !== null && inside.shortMethods.length > 0 && { shortMethods: inside.shortMethods }),
    ...(inside !== null && { lines: inside.lineTable() }),
    ...(end.bareCalls !== null && { bareCalls: end.bareCalls }),
    ...(openCalls > 0 && { openCalls }),
    ...(options.followThreads === true && { followedTasks: stats.followed }),
    ...(snapshot.rootCalls !== undefined && { rootCalls: snapshot.rootCalls }),
    ...(engine.values !== null && { values: engine.values.facts() }),
    ...(snapshot.slow !== undefined && { slowCalls: snapshot.slow }),
    ...(snapshot.course !== undefined && regions === undefined && { course: snapshot.course }),
    ...(segments !== undefined && {
      segments: { ...segments, ...(inside !== null && { samples: inside.sampleTimes(beginTicks) }) },
    }),
    ...(regions !== undefined && { regions }),
    ...(trace !== undefined && { trace }),
    ...(hasClasses ? withDenseIds(methodNames, { merged, threads }) : { methodNames, merged, threads }),
  })
}

/** Returns the number of calls that had not ended. Zero in modes that record nothing at the end of a call. */
function openCallsOf(options: SessionOptions, { openCalls }: RecorderStats): number {
  return eventsOf(options).recordsCalls ? openCalls : 0
}

/** Returns the names of the roots, or the names of the regions if regions are timed. */
export function rootNames({ regions, roots }: SessionRequest): string[] {
  return (regions ?? roots).map((it) => it.text)
}

export function skippedMethods({ installation }: Engine): SkippedMethod[] {
  return [...installation.skipped].map(([method, reason]) => ({ method, reason }))
}

/** Returns a warning if calls are missing because the buffer had no space for the threads' trees; otherwise null. */
export function treesFullWarning(
  { door, targetState }: Engine,
  { treesFull, gaps }: RecorderStats,
): string | null {
  // Without gaps, no call was lost: the last call that needed a block may have got the last free block.
  if (treesFull === null || Math.max(targetState.gaps, gaps) === 0) return null
  return treeRoomWarning(treesFull.contexts, treesFull.code, dirname(door.dir))
}

const NOTHING_FOLLOWED =
  'no task was followed: the roots passed no task to an executor of the JDK and started no thread'

/** Returns the warnings that are known only at the end of a session. */
export function warningsAtEnd(engine: Engine, stats: RecorderStats): string[] {
  const { options, regionTable } = engine
  const regions = (regionTable?.problems() ?? []).map(({ message, hint }) => `${message}. ${hint}`)
  const warnings = [...regions, ...overflowWarnings(overflowsOf(engine, stats))]
  const { events, followed, orphans, purged, collapsed, gaps, silentMs } = stats
  const openCalls = openCallsOf(options, stats)
  if (options.followThreads === true && followed + orphans === 0 && events > 0)
    warnings.push(NOTHING_FOLLOWED)
  if (orphans > 0)
    warnings.push(
      `${orphans} tasks began whose submission was lost: their calls are not below the submitting method`,
    )
  if (silentMs > 0 && gaps > 0)
    warnings.push(
      `the client read no events for ${Math.round(silentMs)} ms in total, because it was busy or got no processor: calls in this time may be missing`,
    )
  if (purged > 0)
    warnings.push(
      `the tree of samples became too large: ${purged} contexts with the fewest samples were merged into their callers`,
    )
  if (collapsed > 0) warnings.push(collapsedWarning(options))
  const treesFull = treesFullWarning(engine, stats)
  if (treesFull !== null) warnings.push(treesFull)
  if (openCalls > 0)
    warnings.push(`unfinished calls: ${openCalls}; their own bytecodes are missing, partly or completely`)
  return warnings
}

function calibrationFacts(
  { clock, options }: Engine,
  calibration: MeasuredCalibration,
): Profile['calibration'] {
  const { innerTicks, outerTicks, readTicks, spread } = calibration
  return {
    innerNs: clock.toNs(innerTicks),
    outerNs: clock.toNs(outerTicks),
    ...(METRICS[modeOf(options)].isTime && {
      innerSpreadNs: clock.toNs(spread.innerTicks),
      outerSpreadNs: clock.toNs(spread.outerTicks),
    }),
    clock: clock.name,
    // Omitted if the rate is 1: for System.nanoTime(), and in a very short session, where the rate of the other clock is not known yet.
    ...(clock.nsPerTick !== 1 && { clockMHz: 1000 / clock.nsPerTick }),
    ...(readTicks > 0 && { readNs: clock.toNs(readTicks) }),
  }
}

function instrumentationFacts(engine: Engine, stats: RecorderStats): Profile['instrumentation'] {
  const { installation, instrumenter, revealer, targetState } = engine
  const { longestPauseMs } = installation
  const { counters } = revealer
  return {
    instrumentedMethods: counters.instrumentedMethods,
    calledMethods: stats.calledMethods,
    redefinitions: installation.redefinitions,
    redefinedClasses: instrumenter.instrumentedClasses,
    hotSwapMs: installation.hotSwapMs,
    ...(longestPauseMs !== null && { longestPauseMs }),
    analysisMs: counters.analysisMs,
    skipped: skippedMethods(engine),
    gaps: Math.max(targetState.gaps, stats.gaps) + counters.gaps + installation.lateClasses,
    healed: stats.healed,
    overflows: overflowsOf(engine, stats),
  }
}

/** Returns the number of StackOverflowErrors that left instrumented methods, per method. */
function overflowsOf({ names }: Engine, { overflows }: RecorderStats): Overflow[] {
  return [...overflows]
    .sort(([, a], [, b]) => b - a)
    .map(([id, errors]) => {
      const { class: owner, method, descriptor } = names.ofMethod(id)
      return { method: `${owner}.${method}${descriptor}`, errors }
    })
}
