// Converts a builder's records to immutable trees (tree.ts): one tree per thread, and one merged tree of all threads.
//
// Children are in the order in which their methods first occurred in any tree, so that rows of a view keep their order while the tree
// grows. No function here is recursive, since a context can be 100,000 calls deep.

import { type Calibration, exactTime, pairTicks } from '../base/compensation.ts'
import { NOT_ATTRIBUTED } from '../events/event-layout.ts'
import { METRICS, type Metric } from '../measures/columns.ts'
import { isClassId } from './allocation.ts'
import type { CctBuilder } from './builder.ts'
import { type Forest, withoutTops } from './forest.ts'
import { withPaths } from './handover.ts'
import { costsOf } from './metric.ts'
import { ALIVE_NODES, COLLAPSED, NODE, VIRTUAL_TOP } from './nodes.ts'
import type { Tree } from './tree.ts'
import { isValueRow, type ValueRows } from './value-rows.ts'

/** Converts a builder's counts to the columns of a measure (`measures/sinks.ts`). */
export interface Sink {
  readonly metric: Metric
  /** If true, each call costs 1. Default: the cost of a call is its ticks. */
  readonly countsCalls?: true
  /** Returns the tree with the measure's columns. Absent if the measure has only the metric's two cost columns. */
  columns?(tree: CostTree, known: Required<Pick<SnapshotOptions, 'every' | 'firstMethod'>>): Tree
}

export interface SnapshotOptions {
  /** Sink of the measure. Default: the sink of times. */
  readonly sink?: Sink
  readonly calibration: Calibration
  readonly nsPerTick: number
  /** Current time: open frames are charged up to this time, in the snapshot only. */
  readonly nowTicks?: number
  /** Number of allocations per recorded allocation. Default: 1. */
  readonly every?: number
  /** Whether the snapshot contains a tree per thread. Default: true. */
  readonly perThread?: boolean
  /** Lower ids stand for waiting. If there are lower ids, blocked and waiting times are summed per context. Default: 1. */
  readonly firstMethod?: number
  /** Rows of values (--by). Default: none. */
  readonly valueRows?: ValueRows | undefined
}

/** Trees with thread numbers instead of names. */
export interface NumberedSnapshot {
  readonly merged: Tree
  /** `number` is VIRTUAL for the tree of all virtual threads. */
  readonly threads: readonly { readonly number: number; readonly tree: Tree }[]
  readonly waitNs: number
  readonly healed: number
}

// Local constants for speed, as in thread-stack.ts.
const { INTS, FLOATS, METHOD, PARENT, CALLS, TICKS } = NODE

const TIMES: Sink = { metric: METRICS.exact, columns: (tree) => tree }

const NO_PROBES: Calibration = { innerTicks: 0, outerTicks: 0 }

const NO_SUMS = new Float64Array(0)
const NO_FOREST: Forest = {
  count: 0,
  method: new Int32Array(0),
  parent: new Int32Array(0),
  columns: { calls: NO_SUMS, ticks: NO_SUMS, warmCalls: NO_SUMS, warmTicks: NO_SUMS },
}

/** Number used for all virtual threads instead of their thread numbers. */
export const VIRTUAL = 0

/**
 * Returns the trees: copies the records, sorts siblings and subtracts probe costs. Takes 0.3 to 0.7 us per node.
 * @param alive   called every few milliseconds, for a caller that must send signs of life
 * @param between called instead of `alive` once all records are copied, which is the first tenth of the time. It may pass events to the
 * builder; these events are not in the snapshot
 */
export function snapshotOf(
  builder: CctBuilder,
  options: SnapshotOptions,
  alive: () => void = () => {},
  between: () => void = alive,
): NumberedSnapshot {
  const { sink = TIMES, calibration, firstMethod = 1, every = 1 } = options
  const { isTime, sumsUp } = sink.metric
  const countsCalls = sink.countsCalls === true
  const probes = isTime ? calibration : NO_PROBES
  const copied = forestOf(builder, probes, countsCalls, alive)
  // If costs belong to rows below methods (such as allocated classes), a collapse does not merge these rows.
  const collapsed = sumsUp
    ? builder.collapsed?.methods(countsCalls, probes, isTime ? options.nsPerTick : 1)
    : undefined
  if (options.nowTicks !== undefined) {
    builder.forEachOpen(options.nowTicks, (node, ticks) => {
      copied.columns.ticks[node] += ticks
    })
  }
  if (builder.countsAllocated) subtractSites(copied, builder.hasHandOvers ? 0 : 1, every)
  const { hasHandOvers, waitTicks, healed } = builder
  const whole = isTime && firstMethod > 1 ? withWholeWaits(copied, firstMethod, calibration, alive) : copied
  const forest = hasHandOvers ? withPaths(whole, between) : whole
  const picture = pictureOf(forest, builder, options, between, {
    waitNs: waitTicks * options.nsPerTick,
    healed,
  })
  return collapsed === undefined ? picture : { ...picture, merged: { ...picture.merged, collapsed } }
}

function pictureOf(
  forest: Forest,
  builder: CctBuilder,
  options: SnapshotOptions,
  alive: () => void,
  counts: { readonly waitNs: number; readonly healed: number },
): NumberedSnapshot {
  alive()
  const ranks = (method: number) => builder.rank(method)
  const tops = topsWithChildren(forest)
  alive()
  const oneTree = tops.length < 2
  const threads: { number: number; tree: Tree }[] = []
  let merged: Tree = layOut(NO_FOREST, ranks, options, alive)
  if (oneTree || options.perThread !== false) {
    const all = layOut(forest, ranks, options, alive)
    for (let top = 0; top < all.count; top += all.size[top]) {
      if (all.size[top] === 1) continue
      const method = all.method[top]
      threads.push({ number: method === VIRTUAL_TOP ? VIRTUAL : -method, tree: below(all, top) })
    }
    if (threads.length === 1) merged = threads[0].tree
  }
  if (!oneTree) {
    const joined = withoutTops(forest, alive)
    alive()
    merged = layOut(joined, ranks, options, alive)
  }
  return {
    merged,
    threads: options.perThread === false ? [] : threads,
    ...counts,
  }
}

/** Copies the builder's records, without node 0. Node numbers stay the same. */
function forestOf(
  builder: CctBuilder,
  calibration: Calibration,
  countsCalls: boolean,
  alive: () => void,
): Forest {
  const { ints, floats, count, warmUp } = builder
  const method = new Int32Array(count)
  const parent = new Int32Array(count)
  const calls = new Float64Array(count)
  const ticks = new Float64Array(count)
  const { calls: warmCalls, probeHalves } = warmUp
  const warmTicks = warmUp.ticks.slice() // a copy, since late pauses change the original
  for (let node = 0; node < count; node++) {
    if ((node & ALIVE_NODES) === ALIVE_NODES) alive()
    method[node] = ints[node * INTS + METHOD]
    parent[node] = ints[node * INTS + PARENT]
    calls[node] = floats[node * FLOATS + CALLS]
    ticks[node] = parent[node] < 0 ? 0 : floats[node * FLOATS + (countsCalls ? CALLS : TICKS)]
  }
  takeOutHandlerHalves(ticks, builder.probeHalves, calibration)
  takeOutHandlerHalves(warmTicks, probeHalves, calibration)
  const shifts = builder.collapsed?.shifts(count, warmCalls.length)
  const columns = { calls, ticks, warmCalls, warmTicks, ...shifts, ...aliveOf(builder) }
  return { count, method, parent, columns }
}

/**
 * Merges calls inside a wait into the wait. With `--jdk`, Object.wait and Thread.sleep call methods with probes, and the thread waits in
 * these methods. The contexts of these methods keep neither calls nor time.
 */
function withWholeWaits(forest: Forest, firstMethod: number, probes: Calibration, alive: () => void): Forest {
  const { count, method, parent, columns } = forest
  const { calls, ticks, warmTicks, shift, warmShift } = columns
  const warmCalls = columns.warmCalls.slice()
  /** Per node: the node itself if it is a wait, or the wait that contains the node. */
  const waits = new Int32Array(count)
  for (let node = 1; node < count; node++) {
    if ((node & ALIVE_NODES) === ALIVE_NODES) alive()
    const wait = parent[node] < 0 ? 0 : waits[parent[node]]
    waits[node] = wait === 0 && method[node] > 0 && method[node] < firstMethod ? node : wait
    if (wait === 0) continue
    ticks[wait] += ticks[node] - pairTicks(calls[node], probes)
    ticks[node] = calls[node] = 0
    if (shift !== undefined) shift[node] = 0
    if (node >= warmCalls.length) continue
    warmTicks[wait] += warmTicks[node] - pairTicks(warmCalls[node], probes)
    warmTicks[node] = warmCalls[node] = 0
    if (warmShift !== undefined) warmShift[node] = 0
  }
  return { ...forest, columns: { ...columns, warmCalls } }
}

/**
 * Replaces the bytes of each root call by the bytes that no allocation site below the root has reported. Runs per thread, before trees
 * are merged, since the JVM does not count the bytes of virtual threads. The result is 0 if the sites have reported more bytes, since the
 * JIT compilers remove allocations.
 * @param share  factor of the result: 0 if submitted tasks are followed, since another thread may have run the sites below a root
 */
function subtractSites({ count, method, parent, columns }: Forest, share: 0 | 1, every: number): void {
  const { ticks } = columns
  const sites = new Float64Array(count)
  for (let node = count - 1; node > 0; node--) {
    if (isClassId(method[node])) sites[node] += ticks[node] * every
    if (parent[node] > 0) sites[parent[node]] += sites[node]
  }
  for (let node = 1; node < count; node++) {
    if (method[node] === NOT_ATTRIBUTED) ticks[node] = share * Math.max(0, ticks[node] - sites[parent[node]])
  }
}

function aliveOf({ survivors, count }: CctBuilder) {
  if (survivors === null) return undefined
  const column = () => new Float64Array(count)
  const [liveObjects, liveBytes, age] = [column(), column(), column()]
  survivors.forEach((node, size, collections) => {
    liveObjects[node]++
    liveBytes[node] += size
    age[node] += collections
  })
  return { liveObjects, liveBytes, age }
}

/** Subtracts the cost of probes in exception handlers. The rest of the probe cost is proportional to the calls: t_I and t_O per call. */
function takeOutHandlerHalves(
  ticks: Float64Array,
  halves: ReadonlyMap<number, number>,
  calibration: Calibration,
): void {
  for (const [node, count] of halves) ticks[node] -= pairTicks(count / 2, calibration)
}

function topsWithChildren(forest: Forest): number[] {
  const busy = new Set<number>()
  for (let node = 0; node < forest.count; node++) {
    const parent = forest.parent[node]
    if (parent >= 0 && forest.parent[parent] < 0) busy.add(parent)
  }
  return [...busy]
}

/** Returns a sorted tree in preorder with the columns of the metric. Contexts are left out if their whole subtree has no counts. */
function layOut(
  forest: Forest,
  rank: (method: number) => number,
  options: SnapshotOptions,
  alive: () => void,
): Tree {
  const { sink = TIMES, firstMethod = 1, every = 1 } = options
  const { isTime, self, total } = sink.metric
  // If a tick stands for an executed bytecode, no probe cost is subtracted.
  const tree = compensatedTree(
    forest,
    rank,
    isTime ? options : { calibration: NO_PROBES, nsPerTick: 1 },
    alive,
  )
  if (sink.columns !== undefined) return sink.columns(tree, { firstMethod, every })
  const { calls, selfNs, totalNs } = tree.metrics
  return { ...tree, metrics: { calls, [self]: selfNs, [total]: totalNs } }
}

/** Returns a compensated tree with the columns of time, in nanoseconds. */
function compensatedTree(
  forest: Forest,
  rank: (method: number) => number,
  options: SnapshotOptions,
  alive: () => void,
): CostTree {
  const { count, method, parent, columns } = forest
  const { calls, ticks, warmCalls, warmTicks, handed, warmHanded, shift, warmShift, liveObjects } = columns
  const shown = new Uint8Array(count)
  let size = 0
  for (let node = count - 1; node >= 0; node--) {
    if ((node & ALIVE_NODES) === ALIVE_NODES) alive()
    const isAlive = liveObjects !== undefined && liveObjects[node] > 0
    if (calls[node] !== 0 || ticks[node] !== 0 || isAlive) shown[node] = 1
    if (shown[node] === 0) continue
    size++
    if (parent[node] >= 0) shown[parent[node]] = 1
  }
  const { firstChild, nextSibling, firstTop } = siblings(forest, shown, rank, alive)
  alive()

  const tree = treeOf(size)
  alive()
  const { calls: outCalls, selfNs, totalNs, measuredNs, warmupCalls, warmupSelfNs } = tree.metrics
  const { nsPerTick, valueRows } = options
  const place = new Int32Array(count)
  // Calls by rows of values, per parent (value-rows.ts).
  const byValue = valueRows === undefined ? undefined : new Float64Array(size)
  const warmByValue = valueRows === undefined ? undefined : new Float64Array(size)
  // Calls made by another thread cost the caller nothing.
  const callsOut = new Float64Array(size)
  const warmCallsOut = new Float64Array(size)
  let at = 0
  for (let node = firstTop; node >= 0; ) {
    if ((at & ALIVE_NODES) === ALIVE_NODES) alive()
    place[node] = at
    tree.method[at] = method[node]
    tree.parent[at] = parent[node] < 0 ? -1 : place[parent[node]]
    outCalls[at] = calls[node]
    measuredNs[at] = ticks[node]
    if (node < warmCalls.length) {
      warmupCalls[at] = warmCalls[node]
      warmupSelfNs[at] = warmTicks[node]
    }
    if (
      byValue !== undefined &&
      warmByValue !== undefined &&
      parent[node] >= 0 &&
      isValueRow(method[node], valueRows)
    ) {
      byValue[tree.parent[at]] += outCalls[at]
      warmByValue[tree.parent[at]] += warmupCalls[at]
    }
    if (handed !== undefined && parent[node] >= 0) {
      callsOut[tree.parent[at]] -= handed[node]
      warmCallsOut[tree.parent[at]] -= warmHanded?.[node] ?? 0
    }
    if (method[node] === COLLAPSED) {
      // Calls between merged contexts are excluded: the caller of the row is charged the probe cost of its own calls only.
      const [own, warmOwn] = [shift?.[node] ?? 0, warmShift?.[node] ?? 0]
      callsOut[at] += own
      warmCallsOut[at] += warmOwn
      if (parent[node] >= 0) {
        callsOut[tree.parent[at]] -= own
        warmCallsOut[tree.parent[at]] -= warmOwn
      }
    }
    at++
    if (firstChild[node] >= 0) {
      node = firstChild[node]
      continue
    }
    while (node >= 0 && nextSibling[node] < 0) node = parent[node]
    if (node >= 0) node = nextSibling[node]
  }

  alive()
  for (at = size - 1; at >= 0; at--) {
    if ((at & ALIVE_NODES) === ALIVE_NODES) alive()
    const above = tree.parent[at]
    const { calibration } = options
    const [own, warmOwn] = [byValue?.[at] ?? 0, warmByValue?.[at] ?? 0]
    selfNs[at] = exactTime(measuredNs[at], outCalls[at] - own, callsOut[at] - own, calibration) * nsPerTick
    warmupSelfNs[at] =
      exactTime(warmupSelfNs[at], warmupCalls[at] - warmOwn, warmCallsOut[at] - warmOwn, calibration) *
      nsPerTick
    measuredNs[at] *= nsPerTick
    totalNs[at] += selfNs[at]
    tree.size[at]++
    if (above < 0) continue
    callsOut[above] += outCalls[at]
    warmCallsOut[above] += warmupCalls[at]
    totalNs[above] += totalNs[at]
    tree.size[above] += tree.size[at]
  }
  const { liveBytes, age } = columns
  alive()
  if (!liveObjects || !liveBytes || !age) return tree
  const inPlace = (of: Float64Array) => {
    const column = new Float64Array(size)
    for (let node = 0; node < count; node++) if (shown[node] === 1) column[place[node]] = of[node]
    return column
  }
  const living = { liveObjects: inPlace(liveObjects), liveBytes: inPlace(liveBytes), age: inPlace(age) }
  return { ...tree, metrics: { ...tree.metrics, ...living } }
}

/** Links the shown nodes to their siblings, sorted by rank. The top of a thread has no rank and keeps its position. */
function siblings(forest: Forest, shown: Uint8Array, rank: (method: number) => number, alive: () => void) {
  const { count, method, parent } = forest
  const ranks = new Int32Array(count)
  let ranksEnd = 1
  for (let node = 0; node < count; node++) {
    if ((node & ALIVE_NODES) === ALIVE_NODES) alive()
    if (method[node] > 0) ranks[node] = rank(method[node])
    if (ranks[node] >= ranksEnd) ranksEnd = ranks[node] + 1
  }
  // Rows of collapsed contexts come last.
  for (let node = 0; node < count; node++) if (method[node] === COLLAPSED) ranks[node] = ranksEnd
  ranksEnd++
  // A counting sort. Each node is then inserted before its siblings that are already linked, so nodes are processed from last to first.
  alive()
  const start = new Int32Array(ranksEnd + 1)
  for (let node = 0; node < count; node++) start[ranks[node] + 1]++
  for (let r = 0; r < ranksEnd; r++) start[r + 1] += start[r]
  alive()
  const sorted = new Int32Array(count)
  for (let node = 0; node < count; node++) {
    if ((node & ALIVE_NODES) === ALIVE_NODES) alive()
    sorted[start[ranks[node]]++] = node
  }
  const firstChild = new Int32Array(count).fill(-1)
  const nextSibling = new Int32Array(count).fill(-1)
  let firstTop = -1
  for (let i = count - 1; i >= 0; i--) {
    if ((i & ALIVE_NODES) === ALIVE_NODES) alive()
    const node = sorted[i]
    if (shown[node] === 0) continue
    const above = parent[node]
    if (above < 0) {
      nextSibling[node] = firstTop
      firstTop = node
    } else {
      nextSibling[node] = firstChild[above]
      firstChild[above] = node
    }
  }
  return { firstChild, nextSibling, firstTop }
}

/** Returns the nodes below a top as a separate tree. */
function below(tree: Tree, top: number): Tree {
  const from = top + 1
  const to = top + tree.size[top]
  const parent = tree.parent.slice(from, to)
  for (let node = 0; node < parent.length; node++)
    parent[node] = parent[node] === top ? -1 : parent[node] - from
  const metrics: { [name: string]: Float64Array } = {}
  for (const name of Object.keys(tree.metrics)) metrics[name] = tree.metrics[name].slice(from, to)
  return {
    count: to - from,
    method: tree.method.slice(from, to),
    parent,
    size: tree.size.slice(from, to),
    metrics,
  }
}

/** Tree with costs in the columns of time. With --liveness there are more columns. */
export type CostTree = ReturnType<typeof treeOf>

function treeOf(count: number) {
  return {
    count,
    method: new Int32Array(count),
    parent: new Int32Array(count),
    size: new Int32Array(count),
    metrics: {
      calls: new Float64Array(count),
      selfNs: new Float64Array(count),
      totalNs: new Float64Array(count),
      measuredNs: new Float64Array(count),
      warmupCalls: new Float64Array(count),
      warmupSelfNs: new Float64Array(count),
    },
  }
}

/** Returns the method id of each node, independent of call sites. */
export function methodsOf({ method, methodOf }: Tree): Int32Array {
  return methodOf === undefined ? method : method.map((id) => methodOf[id])
}

/**
 * Returns the tree with a single method id, the lowest, for all ids with the same key: ids of several call sites, or of classes with equal
 * names in two loaders. A method's total then includes only the outermost calls among these ids.
 */
export function mergedMethods(tree: Tree, keyOf: (id: number) => string): Tree {
  let ids = 0
  for (const id of tree.method) if (id >= ids) ids = id + 1
  const isThere = new Uint8Array(ids)
  for (const id of tree.method) isThere[id] = 1
  const first = new Map<string, number>()
  const methodOf = new Int32Array(ids)
  for (let id = 0; id < ids; id++) {
    if (isThere[id] === 0) continue
    const key = keyOf(id)
    const known = first.get(key)
    if (known === undefined) first.set(key, id)
    methodOf[id] = known ?? id
  }
  return { ...tree, methodOf }
}

/** Sums of a method over all its contexts. */
export interface HotMethod {
  readonly method: number
  readonly calls: number
  /** Self cost, in the unit of the tree's metric. */
  readonly self: number
  /** Total cost of outermost activations only, so that recursion does not count twice. */
  readonly total: number
  /** Number of objects allocated by the method itself, if recorded. */
  readonly objects?: number
}

/**
 * Returns the methods of a tree, sorted by self cost, highest first.
 * The sums are in a dense array indexed by method id, so a million nodes block the thread that draws views for only about 20 ms. Ids
 * of different call sites count as one method.
 */
export function hotMethods(tree: Tree, costs = costsOf(tree)): HotMethod[] {
  const { count, size, collapsed } = tree
  const { calls } = tree.metrics
  const method = methodsOf(tree)
  const { self, total } = costs
  const idOf = (id: number) => tree.methodOf?.[id] ?? id
  let ids = 0
  for (const id of collapsed?.method ?? []) if (idOf(id) >= ids) ids = idOf(id) + 1
  for (let node = 0; node < count; node++) if (method[node] >= ids) ids = method[node] + 1
  const objects = tree.metrics.objects
  /**
   * Per method: calls, self cost, total cost, objects, and the end of the subtree of the current outermost activation (0 before the first).
   */
  const sums = new Float64Array(ids * 5)
  const found: number[] = []
  const isWhole = collapsed !== undefined && costs.self === costsOf(tree).self
  for (let node = 0; node < count; node++) {
    // The contexts in collapsed rows are added after this loop, per method.
    if (isWhole && method[node] === COLLAPSED) continue
    const at = method[node] * 5
    if (sums[at + 4] === 0) found.push(method[node])
    sums[at] += calls[node]
    sums[at + 1] += self[node]
    if (objects !== undefined) sums[at + 3] += objects[node]
    if (node >= sums[at + 4]) {
      sums[at + 2] += total[node]
      sums[at + 4] = node + size[node]
    }
  }
  for (let i = 0; isWhole && i < collapsed.method.length; i++) {
    const id = idOf(collapsed.method[i])
    const at = id * 5
    // The tree has no node of the method: all its contexts have been collapsed.
    if (sums[at + 4] === 0) {
      found.push(id)
      sums[at + 4] = 1
    }
    sums[at] += collapsed.calls[i]
    sums[at + 1] += collapsed.self[i]
    sums[at + 2] += collapsed.total[i]
  }
  return found
    .map((id) => ({
      method: id,
      calls: sums[id * 5],
      self: sums[id * 5 + 1],
      total: sums[id * 5 + 2],
      ...(objects !== undefined && { objects: sums[id * 5 + 3] }),
    }))
    .sort((a, b) => b.self - a.self || a.method - b.method)
}
