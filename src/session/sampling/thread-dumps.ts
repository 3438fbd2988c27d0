// Sampling by dumps of all threads, by wall clock. Threads that wait inside a task count. Threads that wait for work do not count
// (idle-threads.ts).
// For each dump the JVM stops all threads at safepoints. Compiled hot loops may have no safepoint, so their time is assigned to the code
// around them. After each dump the cost is read from a counter of the JVM. The next dump is delayed so that dumps use at most 1 % of the
// time.

import type { AttachConnection } from '../../attach/handshake.ts'
import { findPerfData } from '../../attach/hsperfdata.ts'
import { type DumpedThread, dumpThreads } from '../../attach/thread-dump.ts'
import type { Sampling } from '../../profile/profile.ts'
import { isIdle } from './idle-threads.ts'
import type { SampledTree } from './sampled-tree.ts'
import { type Sampler, withoutAddress } from './sampler.ts'

/** Maximum share of the time that dumps may use. */
const MAX_COST = 0.01
/** Number of recent dumps from which the cost of the next dump is estimated. */
const RECENT_DUMPS = 15
const UNKNOWN_ID = -1
/** Time limit for a dump that is running when sampling ends. */
const LAST_DUMP_TIMEOUT_MS = 1_000

/**
 * Returns the time from the last dump to the next dump, in ms. The median cost is used, since the cost of one dump may include a garbage
 * collection.
 * @param costs  costs of the latest dumps, in ms
 */
export function dueAfter(everyMs: number, costs: readonly number[]): number {
  const median = [...costs].sort((a, b) => a - b)[costs.length >> 1] ?? 0
  return Math.max(everyMs, median / MAX_COST)
}

export class ThreadDumps implements Sampler {
  readonly #onDump: (threads: readonly DumpedThread[]) => void
  /** Method ids, keyed by `package.Class.method`. */
  readonly #ids = new Map<string, number>()
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> = Promise.resolve()
  #stopped = false
  readonly #abort = new AbortController()
  #problem: unknown
  #dumps = 0
  /** Time for which dumps stopped the JVM, by its own counter. If the counter is missing, the round-trip times are summed. */
  #stoppedMs = 0
  readonly #costs: number[] = []
  #firstAt = 0
  #lastAt = 0

  /** @param leastMs  minimum interval between dumps */
  constructor(
    private readonly connection: AttachConnection,
    private readonly tree: SampledTree,
    private readonly leastMs: number,
    onDump: (threads: readonly DumpedThread[]) => void = () => {},
  ) {
    this.#onDump = onDump
  }

  async start(): Promise<void> {
    await this.#dump()
    this.#firstAt = this.#lastAt
    this.#arm(this.#firstAt + this.#everyMs)
  }

  get #everyMs(): number {
    return dueAfter(this.leastMs, this.#costs)
  }

  #arm(due: number): void {
    if (this.#stopped) return
    this.#timer = setTimeout(() => {
      this.#running = this.#dump().then(
        () => {
          const everyMs = this.#everyMs
          const missed = Math.max(0, Math.floor((performance.now() - due) / everyMs))
          this.#arm(due + (missed + 1) * everyMs)
        },
        (error: unknown) => {
          this.#problem = error
        },
      )
    }, due - performance.now())
  }

  async #dump(): Promise<void> {
    const before = this.#safepointMs()
    this.#lastAt = performance.now()
    const threads = await dumpThreads(this.connection, this.#abort.signal)
    const after = this.#safepointMs()
    const ms = before === undefined || after === undefined ? performance.now() - this.#lastAt : after - before
    this.#stoppedMs += ms
    if (this.#costs.push(ms) > RECENT_DUMPS) this.#costs.shift()
    this.#dumps++
    for (const thread of threads) {
      if (isIdle(thread))
        this.tree.away(
          thread,
          pathOf(thread, (frame) => this.#ids.get(frame) ?? UNKNOWN_ID),
        )
      else
        this.tree.sample(
          thread,
          pathOf(thread, (frame) => this.#idOf(frame)),
        )
    }
    this.#onDump(threads)
  }

  #safepointMs(): number | undefined {
    const ns = findPerfData(this.connection.target)?.facts?.safepointNs
    return ns === undefined ? undefined : ns / 1e6
  }

  #idOf(frame: string): number {
    let id = this.#ids.get(frame)
    if (id === undefined) {
      const dot = frame.lastIndexOf('.')
      id = this.tree.idOf({
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
    // A suspended JVM does not answer.
    const late = setTimeout(() => this.#abort.abort(), LAST_DUMP_TIMEOUT_MS)
    await this.#running
    clearTimeout(late)
  }

  /** Returns the cost of the dumps so far, and their mean interval. */
  facts(): Pick<Sampling, 'every' | 'dumps' | 'stoppedNs'> {
    const meanMs = (this.#lastAt - this.#firstAt) / Math.max(1, this.#dumps - 1)
    return {
      every: Math.round(Math.max(this.leastMs, meanMs) * 1e6),
      dumps: this.#dumps,
      stoppedNs: Math.round(this.#stoppedMs * 1e6),
    }
  }
}

/** Returns the method ids of a stack, outermost first. */
function pathOf({ frames }: DumpedThread, idOf: (frame: string) => number): Int32Array {
  return Int32Array.from(frames, idOf).reverse()
}
