// Compares the counts of two profiles of the same task, and finds the methods with changed cost.

import { costsOf } from '../cct/metric.ts'
import { hotMethods, mergedMethods } from '../cct/snapshot.ts'
import { type MethodName, type Tree, topSum } from '../cct/tree.ts'
import { METRICS } from '../measures/columns.ts'
import { column, nameOf, type Profile, rootTotal } from './profile.ts'
import { anywhere } from './text.ts'

export interface MethodChange {
  /** Class, method and descriptor. */
  readonly method: string
  /** Sum of the self cost over all contexts. */
  readonly before: number
  readonly after: number
  readonly callsBefore: number
  readonly callsAfter: number
}

export interface Comparison {
  /** Unit of the counts. */
  readonly unit: string
  readonly rootCallsBefore: number
  readonly rootCallsAfter: number
  /** Cost of all roots. */
  readonly before: number
  readonly after: number
  /** Relative change of the cost of a root call: 0.01 is one percent. With several roots, the largest change. */
  readonly growth: number
  /** Changed methods, largest change first. */
  readonly methods: readonly MethodChange[]
}

/** Compares two profiles. Both must have the same mode, and the mode must not be exact time. */
export function compareProfiles(before: Profile, after: Profile): Comparison {
  return {
    unit: METRICS[before.mode].word,
    rootCallsBefore: rootCalls(before),
    rootCallsAfter: rootCalls(after),
    before: rootTotal(before.merged),
    after: rootTotal(after.merged),
    growth: largestGrowth(rootCosts(before), rootCosts(after)),
    methods: methodChanges(before, after),
  }
}

/** Returns whether the growth is within the tolerance. Allows for the rounding error of the quotients. */
export function isWithin({ growth }: Comparison, tolerance: number): boolean {
  return growth <= tolerance + 1e-12
}

/** Returns the cost of one call of each root, keyed by name. */
function rootCosts({ merged, methodNames }: Profile): Map<string, number> {
  const calls = column(merged, 'calls')
  const { total } = costsOf(merged)
  const sums = new Map<string, { calls: number; total: number }>()
  for (let i = 0; i < merged.count; i += merged.size[i]!) {
    const name = methodKey(nameOf(methodNames, merged.method[i]!))
    const sum = sums.get(name) ?? { calls: 0, total: 0 }
    sums.set(name, { calls: sum.calls + calls[i]!, total: sum.total + total[i]! })
  }
  return new Map([...sums].filter(([, it]) => it.calls > 0).map(([name, it]) => [name, it.total / it.calls]))
}

/** Returns the largest growth of any root. A new root has infinite growth; a root that is no longer called is ignored. */
function largestGrowth(before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>): number {
  let growth = Number.NEGATIVE_INFINITY
  for (const [root, now] of after) {
    const was = before.get(root) ?? 0
    growth = Math.max(growth, was === 0 ? (now === 0 ? 0 : Number.POSITIVE_INFINITY) : now / was - 1)
  }
  return growth === Number.NEGATIVE_INFINITY ? 0 : growth
}

/** Returns the number of calls of top nodes. A root called below another root is part of the other root's tree. */
export function rootCalls({ merged }: Profile): number {
  return topSum(merged, 'calls')
}

/** Cost of a method in all of its contexts. The total includes outermost activations only. */
export interface MethodCosts {
  readonly calls: number
  readonly self: number
  readonly total: number
}

/** Costs of a method that occurs in at least one of the two profiles. */
export interface MethodPair {
  /** Name without call site, and without numbers that differ between runs. */
  readonly name: MethodName
  /** Undefined if the method was not called. */
  readonly before: MethodCosts | undefined
  readonly after: MethodCosts | undefined
}

/** Returns the methods of both profiles, keyed by `methodKey`, including class rows and wait rows. */
export function methodPairs(before: Profile, after: Profile): Map<string, MethodPair> {
  const pairs = new Map<string, { name: MethodName; before?: MethodCosts; after?: MethodCosts }>()
  const add = (profile: Profile, side: 'before' | 'after'): void => {
    for (const { method, calls, self, total } of hotMethods(treeByKey(profile))) {
      const name = nameOf(profile.methodNames, method)
      const key = methodKey(name)
      const pair = pairs.get(key) ?? { name: comparableName(name) }
      pair[side] = { calls, self, total }
      pairs.set(key, pair)
    }
  }
  add(before, 'before')
  add(after, 'after')
  return pairs as Map<string, MethodPair>
}

/**
 * Returns the tree with one method for all ids that have the same `methodKey`. These ids differ in call site, in the number of a hidden
 * class, or in the class loader.
 */
export function treeByKey({ merged, methodNames }: Profile): Tree {
  return mergedMethods(merged, (id) => methodKey(nameOf(methodNames, id)))
}

/** Hidden classes have a different number in each run: `Foo$$Lambda$14/0x0000000800c03000`. */
const HIDDEN = /(\$\$Lambda)?(?:\$\d+)?[/+]0x[0-9a-f]+|(?<=\$\$Lambda)\$\d+/

/** Returns class, method and descriptor: the key that matches methods of two runs. */
export function methodKey({ class: owner, method, descriptor }: MethodName): string {
  return `${owner}.${method}${descriptor}`.replace(HIDDEN, '$1')
}

/** Returns the name without call site, and without numbers of hidden classes. */
export function comparableName(name: MethodName): MethodName {
  return { ...anywhere(name), class: name.class.replace(HIDDEN, '$1') }
}

function methodChanges(before: Profile, after: Profile): MethodChange[] {
  return [...methodPairs(before, after)]
    .map(([method, pair]) => ({
      method,
      before: pair.before?.self ?? 0,
      after: pair.after?.self ?? 0,
      callsBefore: pair.before?.calls ?? 0,
      callsAfter: pair.after?.calls ?? 0,
    }))
    .filter((it) => it.before !== it.after || it.callsBefore !== it.callsAfter)
    .sort(
      (a, b) => Math.abs(b.after - b.before) - Math.abs(a.after - a.before) || (a.method < b.method ? -1 : 1),
    )
}
