// Two profiles of the same task, compared by what they count: which methods cost more than before.

import { costsOf, METRICS } from '../cct/metric.ts'
import { hotMethods } from '../cct/snapshot.ts'
import { COST_OF, column, nameOf, type Profile, rootTotal } from './profile.ts'

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
  readonly unit: 'bytecodes' | 'calls'
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
    unit: METRICS[COST_OF[before.mode]].kind === 'calls' ? 'calls' : 'bytecodes',
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
    const { class: owner, method, descriptor } = nameOf(methodNames, merged.method[i]!)
    const name = `${owner}.${method}${descriptor}`
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
  const calls = column(merged, 'calls')
  let sum = 0
  for (let i = 0; i < merged.count; i += merged.size[i]!) sum += calls[i]!
  return sum
}

function methodChanges(before: Profile, after: Profile): MethodChange[] {
  const costs = new Map<string, { before: number; after: number; callsBefore: number; callsAfter: number }>()
  const of = (profile: Profile, id: number) => {
    const { class: owner, method, descriptor } = nameOf(profile.methodNames, id)
    const name = `${owner}.${method}${descriptor}`
    let known = costs.get(name)
    if (known === undefined) {
      known = { before: 0, after: 0, callsBefore: 0, callsAfter: 0 }
      costs.set(name, known)
    }
    return known
  }
  for (const hot of hotMethods(before.merged)) {
    const row = of(before, hot.method)
    row.before += hot.self
    row.callsBefore += hot.calls
  }
  for (const hot of hotMethods(after.merged)) {
    const row = of(after, hot.method)
    row.after += hot.self
    row.callsAfter += hot.calls
  }
  return [...costs]
    .map(([method, row]) => ({ method, ...row }))
    .filter((it) => it.before !== it.after || it.callsBefore !== it.callsAfter)
    .sort(
      (a, b) => Math.abs(b.after - b.before) - Math.abs(a.after - a.before) || (a.method < b.method ? -1 : 1),
    )
}
