// Sampling by dumps of all threads: what a JVM can do that has nothing else, and the measure that others are held against.
//
// The JVM stops all its threads for each dump, wherever the compilers have left a safepoint, so hot loops hide in what
// surrounds them. Threads count that are RUNNABLE, which to the JVM are those that wait in native code, too. Of its own it
// has one that always does.

import type { AttachConnection } from '../../attach/handshake.ts'
import { dumpThreads } from '../../attach/thread-dump.ts'
import type { Sampling } from '../../profile/profile.ts'
import type { SampledTree } from './sampled-tree.ts'
import { type Sampler, withoutAddress } from './sampler.ts'

const ALWAYS_WAITS = 'java.lang.ref.Reference.waitForReferencePendingList'

export class ThreadDumps implements Sampler {
  readonly #connection: AttachConnection
  readonly #tree: SampledTree
  readonly #everyMs: number
  /** By `package.Class.method`. */
  readonly #ids = new Map<string, number>()
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> = Promise.resolve()
  #stopped = false
  #problem: unknown
  #late = 0
  #dumps = 0

  constructor(connection: AttachConnection, tree: SampledTree, { every }: Pick<Sampling, 'every'>) {
    this.#connection = connection
    this.#tree = tree
    this.#everyMs = every / 1e6
  }

  async start(): Promise<void> {
    await this.#dump()
    this.#arm(performance.now() + this.#everyMs)
  }

  #arm(due: number): void {
    if (this.#stopped) return
    this.#timer = setTimeout(() => {
      this.#running = this.#dump().then(
        () => {
          const missed = Math.max(0, Math.floor((performance.now() - due) / this.#everyMs))
          this.#late += missed
          this.#arm(due + (missed + 1) * this.#everyMs)
        },
        (error: unknown) => {
          this.#problem = error
        },
      )
    }, due - performance.now())
  }

  async #dump(): Promise<void> {
    for (const { id, name, virtual, state, frames } of await dumpThreads(this.#connection)) {
      if (state !== 'RUNNABLE' || frames[0] === ALWAYS_WAITS) continue
      const path = new Int32Array(frames.length)
      for (const [i, frame] of frames.entries()) path[frames.length - 1 - i] = this.#idOf(frame)
      this.#tree.sample({ id, name, virtual }, path)
    }
    this.#dumps++
  }

  #idOf(frame: string): number {
    let id = this.#ids.get(frame)
    if (id === undefined) {
      const dot = frame.lastIndexOf('.')
      id = this.#tree.idOf({
        class: withoutAddress(frame.slice(0, dot)).replaceAll('/', '.'),
        method: frame.slice(dot + 1),
        descriptor: '',
        loader: '',
      })
      this.#ids.set(frame, id)
    }
    return id
  }

  async poll(): Promise<void> {
    if (this.#problem !== undefined) throw this.#problem
  }

  async stop(): Promise<void> {
    this.#stopped = true
    clearTimeout(this.#timer)
    await this.#running
  }

  warnings(): string[] {
    if (this.#late === 0) return []
    return [
      `the JVM was not quick enough for ${this.#late} of ${this.#late + this.#dumps} dumps, which were left out`,
    ]
  }
}
