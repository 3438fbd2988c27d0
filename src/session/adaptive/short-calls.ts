// Decides which counted methods have short calls. Pure functions.

import { getOrAdd } from '../../base/maps.ts'
import type { ShortMethod } from '../../profile/short-methods.ts'
import { type Costs, type Counted, isShort, meanCallNs } from './probe-budget.ts'

/** A counted method. `share` counts each activation of a recursive method, see `Seen.nested`. */
export type NamedCount = Counted & Pick<ShortMethod, 'class' | 'method'>

/**
 * Returns the methods with short calls. Samples have no descriptors, so a method with several overloads is short only if each overload that
 * is called is.
 * @param timedOneOf  calls are counted in one of this number of root calls
 */
export function shortCalls(counted: readonly NamedCount[], costs: Costs, timedOneOf: number): ShortMethod[] {
  const overloads = new Map<string, NamedCount[]>()
  for (const it of counted) getOrAdd(overloads, `${it.class}.${it.method}`, () => []).push(it)
  return [...overloads.values()].flatMap((each) => {
    const all = each.filter((it) => it.callsPerSecond > 0)
    if (all.length === 0 || !all.every((it) => isShort(it, costs))) return []
    const most = all.reduce((a, b) => (b.callsPerSecond > a.callsPerSecond ? b : a))
    const { class: className, method, callsPerSecond } = most
    return [
      {
        ...{ class: className, method },
        callsPerSecond: callsPerSecond * timedOneOf,
        meanNs: meanCallNs(most, costs),
      },
    ]
  })
}
