// Subtracts stop-the-world redefinitions from times. A pause may arrive before or after the surrounding events, since recent gaps between
// events and recent pauses are both kept.
//
// A pause is subtracted from at most one gap per thread: the gap with the largest overlap.

import { enlarged } from '../base/enlarged.ts'
import { NODE, type Nodes } from './nodes.ts'
import type { RootCalls } from './root-calls.ts'
import type { WarmUp } from './warm-up.ts'

// Local constants for speed, as in thread-stack.ts.
const { FLOATS, TICKS } = NODE

const GAPS = 65_536
const FIRST_GAPS = 16
const GAP_BYTES = 24
/** Number of pauses kept for events that arrive late. They include all pauses of the last minutes. */
const PAUSES = 256

/** A stop-the-world redefinition, and the gaps from which its duration was subtracted. */
interface Pause {
  readonly start: number
  readonly end: number
  /** Subtractions of the pause, keyed by thread number: at most one gap per thread, the gap with the largest overlap. */
  readonly taken: Map<number, { node: number; ticks: number; at: number; beforeWarm: boolean }>
}

/** A subtraction of a pause from a gap. */
export interface TakenOut {
  /** A time within the gap, in ticks. */
  readonly at: number
  /** Ticks subtracted; negative if an earlier subtraction is undone. */
  readonly ticks: number
}

/** Pending subtractions from gaps of one call. */
interface Awaited {
  readonly thread: number
  /** Start of the call. */
  readonly from: number
  /** Subtractions that are pending, latest first. */
  readonly takenOut: TakenOut[]
}

export class Pauses {
  /** Root calls, which are notified of each subtraction; null unless root calls are timed. */
  rootCalls: RootCalls | null = null
  // Initially empty, to save memory: a builder of a single call usually has few gaps.
  #gapThreads = new Int32Array(0)
  #gapNodes = new Int32Array(0)
  #gapStarts = new Float64Array(0)
  #gapEnds = new Float64Array(0)
  /** Number of gaps so far. Only the latest GAPS gaps are kept. */
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

  /** Subtracts a pause from the known gaps, and keeps the pause for later gaps. */
  add(startTicks: number, endTicks: number): void {
    const pause: Pause = { start: Math.round(startTicks), end: Math.round(endTicks), taken: new Map() }
    if (pause.end <= pause.start) return
    if (this.#pauses.length === PAUSES) this.#pauses.shift()
    this.#pauses.push(pause)
    this.#end = Math.max(this.#end, pause.end)
    // The best gap of each thread is found first. Otherwise a subtraction could change a root call and be undone afterwards.
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
   * Repeats a subtraction that another builder of the same events made.
   * @param from  start of the call that contains the gap
   * @returns whether this builder still knows the gap
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
   * Does the same as `takeOut`, for gaps that arrive after this call. The number of gaps is not limited, since each gap is corrected before
   * it can be discarded. After the last gap, `takeOutAwaited` must be called.
   */
  awaitGaps(thread: number, from: number, takenOut: readonly TakenOut[]): void {
    this.#awaited = { thread, from, takenOut: [...takenOut].sort((a, b) => b.at - a.at) }
  }

  /** Ends `awaitGaps`. Called when all gaps have arrived. */
  takeOutAwaited(): void {
    if (this.#awaited !== null) this.#takeOutBefore(this.#awaited, Number.POSITIVE_INFINITY)
    this.#awaited = null
  }

  /** Applies the pending subtractions that are earlier than `start`, the start of the next gap. Their gaps have already arrived. */
  #takeOutBefore({ thread, from, takenOut }: Awaited, start: number): void {
    while (takenOut.length > 0 && takenOut.at(-1)!.at < start) this.takeOut(thread, from, takenOut.pop()!)
  }

  /** Registers a gap. Its time is charged to `node` directly after this call. */
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

  /** Returns the ticks of pauses between two times. */
  between(from: number, to: number): number {
    let ticks = 0
    for (const { start, end } of this.#pauses) ticks += Math.max(0, Math.min(end, to) - Math.max(start, from))
    return ticks
  }

  /** Replaces node indices by new indices. @param warm  warm-up share, already with the new indices */
  move(moved: Int32Array, warm: WarmUp): void {
    for (let at = 0; at < this.#gapNodes.length; at++) this.#gapNodes[at] = moved[this.#gapNodes[at]]
    for (const { taken } of this.#pauses) for (const it of taken.values()) it.node = moved[it.node]
    if (this.#warm !== null) this.#warm = warm
  }

  /** Marks the end of warm-up: corrections of earlier gaps also apply to the warm-up share. */
  warmUp(warm: WarmUp): void {
    this.#warm = warm
    this.#warmGaps = this.#gaps
  }

  /** Forgets all gaps, corrections and the warm-up share, since the nodes are reset. */
  reset(): void {
    this.forgetWarmUp()
    this.#forgottenGaps = this.#gaps
    for (const pause of this.#pauses) pause.taken.clear()
  }

  forgetWarmUp(): void {
    this.#warm = null
    this.#warmGaps = 0
  }

  /** Subtracts the pause from the gap's node, unless another gap of the thread has a larger overlap. */
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
