// What collapsed contexts (collapse.ts) had, by method: so lists of methods stay exact. And what the rows that stand for them need for
// the compensation: how many of their calls the row's caller has not made itself.

import { type Calibration, exactTime, pairTicks } from '../base/compensation.ts'
import { enlarged } from '../base/enlarged.ts'
import { type Collapse, collapse } from './collapse.ts'
import { ALIVE_NODES, COLLAPSED, NODE, type Nodes } from './nodes.ts'
import type { CollapsedMethods } from './tree.ts'

// As in present-thread.ts.
const { INTS, FLOATS, METHOD, PARENT, CALLS, TICKS } = NODE

/** Of what there may be this part stays, about. */
const STAYS = 3 / 8
/** Above this part there is not enough room for what comes. */
const TOO_MANY = 0.6
/** Where more than this part is left there is little to be collapsed. */
const TOO_FEW_GONE = 0.9
/** Where there was no memory for it, with so many times the nodes. */
const TRIED_AGAIN = 1.25
/** With fewer nodes than this to stay, it is threads and methods that are too many. */
const LEAST = 256

// Columns by method: of its contexts themselves, and of its outermost contexts with what they called.
const OWN = 0
const WHOLE = 4
const COLUMNS = 8
const OF_TICKS = 0
const OF_CALLS = 1
const OF_CALLS_OUT = 2
const OF_HALVES = 3

/** What else is known of nodes. */
interface CallFacts {
  /** By node, calls before the last redefinition had settled. */
  readonly warmCalls: Float64Array
  /** By node. */
  readonly probeHalves: ReadonlyMap<number, number>
}

export class Collapsed {
  /** Contexts that have been collapsed; one that comes again and is collapsed again counts twice. */
  contexts = 0
  /** Nodes from which on contexts are collapsed. */
  mostNodes: number
  readonly #bound: number
  readonly #firstMethod: number
  readonly #alive: () => void
  /** By node: of a row's calls, those that are not its caller's own. */
  #shift = new Float64Array(0)
  #warmShift = new Float64Array(0)
  /** By method, COLUMNS of them. */
  #sums = new Float64Array(0)

  /**
   * @param mostContexts  that there may be
   * @param firstMethod   ids below are no methods, but what a method waits for or allocates
   */
  constructor(mostContexts: number, firstMethod: number, alive: () => void) {
    this.#bound = this.mostNodes = mostContexts
    this.#firstMethod = firstMethod
    this.#alive = alive
  }

  /**
   * By node, of `count`: how many of the calls of a row its caller has not made itself, and the same of the warm-up share; undefined if
   * there are no rows.
   */
  shifts(count: number, warmCount: number): { shift: Float64Array; warmShift: Float64Array } | undefined {
    if (this.contexts === 0) return undefined
    return { shift: ofLength(this.#shift, count), warmShift: ofLength(this.#warmShift, warmCount) }
  }

  /** Counting begins anew; rows stay, and have nothing. */
  reset(): void {
    this.contexts = 0
    this.#shift.fill(0)
    this.#warmShift.fill(0)
    this.#sums.fill(0)
  }

  /**
   * Makes room for contexts to come. The nodes are others afterwards.
   *
   * @param places  where threads are
   * @param prepare makes what there is for the nodes to come, before anything has changed; what it returns puts that in place
   */
  makeRoom(
    nodes: Nodes,
    places: () => Iterable<number>,
    facts: () => CallFacts,
    prepare: (change: Collapse) => () => void,
  ): void {
    const most = this.#bound
    for (let target = most * STAYS; target >= LEAST || target === most * STAYS; target /= 4) {
      const { count } = nodes
      const found = this.#collapsed(nodes, target, places(), facts(), prepare)
      if (found === null) {
        this.mostNodes = count * TRIED_AGAIN
        return
      }
      const { change, move } = found
      nodes.replace(change.bytes, change.count, change.rows, change.pseudo)
      move()
      this.mostNodes = most
      if (nodes.count <= most * TOO_MANY) return
      if (nodes.count > count * TOO_FEW_GONE) break
    }
    // It is threads, and what they stand in: the next context would try again.
    this.mostNodes = nodes.count * 2
  }

  /** Null where memory has no room for it now: all is as it was. */
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

  /** Nothing is noted before all of the memory for it is there. */
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
        // A row in the row, of what is no method: what its caller did is done by the row now.
        if (isDirect) shift[newInts[into * INTS + PARENT]] -= callsOf(node)
      } else if (isRow) shift[into] += isDirect ? before(node) : callsOf(node)
      else if (!isDirect) shift[into] += callsOf(node)
    }
    return shift
  }

  /** What is about to be collapsed, by method. What is called while a thread waits is part of the wait, and of no method. */
  #sumMethods(
    { ints, floats, count }: Nodes,
    { stays }: Collapse,
    probeHalves: ReadonlyMap<number, number>,
  ): void {
    const firstMethod = this.#firstMethod
    const whole = new Float64Array(count * 3) // of a subtree: ticks, calls, halves
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
    // All of the room first: what is half summed would be summed again.
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

  /** Calls and ticks, as measured, of collapsed contexts. */
  forEachMethod(
    visit: (method: number, own: { readonly calls: number; readonly ticks: number }) => void,
  ): void {
    for (let id = 1; id * COLUMNS < this.#sums.length; id++) {
      const [calls, ticks] = [OF_CALLS, OF_TICKS].map((it) => this.#sums[id * COLUMNS + OWN + it]!)
      if (calls !== 0 || ticks !== 0) visit(id, { calls: calls!, ticks: ticks! })
    }
  }

  /** What is in no context of the tree any more; undefined if that is nothing. With `countsCalls` a call costs one, and not its ticks. */
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

/** A copy of a column; nodes that came later have nothing in it. */
function ofLength(column: Float64Array, count: number): Float64Array {
  const copy = new Float64Array(count)
  copy.set(column.subarray(0, count))
  return copy
}

/**
 * Visits all nodes but those below what is no method, callers first.
 *
 * @param visit  told whether no caller of a node is of its own method
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
  /** By method: how often it is on the path to here. */
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
    // What is below no method is visited by nobody, but for what is in a row of collapsed contexts.
    while (node > 0 && nextSibling[node] === 0) {
      node = ints[node * INTS + PARENT]
      if (node > 0 && ints[node * INTS + METHOD] > 0) open[ints[node * INTS + METHOD]]--
    }
    if (node > 0) node = nextSibling[node]
    else node = 0
  }
}
