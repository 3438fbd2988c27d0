// Which methods lose their probes to hold a budget, and which get them back. Pure: loads in, ids out.
//
// A method is folded only with all that it calls: its callees' rows would move up to its caller otherwise. And it comes
// back only with all that call it, for the same reason.

/** What happened in some span of time, by method id. */
export interface Load {
  readonly calls: Float64Array
  /** Calls, with those that folded methods would have had. */
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

export interface Graph {
  readonly callees: ReadonlyMap<number, ReadonlySet<number>>
  readonly callers: ReadonlyMap<number, ReadonlySet<number>>
}

/** Methods looked at in each step: those that cost most. */
const CANDIDATES = 100
/** So many methods, at most, go together. */
const MOST_TOGETHER = 200
/** A method that costs less of what there is too much does not count. */
const LEAST_SHARE = 0.002

/**
 * Methods to fold, so that what the others cost is at most `most` ticks: cheap hot leaves first. Where that cannot be, all
 * that can be folded and costs something.
 */
export function narrow(
  load: Load,
  ticksOfCall: number,
  graph: Graph,
  foldable: ReadonlySet<number>,
  folded: ReadonlySet<number>,
  most: number,
): number[] {
  const gone = new Set(folded)
  const costOf = (method: number) => (load.calls[method] ?? 0) * ticksOfCall
  const ownOf = (method: number) => Math.max(0, (load.ticks[method] ?? 0) - costOf(method))
  let left = load.probeTicks
  const least = (left - most) * LEAST_SHARE
  const hot = [...foldable]
    .filter((it) => !gone.has(it) && costOf(it) > least)
    .sort((a, b) => costOf(b) - costOf(a))
  const chosen: number[] = []
  while (left > most) {
    let best: readonly number[] = []
    let bestScore = 0
    for (const method of hot.filter((it) => !gone.has(it)).slice(0, CANDIDATES)) {
      const together = closure(
        method,
        graph.callees,
        (it) => gone.has(it),
        (it) => foldable.has(it),
      )
      if (together === null) continue
      const cost = sum(together, costOf)
      const score = (cost * cost) / (cost + sum(together, ownOf)) / together.length
      if (score <= bestScore) continue
      best = together
      bestScore = score
    }
    if (best.length === 0) break
    for (const method of best) gone.add(method)
    chosen.push(...best)
    left -= sum(best, costOf)
  }
  return chosen
}

/**
 * Folded methods for whose probes there is room, cheap ones first.
 *
 * @param mayReturn whether a method has been folded for long enough
 * @param room      ticks that their probes may cost in a time as long as the load's
 */
export function widen(
  load: Load,
  ticksOfCall: number,
  graph: Graph,
  folded: ReadonlySet<number>,
  mayReturn: (method: number) => boolean,
  room: number,
): number[] {
  const costOf = (method: number) => (load.estimated[method] ?? 0) * ticksOfCall
  const chosen = new Set<number>()
  let left = room
  for (const method of [...folded].sort((a, b) => costOf(a) - costOf(b))) {
    if (chosen.has(method)) continue
    if (costOf(method) > left) break
    const together = closure(
      method,
      graph.callers,
      (it) => !folded.has(it) || chosen.has(it),
      (it) => folded.has(it) && mayReturn(it),
    )
    if (together === null) continue
    const cost = sum(together, costOf)
    if (cost > left) continue
    for (const it of together) chosen.add(it)
    left -= cost
  }
  return [...chosen]
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
