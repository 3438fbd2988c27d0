// Back traces: the calling context tree read from a method upwards. Below the method are its callers, below each caller the caller's
// callers, merged over all contexts. Each row shows the cost of those calls of the method that were made through that row's callers.
// The algorithm is iterative, not recursive. Each context of the method has a walker that climbs one parent per level. Walkers that have
// met the same methods form a group, which is a row.

import { inPreorder } from './lay-out.ts'
import { metricOf } from './metric.ts'
import { methodsOf } from './snapshot.ts'
import type { Tree } from './tree.ts'

export interface BackTraces {
  /**
   * Uses the metric of the original tree. A top node is a method, its children are its callers, and so on. The numbers of a row are calls,
   * self cost and total cost of the top method, for the contexts of this method that were reached through the row's callers. The children
   * of a row therefore sum to the row, except for calls without a known caller (roots).
   * Recursion is counted once. Calls and self cost include every activation of the method, in the row of its direct caller (which may be
   * the method itself). Total cost includes only outermost activations.
   */
  readonly tree: Tree
  /** Number of caller levels processed. */
  readonly levels: number
  /** Whether more caller levels exist: `mostSteps` or `mostLevels` was reached. */
  readonly isCut: boolean
}

/** Limit of steps per snapshot; this many steps take 20 to 50 ms. */
const MAX_STEPS = 2 ** 21

/**
 * @param methods    ids from `methodsOf`: one id per method, independent of call sites. Methods with a context are top nodes, in this
 * order; methods without a context have no row
 * @param mostSteps  limit of (contexts × levels), so that a recursion 100,000 calls deep does not take minutes; at least one level is
 * always processed
 * @param mostLevels at least 1
 */
export function backTraces(
  tree: Tree,
  methods: readonly number[],
  mostSteps = MAX_STEPS,
  mostLevels = Number.POSITIVE_INFINITY,
): BackTraces {
  const { parent } = tree
  const method = methodsOf(tree)
  const merging = new Merging(tree, method)
  let level = merging.begin(methods)
  let levels = 0
  let steps = 0
  /** Per method: number of its latest group. `madeFor`: the group that this group extends, one level closer to the top method. */
  const groupOf = new Int32Array(merging.ids)
  const madeFor = new Int32Array(merging.ids).fill(-1)
  let isCut = false
  while (level.node.length > 0) {
    steps += level.node.length
    if (levels >= mostLevels || (levels > 0 && steps > mostSteps)) {
      isCut = level.node.some((node) => parent[node]! >= 0)
      break
    }
    const { node, context, ends, firstGroup } = level
    const into = new Int32Array(node.length).fill(-1)
    const above = merging.groups
    const counts: number[] = []
    let at = 0
    for (let group = 0; group < ends.length; group++) {
      const below = firstGroup + group
      for (; at < ends[group]!; at++) {
        const caller = parent[node[at]!]!
        if (caller < 0) continue
        const id = method[caller]!
        if (madeFor[id] !== below) {
          madeFor[id] = below
          groupOf[id] = merging.add(id, below)
          counts.push(0)
        }
        const made = groupOf[id]!
        into[at] = made - above
        counts[made - above]!++
        merging.sum(made, context[at]!)
      }
    }
    if (counts.length === 0) break
    level = climbed(level, parent, into, counts, above)
    levels++
  }
  return { tree: merging.tree(), levels, isCut }
}

/**
 * Returns the back traces of `before` and `after`, with the same number of levels. A caller level that is processed for one of the two
 * trees only would look like a change. The back traces with more levels are therefore recomputed with the smaller number of levels.
 * @param found  back traces of `before`, from `backTraces` or from an earlier call of this function
 */
export function backTracesOfBoth(
  found: BackTraces,
  before: Tree,
  after: Tree,
  methods: readonly number[],
  mostSteps = MAX_STEPS,
): { readonly before: BackTraces; readonly after: BackTraces } {
  const most = found.isCut ? found.levels : Number.POSITIVE_INFINITY
  const now = backTraces(after, methods, mostSteps, most)
  const isDeeper = now.isCut && found.levels > now.levels
  return { before: isDeeper ? backTraces(before, methods, mostSteps, now.levels) : found, after: now }
}

/** Walkers of one level, grouped: walkers of a group are adjacent. */
interface Level {
  /** Current node of each walker. */
  readonly node: Int32Array
  /** Context in which each walker began. */
  readonly context: Int32Array
  /** Index after the last walker of each group. */
  readonly ends: readonly number[]
  readonly firstGroup: number
}

function climbed(
  { node, context }: Level,
  parent: Int32Array,
  into: Int32Array,
  counts: readonly number[],
  firstGroup: number,
): Level {
  const ends: number[] = []
  let all = 0
  for (const count of counts) {
    all += count
    ends.push(all)
  }
  const free = Int32Array.from(ends, (end, group) => end - counts[group]!)
  const next = { node: new Int32Array(all), context: new Int32Array(all), ends, firstGroup }
  for (let at = 0; at < node.length; at++) {
    const group = into[at]!
    if (group < 0) continue
    const place = free[group]!++
    next.node[place] = parent[node[at]!]!
    next.context[place] = context[at]!
  }
  return next
}

/** Groups in creation order: level by level, so the groups below a group are adjacent. */
class Merging {
  readonly #id: number[] = []
  readonly #below: number[] = []
  /** Additive columns, and their sums per group. */
  readonly #columns: { readonly name: string; readonly of: Float64Array; readonly sums: number[] }[]
  readonly ids: number

  constructor(
    private readonly from: Tree,
    private readonly method: Int32Array,
  ) {
    let ids = 1
    for (const id of method) if (id >= ids) ids = id + 1
    this.ids = ids
    const { self, total } = metricOf(from)
    this.#columns = [...new Set(['calls', self, total])].flatMap((name) => {
      const of = from.metrics[name]
      return of === undefined ? [] : [{ name, of: name === total ? of.slice() : of, sums: [] }]
    })
  }

  get groups(): number {
    return this.#id.length
  }

  /** Creates one group per method, with all contexts of the method. The total cost of inner activations is charged to the outermost one. */
  begin(methods: readonly number[]): Level {
    const total = this.#columns.find(({ name }) => name === metricOf(this.from).total)?.of
    const contexts = new Map(methods.map((id) => [id, { nodes: [] as number[], end: 0 }]))
    for (let node = 0; node < this.from.count; node++) {
      const of = contexts.get(this.method[node]!)
      if (of === undefined) continue
      of.nodes.push(node)
      if (node >= of.end) of.end = node + this.from.size[node]!
      else if (total !== undefined) total[node] = 0
    }
    const all: number[] = []
    const ends: number[] = []
    for (const [id, { nodes }] of contexts) {
      if (nodes.length === 0) continue
      const group = this.add(id, -1)
      for (const node of nodes) {
        this.sum(group, node)
        all.push(node)
      }
      ends.push(all.length)
    }
    return { node: Int32Array.from(all), context: Int32Array.from(all), ends, firstGroup: 0 }
  }

  add(method: number, below: number): number {
    this.#below.push(below)
    for (const { sums } of this.#columns) sums.push(0)
    return this.#id.push(method) - 1
  }

  sum(group: number, context: number): void {
    for (const { of, sums } of this.#columns) sums[group]! += of[context]!
  }

  /** Returns the groups as a tree in preorder. */
  tree(): Tree {
    return inPreorder(
      this.#id,
      this.#below,
      Object.fromEntries(this.#columns.map(({ name, sums }) => [name, sums])),
    )
  }
}
