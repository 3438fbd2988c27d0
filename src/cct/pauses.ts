// What stop-the-world redefinitions take out of times, whether they are told before or after the events around them: gaps
// between events are remembered for a while, and so are pauses.
//
// Of each thread a pause is taken out of one gap, the one that it fills most of.

import { NODE_FLOATS, NODE_TICKS, type Nodes } from './nodes.ts'
import type { RootCalls } from './root-calls.ts'
import type { WarmUp } from './warm-up.ts'

const GAPS = 65_536
/** Pauses that a thread may still have to live through: those of the last minutes, at least. */
const PAUSES = 256

/** A stop-the-world redefinition, and what it was taken out of. */
interface Pause {
  readonly start: number
  readonly end: number
  /** By thread number: at most one gap each, the one that the pause fills most of. */
  readonly taken: Map<number, { node: number; ticks: number; at: number; beforeWarm: boolean }>
}

export class Pauses {
  /** Ticks of threads inside roots that pauses were taken out of. */
  ticks = 0
  /** Told of what is taken out, where calls of roots are timed. */
  rootCalls: RootCalls | null = null
  readonly #nodes: Nodes
  readonly #gapThreads = new Int32Array(GAPS)
  readonly #gapNodes = new Int32Array(GAPS)
  readonly #gapStarts = new Float64Array(GAPS)
  readonly #gapEnds = new Float64Array(GAPS)
  /** Gaps so far; the latest GAPS of them are remembered. */
  #gaps = 0
  #forgottenGaps = 0
  readonly #pauses: Pause[] = []
  #end = -1
  #warm: WarmUp | null = null
  #warmGaps = 0

  constructor(nodes: Nodes) {
    this.#nodes = nodes
  }

  /** Those that are remembered. */
  get all(): readonly { readonly start: number; readonly end: number }[] {
    return this.#pauses
  }

  /** @returns what was remembered; null if it has taken no time */
  add(startTicks: number, endTicks: number): { readonly start: number; readonly end: number } | null {
    const pause: Pause = { start: Math.round(startTicks), end: Math.round(endTicks), taken: new Map() }
    if (pause.end <= pause.start) return null
    if (this.#pauses.length === PAUSES) this.#pauses.shift()
    this.#pauses.push(pause)
    this.#end = Math.max(this.#end, pause.end)
    return pause
  }

  /** Takes the latest one out of the gaps that are there. */
  takeOutLatest(): void {
    const pause = this.#pauses.at(-1)
    if (pause === undefined) return
    const oldest = Math.max(this.#forgottenGaps, this.#gaps - GAPS)
    for (let gap = oldest; gap < this.#gaps; gap++) this.#takeOut(pause, gap)
  }

  /** Time that is about to be charged to a node. */
  gap(thread: number, node: number, start: number, end: number): void {
    const at = this.#gaps % GAPS
    this.#gapThreads[at] = thread
    this.#gapNodes[at] = node
    this.#gapStarts[at] = start
    this.#gapEnds[at] = end
    const gap = this.#gaps++
    if (start >= this.#end) return
    for (const pause of this.#pauses) this.#takeOut(pause, gap)
  }

  /** What a thread was charged between two moments is no concern of pauses any more. */
  forget(thread: number, from: number, to: number): void {
    for (let gap = Math.max(this.#forgottenGaps, this.#gaps - GAPS); gap < this.#gaps; gap++) {
      const at = gap % GAPS
      if (this.#gapThreads[at] !== thread || this.#gapStarts[at] < from || this.#gapEnds[at] > to) continue
      this.#gapEnds[at] = this.#gapStarts[at]
    }
    for (const { taken } of this.#pauses) {
      const of = taken.get(thread)
      if (of !== undefined && of.at >= from && of.at < to) taken.delete(thread)
    }
  }

  /** Ticks of pauses between two moments. */
  between(from: number, to: number): number {
    let ticks = 0
    for (const { start, end } of this.#pauses) ticks += Math.max(0, Math.min(end, to) - Math.max(start, from))
    return ticks
  }

  /** What lies before now is corrected in the warm-up share, too. */
  warmUp(warm: WarmUp): void {
    this.#warm = warm
    this.#warmGaps = this.#gaps
  }

  /** Nodes are others from now on, and what was corrected is forgotten: so are the gaps, and the warm-up share. */
  reset(): void {
    this.ticks = 0
    this.forgetWarmUp()
    this.#forgottenGaps = this.#gaps
    for (const pause of this.#pauses) pause.taken.clear()
  }

  forgetWarmUp(): void {
    this.#warm = null
    this.#warmGaps = 0
  }

  /** Takes the pause out of the node that the gap was charged to, if no other gap held more of it. */
  #takeOut(pause: Pause, gap: number): void {
    const at = gap % GAPS
    const ticks = Math.min(this.#gapEnds[at], pause.end) - Math.max(this.#gapStarts[at], pause.start)
    if (ticks <= 0) return
    const thread = this.#gapThreads[at]
    const before = pause.taken.get(thread)
    if (before !== undefined) {
      if (before.ticks >= ticks) return
      this.#correct(before.node, before.ticks, before.beforeWarm)
      this.rootCalls?.takeOut(thread, before.at, -before.ticks)
    }
    const start = this.#gapStarts[at]
    const taken = { node: this.#gapNodes[at], ticks, at: start, beforeWarm: gap < this.#warmGaps }
    this.#correct(taken.node, -ticks, taken.beforeWarm)
    this.rootCalls?.takeOut(thread, start, ticks)
    pause.taken.set(thread, taken)
  }

  #correct(node: number, ticks: number, beforeWarm: boolean): void {
    this.ticks -= ticks
    this.#nodes.floats[node * NODE_FLOATS + NODE_TICKS] += ticks
    if (beforeWarm && this.#warm !== null) this.#warm.ticks[node] += ticks
  }
}
