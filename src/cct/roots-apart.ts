// Handles events of roots if threads keep their own trees (events/tree-blocks.ts). The events only report the durations of root calls, and
// which threads are inside a root. A separate builder handles these events, since the trees also contain the root calls. Virtual threads
// keep no tree: all their calls are in their events.

import type { EventSink } from '../events/decode.ts'
import type { Activity } from './activity.ts'
import type { CctBuilder } from './builder.ts'
import type { RootCalls } from './root-calls.ts'

/** Event sink for root calls. Threads with their own trees send no other kinds of events. */
export class RootsApart implements EventSink {
  /** Builder that handles the events of the current thread. */
  #present: CctBuilder

  /** @param roots  builder for threads that keep a tree @param all    builder of the shown tree */
  constructor(
    private readonly roots: CctBuilder,
    private readonly all: CctBuilder,
  ) {
    this.#present = roots
  }

  /** Times root calls with the same `RootCalls` as the builder `all`. */
  timeRoots(calls: RootCalls): void {
    this.roots.rootCalls = calls
  }

  set nowMs(ms: number) {
    this.roots.nowMs = ms
  }

  /** Combines the activity of a thread from both builders. */
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

  threw(classNumber: number): void {
    this.#present.threw(classNumber)
  }

  className(id: number, at: number, unit: number): void {
    this.#present.className(id, at, unit)
  }

  overflow(method: number): void {
    this.all.overflow(method)
  }
}
