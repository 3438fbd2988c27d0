// How sure times are: what a node's time may be wrong by, from what was measured of its root (see session/error-bars.ts).
//
// Probes are the only difference between a method and what it was, so what is sure to be wrong is wrong by probe: of a call,
// one half is the callee's own and the other its caller's, as with t_I and t_O. What may as well be chance (the two
// times of a root differ by less than each of them does), and what was slow because it had just been redefined, goes by
// time. One calibration is off for every call in the same way, and what was lost to optimisation is, too: so errors add up
// over a subtree as they are, and not as squares.

import { type Calibration, exactTime } from './compensation.ts'
import type { Tree } from './tree.ts'

/** What times below one root may be wrong by, in ticks. */
export interface RootError {
  /** Of a method's own time, for each call of it. */
  readonly innerTicks: number
  /** Of its own time, for each call that it makes. */
  readonly outerTicks: number
  /** The part that any time may be wrong by. */
  readonly part: number
  /** In all: calls that ran before they were compiled again. */
  readonly onceTicks: number
}

/** By method id of the root. Of roots that are not here, nothing is known. */
export type RootErrors = ReadonlyMap<number, RootError>

/** In the columns `selfErrorNs` and `errorNs`: nothing was measured. */
export const NOT_MEASURED = -1

/** Of a root's outermost calls, in some span of time. */
export interface RootTimes {
  readonly calls: number
  /** Between the time stamps of the root, callees included. */
  readonly ticks: number
  /** Calls of instrumented methods, the root's own among them. */
  readonly allCalls: number
  /** See CctBuilder.probeHalves. */
  readonly halves: number
}

export interface Mean {
  /** Ticks of a call, compensated. */
  readonly ticks: number
  /** Two standard errors of it, by what the spans differ. */
  readonly doubt: number
  readonly calls: number
}

/** Mean of a root's calls over spans of time that follow each other; null if there was no call. */
export function meanOf(spans: readonly RootTimes[], calibration: Calibration): Mean | null {
  const { innerTicks, outerTicks } = calibration
  const net = spans.map(
    ({ calls, ticks, allCalls, halves }) =>
      exactTime(ticks, allCalls, allCalls - calls, calibration) - (halves * (innerTicks + outerTicks)) / 2,
  )
  let calls = 0
  let sum = 0
  spans.forEach((span, i) => {
    calls += span.calls
    sum += net[i]
  })
  if (calls === 0) return null
  const ticks = sum / calls
  // A span may have the begin of a call and not its end: what it has too much the next one lacks, which only adds doubt.
  const squares = spans.reduce((all, span, i) => all + (net[i] - span.calls * ticks) ** 2, 0)
  const few = spans.length > 1 ? spans.length / (spans.length - 1) : 1
  return { ticks, doubt: (2 * Math.sqrt(squares * few)) / calls, calls }
}

/** One comparison of a root with itself. */
export interface Comparison {
  readonly instrumented: Mean
  readonly bare: Mean
  /** Calls of instrumented methods for each of the root, its own among them. */
  readonly callsEach: number
}

/** How many ticks a call of the root may be wrong by. */
export function errorOfCall({ instrumented, bare }: Comparison): number {
  return Math.abs(instrumented.ticks - bare.ticks) + instrumented.doubt + bare.doubt
}

/**
 * From comparisons to what each probe and each time may be wrong by: the middle one, of those there are. A call has two
 * halves, but for the root's own, of which only one lies inside.
 *
 * @param spread     of t_I and t_O, ticks
 * @param onceTicks  what the calls before the code was compiled again took too long, in all
 */
export function rootError(
  comparisons: readonly Comparison[],
  spread: Calibration,
  onceTicks: number,
): RootError {
  const byProbe = comparisons.map((it) => (hasTime(it) ? surelyOff(it) : errorOfCall(it)))
  const half = median(comparisons.map((it, i) => byProbe[i] / Math.max(1, 2 * it.callsEach - 1)))
  const part = median(
    comparisons.map((it, i) => (hasTime(it) ? (errorOfCall(it) - byProbe[i]) / it.instrumented.ticks : 0)),
  )
  return { innerTicks: half + spread.innerTicks, outerTicks: half + spread.outerTicks, part, onceTicks }
}

/**
 * Whether something can go by time. Of a root whose calls are that short and that many, next to nothing is left once the
 * probes are taken out, or less: a part of that may be any number, and below zero.
 */
function hasTime({ instrumented, bare }: Comparison): boolean {
  return instrumented.ticks > 0 && instrumented.ticks >= bare.ticks / 2
}

/** By how much more the two differ than chance would have it. */
function surelyOff({ instrumented, bare }: Comparison): number {
  return Math.max(0, Math.abs(instrumented.ticks - bare.ticks) - instrumented.doubt - bare.doubt)
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  if (sorted.length === 0) return 0
  return sorted.length % 2 === 1 ? sorted[Math.floor(middle)] : (sorted[middle - 1] + sorted[middle]) / 2
}

/**
 * The columns `selfErrorNs` and `errorNs` (of self and of total time) of a tree.
 *
 * @param callsOut  calls that each node has made
 */
export function errorColumns(
  { count, method, parent, metrics }: Tree,
  callsOut: Float64Array,
  errors: RootErrors,
  nsPerTick: number,
): { selfErrorNs: Float64Array; errorNs: Float64Array } {
  const { calls, selfNs } = metrics
  const selfErrorNs = new Float64Array(count)
  const errorNs = new Float64Array(count)
  const rootOf = new Int32Array(count)
  /** By root: what is not less than nothing, of all times. */
  const spentNs = new Float64Array(count)
  for (let node = 0; node < count; node++) {
    const above = parent[node]
    // What is below a thread's own node is a root, too.
    rootOf[node] = above < 0 || method[above] < 0 ? node : rootOf[above]
    spentNs[rootOf[node]] += Math.max(0, selfNs[node])
  }
  /** Of all threads that are here together: what was cold is known for all of them. */
  const spentBy = new Map<number, number>()
  for (let node = 0; node < count; node++) {
    if (rootOf[node] !== node) continue
    spentBy.set(method[node], (spentBy.get(method[node]) ?? 0) + spentNs[node])
  }
  for (let node = count - 1; node >= 0; node--) {
    const root = rootOf[node]
    const error = errors.get(method[root])
    if (error === undefined) {
      selfErrorNs[node] = errorNs[node] = NOT_MEASURED
      continue
    }
    const probes = (calls[node] * error.innerTicks + callsOut[node] * error.outerTicks) * nsPerTick
    const spent = spentBy.get(method[root]) ?? 0
    const once = spent > 0 ? (error.onceTicks * nsPerTick) / spent : 0
    selfErrorNs[node] = probes + Math.max(0, selfNs[node]) * (error.part + once)
    errorNs[node] += selfErrorNs[node]
    if (node !== root) errorNs[parent[node]] += errorNs[node]
  }
  return { selfErrorNs, errorNs }
}

/** The two columns of a tree; undefined if it has none. */
export function errorsOf({ metrics }: Tree): { self: Float64Array; total: Float64Array } | undefined {
  const { selfErrorNs: self, errorNs: total } = metrics
  return self === undefined || total === undefined ? undefined : { self, total }
}

export interface MethodError {
  readonly self: number
  readonly total: number
}

/**
 * What hot methods may be wrong by, over all contexts and with totals of outermost calls, as `hotMethods` sums them.
 *
 * @param only  of this one alone, which is much quicker
 */
export function methodErrors(tree: Tree, only?: number): ReadonlyMap<number, MethodError> {
  const sums = new Map<number, { self: number; total: number; end: number }>()
  const errors = errorsOf(tree)
  if (errors === undefined) return sums
  for (let node = 0; node < tree.count; node++) {
    if (only !== undefined && tree.method[node] !== only) continue
    let sum = sums.get(tree.method[node])
    if (sum === undefined) {
      sum = { self: 0, total: 0, end: 0 }
      sums.set(tree.method[node], sum)
    }
    // In one place unknown, unknown in all.
    const unknown = errors.self[node] < 0 || sum.self < 0
    sum.self = unknown ? NOT_MEASURED : sum.self + errors.self[node]
    if (node >= sum.end) {
      sum.total = unknown ? NOT_MEASURED : sum.total + errors.total[node]
      sum.end = node + tree.size[node]
    } else if (unknown) sum.total = NOT_MEASURED
  }
  return sums
}
