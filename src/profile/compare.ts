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
  /** How much more one call of the root costs, as a part of what it did: 0.01 is one percent. */
  readonly growth: number
  /** Those that changed, the largest change first. */
  readonly methods: readonly MethodChange[]
}

/** Both must be of the same mode, not of exact time. */
export function compareProfiles(before: Profile, after: Profile): Comparison {
  const [calls, callsNow] = [rootCalls(before), rootCalls(after)]
  const [total, totalNow] = [rootTotal(before.merged), rootTotal(after.merged)]
  const each = calls === 0 ? 0 : total / calls
  const eachNow = callsNow === 0 ? 0 : totalNow / callsNow
  return {
    unit: METRICS[COST_OF[before.mode]].kind === 'calls' ? 'calls' : 'bytecodes',
    rootCallsBefore: calls,
    rootCallsAfter: callsNow,
    before: total,
    after: totalNow,
    growth: each === 0 ? (eachNow === 0 ? 0 : Number.POSITIVE_INFINITY) : eachNow / each - 1,
    methods: methodChanges(before, after),
  }
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

/** Whether the costs are the same in every context. */
export function sameCosts(a: Profile, b: Profile): boolean {
  const [one, other] = [costsOf(a.merged), costsOf(b.merged)]
  return one.self.length === other.self.length && one.self.every((cost, i) => cost === other.self[i])
}
