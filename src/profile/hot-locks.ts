// Lists the waits of a profile (kind of wait and awaited class), and the waiting methods. Costs are sums of the wait rows of a tree.

import { COLLAPSED } from '../cct/nodes.ts'
import { methodsOf } from '../cct/snapshot.ts'
import type { MethodName, Tree } from '../cct/tree.ts'
import { column, nameOf } from './profile.ts'
import { isWait } from './text.ts'

export interface Waiter {
  /** Id of the waiting method; in a `HotLock`, id of the wait. */
  readonly method: number
  readonly times: number
  readonly ns: number
}

export interface HotLock extends Waiter {
  /** Waiting methods, longest first. */
  readonly by: readonly Waiter[]
}

/** Returns the waits, longest first. @param only  restricts the result to one wait id */
export function hotLocks(tree: Tree, names: (id: number) => MethodName, only?: number): HotLock[] {
  const { count, parent } = tree
  const method = methodsOf(tree)
  const calls = column(tree, 'calls')
  const self = column(tree, 'selfNs')
  const found = new Map<number, Map<number, { times: number; ns: number }>>()
  const isWaitId = waitIds(names)
  for (let node = 0; node < count; node++) {
    const id = method[node]!
    if (only === undefined ? !isWaitId(id) : id !== only) continue
    const above = parent[node]!
    const waiter = above < 0 ? 0 : method[above]!
    const by = found.get(id) ?? new Map<number, { times: number; ns: number }>()
    found.set(id, by)
    const sum = by.get(waiter) ?? { times: 0, ns: 0 }
    sum.times += calls[node]!
    sum.ns += self[node]!
    by.set(waiter, sum)
  }
  const longestFirst = (a: Waiter, b: Waiter) => b.ns - a.ns || a.method - b.method
  return [...found]
    .map(([id, sums]): HotLock => {
      const by = [...sums].map(([waiter, sum]): Waiter => ({ method: waiter, ...sum })).sort(longestFirst)
      const add = (of: 'times' | 'ns') => by.reduce((sum, it) => sum + it[of], 0)
      return { method: id, times: add('times'), ns: add('ns'), by }
    })
    .sort(longestFirst)
}

function waitIds(names: (id: number) => MethodName): (id: number) => boolean {
  const known: (boolean | undefined)[] = []
  return (id) => (known[id] ??= id !== COLLAPSED && isWait(names(id)))
}

/** Returns a function: the name of a method id in a finished profile. */
export function namesOf(methodNames: readonly MethodName[]): (id: number) => MethodName {
  return (id) => nameOf(methodNames, id)
}
