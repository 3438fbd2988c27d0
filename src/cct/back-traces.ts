// Back traces: the calling context tree read from a method upwards. Below the method are its callers, below each of them
// theirs, merged over all contexts, and each row says what of the method came by way of it.
//
// Nothing recurses. The callers are found level by level: each context of the method is a walker that climbs one parent
// a level, and walkers that have met the same methods stand in one group, which is a row.

import { inPreorder } from './lay-out.ts'
import { metricOf } from './metric.ts'
import { methodsOf } from './snapshot.ts'
import type { Tree } from './tree.ts'

export interface BackTraces {
  /**
   * Of the tree's own metric. A top node is a method, its children are its callers, their children the callers of those.
   * All numbers are the method's: `calls`, self and total cost of those of its contexts that were reached by way of the
   * row's callers. So the children of a row sum up to it, but for what was called there by nobody that is known, a root.
   *
   * Recursion is counted once: calls and self cost are those of every activation, below the caller that made it (which may
   * be the method itself), total cost that of outermost ones only.
   */
  readonly tree: Tree
  /** Levels of callers that were looked at. */
  readonly levels: number
  /** Whether there are callers beyond them: `mostSteps` or `mostLevels` was reached. */
  readonly isCut: boolean
}

/** Steps that a picture is given: 20 to 50 ms. */
const MOST_STEPS = 2 ** 21

/**
 * @param methods    ids, as `methodsOf` gives them: a method is one wherever it is called from. Those without a context
 *                   have no row; the others are top nodes in this order
 * @param mostSteps  contexts times levels that may be looked at, so that a recursion 100,000 deep does not take minutes;
 *                   one level is always looked at
 * @param mostLevels at least 1
 */
export function backTraces(
  tree: Tree,
  methods: readonly number[],
  mostSteps = MOST_STEPS,
  mostLevels = Number.POSITIVE_INFINITY,
): BackTraces {
  const { parent } = tree
  const method = methodsOf(tree)
  const merging = new Merging(tree, method)
  let level = merging.begin(methods)
  let levels = 0
  let steps = 0
  /** Of the group that was made last for a method: its number, and for which group of the level below. */
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
 * Both with the same levels, where there are more than can be found in a moment: callers that are looked at on one side only would
 * be changes that did not happen. So the deeper side is made again with the levels of the other.
 *
 * @param found  what `backTraces`, or this, has found in `before`
 */
export function backTracesOfBoth(
  found: BackTraces,
  before: Tree,
  after: Tree,
  methods: readonly number[],
  mostSteps = MOST_STEPS,
): { readonly before: BackTraces; readonly after: BackTraces } {
  const most = found.isCut ? found.levels : Number.POSITIVE_INFINITY
  const now = backTraces(after, methods, mostSteps, most)
  const isDeeper = now.isCut && found.levels > now.levels
  return { before: isDeeper ? backTraces(before, methods, mostSteps, now.levels) : found, after: now }
}

/** The walkers of one level, those of a group side by side. */
interface Level {
  /** Where each has come to. */
  readonly node: Int32Array
  /** The context that each began in. */
  readonly context: Int32Array
  /** By group: the end of its walkers. */
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

/** The groups, in the order they are made: level by level, so those below a group lie side by side. */
class Merging {
  readonly #id: number[] = []
  readonly #below: number[] = []
  /** Columns that add up, and what they sum here. */
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

  /** A group for each method, of all its contexts. Total cost of inner activations is that of the outermost. */
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

  /** In preorder. */
  tree(): Tree {
    return inPreorder(
      this.#id,
      this.#below,
      Object.fromEntries(this.#columns.map(({ name, sums }) => [name, sums])),
    )
  }
}
