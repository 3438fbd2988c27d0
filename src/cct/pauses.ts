// What stop-the-world redefinitions take out of times, whether they are told before or after the events around them: gaps
// between events are remembered for a while, and so are pauses.
//
// Of each thread a pause is taken out of one gap, the one that it fills most of.

import { enlarged } from '../base/enlarged.ts'
import { NODE, type Nodes } from './nodes.ts'
import type { RootCalls } from './root-calls.ts'
import type { WarmUp } from './warm-up.ts'

// As in present-thread.ts.
const { FLOATS, TICKS } = NODE

const GAPS = 65_536
const FIRST_GAPS = 16
const GAP_BYTES = 24
/** Pauses that a thread may still have to live through: those of the last minutes, at least. */
const PAUSES = 256

/** A stop-the-world redefinition, and what it was taken out of. */
interface Pause {
  readonly start: number
  readonly end: number
  /** By thread number: at most one gap each, the one that the pause fills most of. */
  readonly taken: Map<number, { node: number; ticks: number; at: number; beforeWarm: boolean }>
}

/** What a pause has taken out of a gap. */
export interface TakenOut {
  /** A tick in the gap. */
  readonly at: number
  /** Negative if it was none after all. */
  readonly ticks: number
}

/** What is to be taken out of gaps of one call when they come. */
interface Awaited {
  readonly thread: number
  /** When the call began. */
  readonly from: number
  /** The earliest last. */
  readonly takenOut: TakenOut[]
}

export class Pauses {
  /** Told of what is taken out, where calls of roots are timed. */
  rootCalls: RootCalls | null = null
  // Most builders of single calls have few.
  #gapThreads = new Int32Array(0)
  #gapNodes = new Int32Array(0)
  #gapStarts = new Float64Array(0)
  #gapEnds = new Float64Array(0)
  /** Gaps so far; the latest GAPS of them are remembered. */
  #gaps = 0
  #forgottenGaps = 0
  readonly #pauses: Pause[] = []
  #end = -1
  #awaited: Awaited | null = null
  #warm: WarmUp | null = null
  #warmGaps = 0

  constructor(private readonly nodes: Nodes) {}

  get bytes(): number {
    return this.#gapThreads.length * GAP_BYTES
  }

  /** Takes one out of the gaps that are there, and remembers it for those that come. */
  add(startTicks: number, endTicks: number): void {
    const pause: Pause = { start: Math.round(startTicks), end: Math.round(endTicks), taken: new Map() }
    if (pause.end <= pause.start) return
    if (this.#pauses.length === PAUSES) this.#pauses.shift()
    this.#pauses.push(pause)
    this.#end = Math.max(this.#end, pause.end)
    // Of each thread the gap first that it is taken out of: what it makes of other calls does not come to pass.
    const best = new Map<number, number>()
    for (let gap = this.#oldest; gap < this.#gaps; gap++) {
      const ticks = this.#overlap(pause, gap)
      if (ticks <= 0) continue
      const before = best.get(this.#gapThreads[gap % GAPS])
      if (before === undefined || this.#overlap(pause, before) < ticks)
        best.set(this.#gapThreads[gap % GAPS], gap)
    }
    for (const gap of best.values()) this.#takeOut(pause, gap)
  }

  get #oldest(): number {
    return Math.max(this.#forgottenGaps, this.#gaps - GAPS)
  }

  /**
   * What another builder of the same events has taken out of one of its gaps.
   *
   * @param from  when the call began that it is in
   * @returns whether there is such a gap
   */
  takeOut(thread: number, from: number, { at, ticks }: TakenOut): boolean {
    for (let gap = this.#gaps - 1; gap >= this.#oldest; gap--) {
      const i = gap % GAPS
      const start = this.#gapStarts[i]
      if (this.#gapThreads[i] !== thread || start > at || start < from) continue
      this.#correct(this.#gapNodes[i], -ticks, gap < this.#warmGaps)
      return true
    }
    return false
  }

  /**
   * The same of gaps of which some are still to come: each is taken out of before it may be forgotten, however many come after it.
   * To be followed by these gaps, and by `takeOutAwaited`.
   */
  awaitGaps(thread: number, from: number, takenOut: readonly TakenOut[]): void {
    this.#awaited = { thread, from, takenOut: [...takenOut].sort((a, b) => b.at - a.at) }
  }

  /** All of them have come. */
  takeOutAwaited(): void {
    if (this.#awaited !== null) this.#takeOutBefore(this.#awaited, Number.POSITIVE_INFINITY)
    this.#awaited = null
  }

  /** The next gap starts then, so that what is in one before it is in one that is here. */
  #takeOutBefore({ thread, from, takenOut }: Awaited, start: number): void {
    while (takenOut.length > 0 && takenOut.at(-1)!.at < start) this.takeOut(thread, from, takenOut.pop()!)
  }

  /** Time that is about to be charged to a node. */
  gap(thread: number, node: number, start: number, end: number): void {
    if (this.#awaited !== null) this.#takeOutBefore(this.#awaited, start)
    const at = this.#gaps % GAPS
    if (at >= this.#gapThreads.length) this.#grow(at)
    this.#gapThreads[at] = thread
    this.#gapNodes[at] = node
    this.#gapStarts[at] = start
    this.#gapEnds[at] = end
    const gap = this.#gaps++
    if (start >= this.#end) return
    for (const pause of this.#pauses) this.#takeOut(pause, gap)
  }

  #grow(at: number): void {
    const room = Math.max(at, FIRST_GAPS - 1)
    this.#gapThreads = enlarged(this.#gapThreads, room)
    this.#gapNodes = enlarged(this.#gapNodes, room)
    this.#gapStarts = enlarged(this.#gapStarts, room)
    this.#gapEnds = enlarged(this.#gapEnds, room)
  }

  /** Ticks of pauses between two moments. */
  between(from: number, to: number): number {
    let ticks = 0
    for (const { start, end } of this.#pauses) ticks += Math.max(0, Math.min(end, to) - Math.max(start, from))
    return ticks
  }

  /**
   * Nodes have other indices now.
   *
   * @param warm  the warm-up share of these nodes
   */
  move(moved: Int32Array, warm: WarmUp): void {
    for (let at = 0; at < this.#gapNodes.length; at++) this.#gapNodes[at] = moved[this.#gapNodes[at]]
    for (const { taken } of this.#pauses) for (const it of taken.values()) it.node = moved[it.node]
    if (this.#warm !== null) this.#warm = warm
  }

  /** What lies before now is corrected in the warm-up share, too. */
  warmUp(warm: WarmUp): void {
    this.#warm = warm
    this.#warmGaps = this.#gaps
  }

  /** Nodes are others from now on, and what was corrected is forgotten: so are the gaps, and the warm-up share. */
  reset(): void {
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
    const ticks = this.#overlap(pause, gap)
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

  #overlap({ start, end }: Pause, gap: number): number {
    const at = gap % GAPS
    return Math.min(this.#gapEnds[at], end) - Math.max(this.#gapStarts[at], start)
  }

  #correct(node: number, ticks: number, beforeWarm: boolean): void {
    this.nodes.floats[node * FLOATS + TICKS] += ticks
    if (beforeWarm && this.#warm !== null) this.#warm.ticks[node] += ticks
  }
}
