// Where threads keep trees of their own (events/tree-blocks.ts), their events tell of roots only: how long a call of one was, and who is
// inside one. A builder of its own has these, since the trees have the calls of roots as well. Virtual threads keep none: all
// they call is in their events.

import type { EventSink } from '../events/decode.ts'
import type { Activity } from './activity.ts'
import type { CctBuilder } from './builder.ts'
import type { RootCalls } from './root-calls.ts'

/** Other events than these do not come where threads keep trees. */
export class RootsApart implements EventSink {
  /** Whichever has the present thread. */
  #present: CctBuilder

  /**
   * @param roots  of threads that keep a tree
   * @param all    what is shown
   */
  constructor(
    private readonly roots: CctBuilder,
    private readonly all: CctBuilder,
  ) {
    this.#present = roots
  }

  /** As `all` has been told to. */
  timeRoots(calls: RootCalls): void {
    this.roots.rootCalls = calls
  }

  set nowMs(ms: number) {
    this.roots.nowMs = ms
  }

  /** What a thread that keeps a tree tells: it is known from both. */
  activityOf(thread: number): Activity {
    const { perSecond } = this.all.activityOf(thread)
    return { ...this.roots.activityOf(thread), perSecond }
  }

  get openCalls(): number {
    return this.roots.openCalls
  }

  get healed(): number {
    return this.roots.healed
  }

  reset(nowTicks: number | undefined): void {
    this.roots.reset(nowTicks, true)
  }

  closeOpen(endTicks: number): void {
    this.roots.closeOpen(endTicks)
  }

  calls(words: Uint32Array, from: number, to: number, base: number): number {
    return this.#present.calls(words, from, to, base)
  }

  caught(method: number, ticks: number): void {
    this.#present.caught(method, ticks)
  }

  thread(number: number, segment: number): void {
    this.#present = segment < 0 ? this.roots : this.all
    this.#present.thread(number, segment)
  }

  adjust(ticks: number): void {
    this.all.waitTicks += ticks
  }

  suspend(ticks: number): void {
    this.#present.suspend(ticks)
  }

  resume(ticks: number): void {
    this.#present.resume(ticks)
  }

  root(): void {
    this.#present.root()
  }

  overflow(method: number): void {
    this.all.overflow(method)
  }
}
