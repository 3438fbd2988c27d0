// Sampling by dumps of all threads, by wall clock: threads that wait inside a task count, those that wait for work do not
// (idle-threads.ts).
//
// The JVM stops all its threads for each dump, wherever the compilers have left a safepoint, so hot loops hide in what
// surrounds them. What that costs is read off the JVM's own counter after each dump, and the next comes so late that dumps take at
// most a hundredth of the time.

import type { AttachConnection } from '../../attach/handshake.ts'
import { findPerfData } from '../../attach/hsperfdata.ts'
import { type DumpedThread, dumpThreads } from '../../attach/thread-dump.ts'
import type { Sampling } from '../../profile/profile.ts'
import { isIdle } from './idle-threads.ts'
import type { SampledTree } from './sampled-tree.ts'
import { type Sampler, withoutAddress } from './sampler.ts'

/** Of the time, that dumps may take. */
const MOST_COST = 0.01
/** So many dumps say what the next will cost. */
const LATEST = 15
const UNKNOWN_ID = -1
/** For the dump that is under way when sampling ends. */
const LAST_MS = 1_000

/**
 * When the next dump is due, ms after the last was: by their median, since a collection may have been counted with one.
 *
 * @param costs  of the latest dumps, in ms
 */
export function dueAfter(everyMs: number, costs: readonly number[]): number {
  const median = [...costs].sort((a, b) => a - b)[costs.length >> 1] ?? 0
  return Math.max(everyMs, median / MOST_COST)
}

export class ThreadDumps implements Sampler {
  readonly #onDump: (threads: readonly DumpedThread[]) => void
  /** By `package.Class.method`. */
  readonly #ids = new Map<string, number>()
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> = Promise.resolve()
  #stopped = false
  readonly #abort = new AbortController()
  #problem: unknown
  #dumps = 0
  /** As the JVM counts; round trips where it does not. */
  #stoppedMs = 0
  readonly #costs: number[] = []
  #firstAt = 0
  #lastAt = 0

  /** @param leastMs  between dumps */
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
    if (this.#costs.push(ms) > LATEST) this.#costs.shift()
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
    // A JVM that is stopped does not answer.
    const late = setTimeout(() => this.#abort.abort(), LAST_MS)
    await this.#running
    clearTimeout(late)
  }

  /** What dumps have cost so far, and how often they came. */
  facts(): Pick<Sampling, 'every' | 'dumps' | 'stoppedNs'> {
    const meanMs = (this.#lastAt - this.#firstAt) / Math.max(1, this.#dumps - 1)
    return {
      every: Math.round(Math.max(this.leastMs, meanMs) * 1e6),
      dumps: this.#dumps,
      stoppedNs: Math.round(this.#stoppedMs * 1e6),
    }
  }
}

/** Outermost first. */
function pathOf({ frames }: DumpedThread, idOf: (frame: string) => number): Int32Array {
  return Int32Array.from(frames, idOf).reverse()
}
