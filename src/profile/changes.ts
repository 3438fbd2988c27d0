// Changes between two profiles with the same metric: methods and contexts per root call, and the agreement of their trees.
//
// Contexts are matched by name, from the top down (cct/difference.ts). Costs are divided by the number of root calls, since a longer
// recording does not mean a slower program. Costs of samples are divided by the number of samples, since the number of calls is only a
// lower bound.

import { holdsBytes, isAllocation } from '../cct/allocation.ts'
import { type Difference, differenceOf } from '../cct/difference.ts'
import { OTHERS_NAME, SHORT_NAME } from '../cct/merge-samples.ts'
import { metricOf } from '../cct/metric.ts'
import type { MethodName } from '../cct/tree.ts'
import type { Metric } from '../measures/columns.ts'
import { changedRootCalls, type LeadChange } from './changed-root-calls.ts'
import { comparableName, type MethodPair, methodKey, methodPairs, rootCalls } from './compare.ts'
import { type ErrorBound, type ErrorBounds, errorBoundOfDifference, errorBoundsOf } from './error-bounds.ts'
import { type CostNoise, isCounted, methodNoise } from './method-noise.ts'
import { correlationOf, type HotEdges, hotEdgesOf, overlapOf } from './overlap.ts'
import { nameOf, type Profile, rootTotal } from './profile.ts'
import { namesOf, type ShortMethod } from './short-methods.ts'
import { placeText } from './text.ts'

export interface Changes {
  readonly metric: Metric
  /** Divisor of the costs. */
  readonly per: 'root call' | 'sample'
  readonly rootCalls: Pair
  /** Cost of one root call; 1 for samples. */
  readonly rootCost: Pair
  readonly agreement: Agreement
  /** Rate and durations of the root calls; empty for samples. */
  readonly lead: readonly LeadChange[]
  /** Whether the noise between recordings is known: from several recordings or segments, or because counts have no noise. */
  readonly knowsNoise: boolean
  /** Noise of the root costs; null if unknown. */
  readonly rootNoise: number | null
  /** Methods of either profile with costs divided by `perRootCall`, without class rows. Largest change of self cost first. */
  readonly methods: readonly ChangedMethod[]
  /** Methods with short calls in one of the profiles, which have no row of their own there. */
  readonly short: readonly ShortMethod[]
  /** Error bounds of the root costs. */
  readonly rootErrorBound: ErrorBound
  /** Whether calls from different call sites are separate contexts. */
  readonly tellsPlaces: boolean
  /** Undivided costs of the contexts in both profiles. `perRootCall` contains their divisors. */
  readonly difference: Difference
  readonly perRootCall: Pair
}

export interface ChangedMethod extends MethodPair {
  /** Error bound of the difference per root call; 0 for counted costs. */
  readonly errorBound: ErrorBound
  /** Largest differences per root call that are expected by chance. */
  readonly noise: CostNoise
  /** Whether the change of the self cost is larger than noise, error bound and `MIN_ROW_SHARE`. For counts: whether there is a change. */
  readonly isSignificant: boolean
}

export interface Pair {
  readonly before: number
  readonly after: number
}

export interface Agreement {
  /** Degree of overlap, 0 to 1. */
  readonly overlap: number
  readonly hotEdges: HotEdges
  /** Correlation of self costs, -1 to 1; NaN if all values of a profile are equal. */
  readonly correlation: number
}

export interface ChangeOptions {
  /** Distinguishes call sites, if both profiles have them. */
  readonly callSites?: boolean
  /** Recordings or segments whose sums the two profiles are. If absent, each profile is its only part, and the noise is unknown. */
  readonly parts?: { readonly before: readonly Profile[]; readonly after: readonly Profile[] }
}

/** Minimum change of a row that is reported, as a share of the cost of a root call (or of all samples). */
export const MIN_ROW_SHARE = 0.01

/** Compares two profiles. Both must have the same metric, and at least one root call. */
export function changesOf(before: Profile, after: Profile, options: ChangeOptions = {}): Changes {
  const metric = metricOf(before.merged)
  const { isSampled } = metric
  const difference = differenceByName(before, after, options)
  const totals = { before: rootTotal(before.merged), after: rootTotal(after.merged) }
  const calls = { before: rootCalls(before), after: rootCalls(after) }
  const perRootCall = isSampled ? totals : calls
  const errorBounds = { before: errorBoundsOf(before), after: errorBoundsOf(after) }
  const errorBoundBy = (of: (side: ErrorBounds) => ErrorBound | undefined): ErrorBound =>
    errorBoundOfDifference(
      of(errorBounds.before),
      perRootCall.before,
      of(errorBounds.after),
      perRootCall.after,
    )
  const sides = {
    before: { whole: before, parts: options.parts?.before ?? [before] },
    after: { whole: after, parts: options.parts?.after ?? [after] },
  }
  const rootCost = { before: totals.before / perRootCall.before, after: totals.after / perRootCall.after }
  const noise = methodNoise(sides.before, sides.after, metric)
  const least = MIN_ROW_SHARE * Math.max(rootCost.before, rootCost.after)
  // A method that has no row of its own in one of the profiles cannot be compared.
  const short = [...(before.shortMethods ?? []), ...(after.shortMethods ?? [])]
  const isShort = namesOf(
    short.map((it) => ({ ...it, ...comparableName({ ...it, descriptor: '', loader: '' }) })),
  )
  const divided = (key: string, { name, before: one, after: other }: MethodPair): ChangedMethod => {
    const pair = {
      name,
      before: one && scaled(one, perRootCall.before),
      after: other && scaled(other, perRootCall.after),
    }
    const errorBound = errorBoundBy(({ methods: of }) => of.get(key))
    const own = noise.of(key)
    const bound = isCounted(metric) ? 0 : Math.max(least, errorBound.self, own.self ?? 0)
    const isSignificant =
      !isOthers(name) && !isShort(name.class, name.method) && Math.abs(selfChange(pair)) > bound
    return { ...pair, errorBound, noise: own, isSignificant }
  }
  const methods = [...methodPairs(before, after)]
    .filter(([, { name }]) => !isAllocation(name))
    .map(([key, pair]) => ({ key, pair: divided(key, pair) }))
    .sort((a, b) => Math.abs(selfChange(b.pair)) - Math.abs(selfChange(a.pair)) || (a.key < b.key ? -1 : 1))
    .map(({ pair }) => pair)
  return {
    metric,
    per: isSampled ? 'sample' : 'root call',
    rootCalls: calls,
    perRootCall,
    difference,
    methods,
    short,
    rootCost,
    lead: changedRootCalls(sides.before, sides.after, metric),
    knowsNoise: noise.isKnown,
    rootNoise: noise.root,
    rootErrorBound: errorBoundBy(({ roots }) => roots),
    tellsPlaces: tellsPlaces(before, after, options),
    agreement: agreementOf(difference, before, after),
  }
}

/** Whether the row stands for all methods with too few samples for a row, or for all short methods. These differ between sessions. */
function isOthers({ class: owner, method }: MethodName): boolean {
  return owner === '' && (method === OTHERS_NAME.method || method === SHORT_NAME.method)
}

function scaled({ calls, self, total }: { calls: number; self: number; total: number }, by: number) {
  return { calls: calls / by, self: self / by, total: total / by }
}

/** Returns the agreement of two trees, computed from shares of cost. */
function agreementOf(difference: Difference, before: Profile, after: Profile): Agreement {
  const own = ownCostOnce(difference, before, after)
  return {
    overlap: overlapOf(own),
    hotEdges: hotEdgesOf(difference),
    correlation: correlationOf(own),
  }
}

/** For allocations: removes the own bytes of methods, which repeat the bytes of their class rows. */
function ownCostOnce(difference: Difference, before: Profile, after: Profile): Difference {
  const isBytes = [before, after].every(({ merged }) => metricOf(merged).hasClasses)
  if (!isBytes) return difference
  const names = contextNames({ difference, tellsPlaces: false }, before, after)
  const once = (costs: Float64Array): Float64Array =>
    costs.map((cost, node) => (holdsBytes(names(node)) ? cost : 0))
  const { self } = difference
  return { ...difference, self: { before: once(self.before), after: once(self.after) } }
}

export function differenceByName(before: Profile, after: Profile, options: ChangeOptions = {}): Difference {
  const isTold = tellsPlaces(before, after, options)
  const key =
    ({ methodNames }: Profile) =>
    (id: number) => {
      const name = nameOf(methodNames, id)
      return isTold ? methodKey(name) + placeText(name) : methodKey(name)
    }
  return differenceOf(before.merged, after.merged, key(before), key(after))
}

function tellsPlaces(before: Profile, after: Profile, { callSites = true }: ChangeOptions): boolean {
  return callSites && before.callSites === true && after.callSites === true
}

export function selfChange({ before, after }: MethodPair): number {
  return (after?.self ?? 0) - (before?.self ?? 0)
}

/** A context with a changed self cost. */
export interface ContextChange {
  /** Index of the node in the difference tree. */
  readonly node: number
  /** Self cost per root call. */
  readonly before: number
  readonly after: number
}

/**
 * Returns the contexts with the largest changes of self cost per root call, in one direction.
 * For allocations: returns class contexts only, since a method's own bytes are the sum of its classes' bytes.
 */
export function contextChanges(
  changes: Changes,
  names: (node: number) => MethodName,
  direction: 'more' | 'less',
  most: number,
): { readonly shown: ContextChange[]; readonly all: number } {
  const { difference, perRootCall, metric } = changes
  const { count, self } = difference
  const sign = direction === 'more' ? 1 : -1
  const size = new Float64Array(count)
  let all = 0
  const found = new Int32Array(count)
  for (let node = 0; node < count; node++) {
    size[node] = sign * (self.after[node]! / perRootCall.after - self.before[node]! / perRootCall.before)
    if (!(size[node]! > 0) || (metric.hasClasses && !holdsBytes(names(node)))) continue
    found[all++] = node
  }
  const largest = found.subarray(0, all).sort((a, b) => size[b]! - size[a]! || a - b)
  const shown = [...largest.subarray(0, most)].map((node) => ({
    node,
    before: self.before[node]! / perRootCall.before,
    after: self.after[node]! / perRootCall.after,
  }))
  return { shown, all }
}

/**
 * Returns the names of the contexts of a difference, from the later profile if it has the context. A context with calls from several call
 * sites has no call site in its name.
 */
export function contextNames(
  { difference, tellsPlaces }: Pick<Changes, 'difference' | 'tellsPlaces'>,
  before: Profile,
  after: Profile,
) {
  const { nodeBefore, nodeAfter } = difference
  return (node: number): MethodName => {
    const name =
      nodeAfter[node]! >= 0
        ? nameOf(after.methodNames, after.merged.method[nodeAfter[node]!]!)
        : nameOf(before.methodNames, before.merged.method[nodeBefore[node]!]!)
    const { bci, line } = name
    return tellsPlaces
      ? { ...comparableName(name), ...(bci !== undefined && { bci }), ...(line !== undefined && { line }) }
      : comparableName(name)
  }
}
