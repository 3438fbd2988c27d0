// Which methods lose their probes to hold a budget, and which get them back. Pure: loads in, ids out.
//
// A method is folded only with all that it calls: its callees' rows would move up to its caller otherwise. One of which all
// that it calls is folded can be counted instead: an event without a time, and no frame. And a method comes back only with
// all that call it, for the same reason.

import type { FoldChange } from '../../cct/folding.ts'

/** What happened in some span of time, by method id. */
export interface Load {
  /** Calls that were timed. */
  readonly calls: Float64Array
  /** Calls that were only counted. */
  readonly counted: Float64Array
  /** Both, with those that folded methods would have had. */
  readonly estimated: Float64Array
  /** Of methods themselves, as measured. */
  readonly ticks: Float64Array
  /** What all probes cost, by the calibration. */
  readonly probeTicks: number
  /** Threads waited for the client. */
  readonly waitTicks: number
  /** Threads inside roots stood still for redefinitions. */
  readonly pauseTicks: number
  /** What threads would have taken inside roots without all that. */
  readonly bareTicks: number
}

/** What a call costs, in ticks. */
export interface CallCosts {
  readonly timed: number
  readonly counted: number
}

export interface Graph {
  readonly callees: ReadonlyMap<number, ReadonlySet<number>>
  readonly callers: ReadonlyMap<number, ReadonlySet<number>>
}

/** Methods that are not timed. */
export type Narrowing = ReadonlyMap<number, 'counted' | 'folded'>

/** Counting must cost less than so much of timing, or it is not worth its place between timed and folded. */
const WORTH_COUNTING = 0.5
/** Methods looked at in each step: those that cost most. */
const CANDIDATES = 100
/** So many methods, at most, go together. */
const MOST_TOGETHER = 200
/** A method that costs less of what there is too much does not count. */
const LEAST_SHARE = 0.002

/**
 * Methods to count or fold, so that what is left costs at most `most` ticks: cheap hot leaves first. Where that cannot be,
 * all that can be folded and costs something.
 */
export function narrow(
  load: Load,
  costs: CallCosts,
  graph: Graph,
  foldable: ReadonlySet<number>,
  narrowed: Narrowing,
  most: number,
): FoldChange {
  const states = new Map(narrowed)
  const callsOf = (method: number) => (load.calls[method] ?? 0) + (load.counted[method] ?? 0)
  const costOf = (method: number) => {
    const state = states.get(method)
    return state === 'folded' ? 0 : callsOf(method) * costs[state ?? 'timed']
  }
  const ownOf = (method: number) =>
    Math.max(0, (load.ticks[method] ?? 0) - (load.calls[method] ?? 0) * costs.timed)
  let left = load.probeTicks
  const least = (left - most) * LEAST_SHARE
  const hot = [...foldable].sort((a, b) => costOf(b) - costOf(a))
  while (left > most) {
    let best: Step | undefined
    for (const method of hot.filter((it) => costOf(it) > least).slice(0, CANDIDATES)) {
      const together = closure(
        method,
        graph.callees,
        (it) => states.get(it) === 'folded',
        (it) => foldable.has(it),
      )
      if (together === null) continue
      // What is counted is no frame: what it called itself would be its caller's.
      const calls = together.some((it) => graph.callees.get(it)?.has(method))
      // Of what is called more often than its probes last, the client would have more events than it can read.
      const isRare = callsOf(method) * costs.timed <= load.bareTicks
      const counts = !calls && isRare && !states.has(method) && isWorthCounting(costs)
      const saved = sum(together, costOf) - (counts ? callsOf(method) * costs.counted : 0)
      const score = (saved * saved) / (saved + sum(together, ownOf)) / together.length
      if (saved > 0 && score > (best?.score ?? 0)) best = { method, together, counts, saved, score }
    }
    if (best === undefined) break
    for (const method of best.together) states.set(method, 'folded')
    if (best.counts) states.set(best.method, 'counted')
    left -= best.saved
  }
  const changed = [...states].filter(([method, state]) => narrowed.get(method) !== state)
  const those = (wanted: string) => changed.filter(([, state]) => state === wanted).map(([method]) => method)
  return { folded: those('folded'), counted: those('counted'), timed: [] }
}

interface Step {
  readonly method: number
  /** It, and what it calls: all are folded, but it may be counted. */
  readonly together: readonly number[]
  readonly counts: boolean
  readonly saved: number
  readonly score: number
}

/**
 * Methods for whose probes there is room, cheap ones first: they are timed again, or, where there is no room for that,
 * counted at least.
 *
 * @param mayReturn whether a method has been as it is for long enough
 * @param room      ticks that their probes may cost in a time as long as the load's
 */
export function widen(
  load: Load,
  costs: CallCosts,
  graph: Graph,
  narrowed: Narrowing,
  mayReturn: (method: number) => boolean,
  room: number,
): FoldChange {
  const states = new Map(narrowed)
  const callsOf = (method: number) => load.estimated[method] ?? 0
  /** What it would cost more. */
  const moreOf = (method: number, as: 'timed' | 'counted') =>
    callsOf(method) * (costs[as] - (states.get(method) === 'counted' ? costs.counted : 0))
  let left = room
  for (const method of [...narrowed.keys()].sort((a, b) => callsOf(a) - callsOf(b))) {
    if (!states.has(method)) continue
    if (callsOf(method) * Math.min(costs.counted, costs.timed) > left) break
    const together = closure(
      method,
      graph.callers,
      (it) => !states.has(it),
      (it) => states.has(it) && mayReturn(it),
    )
    if (together === null) continue
    const timed = sum(together, (it) => moreOf(it, 'timed'))
    const counted = timed - moreOf(method, 'timed') + moreOf(method, 'counted')
    if (timed <= left) {
      for (const it of together) states.delete(it)
      left -= timed
    } else if (
      counted <= left &&
      states.get(method) === 'folded' &&
      isWorthCounting(costs) &&
      callsOf(method) * costs.timed <= load.bareTicks &&
      isLeaf(method, together, graph, states)
    ) {
      for (const it of together) states.delete(it)
      states.set(method, 'counted')
      left -= counted
    }
  }
  const changed = [...narrowed.keys()].filter((it) => states.get(it) !== narrowed.get(it))
  return {
    folded: [],
    counted: changed.filter((it) => states.has(it)),
    timed: changed.filter((it) => !states.has(it)),
  }
}

function isWorthCounting({ timed, counted }: CallCosts): boolean {
  return counted <= timed * WORTH_COUNTING
}

/** Whether all that it calls would stay folded if those others were timed. */
function isLeaf(method: number, timed: readonly number[], { callees }: Graph, states: Narrowing): boolean {
  const all = [...(callees.get(method) ?? [])]
  return all.every((it) => it !== method && states.get(it) === 'folded' && !timed.includes(it))
}

/** The method, and what it leads to that is not done yet; null where one of them may not be, or there are too many. */
function closure(
  method: number,
  next: ReadonlyMap<number, ReadonlySet<number>>,
  isDone: (method: number) => boolean,
  isAllowed: (method: number) => boolean,
): number[] | null {
  const found = new Set([method])
  for (const it of found) {
    if (!isAllowed(it) || found.size > MOST_TOGETHER) return null
    for (const other of next.get(it) ?? []) if (!isDone(other)) found.add(other)
  }
  return [...found]
}

function sum(methods: readonly number[], of: (method: number) => number): number {
  return methods.reduce((all, it) => all + of(it), 0)
}
