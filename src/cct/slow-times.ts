// Slow calls for output: times instead of ticks, trees instead of builders.

import type { RootCallTimes } from './root-calls.ts'
import type { SlowCall, SlowCalls, SlowThreshold } from './slow-calls.ts'
import { type SnapshotOptions, snapshotOf } from './snapshot.ts'
import type { Tree } from './tree.ts'

/** Selects the trees to return: all slow calls, the latest slow call, one call, or everything. */
export type SlowWant =
  | 'figures'
  | 'tree'
  | 'latest'
  | 'tree and latest'
  | 'everything'
  | { readonly call: number; readonly andLatest?: boolean }

/** One call; its tree contains exactly one root call. */
export interface SlowCallTimes {
  /** Numbered from 1, in the order in which calls ended since slow calls were first recorded. */
  readonly number: number
  readonly thread: { readonly id: number; readonly name: string }
  /** Id of the root. */
  readonly method: number
  /** Duration in the unit of root calls. */
  readonly time: number
  /** End of the call, in ms since the start of the recording. */
  readonly atMs: number
  /** Tree of the call; absent if not requested. */
  readonly tree?: Tree
}

export interface SlowTimes {
  readonly unit: RootCallTimes['unit']
  /** `p99`, or a time in the unit. */
  readonly threshold: SlowThreshold
  /** Current value of the threshold; null if there are too few calls for a p99. */
  readonly thresholdNow: number | null
  /** Number of slow calls. */
  readonly count: number
  /** Number of slow calls in no tree, because their trees exceeded the memory limit. */
  readonly dropped: number
  /** The slowest of all calls, slowest first. */
  readonly slowest: readonly SlowCallTimes[]
  /** Slow call that ended last; null if there is none. */
  readonly latest: SlowCallTimes | null
  /** Tree of all slow calls; absent if not requested. */
  readonly tree?: Tree
}

/** The same data between recorder thread and main thread: with ticks, and thread numbers instead of names. */
export interface SlowState {
  readonly threshold: SlowThreshold
  readonly thresholdTicks: number | null
  readonly count: number
  readonly dropped: number
  readonly slowest: readonly (SlowCall & { readonly tree?: Tree })[]
  readonly latest: (SlowCall & { readonly tree?: Tree }) | null
  readonly tree?: Tree
}

/** @param options  options of a snapshot of all calls. Unfinished calls are in no slow call */
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
  // All figures are read first: while trees are made, more calls may end, and late pauses may shorten earlier calls.
  const { threshold, thresholdTicks, count, dropped, slowest, latest } = slow
  const calls = slowest.map(factsOf)
  const last = latest && factsOf(latest)
  const withTree = (facts: SlowCall): SlowState['slowest'][number] => {
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
    threshold,
    thresholdTicks: Number.isFinite(thresholdTicks) ? thresholdTicks : null,
    ...{ count, dropped },
    ...((want === 'tree' || want === 'tree and latest' || want === 'everything') && {
      tree: treeOf(slow.tree),
    }),
    slowest: calls.map(withTree),
    latest: last && withTree(last),
  }
}

function factsOf({ number, thread, method, ticks, atMs }: SlowCall): SlowCall {
  return { number, thread, method, ticks, atMs }
}

/** Returns all trees in the argument, for a transfer between threads. */
export function treesOf({ tree, slowest, latest }: Pick<SlowState, 'tree' | 'slowest' | 'latest'>): Tree[] {
  return [tree, ...slowest.map((it) => it.tree), latest?.tree].filter((it) => it !== undefined)
}
