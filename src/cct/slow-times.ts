// Slow calls as others see them: times instead of ticks, trees instead of builders.

import type { RootCallTimes } from './root-calls.ts'
import type { SlowCall, SlowCalls, SlowThreshold } from './slow-calls.ts'
import { type SnapshotOptions, snapshotOf } from './snapshot.ts'
import type { Tree } from './tree.ts'

/** Which trees are wanted besides the figures: of all slow calls, of the latest, of one, or all that there are. */
export type SlowWant =
  | 'figures'
  | 'tree'
  | 'latest'
  | 'tree and latest'
  | 'everything'
  | { readonly call: number; readonly andLatest?: boolean }

/** One call; its tree has one root call in it. */
export interface SlowCallTimes {
  /** In the order in which calls ended, from 1 when slow calls were first kept. */
  readonly number: number
  readonly thread: { readonly id: number; readonly name: string }
  /** Id of its root. */
  readonly method: number
  /** What it took, in the unit of root calls. */
  readonly time: number
  /** When it ended, in ms since recording began. */
  readonly atMs: number
  /** Absent where it was not asked for. */
  readonly tree?: Tree
}

export interface SlowTimes {
  readonly unit: RootCallTimes['unit']
  /** `p99`, or a time in the unit. */
  readonly threshold: SlowThreshold
  /** What that is at the moment; null while there are too few calls for a p99. */
  readonly thresholdNow: number | null
  /** Calls that were slow. */
  readonly count: number
  /** Those of them that are in no tree, which would have outgrown memory. */
  readonly dropped: number
  /** Of all calls, the slowest first. */
  readonly slowest: readonly SlowCallTimes[]
  /** The slow call that has ended latest; null while there is none. */
  readonly latest: SlowCallTimes | null
  /** All slow calls; absent where it was not asked for. */
  readonly tree?: Tree
}

/** The same between the recorder's thread and ours: ticks, and numbers of threads. */
export interface SlowState {
  readonly threshold: SlowThreshold
  readonly thresholdTicks: number | null
  readonly count: number
  readonly dropped: number
  readonly slowest: readonly (SlowCall & { readonly tree?: Tree })[]
  readonly latest: (SlowCall & { readonly tree?: Tree }) | null
  readonly tree?: Tree
}

/** @param options  as of a snapshot of all calls; what goes on is in no slow call */
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
  // While trees are made more calls may end, and pauses make others faster: the figures are of one moment.
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

/** All trees in it, to hand them over. */
export function treesOf({ tree, slowest, latest }: Pick<SlowState, 'tree' | 'slowest' | 'latest'>): Tree[] {
  return [tree, ...slowest.map((it) => it.tree), latest?.tree].filter((it) => it !== undefined)
}
