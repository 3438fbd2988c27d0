// Groups a tree by package. Methods of one package that call each other become one node. Contexts with the same packages above them are
// merged. Package ids replace method ids, and the name of a package has the form of a method name.

import { isAllocation } from '../cct/allocation.ts'
import { inPreorder } from '../cct/lay-out.ts'
import { metricOf } from '../cct/metric.ts'
import type { MethodName, Tree } from '../cct/tree.ts'
import { fullName, isValueName, isWait } from '../profile/text.ts'

type Names = (id: number) => MethodName

export class Packages {
  readonly #methodNames: Names
  readonly #levels: number
  /** Names of packages, indexed by package id; id 0 is unused. */
  readonly #names: MethodName[] = [{ class: '', method: '', descriptor: '', loader: '' }]
  readonly #ids = new Map<string, number>()
  readonly #ofMethod: number[] = []

  /** @param levels  number of leading package name parts that distinguish packages */
  constructor(methodNames: Names, levels = Number.POSITIVE_INFINITY) {
    this.#methodNames = methodNames
    this.#levels = levels
  }

  name(id: number): MethodName {
    return this.#names[id]!
  }

  /** Returns the package id of a method. */
  of(method: number): number {
    const known = this.#ofMethod[method]
    if (known !== undefined) return known
    const name = packageName(this.#methodNames(method), this.#levels)
    const key = fullName(name)
    const id = this.#ids.get(key) ?? this.#names.push(name) - 1
    this.#ids.set(key, id)
    this.#ofMethod[method] = id
    return id
  }

  /**
   * Returns the tree per package. `calls` counts calls from other packages. Self cost is the sum over the methods of the package;
   * total cost includes callees. As in a tree of methods, self cost plus children equals the total. The cost of the roots is unchanged.
   */
  fold(tree: Tree): Tree {
    const { count, method, parent, metrics } = tree
    const { self, total } = metricOf(tree)
    const sums = (name: string, isOfAll: boolean) => ({
      name,
      isOfAll,
      of: metrics[name],
      to: [] as number[],
    })
    // In mode count, the number of calls is the self cost.
    const columns = [
      sums('calls', self === 'calls'),
      ...(self === 'calls' ? [] : [sums(self, true)]),
      sums(total, false),
    ]
    const packages: number[] = []
    const above: number[] = []
    const into = new Int32Array(count)
    const children = new Map<number, number>()
    for (let node = 0; node < count; node++) {
      const id = this.of(method[node]!)
      const caller = parent[node]! < 0 ? -1 : into[parent[node]!]!
      const isInside = caller >= 0 && packages[caller] === id
      let to = caller
      if (!isInside) {
        const key = (caller + 1) * MAX_IDS + id
        to = children.get(key) ?? -1
        if (to < 0) {
          to = packages.push(id) - 1
          above.push(caller)
          children.set(key, to)
          for (const column of columns) column.to.push(0)
        }
      }
      into[node] = to
      for (const { of, isOfAll, to: sum } of columns) if (isOfAll || !isInside) sum[to]! += of?.[node] ?? 0
    }
    return inPreorder(packages, above, Object.fromEntries(columns.map(({ name, to }) => [name, to])))
  }
}

/** Larger than any method id. Keys are context * MAX_IDS + id. With 2^26 contexts, the keys are still exact as doubles. */
const MAX_IDS = 2 ** 23

/**
 * Returns "com.acme.shop.*", or "com.acme.**" including subpackages. Waits and values are not grouped. Rows of allocated classes are
 * separate from rows of methods.
 */
function packageName(name: MethodName, levels: number): MethodName {
  if (isWait(name) || isValueName(name)) return name
  const dot = name.class.lastIndexOf('.')
  const parts = dot < 0 ? ['<no package>'] : name.class.slice(0, dot).split('.')
  const isDeeper = parts.length >= levels
  const folded = parts.slice(0, levels).join('.')
  const star = isDeeper ? '**' : '*'
  const bare = { descriptor: '', loader: '' }
  if (isAllocation(name)) return { ...bare, class: `${folded}.${star}`, method: name.method }
  return { ...bare, class: folded, method: star }
}
