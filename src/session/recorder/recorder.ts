// The recorder of a session, as seen from the main thread. A worker reads the event buffer and builds the tree. Only requested data cross
// between the two threads. The main thread waits for the worker only through promises.

import type { Worker } from 'node:worker_threads'
import type { Calibration } from '../../base/compensation.ts'
import { type DebugLogShare, debugLogShare } from '../../base/debug-log.ts'
import { EX_SOFTWARE, EX_UNAVAILABLE, JfluidError } from '../../base/errors.ts'
import type { Activity } from '../../cct/activity.ts'
import type { BuilderOptions } from '../../cct/builder.ts'
import { type CallTable, leastOfMethod } from '../../cct/call-ids.ts'
import type { CourseState } from '../../cct/course.ts'
import {
  courseTimes,
  type LatestCalls,
  type RootCallsState,
  type RootCallTimes,
  rootCallTimes,
} from '../../cct/root-calls.ts'
import type { SlowThreshold } from '../../cct/slow-calls.ts'
import type { SlowCallTimes, SlowState, SlowTimes, SlowWant } from '../../cct/slow-times.ts'
import { type NumberedSnapshot, type SnapshotOptions, VIRTUAL } from '../../cct/snapshot.ts'
import type { SurvivorNews } from '../../cct/survivors.ts'
import type { Trace, TraceOptions } from '../../cct/trace.ts'
import type { Snapshot, Tree } from '../../cct/tree.ts'
import type { TreesFull } from '../../events/tree-blocks.ts'
import type { Mode } from '../../measures/columns.ts'
import { EVENTS } from '../../measures/events.ts'
import type { RegionState } from '../../regions/builder.ts'
import type { MirrorOffer } from './mirror-feed.ts'
import { recorderWorker, takeWorker } from './spare-worker.ts'

/** A thread of the target as its agent describes it. */
export interface RecordedThread {
  /** Java thread id. */
  readonly id: number
  readonly name: string
  readonly virtual: boolean
}

/** Options of a snapshot. The mode determines the sink. */
export interface AskedSnapshot extends Omit<SnapshotOptions, 'sink'> {
  readonly mode: Mode
}

export interface RecorderSnapshotOptions extends AskedSnapshot {
  /** Threads keyed by jfluid thread number. The map may grow later. */
  readonly threads: ReadonlyMap<number, RecordedThread>
  /** Requested data about slow calls. Default: none. */
  readonly slow?: SlowWant
}

export interface RecorderStats {
  /** Number of entry and exit events decoded since the start, or since `reset`. */
  readonly events: number
  /** Time that target threads waited for the client, in ticks. */
  readonly waitTicks: number
  readonly healed: number
  /** Number of StackOverflowErrors, keyed by the id of the method that they left first. */
  readonly overflows: ReadonlyMap<number, number>
  /** Number of tasks and threads attached below the context that submitted them; number of tasks and threads with a lost context. */
  readonly followed: number
  readonly orphans: number
  /** Number of calls that had not ended at the end, in modes where a call reports its own execution when it ends. */
  readonly openCalls: number
  /** Number of contexts of samples that were merged into their callers. */
  readonly purged: number
  /** Number of contexts of calls that were merged into rows of collapsed contexts. */
  readonly collapsed: number
  /** Number of samples, and the sum of their weights: bytecodes or ticks (event-layout.ts). */
  readonly samples: { readonly count: number; readonly sum: number }
  /** Bytes that ended root calls have allocated, as reported by the JVM. */
  readonly allocatedBytes: number
  /** Number of ended root calls whose allocations the JVM has reported, keyed by thread number. */
  readonly allocatedTold: ReadonlyMap<number, number>
  readonly virtualRoots: number
  /** Number of events that the target could not record. */
  readonly gaps: number
  /** Facts about a full tree area: threads have found no room, and the buffer cannot grow. Null if there is room. */
  readonly treesFull: TreesFull | null
  /** Number of contexts over all threads. */
  readonly nodes: number
  /** Number of distinct called methods. */
  readonly calledMethods: number
  /** Session time of the latest event. */
  readonly lastTicks: number
  readonly freeChunks: number
  /** Number of lost switches of virtual threads. */
  readonly disordered: number
  /** Whether the buffer is mapped. Otherwise it is read as a file. */
  readonly mapped: boolean
  /** 0, or why the target has stopped recording on its own: ENDED_STOPPED or a similar code. */
  readonly ended: number
  /** Total duration of pauses of the recorder of at least 250 ms each. */
  readonly silentMs: number
}

/** Start parameters of the worker. */
export interface RecorderData extends Omit<BuilderOptions, 'alive' | 'maxNodes' | 'mostSampled'> {
  /** Path of the buffer; or the connection that sends it, if the target cannot access files of the client. */
  readonly ring: string | MirrorOffer
  /** Events contain durations of regions, and there are no trees. */
  readonly regions?: boolean
  /** Number of root calls to trace: all their events are kept. */
  readonly trace?: number
  /** Whether threads count calls in their trees, which are part of the buffer. */
  readonly trees?: boolean
  /** Shared debug log; undefined if there is none. */
  readonly debugLog: DebugLogShare | undefined
}

export interface RecorderOptions extends Omit<RecorderData, 'debugLog'> {
  readonly workerUrl?: URL
}

/** A picture with thread numbers instead of thread names. */
export interface NumberedPicture {
  readonly snapshot: NumberedSnapshot
  /** Activities of the threads, in the order of `snapshot.threads`. */
  readonly activities: readonly Activity[]
  readonly events: number
  readonly names: readonly (readonly [id: number, name: string])[]
  readonly firstCalls: readonly (readonly [method: number, at: number])[]
  readonly calls: CallTable | null
  readonly rootCalls: RootCallsState | null
  readonly course: CourseState
  readonly slow: SlowState | null
}

/** Requests to the worker, keyed by the name in the message. */
export interface RecorderRequests {
  snapshot(options: AskedSnapshot, slow: SlowWant | undefined): NumberedPicture
  regions(): RegionState[]
  trace(options: TraceOptions): Trace<number> | undefined
  stats(): RecorderStats
  called(methods: readonly number[]): number[]
  endRows(endTicks: number, fromTicks: number): LatestCalls
  bareCalls(fromTicks: number): LatestCalls
  finish(endTicks: number | undefined): boolean
  stop(): void
}

/** Commands to the worker, which have no answer. */
export interface RecorderCommands {
  pause(startTicks: number, endTicks: number): void
  markWarmup(): void
  noThreadWaits(): void
  timeRoots(calibration: Calibration): void
  keepSlow(threshold: SlowThreshold): void
  courseBegins(): void
  survivors(news: SurvivorNews): void
  reset(nowTicks: number | undefined): void
  newRows(nowTicks: number): void
}

/** A call of a request or a command, as a message between threads. */
export interface CallOf<T> {
  readonly kind: keyof T
  readonly args: readonly unknown[]
}

export type RecorderCommand =
  | CallOf<RecorderCommands>
  | { readonly kind: 'request'; readonly id: number; readonly request: CallOf<RecorderRequests> }

/** An error as a message between threads. Error classes are lost in the transfer. */
export interface ErrorFacts {
  readonly message: string
  readonly exitCode: number
  readonly hint: string
}

export type RecorderMessage =
  /** `port` is where the worker waits for the agent; 0 if the buffer is a file. */
  | { readonly kind: 'ready'; readonly port: number }
  | { readonly kind: 'scarce' }
  | { readonly kind: 'ended'; readonly why: number }
  | { readonly kind: 'broken'; readonly error: ErrorFacts }
  | { readonly kind: 'reply'; readonly id: number; readonly value: unknown }
  | { readonly kind: 'refused'; readonly id: number; readonly error: ErrorFacts }

/** Thrown after an error in the recording thread. The data built before the error remain available. */
export class RecorderFailed extends JfluidError {
  readonly exitCode: number
  readonly hint: string
  constructor(facts: ErrorFacts) {
    super(facts.message)
    this.exitCode = facts.exitCode
    this.hint = facts.hint
  }
}

interface Waiting {
  resolve(value: unknown): void
  reject(error: Error): void
}

export class Recorder {
  /** Called if few chunks are free and some are idle: the agent could reclaim idle chunks. At most 20 times a second. */
  onScarce: () => void = () => {}
  /** Called if the target has stopped recording on its own: ENDED_STOPPED or a similar code. */
  onEnded: (why: number) => void = () => {}
  /** Called if recording has ended with an error. Snapshots of the earlier data are still possible. */
  onError: (error: Error) => void = () => {}

  readonly #waiting = new Map<number, Waiting>()
  #requests = 0
  #threads: ReadonlyMap<number, RecordedThread> = new Map()
  /** Names of allocated classes, keyed by id, as of the latest `snapshot`. */
  readonly classNames = new Map<number, string>()
  /** Time of the first call, keyed by method, as of the latest `snapshot`. In ms since the epoch, accurate to some ms. */
  readonly firstCalls = new Map<number, number>()
  #port = 0
  #gone: Error | undefined

  private constructor(private readonly worker: Worker) {}

  /** Port where the worker waits for an agent that sends its buffer. */
  get port(): number {
    return this.#port
  }

  /**
   * Starts the worker. Once the promise resolves, the worker has opened the buffer, so the file may be unlinked.
   *
   * @throws RecorderFailed if the buffer cannot be opened
   */
  static async start({ workerUrl = recorderWorker(), ...asked }: RecorderOptions): Promise<Recorder> {
    const data: RecorderData = { ...asked, debugLog: debugLogShare() }
    const worker = takeWorker(workerUrl)
    worker.ref()
    const recorder = new Recorder(worker)
    worker.postMessage(data)
    await new Promise<void>((resolve, reject) => {
      worker.on('message', (message: RecorderMessage) => {
        if (message.kind === 'ready') {
          recorder.#port = message.port
          resolve()
        } else if (message.kind === 'broken') {
          const error = new RecorderFailed(message.error)
          reject(error)
          recorder.onError(error)
        } else recorder.#receive(message)
      })
      worker.on('error', (cause) => {
        const error = new RecorderFailed(factsOf(cause))
        reject(error)
        recorder.#lose(error)
        recorder.onError(error)
      })
      worker.on('exit', () => {
        const error = new Error('the recorder has stopped')
        reject(error)
        recorder.#lose(error)
      })
    })
    return recorder
  }

  async snapshot(options: RecorderSnapshotOptions): Promise<Snapshot> {
    const { threads, slow: wanted, ...asked } = options
    const { mode, nsPerTick } = asked
    this.#threads = threads
    const { snapshot, activities, events, names, firstCalls, calls, rootCalls, course, slow } =
      await this.#ask('snapshot', asked, wanted)
    for (const [id, name] of names) this.classNames.set(id, name)
    for (const [method, at] of firstCalls) this.firstCalls.set(method, at)
    const methodOf = calls && leastOfMethod(calls)
    const withMethods = (tree: Tree): Tree => (methodOf === null ? tree : { ...tree, methodOf })
    const unit = rootCalls === null ? null : EVENTS[mode].rootCallsIn
    return {
      ...(calls !== null && { calls }),
      ...(rootCalls !== null && unit !== null && { rootCalls: rootCallTimes(rootCalls, unit, nsPerTick) }),
      course: courseTimes(course, unit, nsPerTick),
      ...(slow !== null && unit !== null && { slow: this.#slowTimes(slow, unit, nsPerTick, withMethods) }),
      merged: withMethods(snapshot.merged),
      threads: snapshot.threads.map(({ number, tree }, i) => ({
        ...this.#name(number),
        tree: withMethods(tree),
        activity: activities[i]!,
      })),
      events,
      waitNs: snapshot.waitNs,
      healed: snapshot.healed,
    }
  }

  #slowTimes(
    state: SlowState,
    unit: RootCallTimes['unit'],
    nsPerTick: number,
    withMethods: (tree: Tree) => Tree,
  ): SlowTimes {
    const scale = unit === 'ns' ? nsPerTick : 1
    const { threshold, thresholdTicks, count, dropped, slowest, latest, tree } = state
    const call = ({ thread, ticks, tree: own, ...rest }: SlowState['slowest'][number]): SlowCallTimes => ({
      ...rest,
      thread: this.#name(thread),
      time: ticks * scale,
      ...(own !== undefined && { tree: withMethods(own) }),
    })
    return {
      ...{ unit, count, dropped },
      threshold: threshold === 'p99' ? threshold : threshold * scale,
      thresholdNow: thresholdTicks === null ? null : thresholdTicks * scale,
      slowest: slowest.map(call),
      latest: latest && call(latest),
      ...(tree !== undefined && { tree: withMethods(tree) }),
    }
  }

  /** Regions that have been executed, in sessions that time regions. */
  regions(): Promise<RegionState[]> {
    return this.#ask('regions')
  }

  /**
   * Returns the traced calls so far; undefined unless calls are traced.
   *
   * @param threads  keyed by jfluid thread number
   */
  async trace(
    options: TraceOptions,
    threads: ReadonlyMap<number, RecordedThread>,
  ): Promise<Trace | undefined> {
    const trace = await this.#ask('trace', options)
    const nameOf = (number: number) => {
      const known = threads.get(number)
      return { id: known?.id ?? -number, name: known?.name || `thread #${number}` }
    }
    return (
      trace && {
        ...trace,
        calls: trace.calls.map((call) => ({
          ...call,
          tracks: call.tracks.map((track) => ({ ...track, thread: nameOf(track.thread) })),
        })),
      }
    )
  }

  /**
   * Freezes the rows: later events are read, but belong to no row. Requires timed root calls.
   *
   * @param endTicks   unfinished calls are charged until this time
   * @param fromTicks  a time shortly before the end
   * @returns the root calls that began after `fromTicks`
   */
  endRows(endTicks: number, fromTicks: number): Promise<LatestCalls> {
    return this.#ask('endRows', endTicks, fromTicks)
  }

  /** Returns the root calls that began at `fromTicks` or later. Call it after `endRows`. */
  bareCalls(fromTicks: number): Promise<LatestCalls> {
    return this.#ask('bareCalls', fromTicks)
  }

  stats(): Promise<RecorderStats> {
    return this.#ask('stats')
  }

  /** Times root calls. Call it before anything is recorded. */
  timeRoots(calibration: Calibration): void {
    this.#tell('timeRoots', calibration)
  }

  /** Keeps the trees of slow calls from now on, if root calls are timed. Discards the trees kept before. */
  keepSlow(threshold: SlowThreshold): void {
    this.#tell('keepSlow', threshold)
  }

  /** Starts the course. Earlier time was preparation. */
  courseBegins(): void {
    this.#tell('courseBegins')
  }

  /** Returns the ids in `methods` that were ever called, also before a `reset`. */
  called(methods: readonly number[]): Promise<number[]> {
    return this.#ask('called', methods)
  }

  /** Excludes a stop-the-world pause from the time of every active thread. May be called after later events have been read. */
  pause(startTicks: number, endTicks: number): void {
    this.#tell('pause', startTicks, endTicks)
  }

  /** Passes the changes of the set of tracked objects. */
  survivors(news: SurvivorNews): void {
    this.#tell('survivors', news)
  }

  /** In this session, no thread of the target waits for a free chunk (`neverWait` of the agent). The buffer is then polled less often. */
  noThreadWaits(): void {
    this.#tell('noThreadWaits')
  }

  /** Everything measured so far becomes the warm-up share. */
  markWarmup(): void {
    this.#tell('markWarmup')
  }

  /** Resets the trees to zero. The durations of root calls and the course still cover the whole recording. */
  newRows(nowTicks: number): void {
    this.#tell('newRows', nowTicks)
  }

  /**
   * Resets the counts. Threads keep their current position in the tree.
   *
   * @param nowTicks  if given, the time of open frames until now is discarded, too
   */
  reset(nowTicks?: number): void {
    this.#tell('reset', nowTicks)
  }

  /**
   * Reads all remaining events and closes open frames. The target must have stopped writing.
   *
   * @param endTicks  open frames are charged until this time; default: time of the latest event
   * @returns whether all events were read; a buffer sent over a network may be truncated
   */
  async finish(endTicks?: number): Promise<boolean> {
    return await this.#ask('finish', endTicks)
  }

  /** Closes the buffer and ends the worker. Idempotent. */
  async stop(): Promise<void> {
    if (this.#gone !== undefined) return
    const exit = new Promise<void>((resolve) => this.worker.once('exit', () => resolve()))
    await this.#ask('stop').catch(() => {}) // the worker has ended already
    await exit
  }

  #name(number: number): { id: number; name: string } {
    if (number === VIRTUAL) return { id: 0, name: 'virtual threads' }
    const known = this.#threads.get(number)
    return known === undefined
      ? { id: -number, name: `thread #${number}` }
      : { id: known.id, name: known.name }
  }

  #ask<K extends keyof RecorderRequests>(
    kind: K,
    ...args: Parameters<RecorderRequests[K]>
  ): Promise<ReturnType<RecorderRequests[K]>> {
    return new Promise((resolve, reject) => {
      if (this.#gone !== undefined) {
        reject(this.#gone)
        return
      }
      const id = ++this.#requests
      this.#waiting.set(id, { resolve: resolve as Waiting['resolve'], reject })
      this.#post({ kind: 'request', id, request: { kind, args } })
    })
  }

  #tell<K extends keyof RecorderCommands>(kind: K, ...args: Parameters<RecorderCommands[K]>): void {
    this.#post({ kind, args })
  }

  #post(command: RecorderCommand): void {
    this.worker.postMessage(command)
  }

  #receive(message: Exclude<RecorderMessage, { kind: 'ready' | 'broken' }>): void {
    switch (message.kind) {
      case 'scarce':
        this.onScarce()
        return
      case 'ended':
        this.onEnded(message.why)
        return
      case 'reply':
        this.#settle(message.id)?.resolve(message.value)
        return
      case 'refused':
        this.#settle(message.id)?.reject(new RecorderFailed(message.error))
    }
  }

  #settle(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    return waiting
  }

  #lose(error: Error): void {
    this.#gone ??= error
    for (const { reject } of this.#waiting.values()) reject(this.#gone)
    this.#waiting.clear()
  }
}

/** Returns the properties of an error that survive the transfer to another thread. */
export function factsOf(error: unknown): ErrorFacts {
  if (error instanceof JfluidError) {
    return { message: error.message, exitCode: error.exitCode, hint: error.hint }
  }
  // Node.js terminates a thread that reaches its heap limit. The data of the thread are lost.
  if (error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY') {
    return {
      message: 'the recording thread ran out of memory',
      exitCode: EX_UNAVAILABLE,
      hint: 'Choose a root that calls less, or give jfluid more memory: NODE_OPTIONS=--max-old-space-size=<MiB>.',
    }
  }
  return {
    message: error instanceof Error ? (error.stack ?? error.message) : String(error),
    exitCode: EX_SOFTWARE,
    hint: 'Please report this.',
  }
}
