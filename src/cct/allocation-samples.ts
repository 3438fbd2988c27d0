// Divides bytes that no allocation site has reported among the methods without probes that allocated them, by allocation samples of the
// flight recorder.
//
// A sample has a stack, the class of an object, and a weight: about the bytes that the thread has allocated since its previous sample. The
// frames from the root on lead to the innermost row whose method has probes. The frame that this method called, without probes, becomes a
// row below it, and the class a row below that:
//
//   bytes of a class = weights of its samples · min(1, bytes that are not attributed / weights of all samples without a site)
//
// So the sums of all rows stay exact: what a sampled row gets is taken from the row NOT_ATTRIBUTED. Samples in the code of an allocation
// site get no row, since the site has reported the object. They show how accurate samples are: the JVM takes a sample when a thread's
// allocation buffer is full, and a program may allocate in step with that. If the samples of sites differ from the exact bytes by more than
// their standard deviation, all standard deviations are multiplied by the factor of the difference.

import { holdsBytes, isClassId, isNotAttributed } from './allocation.ts'
import { inPreorder } from './lay-out.ts'
import { SAMPLED } from './merge-samples.ts'
import type { MethodName, Tree } from './tree.ts'

/** Minimum number of samples of a row. The bytes of fewer samples stay in the row NOT_ATTRIBUTED. */
export const MIN_ALLOCATION_SAMPLES = 3

export interface SampledMethod {
  readonly name: MethodName
  /** `methodKeyOf(name)`, computed once per method. */
  readonly key: string
}

/** Samples with the same stack and class. */
export interface AllocationSamples {
  /** Methods from the outermost root on. */
  readonly path: readonly SampledMethod[]
  /** Row of the class. */
  readonly allocated: MethodName
  readonly count: number
  /** Sum of the weights, bytes. */
  readonly weight: number
  /** Sum of the squares of the weights. */
  readonly squares: number
}

export interface SampledNames {
  nameOf(id: number): MethodName
  /** Returns the id of a row's name. */
  idOf(name: MethodName): number
}

interface Share {
  count: number
  weight: number
  squares: number
}

/** Samples below a row of the tree, by class. */
interface Sampled extends Share {
  readonly node: number
  /** Method without probes; null for samples of the row's own allocation sites. */
  readonly method: SampledMethod | null
  readonly classes: Map<string, Share & { readonly name: MethodName }>
}

/** Calls that are allocation sites themselves (instrument/allocations.ts), by class and method. */
const SITES = new Set(
  [
    ...['Byte', 'Short', 'Character', 'Integer', 'Long', 'Float', 'Double'].map((it) => `lang.${it}.valueOf`),
    ...['util.Arrays.copyOf', 'util.Arrays.copyOfRange', 'lang.Object.clone', 'lang.Class.newInstance'],
    ...['lang.reflect.Array.newInstance', 'lang.reflect.Constructor.newInstance'],
  ].map((it) => `java.${it}`),
)
/** Matches classes that run string concatenations and toString() of records: both are allocation sites. */
const SITE_CLASSES = /^java\.lang\.(?:invoke\.|StringConcatHelper$|runtime\.ObjectMethods)/

function isSite({ class: owner, method }: MethodName): boolean {
  return SITES.has(`${owner}.${method}`) || SITE_CLASSES.test(owner)
}

/** Returns the key of a method. Methods of several loaders have the same key, since samples name loaders in another way. */
export function methodKeyOf({ class: owner, method, descriptor }: MethodName): string {
  return `${owner}\n${method}\n${descriptor}`
}

/** Rows of the tree by the name of their method, below each parent. A name of several rows, such as call sites, stands for no row. */
class Rows {
  readonly #below = new Map<number, Map<string, number>>()

  constructor(
    private readonly tree: Tree,
    private readonly names: SampledNames,
  ) {}

  /** Returns the row of a method below `parent`, -1 for the roots; undefined if there is none, null if there are several. */
  child(parent: number, { key }: SampledMethod): number | null | undefined {
    const found = this.#childrenOf(parent).get(key)
    return found === -1 ? null : found
  }

  #childrenOf(parent: number): Map<string, number> {
    const known = this.#below.get(parent)
    if (known !== undefined) return known
    const { count, method, size } = this.tree
    const children = new Map<string, number>()
    const end = parent < 0 ? count : parent + size[parent]!
    for (let child = parent + 1; child < end; child += size[child]!) {
      if (isClassId(method[child]!)) continue
      const key = methodKeyOf(this.names.nameOf(method[child]!))
      children.set(key, children.has(key) ? -1 : child)
    }
    this.#below.set(parent, children)
    return children
  }
}

/** Returns the tree with rows for the samples; the tree itself if no row has enough samples. */
export function withAllocationSamples(
  tree: Tree,
  samples: Iterable<AllocationSamples>,
  names: SampledNames,
): Tree {
  const all = sampledRows(tree, samples, names)
  const bytes = tree.metrics.totalBytes!.slice()
  const self = tree.metrics.bytes!.slice()
  const added = new Added(tree)
  for (let root = 0; root < tree.count; root += tree.size[root]!) {
    const rest = restOf(tree, root, names)
    const inside = all.filter(({ node }) => node >= root && node < root + tree.size[root]!)
    const weight = inside.reduce((sum, it) => sum + (it.method === null ? 0 : it.weight), 0)
    if (rest < 0 || weight === 0) continue
    const scale = Math.min(1, bytes[rest]! / weight)
    const spread = scale * spreadOf(tree, root, inside, names)
    for (const { node, method, count, squares, classes } of inside) {
      if (method === null || count < MIN_ALLOCATION_SAMPLES) continue
      const row = added.row(node, names.idOf(method.name), count, spread * Math.sqrt(squares))
      for (const share of classes.values()) {
        const size = Math.floor(share.weight * scale)
        added.row(row, names.idOf(share.name), share.count, spread * Math.sqrt(share.squares), size)
        added.give(row, size)
        bytes[rest]! -= size
        self[rest]! -= size
        for (let above = node; above !== root; above = tree.parent[above]!) bytes[above]! += size
      }
    }
  }
  return added.isEmpty ? tree : added.tree(self, bytes)
}

/**
 * Returns the factor by which samples vary more than independent samples would, at least 1: from the methods with probes, whose exact own
 * bytes are known. Methods for which too few samples are expected are left out.
 */
function spreadOf(tree: Tree, root: number, inside: readonly Sampled[], names: SampledNames): number {
  const { bytes, totalBytes } = tree.metrics
  let [weights, squares] = [0, 0]
  const sampled = new Map<number, number>()
  for (const it of inside) {
    weights += it.weight
    squares += it.squares
    if (it.method === null) sampled.set(it.node, (sampled.get(it.node) ?? 0) + it.weight)
  }
  const scale = totalBytes![root]! / weights
  const each = (scale * squares) / weights
  let [sum, count] = [0, 0]
  for (let node = root; node < root + tree.size[root]!; node++) {
    const exact = bytes![node]!
    if (exact < MIN_ALLOCATION_SAMPLES * each || holdsBytes(names.nameOf(tree.method[node]!))) continue
    sum += ((sampled.get(node) ?? 0) * scale - exact) ** 2 / (exact * each)
    count++
  }
  return count === 0 ? 1 : Math.max(1, Math.sqrt(sum / count))
}

function restOf({ method, size }: Tree, root: number, names: SampledNames): number {
  for (let child = root + 1; child < root + size[root]!; child += size[child]!)
    if (isNotAttributed(names.nameOf(method[child]!))) return child
  return -1
}

function sampledRows(tree: Tree, samples: Iterable<AllocationSamples>, names: SampledNames): Sampled[] {
  const rows = new Rows(tree, names)
  const found = new Map<string, Sampled>()
  for (const { path, allocated, count, weight, squares } of samples) {
    const place = placeOf(path, rows)
    if (place === null) continue
    const { node } = place
    const method = place.method === null || isSite(place.method.name) ? null : place.method
    const key = `${node}\n${method?.key ?? ''}`
    const sampled = found.get(key) ?? { node, method, ...NOTHING, classes: new Map() }
    found.set(key, sampled)
    const { classes } = sampled
    const ofClass = classes.get(allocated.class) ?? { ...NOTHING, name: allocated }
    classes.set(allocated.class, ofClass)
    for (const share of [sampled, ofClass]) {
      share.count += count
      share.weight += weight
      share.squares += squares
    }
  }
  return [...found.values()]
}

const NOTHING: Readonly<Share> = { count: 0, weight: 0, squares: 0 }

/** Returns the innermost row of a stack, and the method that it called and that has no row, or null; null if there is no such row. */
function placeOf(path: readonly SampledMethod[], rows: Rows): Pick<Sampled, 'node' | 'method'> | null {
  let node = -1
  let called: SampledMethod | null = null
  for (const method of path) {
    const child = rows.child(node, method)
    if (child === null || (child === undefined && node < 0)) return null
    if (child === undefined) called ??= method
    else {
      node = child
      called = null
    }
  }
  return { node, method: called }
}

/** Rows to add to a tree. */
class Added {
  readonly #method: number[] = []
  readonly #parent: number[] = []
  readonly #bytes: number[] = []
  readonly #samples: number[] = []
  readonly #sd: number[] = []

  constructor(private readonly base: Tree) {}

  get isEmpty(): boolean {
    return this.#method.length === 0
  }

  /** @returns the number of the new row, which follows the numbers of the tree's rows */
  row(parent: number, method: number, samples: number, sd: number, bytes = 0): number {
    this.#parent.push(parent)
    this.#bytes.push(bytes)
    this.#samples.push(samples)
    this.#sd.push(sd)
    return this.base.count + this.#method.push(method) - 1
  }

  give(row: number, bytes: number): void {
    this.#bytes[row - this.base.count]! += bytes
  }

  tree(self: Float64Array, total: Float64Array): Tree {
    const { base } = this
    const rows = base.count + this.#method.length
    const joined = (old: ArrayLike<number>, further: readonly number[] = []): Float64Array => {
      const all = new Float64Array(rows)
      all.set(old)
      all.set(further, base.count)
      return all
    }
    const columns = Object.entries(base.metrics).map(([name, of]) => [name, joined(of)] as const)
    return {
      ...base,
      ...inPreorder(joined(base.method, this.#method), joined(base.parent, this.#parent), {
        ...Object.fromEntries(columns),
        bytes: joined(self, this.#bytes),
        totalBytes: joined(total, this.#bytes),
        known: new Float64Array(rows).fill(SAMPLED, base.count),
        samples: joined([], this.#samples),
        sdNs: joined([], this.#sd),
      }),
    }
  }
}
