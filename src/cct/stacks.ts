// Adds sampled stacks to a calling context tree, as changes since the thread's previous stack.
//
// Equal outer frames of two successive stacks count as the same calls. A loop may in fact have called a method many times between the two
// samples, so `calls` is a lower bound.

import { KIND_SHIFT, METHOD_SHIFT } from '../events/event-halves.ts'
import { KIND_ENTER } from '../events/event-layout.ts'
import type { CctBuilder } from './builder.ts'

export class StackWriter {
  /** Last stack of each thread, keyed by thread number. */
  readonly #last = new Map<number, Int32Array>()
  #words = new Uint32Array(256)

  constructor(private readonly builder: CctBuilder) {}

  /** @param thread  number of the thread, from 1 @param path    method ids, outermost first */
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

  /** Registers a stack that is not a sample: frames of the previous stack that are missing in this stack have returned. */
  away(thread: number, path: Int32Array): void {
    const last = this.#last.get(thread)
    if (last === undefined) return
    const same = commonLength(last, path)
    if (same === last.length) return
    this.builder.thread(thread, -1)
    this.builder.unwind(last.length - same)
    this.#last.set(thread, last.subarray(0, same))
  }

  /** Forgets the thread's last stack: the thread has ended, or its number will be reused. All frames of the next stack are new calls. */
  leave(thread: number): void {
    const last = this.#last.get(thread)
    if (last === undefined) return
    this.builder.thread(thread, -1)
    this.builder.unwind(last.length)
    this.#last.delete(thread)
  }

  /** Forgets the last stacks of all threads. */
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

/** Returns the number of equal methods at the outer end of two stacks. */
function commonLength(a: Int32Array, b: Int32Array): number {
  const most = Math.min(a.length, b.length)
  let same = 0
  while (same < most && a[same] === b[same]) same++
  return same
}
