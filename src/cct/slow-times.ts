// Slow calls for output: times instead of ticks, trees instead of builders.

import { rootProbeTicks } from '../base/compensation.ts'
import type { RootCallTimes } from './root-calls.ts'
import type { SlowCall, SlowCalls, SlowThreshold, SlowWanted } from './slow-calls.ts'
import { type SnapshotOptions, snapshotOf } from './snapshot.ts'
import type { Tree } from './tree.ts'

/** Selects the trees to return: the tree of all slow calls, the tree of the latest slow call, the tree of one call, or all of these. */
export type SlowWant =
  | 'figures'
  | 'tree'
  | 'latest'
  | 'tree and latest'
  | 'everything'
  | { readonly call: number; readonly andLatest?: boolean }

/** Part of a thread's time. */
export interface CallSpan {
  /** Number that identifies the thread in the session. */
  readonly thread: number
  readonly fromTicks: number
  readonly toTicks: number
}

/** One call; its tree contains exactly one root call. */
export interface SlowCallTimes {
  /** Number of the call: 1, 2, 3 … in the order in which calls ended since slow calls were first recorded. */
  readonly number: number
  readonly thread: { readonly id: number; readonly name: string }
  /** Id of the root. */
  readonly method: number
  /** Duration in the unit of root calls. */
  readonly time: number
  /** End of the call, in ms since the start of the recording. */
  readonly atMs: number
  /** Id of the first call inside the root; absent if there is none. */
  readonly first?: number
  /** Class of the exception that ended the call; absent if the call returned. */
  readonly threw?: string
  /** Values in the order of `--show`; null if a value was not read. Absent if there are none. */
  readonly values?: readonly (string | null)[]
  /** Class and method that called the root, separated by a dot. Absent if unknown. */
  readonly caller?: string
  readonly traceId?: string
  /** Thread and time of the call, to find its samples. Absent in profiles. */
  readonly span?: CallSpan
  /** Number of samples that were taken in the call. Absent if no samples are taken. */
  readonly samples?: number
  /** Tree of the call; absent if not requested. */
  readonly tree?: Tree
}

export interface SlowTimes {
  readonly unit: RootCallTimes['unit']
  /** `p99`, a time in the unit, or `threw`. */
  readonly threshold: SlowThreshold
  /** Current value of the threshold, in the unit; null if there are too few calls for a p99. */
  readonly thresholdNow: number | null
  /** Time from which the threshold was known, in ms since the start of the recording. Absent in profiles of versions that did not wait. */
  readonly knownAtMs?: number | null
  /** Paths of `--show`, to which `SlowCallTimes.values` belong. Absent without `--show`. */
  readonly shows?: readonly string[]
  /** Number of slow calls; in a time range, number of the kept slow calls that ended in it. */
  readonly count: number
  /** Numbers of calls of the whole recording. Only in a time range. */
  readonly ofRecording?: { readonly count: number; readonly threwCount?: number }
  /** Number of slow calls that are in no tree, because their own trees exceeded the memory limit. */
  readonly dropped: number
  /** The slowest of the slow calls, slowest first. */
  readonly slowest: readonly SlowCallTimes[]
  /** The latest calls that an exception ended, latest first, and the number of all such calls. Absent unless requested. */
  readonly threw?: { readonly count: number; readonly latest: readonly SlowCallTimes[] }
  /** The last slow call to end; null if there is none. */
  readonly latest: SlowCallTimes | null
  /** Tree of all slow calls, or since `treeFromMs`; absent if not requested. */
  readonly tree?: Tree
  /**
   * Time from which `tree` has slow calls, in ms since the start of the recording, and their number: the tree restarts when the set of timed
   * methods changes. Absent if it has not restarted.
   */
  readonly treeFromMs?: number
  readonly treeCount?: number
  /** Threads and times of the latest slow calls, to find their samples; absent if `tree` is absent, and in profiles. */
  readonly spans?: readonly CallSpan[]
}

/** Returns each call of `slow` as `change` returns it, and no spans. */
export function withCalls(slow: SlowTimes, change: (call: SlowCallTimes) => SlowCallTimes): SlowTimes {
  const { spans: _, ...rest } = slow
  const changed = ({ span, ...call }: SlowCallTimes): SlowCallTimes => {
    const { span: __, ...done } = change(span === undefined ? call : { ...call, span })
    return done
  }
  return {
    ...rest,
    slowest: slow.slowest.map(changed),
    ...(slow.threw !== undefined && { threw: { ...slow.threw, latest: slow.threw.latest.map(changed) } }),
    latest: slow.latest && changed(slow.latest),
  }
}

/** Returns slow calls without the data that only their samples need. */
export function withoutSpans(slow: SlowTimes): SlowTimes {
  return withCalls(slow, (it) => it)
}

/** The data of `SlowTimes` as sent from the recorder thread to the main thread: ticks instead of times, thread numbers instead of names. */
export interface SlowState {
  readonly wanted: SlowWanted
  readonly thresholdTicks: number | null
  readonly knownAtMs: number | null
  readonly count: number
  readonly dropped: number
  readonly treeFromMs: number | null
  readonly treeCount: number
  readonly slowest: readonly (SlowCall & { readonly tree?: Tree })[]
  readonly threwCount: number
  readonly threw: readonly (SlowCall & { readonly tree?: Tree })[]
  readonly latest: (SlowCall & { readonly tree?: Tree }) | null
  readonly tree?: Tree
  readonly spans: readonly CallSpan[]
}

/** Returns the slow calls. Unfinished calls are not included. @param options  options of a snapshot of all calls */
export function slowStateOf(
  slow: SlowCalls,
  want: SlowWant,
  { nowTicks: _, ...options }: SnapshotOptions,
  alive: () => void,
  between: () => void,
): SlowState {
  const treeOf = (builder: SlowCalls['tree']): Tree =>
    snapshotOf(builder, { ...options, perThread: false }, alive, between).merged
  const wantsLatest =
    want === 'latest' || want === 'tree and latest' || (typeof want !== 'string' && want.andLatest === true)
  const wantsTree = want === 'tree' || want === 'tree and latest' || want === 'everything'
  // All numbers are read before the trees are made: during that time, more calls may end, and late pauses may shorten finished calls.
  const { wanted, thresholdTicks, knownAtMs, count, dropped, slowest: calls, latest: last } = slow
  const { threwCount, threw, treeFromMs, treeCount } = slow
  // The cost of the probes may have been measured again after the call. The call's tree is made with the present cost.
  const withPresentCost = (it: SlowCall): SlowCall => {
    const probeTicks = rootProbeTicks(it.probeHalves, options.calibration)
    return { ...it, ticks: it.ticks + it.probeTicks - probeTicks, probeTicks }
  }
  const withTree = (call: SlowCall): SlowState['slowest'][number] => {
    const facts = withPresentCost(call)
    const { number } = facts
    const isWanted =
      want === 'everything' ||
      (wantsLatest && number === last?.number) ||
      (typeof want !== 'string' && want.call === number)
    if (!isWanted) return facts
    const builder = slow.treeOf(number)
    return builder === null ? facts : { ...facts, tree: treeOf(builder) }
  }
  return {
    wanted,
    knownAtMs,
    thresholdTicks: Number.isFinite(thresholdTicks) ? thresholdTicks : null,
    ...{ count, dropped, threwCount, treeFromMs, treeCount },
    spans: wantsTree ? slow.spans : [],
    ...(wantsTree && {
      tree: treeOf(slow.tree),
    }),
    slowest: calls.map(withTree).sort((a, b) => b.ticks - a.ticks),
    threw: threw.map(withTree),
    latest: last && withTree(last),
  }
}

/** Returns all trees in the argument, which are transferred between threads. */
export function treesOf({
  tree,
  slowest,
  threw,
  latest,
}: Pick<SlowState, 'tree' | 'slowest' | 'threw' | 'latest'>): Tree[] {
  return [tree, ...[...slowest, ...threw].map((it) => it.tree), latest?.tree].filter((it) => it !== undefined)
}
