// Merges several trees. The result has every context that is in any of the trees, with sums over all trees. Methods are matched by name,
// since ids are valid within one session only.

import { Contexts } from './contexts.ts'
import { SAMPLED, TIMED } from './merge-samples.ts'
import { COLLAPSED } from './nodes.ts'
import type { CollapsedMethods, MethodName, Tree } from './tree.ts'

/** One tree, and the names of its method ids. */
export interface Part {
  readonly tree: Tree
  readonly nameOf: (method: number) => MethodName
}

/** Assigns ids from 1 to method names. An id never changes, so several unions can share the ids. */
export class UnionIds {
  readonly #ids = new Map<string, number>()
  readonly #names: MethodName[] = [{ class: '', method: '', descriptor: '', loader: '' }]

  /** Names, indexed by id; [0] is unused. */
  get names(): readonly MethodName[] {
    return this.#names
  }

  /** Returns a function that maps a method id of a part to its id in a union. */
  of({ nameOf }: Part): (method: number) => number {
    const known: (number | undefined)[] = []
    return (method) => {
      if (method === COLLAPSED) return COLLAPSED
      known[method] ??= this.#id(nameOf(method))
      return known[method]
    }
  }

  #id(name: MethodName): number {
    // "com.foo.Loader@7" is the seventh loader seen in its JVM; the number has no meaning in other JVMs.
    const loader = name.loader.replace(/@\d+$/, '')
    const key = [name.class, name.method, name.descriptor, loader].join('\n')
    const known = this.#ids.get(key)
    if (known !== undefined) return known
    const id = this.#names.push({ ...name, loader }) - 1
    this.#ids.set(key, id)
    return id
  }
}

/**
 * All parts must have the same metric, and columns that can be summed (no averages, no states). If some parts do not have a column,
 * the column is summed over the other parts. Siblings are in the order of the first tree, followed by siblings that only the second tree
 * has, and so on.
 */
export function unionOf(parts: readonly Part[], ids: UnionIds): Tree {
  const idsOf = parts.map((part) => ids.of(part))
  const merged = mergedOf(parts.map(({ tree }, i) => ({ tree, idOf: idsOf[i]! })))
  const collapsed = collapsedOf(parts, idsOf)
  return { ...merged, ...(collapsed !== undefined && { collapsed }) }
}

/** Merges trees like `unionOf`, without the sums of collapsed contexts. `idOf` maps a method id of a tree to its id in the result. */
export function mergedOf(
  parts: readonly { readonly tree: Tree; readonly idOf: (method: number) => number }[],
): Tree {
  const contexts = new Contexts(parts.reduce((sum, { tree }) => sum + tree.count, 0))
  const of = parts.map(({ tree, idOf }) => contexts.take(tree, idOf))
  const { count, parent, size, place } = contexts.inPreorder()
  const method = new Int32Array(count)
  const metrics: { [name: string]: Float64Array } = {}
  for (const [i, { tree, idOf }] of parts.entries()) {
    const at = of[i]!.map((context) => place[context]!)
    for (let node = 0; node < tree.count; node++) method[at[node]!] = idOf(tree.method[node]!)
    for (const [name, values] of Object.entries(tree.metrics)) {
      if (name === 'known') continue
      metrics[name] ??= new Float64Array(count)
      const sums = metrics[name]
      for (let node = 0; node < tree.count; node++) sums[at[node]!]! += values[node]!
    }
  }
  if (parts.some(({ tree }) => tree.metrics.known !== undefined)) {
    // A merged row is timed if the row has calls in any part.
    metrics.known = new Float64Array(count).fill(SAMPLED)
    for (const [i, { tree }] of parts.entries())
      for (let node = 0; node < tree.count; node++)
        if ((tree.metrics.known?.[node] ?? TIMED) === TIMED) metrics.known[place[of[i]![node]!]!] = TIMED
  }
  return { count, method, parent, size, metrics }
}

/** Returns the sums of collapsed contexts per method over all parts; undefined if no part has collapsed contexts. */
function collapsedOf(
  parts: readonly Part[],
  idsOf: readonly ((method: number) => number)[],
): CollapsedMethods | undefined {
  const sums = new Map<number, [calls: number, self: number, total: number]>()
  for (const [i, { tree }] of parts.entries()) {
    if (tree.collapsed === undefined) continue
    const { method, calls, self, total } = tree.collapsed
    for (let at = 0; at < method.length; at++) {
      const id = idsOf[i]!(method[at]!)
      const sum = sums.get(id) ?? [0, 0, 0]
      sums.set(id, [sum[0] + calls[at]!, sum[1] + self[at]!, sum[2] + total[at]!])
    }
  }
  if (parts.every(({ tree }) => tree.collapsed === undefined)) return undefined
  const values = [...sums.values()]
  return {
    method: Int32Array.from(sums.keys()),
    calls: Float64Array.from(values, ([calls]) => calls),
    self: Float64Array.from(values, ([, self]) => self),
    total: Float64Array.from(values, ([, , total]) => total),
  }
}
