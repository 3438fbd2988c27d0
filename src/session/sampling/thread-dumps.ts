// Sampling by dumps of all threads, by wall clock. A thread that waits inside a task counts as a sample. A thread that waits for work does
// not (idle-threads.ts).
// For each dump the JVM stops all threads at safepoints. Compiled hot loops may have no safepoint, so the time of a loop is assigned to the
// code around it. After each dump, its cost is computed from counters of the JVM, without the garbage collections that ran during the dump.
// The next dump is delayed so that dumps use at most 1 % of the time.

import type { AttachConnection } from '../../attach/handshake.ts'
import { safepointMs } from '../../attach/hsperfdata.ts'
import { StopCounters, type StopTimes } from '../../attach/stops.ts'
import { type DumpedThread, dumpThreads } from '../../attach/thread-dump.ts'
import { getOrAdd } from '../../base/maps.ts'
import type { Sampling } from '../../profile/profile.ts'
import { isIdle } from './idle-threads.ts'
import type { SampledTree } from './sampled-tree.ts'
import { type Sampler, withoutAddress } from './sampler.ts'

/** Maximum share of the time that dumps may use, unless the caller of `JvmSampling.start` sets another maximum. */
const MAX_COST = 0.01
/** Number of recent dumps from which the cost of the next dump is estimated. */
const RECENT_DUMPS = 15
const UNKNOWN_ID = -1
/** Time limit for a dump that is running when sampling ends. */
const LAST_DUMP_TIMEOUT_MS = 1_000

/**
 * Number of long dumps after which no more dumps are taken, if the caller limits the length of a dump. A single dump may be long by chance.
 */
const MAX_LONG_DUMPS = 2

/**
 * Returns the time from the last dump to the next dump, in ms. The time depends on the median cost, since a single dump may take long for
 * another reason. After a long dump, the time depends on the cost of that dump.
 * @param costs   costs of the latest dumps, in ms
 * @param mostMs  a dump with at least this cost is long
 */
export function dueAfter(
  everyMs: number,
  costs: readonly number[],
  maxCost = MAX_COST,
  mostMs = Number.POSITIVE_INFINITY,
): number {
  const median = [...costs].sort((a, b) => a - b)[costs.length >> 1] ?? 0
  const latest = costs.at(-1) ?? 0
  return Math.max(everyMs, (latest > mostMs ? latest : median) / maxCost)
}

/**
 * Returns the time for which a dump stopped the JVM, in ms: the time at safepoints minus the time of garbage collections.
 * @param safepointMs  undefined if the JVM does not report it
 */
export function costOfDump(
  safepointMs: number | undefined,
  roundTripMs: number,
  before: StopTimes,
  after: StopTimes,
): number {
  if (safepointMs === undefined) return roundTripMs
  return Math.max(0, safepointMs - ((after.collectionNs ?? 0) - (before.collectionNs ?? 0)) / 1e6)
}

/** Returns whether the processor quota stopped the JVM between two readings, so that a dump between these readings took longer. */
function isThrottled({ periods: before }: StopTimes, { periods: after }: StopTimes): boolean {
  return (after?.throttled ?? 0) > (before?.throttled ?? 0)
}

/**
 * @param stoppedMs  time for which the dump stopped the JVM
 * @param isLong     whether `stoppedMs` exceeds `mostMs`, and no processor quota stopped the JVM during the dump
 */
export type OnDump = (threads: readonly DumpedThread[], stoppedMs: number, isLong: boolean) => void

export interface DumpOptions {
  /** Minimum interval between dumps. */
  readonly leastMs: number
  readonly onDump?: OnDump | undefined
  /** Whether dumps contain positions, locks, processor time and allocated bytes. */
  readonly withDetails?: boolean | undefined
  /** Maximum share of the time for which dumps may stop the JVM. Default: 0.01. */
  readonly maxCost?: number | undefined
  /**
   * Limit for the time for which one dump stops the JVM, ms. After a longer dump, the next dump is delayed; after two longer dumps, no more
   * dumps are taken.
   */
  readonly mostMs?: number | undefined
  /** Called when no more dumps are taken, because two dumps stopped the JVM for longer than `mostMs`. */
  readonly onTooLong?: (() => void) | undefined
}

export class ThreadDumps implements Sampler {
  /** Method ids, keyed by `package.Class.method`. */
  readonly #ids = new Map<string, number>()
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> = Promise.resolve()
  #stopped = false
  readonly #abort = new AbortController()
  #problem: unknown
  #dumps = 0
  #longDumps = 0
  readonly #counters: StopCounters
  #maxCost: number
  /** Total time for which dumps stopped the JVM, by counters of the JVM. If the counters are missing, the sum of the round-trip times. */
  #stoppedMs = 0
  readonly #costs: number[] = []
  #firstAt = 0
  #lastAt = 0

  constructor(
    private readonly connection: AttachConnection,
    private readonly tree: SampledTree,
    private readonly options: DumpOptions,
  ) {
    this.#counters = new StopCounters(connection.pid)
    this.#maxCost = options.maxCost ?? MAX_COST
  }

  /** From now on, dumps stop the JVM for at most the usual share of the time. */
  slowDown(): void {
    this.#maxCost = MAX_COST
  }

  async start(): Promise<void> {
    await this.#dump()
    this.#firstAt = this.#lastAt
    this.#arm(this.#firstAt + this.#everyMs)
  }

  get #everyMs(): number {
    const { leastMs, mostMs } = this.options
    return dueAfter(leastMs, this.#costs, this.#maxCost, mostMs)
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
    const { mostMs = Number.POSITIVE_INFINITY, withDetails } = this.options
    const { target } = this.connection
    const [before, stopsBefore] = [safepointMs(target), this.#counters.read()]
    this.#lastAt = performance.now()
    const threads = await dumpThreads(this.connection, this.#abort.signal, withDetails)
    const roundTripMs = performance.now() - this.#lastAt
    const [after, stopsAfter] = [safepointMs(target), this.#counters.read()]
    const safepoint = before === undefined || after === undefined ? undefined : after - before
    const ms = costOfDump(safepoint, roundTripMs, stopsBefore, stopsAfter)
    const isLong = ms > mostMs && !isThrottled(stopsBefore, stopsAfter)
    if (isLong && ++this.#longDumps >= MAX_LONG_DUMPS) {
      this.#stopped = true
      this.options.onTooLong?.()
    }
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
          false,
          thread.lines && Int32Array.from(thread.lines).reverse(),
        )
    }
    this.options.onDump?.(threads, ms, isLong)
  }

  #idOf(frame: string): number {
    return getOrAdd(this.#ids, frame, () => {
      const dot = frame.lastIndexOf('.')
      return this.tree.idOf({
        class: withoutAddress(frame.slice(0, dot)).replaceAll('/', '.'),
        method: frame.slice(dot + 1),
        descriptor: '',
        loader: '',
      })
    })
  }

  async poll(): Promise<void> {
    if (this.#problem !== undefined) throw this.#problem
  }

  async stop(): Promise<void> {
    this.#stopped = true
    clearTimeout(this.#timer)
    // A suspended JVM does not answer, so the wait for the last dump has a timeout.
    const late = setTimeout(() => this.#abort.abort(), LAST_DUMP_TIMEOUT_MS)
    await this.#running
    clearTimeout(late)
  }

  /** Returns the cost of the dumps so far, and their mean interval. */
  facts(): Pick<Sampling, 'every' | 'dumps' | 'stoppedNs'> {
    const meanMs = (this.#lastAt - this.#firstAt) / Math.max(1, this.#dumps - 1)
    return {
      every: Math.round(Math.max(this.options.leastMs, meanMs) * 1e6),
      dumps: this.#dumps,
      stoppedNs: Math.round(this.#stoppedMs * 1e6),
    }
  }
}

/** Returns the method ids of a stack, outermost first. */
function pathOf({ frames }: DumpedThread, idOf: (frame: string) => number): Int32Array {
  return Int32Array.from(frames, idOf).reverse()
}
