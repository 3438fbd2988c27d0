// Combines timed calls and samples in one tree without counting anything twice (scheme adaptive).
//
// Each moment of a root call has one owner: the innermost timed frame. Samples add no time. They only divide the self time of the owner.
// The times of all rows therefore sum exactly to the time of the roots, and a timed row keeps its own total.
//
//   self(e) = S(e) · l(e) / K(e)     for a timed frame e that owns samples; S(e) for a timed frame without samples
//   self(d) = S(e) · l(d) / K(e)     for a frame d that is sampled but not timed, below its owner e
//   total   = self plus the totals of all children
//
// S(e) is the self time of e without timed callees. K(e) is the weight of the samples that e owns. l(x) is the weight of the samples with
// x as the innermost frame.
//
// A timed callee of e is placed below sampled frames if nearly all of its samples were reached through these frames.
//
// Consecutive frames of short methods are one row. Samples are taken at safepoints, so their distribution among short methods, which are
// usually inlined, is wrong; their sum is correct.
//
// If the method of a sampled frame is timed, but the tree has no such call at this place, the probes missed the call (unseen.ts).

import type { FrameName } from '../base/frame-name.ts'
import type { InsideSamples, Seen } from './inside-samples.ts'
import { inPreorder } from './lay-out.ts'
import { STATES } from './sample-states.ts'
import type { MethodName, Tree } from './tree.ts'
import { deviation, evenSamples, MIN_UNSEEN, UNSEEN, unseenByShare } from './unseen.ts'
import { isValueRow, type ValueRows } from './value-rows.ts'

/** The values of the column `known` are TIMED and SAMPLED. */
export const TIMED = 0
export const SAMPLED = 1

/** Columns of the time per thread state in a row's subtree, in the order of STATES; then the column of time without samples. */
export const STATE_COLUMNS = ['cpuNs', 'lockNs', 'ioNs', 'sleepNs', 'waitNs'] as const
export const UNKNOWN_STATE = 'unknownNs'

/** Upper bound of method ids (events/event-layout.ts). */
const MAX_METHODS = 2 ** 22

/** A timed callee is placed below sampled callers if at least this share of its samples has these callers. */
const ONE_WAY = 0.95

/** Maximum number of frames in a stack of HotSpot (MaxJavaStackTraceDepth). The outermost frames of deeper stacks are missing. */
const CUT_STACK = 1_000

/** Minimum number of samples of a row. Among the children of a parent, all rows with fewer samples are merged into one row. */
export const MIN_SAMPLES = 3
/** Name of such a row. */
export const OTHERS_NAME: MethodName = { class: '', method: '(other methods)', descriptor: '', loader: '' }
/** A method is short if a call takes less than this time on average. Such methods are usually inlined. */
export const SHORT_CALL_NS = 2_000
/** Name of the row of short methods, one per parent. */
export const SHORT_NAME: MethodName = { class: '', method: '(short methods)', descriptor: '', loader: '' }

/** Input of a combined tree. */
export interface PictureParts {
  readonly samples: InsideSamples
  /** Restricts the samples to one thread. Default: all. */
  readonly thread?: number
  /** Returns the ids of timed methods with a name, all overloads included; undefined if none is timed. */
  readonly timed: (className: string, method: string) => readonly number[] | undefined
  /** Whether all methods with this name are timed, so that probes must see every call. Default: false for every name. */
  readonly isSeen?: (className: string, method: string) => boolean
  /**
   * Whether samples are taken at safepoints after loops. The distribution of these samples is biased, so the check for missed calls by
   * share (unseen.ts) is omitted.
   */
  readonly isBent?: boolean
  /** Returns the row id of a sampled frame. */
  readonly methodOf: (className: string, method: string) => number
  /** Id of the rows that merge frames with few samples. */
  readonly others: number
  /** The methods whose calls are known to be short, and the id of their rows. Default: none. */
  readonly short?: ShortFrames | undefined
  /** Rows of values (--by), each below a root. Default: none. */
  readonly valueRows?: ValueRows | undefined
  /** Minimum number of samples of a row; see MIN_SAMPLES, the default. */
  readonly leastSamples?: number
}

export interface ShortFrames {
  readonly id: number
  readonly has: (className: string, method: string) => boolean
}

/** Place of a stack whose samples are in no row. */
const NO_PLACE = -2

/** Samples that are added to a node. */
type Added = Pick<Seen, 'weights' | 'samples'> & { readonly observations: readonly number[] }

const NO_WEIGHTS = new Float64Array(STATES.length)

/** Nodes of the combined tree: first the nodes of the timed tree, with the same indices, then the sampled nodes. */
class Nodes {
  readonly method: number[]
  readonly parent: number[]
  readonly owner: number[]
  /** Weights of the samples that end at each node, per state. */
  readonly own: (Float64Array | undefined)[] = []
  readonly samplesHere: number[] = []
  /** Per node: lists of the root calls that were sampled at the node, each list as in `Seen.observations`. */
  readonly observations: (readonly number[])[][] = []
  /** Number of samples per sampled node whose method has probes: the probes missed the call. */
  readonly unseen = new Map<number, number>()
  /** Timed nodes whose samples can have no other owner. */
  readonly certain = new Set<number>()
  /** Sum of the weights of all samples; `squares` is the sum of the squared weights. */
  weight = 0
  squares = 0
  readonly #children = new Map<number, number>()

  constructor(
    readonly tree: Tree,
    readonly isBent: boolean,
  ) {
    this.method = Array.from(tree.method)
    this.parent = Array.from(tree.parent)
    this.owner = Array.from({ length: tree.count }, (_, node) => node)
  }

  get count(): number {
    return this.method.length
  }

  /** Returns the sampled node of a method below another node. */
  sampled(parent: number, owner: number, method: number): number {
    const key = keyOf(parent, method)
    let node = this.#children.get(key)
    if (node === undefined) {
      node = this.count
      this.#children.set(key, node)
      this.method.push(method)
      this.parent.push(parent)
      this.owner.push(owner)
    }
    return node
  }

  /** Adds to the number of samples whose stacks contain `node`. */
  pass(node: number, samples: number): void {
    const before = this.unseen.get(node)
    if (before !== undefined) this.unseen.set(node, before + samples)
  }

  add(node: number, { weights, samples, observations }: Readonly<Added>): void {
    let own = this.own[node]
    if (own === undefined) {
      own = new Float64Array(STATES.length)
      this.own[node] = own
      this.observations[node] = []
    }
    for (let state = 0; state < STATES.length; state++) own[state]! += weights[state]!
    this.samplesHere[node] = (this.samplesHere[node] ?? 0) + samples
    this.observations[node]!.push(observations)
  }

  /** Moves the samples of one node to another node. */
  move(from: number, to: number): void {
    const weights = this.own[from]
    if (weights === undefined) return
    const samples = this.samplesHere[from]!
    for (const observations of this.observations[from]!)
      this.add(to, { weights: NO_WEIGHTS, samples: 0, observations })
    this.add(to, { weights, samples, observations: [] })
    this.own[from] = undefined
    this.observations[from] = []
    this.samplesHere[from] = 0
  }
}

/**
 * @param tree  timed calls, with `selfNs` and `totalNs`
 * @returns the tree with rows for sampled frames and these columns: `known`; `samples`, the number of the owner's samples in the row's
 * subtree; `sdNs`, the standard deviation of a sampled row's total; UNSEEN, the number of samples of calls that probes missed;
 * STATE_COLUMNS and UNKNOWN_STATE, the time per thread state in the row's subtree, which sum to the row's total
 */
export function withSamples(tree: Tree, parts: PictureParts): Tree {
  const { samples, short } = parts
  const nodes = new Nodes(tree, parts.isBent === true)
  const childOf = timedChildren(tree)
  // After a collapse, the tree no longer contains all contexts, so a call without a row was not necessarily missed.
  const isSeen = tree.collapsed === undefined ? parts.isSeen : undefined
  /** Maps each stack to the node of its innermost frame; to -1 if the stack's root is not in the tree. */
  const places = new Map<number, number>([[0, -1]])
  const { valueRows } = parts
  const isTop = (node: number) => node >= 0 && node < tree.count && tree.parent[node]! < 0
  /** Per timed node: weight of its samples, keyed by the node of the direct caller in the stack. */
  const ways = new Map<number, Map<number, number>>()
  const placeOf = (stack: number): number => {
    const pending: number[] = []
    for (let at = stack; !places.has(at); at = samples.parents[at]!) pending.push(at)
    for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
      const caller = samples.parents[at]!
      const above = places.get(caller)!
      const frame = samples.frames[samples.frameOf[at]!]!
      const { className, method } = frame
      const owner = above < 0 ? -1 : nodes.owner[above]!
      // All time of a root with values is in the rows of its values. A root call that is not timed has no such row.
      const isApart =
        above === NO_PLACE ||
        (valueRows !== undefined &&
          isTop(above) &&
          parts.timed(className, method)?.some((it) => isValueRow(it, valueRows)) !== true)
      if (isApart) {
        places.set(at, NO_PLACE)
        continue
      }
      const isJudged = (owner < 0 || nodes.certain.has(owner)) && isSeen?.(className, method) === true
      const { node: timed, isOnly } = childOf(owner, parts.timed(className, method))
      if (timed !== undefined) {
        places.set(at, timed)
        if (isJudged && isOnly) nodes.certain.add(timed)
      } else if (above < 0) places.set(at, -1)
      // Frames have no descriptors. A bridge or an overload that delegates is merged with the timed method.
      else if (above < tree.count && isSame(frame, samples.frames[samples.frameOf[caller]!]))
        places.set(at, above)
      else if (short?.has(className, method) === true)
        places.set(at, nodes.method[above] === short.id ? above : nodes.sampled(above, owner, short.id))
      else {
        const node = nodes.sampled(above, owner, parts.methodOf(className, method))
        places.set(at, node)
        if (isJudged && !nodes.unseen.has(node)) nodes.unseen.set(node, 0)
      }
    }
    return places.get(stack)!
  }
  for (const [stack, it] of samples.seen(parts.thread)) {
    const node = placeOf(stack)
    if (node < 0) continue
    nodes.add(node, it)
    const weight = sum(it.weights)
    const isWhole = samples.depths[stack]! < CUT_STACK
    nodes.weight += weight
    nodes.squares += it.squares
    for (let at = stack; at !== 0; at = samples.parents[at]!) {
      const place = places.get(at)!
      if (isWhole) nodes.pass(place, it.samples)
      if (place >= tree.count || place < 0) continue
      const from = places.get(samples.parents[at]!)!
      const by = ways.get(place) ?? new Map<number, number>()
      by.set(from, (by.get(from) ?? 0) + weight)
      ways.set(place, by)
    }
  }
  for (const [node, by] of ways) {
    const [[best, most]] = [...by].sort((a, b) => b[1] - a[1]) as [[number, number]]
    // If the samples of a callee have several callers, no caller may get all the callee's time. The callee then stays below its owner.
    const isSampled = best >= tree.count && nodes.owner[best] === tree.parent[node]
    if (isSampled && most >= ONE_WAY * sumOf(by.values())) nodes.parent[node] = best
  }
  return laidOut(withFew(nodes, tree.count, parts), tree, samples.calls)
}

function isSame(frame: FrameName, other: FrameName | undefined): boolean {
  return frame.className === other?.className && frame.method === other.method
}

/** Returns a unique key of a parent and a method. The key is an exact double, since both numbers are small. */
function keyOf(parent: number, method: number): number {
  return (parent + 1) * MAX_METHODS + method
}

interface TimedChild {
  readonly node?: number
  /** Whether only one of the methods has a node below the parent. */
  readonly isOnly: boolean
}

/**
 * Returns a function that finds a child of a timed node (or a top node) with one of several methods. If several children match, the
 * function returns the child with the largest total time.
 */
function timedChildren(tree: Tree): (parent: number, methods: readonly number[] | undefined) => TimedChild {
  const byPlace = new Map<number, number>()
  for (let node = 0; node < tree.count; node++)
    byPlace.set(keyOf(tree.parent[node]!, tree.method[node]!), node)
  const total = tree.metrics.totalNs ?? new Float64Array(tree.count)
  return (parent, methods) => {
    let longest: number | undefined
    let many = 0
    for (const method of methods ?? []) {
      const node = byPlace.get(keyOf(parent, method))
      if (node === undefined) continue
      many++
      if (longest === undefined || total[node]! > total[longest]!) longest = node
    }
    return { ...(longest !== undefined && { node: longest }), isOnly: many === 1 }
  }
}

/** Merges the children of each parent that are sampled and have few samples in their subtree. Nodes with timed descendants stay. */
function withFew(
  nodes: Nodes,
  timed: number,
  { others, leastSamples = MIN_SAMPLES }: Pick<PictureParts, 'others' | 'leastSamples'>,
): { readonly nodes: Nodes; readonly into: Int32Array } {
  const { count, parent } = nodes
  const below = new Float64Array(count)
  const holds = new Uint8Array(count)
  const order = parentsFirst(parent)
  for (let at = count - 1; at >= 0; at--) {
    const node = order[at]!
    below[node]! += nodes.samplesHere[node] ?? 0
    if (node < timed) holds[node] = 1
    const above = parent[node]!
    if (above < 0) continue
    if (node >= timed) below[above]! += below[node]!
    if (holds[node] === 1) holds[above] = 1
  }
  const into = new Int32Array(count)
  for (const node of order) {
    const above = parent[node]!
    if (node < timed || holds[node] === 1 || below[node]! >= leastSamples) into[node] = node
    else if (above >= 0 && into[above] !== above) into[node] = into[above]!
    else into[node] = nodes.sampled(above, nodes.owner[node]!, others)
  }
  const merged = Int32Array.from({ length: nodes.count }, (_, node) => (node < count ? into[node]! : node))
  for (let node = timed; node < count; node++) if (merged[node] !== node) nodes.move(node, merged[node]!)
  return { nodes, into: merged }
}

/** Orders the nodes so that each node follows its parent. */
function parentsFirst(parent: readonly number[]): Int32Array {
  const order = new Int32Array(parent.length)
  const depth = new Int32Array(parent.length).fill(-1)
  const most: number[] = []
  for (let node = 0; node < parent.length; node++) {
    const way: number[] = []
    let at = node
    for (; at >= 0 && depth[at] === -1; at = parent[at]!) way.push(at)
    let level = at < 0 ? -1 : depth[at]!
    for (let it = way.pop(); it !== undefined; it = way.pop()) depth[it] = ++level
    most[depth[node]!] = 0
  }
  const starts = new Int32Array(most.length + 1)
  for (let node = 0; node < parent.length; node++) starts[depth[node]! + 1]!++
  for (let level = 1; level < starts.length; level++) starts[level]! += starts[level - 1]!
  for (let node = 0; node < parent.length; node++) order[starts[depth[node]!]!++] = node
  return order
}

function laidOut(
  { nodes, into }: { readonly nodes: Nodes; readonly into: Int32Array },
  tree: Tree,
  calls: number,
): Tree {
  const kept: number[] = []
  const place = new Int32Array(nodes.count).fill(-1)
  for (const node of parentsFirst(nodes.parent)) {
    if (into[node] !== node) continue
    place[node] = kept.length
    kept.push(node)
  }
  const count = kept.length
  const parents = kept.map((node) => (nodes.parent[node]! < 0 ? -1 : place[nodes.parent[node]!]!))
  const known = Float64Array.from(kept, (node) => (node < tree.count ? TIMED : SAMPLED))
  // For each sampled row: the number of its owner's samples in the row's subtree. For a timed row: the number of all samples that it owns.
  const samples = Float64Array.from(kept, (node) => nodes.samplesHere[node] ?? 0)
  const weights = Float64Array.from(kept, (node) => sum(nodes.own[node]))
  for (let at = count - 1; at > 0; at--) {
    if (known[at] !== SAMPLED) continue
    samples[parents[at]!]! += samples[at]!
    weights[parents[at]!]! += weights[at]!
  }
  const observed = observedCalls(nodes, kept, calls)
  const { selfNs } = tree.metrics as { readonly selfNs: Float64Array }
  const self = new Float64Array(count)
  const sd = new Float64Array(count)
  const unknown = new Float64Array(count)
  const states = STATE_COLUMNS.map(() => new Float64Array(count))
  for (let at = 0; at < count; at++) {
    const owner = nodes.owner[kept[at]!]!
    const all = weights[place[owner]!]!
    const own = nodes.own[kept[at]!]
    if (all === 0) {
      if (known[at] === SAMPLED) continue // the row exists only as the caller of a timed callee
      self[at] = selfNs[owner]!
      unknown[at] = self[at]!
      continue
    }
    const each = selfNs[owner]! / all
    self[at] = each * sum(own)
    if (known[at] === SAMPLED)
      sd[at] = Math.abs(selfNs[owner]!) * deviation(weights[at]! / all, observed[owner]!)
    for (const [s, column] of states.entries()) column[at] = each * (own?.[s] ?? 0)
  }
  const unseen = unseenOf(nodes, kept, { known, weights, samples, selfNs, calls })
  const total = self.slice()
  for (let at = count - 1; at > 0; at--) {
    const above = parents[at]!
    if (above < 0) continue
    for (const column of [total, unknown, ...states]) column[above]! += column[at]!
  }
  const columns: { [name: string]: ArrayLike<number> } = {}
  for (const [name, values] of Object.entries(tree.metrics))
    columns[name] = Float64Array.from(kept, (node) => values[node] ?? 0)
  for (const [s, name] of STATE_COLUMNS.entries()) columns[name] = states[s]!
  const method = kept.map((node) => nodes.method[node]!)
  const own = {
    selfNs: self,
    totalNs: total,
    known,
    samples,
    sdNs: sd,
    [UNSEEN]: unseen,
    [UNKNOWN_STATE]: unknown,
  }
  return { ...tree, ...inPreorder(method, parents, { ...columns, ...own }) }
}

/** Returns, per row, the number of samples of calls that the row's probes missed. */
function unseenOf(
  nodes: Nodes,
  kept: readonly number[],
  of: {
    readonly known: Float64Array
    readonly weights: Float64Array
    readonly samples: Float64Array
    readonly selfNs: Float64Array
    readonly calls: number
  },
): Float64Array {
  const unseen = new Float64Array(kept.length)
  const rows = kept.map((node, at) => ({ node, at, isTimed: of.known[at] === TIMED }))
  const timed = rows.filter(({ isTimed }) => isTimed)
  const clockOf = (node: number) => Math.max(0, of.selfNs[node]!)
  const clock = sumOf(timed.map(({ node }) => clockOf(node)))
  const samples = sumOf(timed.map(({ at }) => of.samples[at]!))
  const calls = Math.min(allObserved(nodes, of.calls), evenSamples(nodes.weight, nodes.squares))
  for (const { node, at, isTimed } of rows) {
    if (!isTimed) {
      const passed = nodes.unseen.get(node) ?? 0
      if (passed >= MIN_UNSEEN) unseen[at] = passed
    } else if (!nodes.isBent && nodes.certain.has(node) && nodes.parent[node]! >= 0 && clock > 0) {
      // Roots are excluded: the sampler samples a thread only after the root's probe has run.
      const shares = { clock: clockOf(node) / clock, samples: of.weights[at]! / nodes.weight, calls }
      unseen[at] = Math.round(unseenByShare(shares) * samples)
    }
  }
  return unseen
}

/** Returns the number of root calls that have samples. @param calls  number of root calls so far */
function allObserved(nodes: Nodes, calls: number): number {
  const isObserved = new Uint8Array(calls)
  for (const lists of nodes.observations)
    for (const list of lists ?? []) for (const call of list) isObserved[call] = 1
  return sumOf(isObserved)
}

/** Returns, per timed node, the number of root calls with samples owned by the node. @param calls  number of all root calls with samples */
function observedCalls(nodes: Nodes, kept: readonly number[], calls: number): Float64Array {
  const observed = new Float64Array(nodes.count)
  const latest = new Int32Array(calls).fill(-1)
  const byOwner = kept.slice().sort((a, b) => nodes.owner[a]! - nodes.owner[b]!)
  for (const node of byOwner) {
    const owner = nodes.owner[node]!
    for (const list of nodes.observations[node] ?? []) {
      for (const call of list) {
        if (latest[call] === owner) continue
        latest[call] = owner
        observed[owner]!++
      }
    }
  }
  return observed
}

function sumOf(values: Iterable<number>): number {
  let all = 0
  for (const it of values) all += it
  return all
}

function sum(values: Float64Array | undefined): number {
  let all = 0
  for (const it of values ?? []) all += it
  return all
}
