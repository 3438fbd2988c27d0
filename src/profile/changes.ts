// What has changed between two profiles of one metric: methods and contexts per root call, and how much their trees agree.
//
// Contexts meet by name, from the top down (cct/difference.ts). Costs are divided by the calls of all roots, so that a longer
// recording is not a slower program; of samples, whose calls are a lower bound, by the number of samples: a part of all.

import { isAllocation } from '../cct/allocation.ts'
import { type Difference, differenceOf } from '../cct/difference.ts'
import { metricOf } from '../cct/metric.ts'
import type { MethodName } from '../cct/tree.ts'
import type { Metric } from '../measures/columns.ts'
import { comparableName, type MethodPair, methodKey, methodPairs, rootCalls } from './compare.ts'
import { type Doubt, type Doubts, doubtsOf, sumOfDoubts } from './doubt.ts'
import { correlationOf, type HotEdges, hotEdgesOf, overlapOf } from './overlap.ts'
import { nameOf, type Profile, rootTotal } from './profile.ts'
import { placeText } from './text.ts'

export interface Changes {
  readonly metric: Metric
  /** What costs were divided by. */
  readonly per: 'root call' | 'sample'
  readonly rootCalls: Pair
  /** What one root call costs; of samples 1. */
  readonly rootCost: Pair
  readonly agreement: Agreement
  /** Methods that either has, without rows of classes; numbers are per root call. Largest change of self cost first. */
  readonly methods: readonly ChangedMethod[]
  /** What the costs of the roots may be wrong by. */
  readonly rootDoubt: Doubt
  /** Calls from different places are contexts of their own. */
  readonly tellsPlaces: boolean
  /** Numbers are sums of each profile: `perRootCall` divides. */
  readonly difference: Difference
  readonly perRootCall: Pair
}

export interface ChangedMethod extends MethodPair {
  /** What the difference of the two may be wrong by, per root call; 0 of what is counted. */
  readonly doubt: Doubt
}

export interface Pair {
  readonly before: number
  readonly after: number
}

export interface Agreement {
  /** Degree of overlap, 0 to 1. */
  readonly overlap: number
  readonly hotEdges: HotEdges
  /** -1 to 1; NaN if one has but a single value. */
  readonly correlation: number
}

export interface ChangeOptions {
  /** Tell calls from different places apart, where both profiles do. */
  readonly callSites?: boolean
}

/** Both must have the same metric and a root call each. */
export function changesOf(before: Profile, after: Profile, options: ChangeOptions = {}): Changes {
  const metric = metricOf(before.merged)
  const { isSampled } = metric
  const difference = differenceByName(before, after, options)
  const totals = { before: rootTotal(before.merged), after: rootTotal(after.merged) }
  const calls = { before: rootCalls(before), after: rootCalls(after) }
  const perRootCall = isSampled ? totals : calls
  const doubts = { before: doubtsOf(before), after: doubtsOf(after) }
  const doubtBy = (of: (side: Doubts) => Doubt | undefined): Doubt =>
    sumOfDoubts(of(doubts.before), perRootCall.before, of(doubts.after), perRootCall.after)
  const divided = (key: string, { name, before: one, after: other }: MethodPair): ChangedMethod => ({
    name,
    before: one && scaled(one, perRootCall.before),
    after: other && scaled(other, perRootCall.after),
    doubt: doubtBy(({ methods: of }) => of.get(key)),
  })
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
    rootCost: { before: totals.before / perRootCall.before, after: totals.after / perRootCall.after },
    rootDoubt: doubtBy(({ roots }) => roots),
    tellsPlaces: tellsPlaces(before, after, options),
    agreement: agreementOf(difference, before, after),
  }
}

function scaled({ calls, self, total }: { calls: number; self: number; total: number }, by: number) {
  return { calls: calls / by, self: self / by, total: total / by }
}

/** Only shares are compared. */
function agreementOf(difference: Difference, before: Profile, after: Profile): Agreement {
  const own = ownCostOnce(difference, before, after)
  return {
    overlap: overlapOf(own),
    hotEdges: hotEdgesOf(difference),
    correlation: correlationOf(own),
  }
}

/** Of allocations, own bytes of a method are those of its rows of classes: these only. */
function ownCostOnce(difference: Difference, before: Profile, after: Profile): Difference {
  const isBytes = [before, after].every(({ merged }) => metricOf(merged).hasClasses)
  if (!isBytes) return difference
  const names = contextNames({ difference, tellsPlaces: false }, before, after)
  const once = (costs: Float64Array): Float64Array =>
    costs.map((cost, node) => (isAllocation(names(node)) ? cost : 0))
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

/** A context whose own cost has changed. */
export interface ContextChange {
  /** Of the difference. */
  readonly node: number
  /** Self cost per root call. */
  readonly before: number
  readonly after: number
}

/**
 * The contexts whose self cost per root call has changed most, in one direction.
 *
 * Of allocations, those of classes: a method's own bytes are what they say.
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
    if (!(size[node]! > 0) || (metric.hasClasses && !isAllocation(names(node)))) continue
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
 * Names of the contexts of a difference: of the later profile where it has them. A context of calls from several places is of
 * none.
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
