// Methods that have been folded into their callers: they have no probes for now, so there are no events of their calls,
// and their time is their callers' own. Their contexts stay in the tree, and how many calls they would have counted is
// told from what called them: by so many a call of the caller, or a tick of its time where that is called seldom or never ends.
//
// And methods that are only counted: of their calls there is one event without a time, and their time is their callers' as well.
//
// And what is needed to know which methods to fold: sums by method, and who called whom.

import { callTicks, type ProbeCosts } from '../base/compensation.ts'
import type { CctBuilder } from './builder.ts'
import { COUNTED, FOLDED } from './folds.ts'
import {
  ALIVE_NODES,
  COLLAPSED,
  handedOverFrom,
  NODE_CALLS,
  NODE_FLOATS,
  NODE_INTS,
  NODE_METHOD,
  NODE_PARENT,
  NODE_TICKS,
} from './nodes.ts'

// An imported constant is a cell to V8, loaded at each use; see present-thread.ts.
const INTS = NODE_INTS
const FLOATS = NODE_FLOATS
const ALIVE = ALIVE_NODES

/** With fewer calls of a caller its time tells, too: both tell too little then, of a call that has not ended, and of code that was cold. */
const ENOUGH_CALLS = 3

/** Since the session began, or since `reset`. Ticks are those of threads inside roots. */
export interface MethodSums {
  /** By method id: those that were timed. */
  readonly calls: Float64Array
  /** Those that were only counted. */
  readonly counted: Float64Array
  /** Of methods themselves, as measured. */
  readonly ticks: Float64Array
  /** Calls, with those that folded methods would have had. */
  readonly estimated: Float64Array
  /** Pairs of caller and callee that have not been told before. A callee 0 stands for work that was handed over. */
  readonly edges: Int32Array
  readonly totalCalls: number
  readonly totalCounted: number
  readonly insideTicks: number
  /** Taken out of the times: threads waited for us, or stood still during redefinitions. */
  readonly waitTicks: number
  readonly pauseTicks: number
}

/** Methods, by how they are from now on. */
export interface FoldChange {
  readonly folded: readonly number[]
  readonly counted: readonly number[]
  /** Timed, as all are at first. */
  readonly timed: readonly number[]
}

/** A folded context: its calls for each call of its caller, and for each tick of its time; and how much of both there was when it was folded. */
interface Rate {
  readonly eachCall: number
  /** 0 where calls alone tell. */
  readonly eachTick: number
  fromCalls: number
  fromTicks: number
}

export class Folding {
  readonly #builder: CctBuilder
  readonly costs: ProbeCosts
  readonly #alive: () => void
  readonly #states = new Map<number, number>()
  /** Of contexts whose method is folded. */
  readonly #rates = new Map<number, Rate>()
  /** The latest of contexts that have been folded. */
  readonly #known = new Map<number, Rate>()
  /** Of contexts: calls that were not counted, while their methods were folded before, and the caller's calls and ticks meanwhile. */
  readonly #past = new Map<number, { extra: number; calls: number; ticks: number }>()
  readonly #callees = new Map<number, Set<number>>()
  #edges: number[] = []
  #learned = 1
  #estimated = new Float64Array(0)
  #inclusive = new Float64Array(0)

  constructor(builder: CctBuilder, costs: ProbeCosts, alive: () => void = () => {}) {
    this.#builder = builder
    this.costs = costs
    this.#alive = alive
    builder.onMoved = (moved) => this.#move(moved)
  }

  /** By method: FOLDED or COUNTED; none for those that are timed. */
  get states(): ReadonlyMap<number, number> {
    return this.#states
  }

  /** These have other probes, or none. */
  change({ folded, counted, timed }: FoldChange, nowTicks: number): void {
    const was = (method: number) => this.#states.get(method) === FOLDED
    this.#unfold([...counted, ...timed].filter(was), nowTicks)
    this.#fold(
      folded.filter((it) => !was(it)),
      nowTicks,
    )
    for (const method of folded) this.#states.set(method, FOLDED)
    for (const method of counted) this.#states.set(method, COUNTED)
    for (const method of timed) this.#states.delete(method)
  }

  #fold(methods: readonly number[], nowTicks: number): void {
    this.#estimate(nowTicks)
    const chosen = new Set(methods)
    const { ints, count } = this.#builder
    for (let node = 1; node < count; node++) {
      if (!chosen.has(ints[node * INTS + NODE_METHOD])) continue
      const rate = this.#rateOf(node, ints[node * INTS + NODE_PARENT], this.#callsOf(node))
      if (rate === null) continue
      this.#rates.set(node, rate)
      this.#known.set(node, rate)
    }
  }

  #unfold(methods: readonly number[], nowTicks: number): void {
    this.#estimate(nowTicks)
    const chosen = new Set(methods)
    const { ints } = this.#builder
    for (const [node, rate] of this.#rates) {
      if (!chosen.has(ints[node * INTS + NODE_METHOD])) continue
      const parent = ints[node * INTS + NODE_PARENT]
      const past = this.#past.get(node) ?? { extra: 0, calls: 0, ticks: 0 }
      this.#past.set(node, {
        extra: past.extra + this.#extraOf(rate, parent),
        calls: past.calls + Math.max(0, this.#estimated[parent] - rate.fromCalls),
        ticks: past.ticks + Math.max(0, this.#inclusive[parent] - rate.fromTicks),
      })
      this.#rates.delete(node)
    }
  }

  /** Counting begins anew: what a context has for each call of its caller is as true as before. */
  reset(nowTicks: number): void {
    this.#past.clear()
    for (const rate of this.#rates.values()) Object.assign(rate, { fromCalls: 0, fromTicks: 0 })
    this.#estimate(nowTicks)
    const { ints } = this.#builder
    for (const [node, rate] of this.#rates) rate.fromTicks = this.#inclusive[ints[node * INTS + NODE_PARENT]]
    this.#estimate(nowTicks)
  }

  /** By node: calls that it would have counted as well. A view that the next call changes. */
  extra(nowTicks: number): Float64Array {
    this.#estimate(nowTicks)
    const { count } = this.#builder
    const estimated = this.#estimated
    for (let node = 0; node < count; node++) estimated[node] -= this.#callsOf(node)
    return estimated.subarray(0, count)
  }

  sums(nowTicks: number): MethodSums {
    this.#learn()
    this.#estimate(nowTicks)
    const { ints, floats, count, waitTicks, pauseTicks, countedCalls } = this.#builder
    let methods = 1
    for (let node = 1; node < count; node++) methods = Math.max(methods, ints[node * INTS + NODE_METHOD] + 1)
    this.#builder.collapsed?.forEachMethod((method) => {
      methods = Math.max(methods, method + 1)
    })
    const calls = new Float64Array(methods)
    const counted = new Float64Array(methods)
    const ticks = new Float64Array(methods)
    const estimated = new Float64Array(methods)
    let totalCalls = 0
    let totalCounted = 0
    let insideTicks = 0
    for (let node = 1; node < count; node++) {
      if ((node & ALIVE) === ALIVE) this.#alive()
      const method = ints[node * INTS + NODE_METHOD]
      if (method <= 0) continue
      calls[method] += floats[node * FLOATS + NODE_CALLS]
      ticks[method] += floats[node * FLOATS + NODE_TICKS]
      estimated[method] += this.#estimated[node]
      totalCalls += floats[node * FLOATS + NODE_CALLS]
      if (node < countedCalls.length) {
        counted[method] += countedCalls[node]
        totalCounted += countedCalls[node]
      }
      insideTicks += floats[node * FLOATS + NODE_TICKS]
    }
    this.#builder.collapsed?.forEachMethod((method, ofMethod) => {
      calls[method] += ofMethod.calls
      ticks[method] += ofMethod.ticks
      estimated[method] += ofMethod.calls
      totalCalls += ofMethod.calls
      insideTicks += ofMethod.ticks
    })
    this.#builder.forEachOpen(nowTicks, (node, open) => {
      const method = ints[node * INTS + NODE_METHOD]
      if (method <= 0) return
      ticks[method] += open
      insideTicks += open
    })
    const edges = Int32Array.from(this.#edges.splice(0))
    const totals = { totalCalls, totalCounted, insideTicks, waitTicks, pauseTicks }
    return { calls, counted, ticks, estimated, edges, ...totals }
  }

  /** What is known of contexts that have been collapsed is forgotten. */
  #move(moved: Int32Array): void {
    const { ints } = this.#builder
    for (const known of [this.#rates, this.#known, this.#past] as Map<number, unknown>[]) {
      const entries = [...known]
      known.clear()
      for (const [node, it] of entries)
        if (ints[moved[node] * INTS + NODE_METHOD] !== COLLAPSED) known.set(moved[node], it)
    }
    this.#learned = 1
  }

  /** Those that were told of. */
  #callsOf(node: number): number {
    const { floats, countedCalls } = this.#builder
    return floats[node * FLOATS + NODE_CALLS] + (node < countedCalls.length ? countedCalls[node] : 0)
  }

  #rateOf(node: number, parent: number, calls: number): Rate | null {
    const { calls: pastCalls, ticks: pastTicks } = this.#past.get(node) ?? { calls: 0, ticks: 0 }
    const [estimated, inclusive] = [this.#estimated[parent], this.#inclusive[parent]]
    const callerCalls = estimated - pastCalls
    const from = { fromCalls: estimated, fromTicks: inclusive }
    const before = this.#known.get(node)
    // Since all was set to zero it may not have been called enough to tell.
    if (before !== undefined && Math.max(calls, callerCalls) < ENOUGH_CALLS) return { ...before, ...from }
    const ticks = callerCalls < ENOUGH_CALLS ? inclusive - pastTicks : 0
    const eachCall = callerCalls > 0 ? calls / callerCalls : 0
    const eachTick = ticks > 0 ? calls / ticks : 0
    return eachCall + eachTick > 0 ? { eachCall, eachTick, ...from } : null
  }

  /** Calls of each node, with those that were not counted, and its time with callees and without what probes cost. */
  #estimate(nowTicks: number): void {
    const { ints, floats, count, countedCalls } = this.#builder
    if (count > this.#estimated.length) {
      this.#estimated = new Float64Array(count * 2)
      this.#inclusive = new Float64Array(count * 2)
    }
    const [estimated, inclusive] = [this.#estimated, this.#inclusive]
    for (let node = 0; node < count; node++) {
      const timed = floats[node * FLOATS + NODE_CALLS]
      const counted = node < countedCalls.length ? countedCalls[node] : 0
      estimated[node] = timed + counted
      inclusive[node] = floats[node * FLOATS + NODE_TICKS] - callTicks(timed, counted, this.costs)
    }
    this.#builder.forEachOpen(nowTicks, (node, ticks) => {
      inclusive[node] += ticks
    })
    for (let node = count - 1; node > 0; node--) {
      if ((node & ALIVE) === ALIVE) this.#alive()
      const parent = ints[node * INTS + NODE_PARENT]
      if (parent >= 0 && ints[parent * INTS + NODE_PARENT] >= 0) inclusive[parent] += inclusive[node]
    }
    for (const [node, { extra }] of this.#past) estimated[node] += extra
    // Callers come first.
    for (const node of this.#ordered()) {
      estimated[node] += this.#extraOf(this.#rates.get(node)!, ints[node * INTS + NODE_PARENT])
    }
  }

  #extraOf({ eachCall, eachTick, fromCalls, fromTicks }: Rate, caller: number): number {
    const calls = eachCall * Math.max(0, this.#estimated[caller] - fromCalls)
    return Math.max(calls, eachTick * Math.max(0, this.#inclusive[caller] - fromTicks))
  }

  #ordered(): Int32Array {
    return Int32Array.from(this.#rates.keys()).sort()
  }

  #learn(): void {
    const { ints, count } = this.#builder
    for (let node = this.#learned; node < count; node++) {
      const parent = ints[node * INTS + NODE_PARENT]
      if (parent < 0) continue
      const method = ints[node * INTS + NODE_METHOD]
      const from = handedOverFrom(method)
      // What a method hands over stays below it, so it must stay where it is.
      if (from >= 0) this.#learnEdge(ints[from * INTS + NODE_METHOD], 0)
      else this.#learnEdge(ints[parent * INTS + NODE_METHOD], method)
    }
    this.#learned = count
  }

  #learnEdge(caller: number, callee: number): void {
    if (caller <= 0) return
    let callees = this.#callees.get(caller)
    if (callees === undefined) {
      callees = new Set()
      this.#callees.set(caller, callees)
    }
    if (callees.has(callee)) return
    callees.add(callee)
    this.#edges.push(caller, callee)
  }
}
