// Two profiles of the same task, compared by what they count: which methods cost more than before.

import { costsOf } from '../cct/metric.ts'
import { hotMethods, mergedMethods } from '../cct/snapshot.ts'
import { type MethodName, type Tree, topSum } from '../cct/tree.ts'
import { METRICS } from '../measures/columns.ts'
import { column, nameOf, type Profile, rootTotal } from './profile.ts'
import { anywhere } from './text.ts'

export interface MethodChange {
  /** Class, method and descriptor. */
  readonly method: string
  /** Self cost of all its contexts. */
  readonly before: number
  readonly after: number
  readonly callsBefore: number
  readonly callsAfter: number
}

export interface Comparison {
  /** What is counted. */
  readonly unit: string
  readonly rootCallsBefore: number
  readonly rootCallsAfter: number
  /** Cost of all roots. */
  readonly before: number
  readonly after: number
  /**
   * How much more one call of a root costs, as a part of what it did: 0.01 is one percent. Of several roots that of the one
   * that has grown most.
   */
  readonly growth: number
  /** Those that changed, the largest change first. */
  readonly methods: readonly MethodChange[]
}

/** Both must be of the same mode, not of exact time. */
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

/** Whether it has grown by no more than a part of it; quotients of doubles have an error of their own. */
export function isWithin({ growth }: Comparison, tolerance: number): boolean {
  return growth <= tolerance + 1e-12
}

/** What one call of each root costs, by name. */
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

/** A root that was not called before has grown without bound; one that is not called any more has not. */
function largestGrowth(before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>): number {
  let growth = Number.NEGATIVE_INFINITY
  for (const [root, now] of after) {
    const was = before.get(root) ?? 0
    growth = Math.max(growth, was === 0 ? (now === 0 ? 0 : Number.POSITIVE_INFINITY) : now / was - 1)
  }
  return growth === Number.NEGATIVE_INFINITY ? 0 : growth
}

/** Calls of what is at the top: a root called below a root is part of its tree. */
export function rootCalls({ merged }: Profile): number {
  return topSum(merged, 'calls')
}

/** What a method costs in all of its contexts; in the total, outermost activations only. */
export interface MethodCosts {
  readonly calls: number
  readonly self: number
  readonly total: number
}

/** A method that at least one of two profiles has. */
export interface MethodPair {
  /** As both have it: of no call site, and without what each run numbers anew. */
  readonly name: MethodName
  /** Undefined where it was not called. */
  readonly before: MethodCosts | undefined
  readonly after: MethodCosts | undefined
}

/** Methods of both by `methodKey`; rows of classes and of waiting are among them. */
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

/** The tree with one method for all ids of one `methodKey`: call sites, lambdas of a class, classes of one name in two loaders. */
export function treeByKey({ merged, methodNames }: Profile): Tree {
  return mergedMethods(merged, (id) => methodKey(nameOf(methodNames, id)))
}

/** Hidden classes get another number in every run: `Foo$$Lambda$14/0x0000000800c03000`. */
const HIDDEN = /(\$\$Lambda)?(?:\$\d+)?[/+]0x[0-9a-f]+|(?<=\$\$Lambda)\$\d+/

/** Class, method and descriptor: methods of two runs meet by it. */
export function methodKey({ class: owner, method, descriptor }: MethodName): string {
  return `${owner}.${method}${descriptor}`.replace(HIDDEN, '$1')
}

/** What the method of a key is called. */
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
