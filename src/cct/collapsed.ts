// Keeps the sums of collapsed contexts (collapse.ts) per method, so that lists of methods stay exact. Also keeps data for the compensation:
// for each row, the number of its calls that were not made by the row's caller itself.

import { type Calibration, exactTime, pairTicks } from '../base/compensation.ts'
import { enlarged } from '../base/enlarged.ts'
import { type Collapse, collapse } from './collapse.ts'
import { ALIVE_NODES, COLLAPSED, NODE, type Nodes } from './nodes.ts'
import type { CollapsedMethods } from './tree.ts'

// Local constants for speed, as in thread-stack.ts.
const { INTS, FLOATS, METHOD, PARENT, CALLS, TICKS } = NODE

/** Approximate share of the maximum number of nodes that remains after a collapse. */
const KEPT = 3 / 8
/** If more than this share of the node limit is in use after a collapse, there is too little room for new contexts. */
const MAX_FILLED_SHARE = 0.6
/** If more than this share of the nodes remains, a further collapse would be useless. */
const MAX_REMAINING_SHARE = 0.9
/** Growth of the node limit before a retry, after an allocation failed. */
const RETRY_GROWTH = 1.25
/** Minimum target of a collapse, in nodes. A lower target is useless: then threads and methods alone need too many nodes. */
const MIN_KEPT = 256

// Columns per method: sums over its contexts without callees (OWN), and sums over its outermost contexts including callees (WHOLE).
const OWN = 0
const WHOLE = 4
const COLUMNS = 8
const OF_TICKS = 0
const OF_CALLS = 1
const OF_CALLS_OUT = 2
const OF_HALVES = 3

/** Facts about nodes that are not in the nodes' records. */
interface CallFacts {
  /** Calls before the last redefinition had settled, per node. */
  readonly warmCalls: Float64Array
  /** Probe halves per node. */
  readonly probeHalves: ReadonlyMap<number, number>
}

export class Collapsed {
  /** Number of collapsed contexts. A context that reappears and is collapsed again counts twice. */
  contexts = 0
  /** Number of nodes that triggers a collapse. */
  mostNodes: number
  readonly #bound: number
  readonly #firstMethod: number
  readonly #alive: () => void
  /** Per row: number of its calls that were not made by the row's caller itself. */
  #shift = new Float64Array(0)
  #warmShift = new Float64Array(0)
  /** COLUMNS values per method. */
  #sums = new Float64Array(0)

  /** @param mostContexts  maximum number of contexts @param firstMethod   ids below it are not methods, but waits or allocated classes */
  constructor(mostContexts: number, firstMethod: number, alive: () => void) {
    this.#bound = this.mostNodes = mostContexts
    this.#firstMethod = firstMethod
    this.#alive = alive
  }

  /**
   * Returns, for each node below `count`, the number of its calls that were not made by its caller itself: `shift` in total, `warmShift`
   * during warm-up. The number is 0 unless the node is a row. Returns undefined if no context was collapsed.
   */
  shifts(count: number, warmCount: number): { shift: Float64Array; warmShift: Float64Array } | undefined {
    if (this.contexts === 0) return undefined
    return { shift: ofLength(this.#shift, count), warmShift: ofLength(this.#warmShift, warmCount) }
  }

  /** Restarts counting; rows remain, with zero sums. */
  reset(): void {
    this.contexts = 0
    this.#shift.fill(0)
    this.#warmShift.fill(0)
    this.#sums.fill(0)
  }

  /**
   * Makes room for new contexts. All node indices change.
   * @param places  current nodes of threads
   * @param prepare allocates everything for the new nodes before any change; the returned function applies the change
   */
  makeRoom(
    nodes: Nodes,
    places: () => Iterable<number>,
    facts: () => CallFacts,
    prepare: (change: Collapse) => () => void,
  ): void {
    const most = this.#bound
    for (let target = most * KEPT; target >= MIN_KEPT || target === most * KEPT; target /= 4) {
      const { count } = nodes
      const found = this.#collapsed(nodes, target, places(), facts(), prepare)
      if (found === null) {
        this.mostNodes = count * RETRY_GROWTH
        return
      }
      const { change, move } = found
      nodes.replace(change.bytes, change.count, change.rows, change.pseudo)
      move()
      this.mostNodes = most
      if (nodes.count <= most * MAX_FILLED_SHARE) return
      if (nodes.count > count * MAX_REMAINING_SHARE) break
    }
    // Current nodes of threads cannot be collapsed and use up the limit. Without a higher limit, the next context would collapse again.
    this.mostNodes = nodes.count * 2
  }

  /** Collapses contexts. Returns null if there is not enough memory; in this case nothing has changed. */
  #collapsed(
    nodes: Nodes,
    target: number,
    places: Iterable<number>,
    facts: CallFacts,
    prepare: (change: Collapse) => () => void,
  ): { change: Collapse; move: () => void } | null {
    try {
      const change = collapse(nodes, { target, places, firstMethod: this.#firstMethod, alive: this.#alive })
      const move = prepare(change)
      this.#note(nodes, change, facts)
      return { change, move }
    } catch (error) {
      if (error instanceof RangeError) return null
      throw error
    }
  }

  /** Records the sums. All memory is allocated before the first change. */
  #note(nodes: Nodes, change: Collapse, { warmCalls, probeHalves }: CallFacts): void {
    const { ints, floats, count } = nodes
    const calls = (node: number) => floats[node * FLOATS + CALLS]
    const shift = this.#moveShift(ints, count, change, calls, this.#shift)
    this.#alive()
    const warm = (node: number) => (node < warmCalls.length ? warmCalls[node] : 0)
    const warmShift =
      warmCalls.length > 0 ? this.#moveShift(ints, count, change, warm, this.#warmShift) : this.#warmShift
    this.#alive()
    this.#sumMethods(nodes, change, probeHalves)
    this.#shift = shift
    this.#warmShift = warmShift
    for (let node = 1; node < count; node++) {
      if ((node & ALIVE_NODES) === ALIVE_NODES) this.#alive()
      if (change.stays[node] === 0 && ints[node * INTS + METHOD] > 0) this.contexts++
    }
    this.#alive()
  }

  #moveShift(
    ints: Int32Array,
    count: number,
    { bytes, stays, moved, count: newCount }: Collapse,
    callsOf: (node: number) => number,
    old: Float64Array,
  ): Float64Array<ArrayBuffer> {
    const newInts = new Int32Array(bytes)
    const shift = new Float64Array(newCount)
    const before = (node: number) => (node < old.length ? old[node] : 0)
    for (let node = 1; node < count; node++) {
      if ((node & ALIVE_NODES) === ALIVE_NODES) this.#alive()
      const method = ints[node * INTS + METHOD]
      const into = moved[node]
      const isRow = method === COLLAPSED
      if (stays[node] === 1) {
        if (isRow) shift[into] += before(node)
        continue
      }
      const isDirect = stays[ints[node * INTS + PARENT]] === 1
      if (method >= this.#firstMethod && isDirect) continue
      if (newInts[into * INTS + METHOD] !== COLLAPSED) {
        // `into` is a wait or a class inside a collapsed row. The collapsed row now stands for the caller of the wait or class.
        if (isDirect) shift[newInts[into * INTS + PARENT]] -= callsOf(node)
      } else if (isRow) shift[into] += isDirect ? before(node) : callsOf(node)
      else if (!isDirect) shift[into] += callsOf(node)
    }
    return shift
  }

  /** Sums the contexts to be collapsed, per method. Calls made while a thread waits belong to the wait, and to no method. */
  #sumMethods(
    { ints, floats, count }: Nodes,
    { stays }: Collapse,
    probeHalves: ReadonlyMap<number, number>,
  ): void {
    const firstMethod = this.#firstMethod
    const whole = new Float64Array(count * 3) // per subtree: ticks, calls, halves
    for (const [node, halves] of probeHalves) if (node < count) whole[node * 3 + 2] = halves
    for (let node = count - 1; node > 0; node--) {
      if ((node & ALIVE_NODES) === ALIVE_NODES) this.#alive()
      if (stays[node] === 1) continue
      whole[node * 3] += floats[node * FLOATS + TICKS]
      whole[node * 3 + 1] += floats[node * FLOATS + CALLS]
      const parent = ints[node * INTS + PARENT]
      if (stays[parent] === 1) continue
      for (let i = 0; i < 3; i++) whole[parent * 3 + i] += whole[node * 3 + i]
    }
    // All memory is allocated before anything is added. If an allocation failed in between, a retry would add some values twice.
    let most = 0
    for (let node = 1; node < count; node++) most = Math.max(most, ints[node * INTS + METHOD]!)
    if (most * COLUMNS >= this.#sums.length) this.#sums = enlarged(this.#sums, (most + 1) * COLUMNS)
    const add = (id: number, column: number, value: number) => {
      this.#sums[id * COLUMNS + column] += value
    }
    eachWithItsPath(ints, count, firstMethod, this.#alive, (node, isOutermost) => {
      if (stays[node] === 1) return
      const parent = ints[node * INTS + PARENT]
      const caller = ints[parent * INTS + METHOD]
      const calls = floats[node * FLOATS + CALLS]
      const method = ints[node * INTS + METHOD]
      const own = method === COLLAPSED && node < this.#shift.length ? calls - this.#shift[node] : calls
      if (stays[parent] === 0 && caller >= firstMethod) add(caller, OWN + OF_CALLS_OUT, own)
      if (method < firstMethod) return
      add(method, OWN + OF_TICKS, floats[node * FLOATS + TICKS])
      add(method, OWN + OF_CALLS, calls)
      add(method, OWN + OF_HALVES, probeHalves.get(node) ?? 0)
      if (!isOutermost) return
      add(method, WHOLE + OF_TICKS, whole[node * 3])
      add(method, WHOLE + OF_CALLS, whole[node * 3 + 1])
      add(method, WHOLE + OF_CALLS_OUT, whole[node * 3 + 1] - calls)
      add(method, WHOLE + OF_HALVES, whole[node * 3 + 2])
    })
  }

  /** Calls `visit` for each method with collapsed contexts, with the calls and measured ticks of these contexts. */
  forEachMethod(
    visit: (method: number, own: { readonly calls: number; readonly ticks: number }) => void,
  ): void {
    for (let id = 1; id * COLUMNS < this.#sums.length; id++) {
      const [calls, ticks] = [OF_CALLS, OF_TICKS].map((it) => this.#sums[id * COLUMNS + OWN + it]!)
      if (calls !== 0 || ticks !== 0) visit(id, { calls: calls!, ticks: ticks! })
    }
  }

  /**
   * Returns the sums of all collapsed contexts; undefined if there are none. With `countsCalls`, each call costs 1 instead of its ticks.
   */
  methods(countsCalls: boolean, calibration: Calibration, nsPerTick: number): CollapsedMethods | undefined {
    if (this.contexts === 0) return undefined
    const ids: number[] = []
    this.forEachMethod((id) => ids.push(id))
    const exact = (id: number, from: number) => {
      const of = (column: number) => this.#sums[id * COLUMNS + from + column]!
      if (countsCalls) return of(OF_CALLS)
      const inHandlers = pairTicks(of(OF_HALVES) / 2, calibration)
      return exactTime(of(OF_TICKS) - inHandlers, of(OF_CALLS), of(OF_CALLS_OUT), calibration) * nsPerTick
    }
    return {
      method: Int32Array.from(ids),
      calls: Float64Array.from(ids, (id) => this.#sums[id * COLUMNS + OF_CALLS]!),
      self: Float64Array.from(ids, (id) => exact(id, OWN)),
      total: Float64Array.from(ids, (id) => exact(id, WHOLE)),
    }
  }
}

/** Copies a column to the given length. Nodes beyond the end of the column get 0. */
function ofLength(column: Float64Array, count: number): Float64Array {
  const copy = new Float64Array(count)
  copy.set(column.subarray(0, count))
  return copy
}

/**
 * Visits all nodes except those below pseudo nodes (waits, collapsed contexts). A caller is visited before its callees.
 * @param visit  `isOutermost` is true if no caller of the node, direct or indirect, has the same method
 */
function eachWithItsPath(
  ints: Int32Array,
  count: number,
  firstMethod: number,
  alive: () => void,
  visit: (node: number, isOutermost: boolean) => void,
): void {
  const firstChild = new Int32Array(count)
  const nextSibling = new Int32Array(count)
  let methods = 1
  let firstTop = 0
  for (let node = count - 1; node > 0; node--) {
    if ((node & ALIVE_NODES) === ALIVE_NODES) alive()
    const parent = ints[node * INTS + PARENT]
    if (ints[node * INTS + METHOD] >= methods) methods = ints[node * INTS + METHOD] + 1
    if (parent < 0) {
      nextSibling[node] = firstTop
      firstTop = node
    } else {
      nextSibling[node] = firstChild[parent]
      firstChild[parent] = node
    }
  }
  /** Number of occurrences of each method on the current path. */
  const open = new Int32Array(methods)
  let seen = 0
  for (let node = firstTop; node > 0; ) {
    if ((++seen & ALIVE_NODES) === ALIVE_NODES) alive()
    const method = ints[node * INTS + METHOD]
    visit(node, method <= 0 || open[method] === 0)
    const isMethod = method >= firstMethod || method < 0
    if (isMethod && firstChild[node] !== 0) {
      if (method > 0) open[method]++
      node = firstChild[node]
      continue
    }
    // Nodes below a non-method (a wait, a class, or a row of collapsed contexts) are skipped.
    while (node > 0 && nextSibling[node] === 0) {
      node = ints[node * INTS + PARENT]
      if (node > 0 && ints[node * INTS + METHOD] > 0) open[ints[node * INTS + METHOD]]--
    }
    if (node > 0) node = nextSibling[node]
    else node = 0
  }
}
