// Whole stacks into a calling context tree: as what has changed since the thread's last one.
//
// Two stacks of a thread that begin with the same methods count as the same calls so far. They need not be: a loop may
// have called a method a million times in between. So `calls` is a lower bound.

import { KIND_SHIFT, METHOD_SHIFT } from '../events/event-halves.ts'
import { KIND_ENTER } from '../events/event-layout.ts'
import type { CctBuilder } from './builder.ts'

export class StackWriter {
  /** By thread number. */
  readonly #last = new Map<number, Int32Array>()
  #words = new Uint32Array(256)

  constructor(private readonly builder: CctBuilder) {}

  /**
   * @param thread  its number, from 1
   * @param path    method ids, outermost first
   */
  sample(thread: number, path: Int32Array, weight = 1): void {
    const builder = this.builder
    const last = this.#last.get(thread)
    const same = last === undefined ? 0 : commonLength(last, path)
    builder.thread(thread, -1)
    if (last !== undefined && last.length > same) builder.unwind(last.length - same)
    this.#enter(path, same)
    builder.sample(weight)
    this.#last.set(thread, path)
  }

  /** The thread was seen with this stack, which is no sample: what it no longer has of the last one has returned. */
  away(thread: number, path: Int32Array): void {
    const last = this.#last.get(thread)
    if (last === undefined) return
    const same = commonLength(last, path)
    if (same === last.length) return
    this.builder.thread(thread, -1)
    this.builder.unwind(last.length - same)
    this.#last.set(thread, last.subarray(0, same))
  }

  /** The thread has ended, or its number is to be another's: its next stack is all new. */
  leave(thread: number): void {
    const last = this.#last.get(thread)
    if (last === undefined) return
    this.builder.thread(thread, -1)
    this.builder.unwind(last.length)
    this.#last.delete(thread)
  }

  /** Every thread's next stack is all new. */
  leaveAll(): void {
    for (const thread of [...this.#last.keys()]) this.leave(thread)
  }

  #enter(path: Int32Array, from: number): void {
    const count = path.length - from
    if (this.#words.length < count * 2) this.#words = new Uint32Array(count * 4)
    for (let i = 0; i < count; i++) {
      this.#words[i * 2 + 1] = ((KIND_ENTER << KIND_SHIFT) | (path[from + i]! << METHOD_SHIFT)) >>> 0
    }
    this.builder.calls(this.#words, 0, count * 2, 0)
  }
}

/** From the outermost on. */
function commonLength(a: Int32Array, b: Int32Array): number {
  const most = Math.min(a.length, b.length)
  let same = 0
  while (same < most && a[same] === b[same]) same++
  return same
}
