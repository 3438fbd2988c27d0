// Merges several trees: every context of any tree, with the sums of all trees. Methods are matched by name, since ids are valid within one
// session only.

import { Contexts } from './contexts.ts'
import { COLLAPSED } from './nodes.ts'
import { SAMPLED, TIMED } from './picture.ts'
import type { CollapsedMethods, MethodName, Tree } from './tree.ts'

/** One tree, and the names of its method ids. */
export interface Part {
  readonly tree: Tree
  readonly nameOf: (method: number) => MethodName
}

/** Method ids from 1, keyed by name, for several unions: an id never changes. */
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
 * All parts must have the same metric, and columns that can be summed: no averages, no states. A column missing in some parts is summed
 * over the others. Siblings are in the order of the first tree, followed by siblings that only the second tree has, and so on.
 */
export function unionOf(parts: readonly Part[], ids: UnionIds): Tree {
  const contexts = new Contexts(parts.reduce((sum, { tree }) => sum + tree.count, 0))
  const idsOf = parts.map((part) => ids.of(part))
  const of = parts.map(({ tree }, i) => contexts.take(tree, idsOf[i]!))
  const { count, parent, size, place } = contexts.inPreorder()
  const method = new Int32Array(count)
  const metrics: { [name: string]: Float64Array } = {}
  for (const [i, { tree }] of parts.entries()) {
    const at = of[i]!.map((context) => place[context]!)
    for (let node = 0; node < tree.count; node++) method[at[node]!] = idsOf[i]!(tree.method[node]!)
    for (const [name, values] of Object.entries(tree.metrics)) {
      if (name === 'known') continue
      metrics[name] ??= new Float64Array(count)
      const sums = metrics[name]
      for (let node = 0; node < tree.count; node++) sums[at[node]!]! += values[node]!
    }
  }
  if (parts.some(({ tree }) => tree.metrics.known !== undefined)) {
    // A row is timed if any part has calls of it.
    metrics.known = new Float64Array(count).fill(SAMPLED)
    for (const [i, { tree }] of parts.entries())
      for (let node = 0; node < tree.count; node++)
        if ((tree.metrics.known?.[node] ?? TIMED) === TIMED) metrics.known[place[of[i]![node]!]!] = TIMED
  }
  const collapsed = collapsedOf(parts, idsOf)
  return { count, method, parent, size, metrics, ...(collapsed !== undefined && { collapsed }) }
}

/** Returns the sums of collapsed contexts per method over all parts; undefined if there are none. */
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
