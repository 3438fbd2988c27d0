// The main thread's interface to the recorder of a session. A worker thread reads the event buffer and builds the tree, and sends only
// requested data to the main thread. The main thread never blocks: it awaits promises.

import type { Worker } from 'node:worker_threads'
import type { Calibration } from '../../base/compensation.ts'
import { type DebugLogShare, debugLogShare } from '../../base/debug-log.ts'
import { EX_SOFTWARE, EX_UNAVAILABLE, JfluidError } from '../../base/errors.ts'
import type { Activity } from '../../cct/activity.ts'
import type { BuilderOptions, OpenAllocation } from '../../cct/builder.ts'
import { type CallTable, leastOfMethod } from '../../cct/call-ids.ts'
import type { CourseState } from '../../cct/course.ts'
import {
  courseTimes,
  type LatestCalls,
  type RootCallsState,
  type RootCallTimes,
  rootCallTimes,
} from '../../cct/root-calls.ts'
import { type SegmentsState, type SegmentTimes, segmentTimes } from '../../cct/segments.ts'
import type { SlowCall, SlowWanted } from '../../cct/slow-calls.ts'
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

/** A thread of the target, as the agent describes the thread. */
export interface RecordedThread {
  /** Java thread id. */
  readonly id: number
  readonly name: string
  readonly virtual: boolean
}

/** Options of a snapshot. The recording mode determines the option `sink`. */
export interface AskedSnapshot extends Omit<SnapshotOptions, 'sink'> {
  readonly mode: Mode
}

export type AskedSegments = Pick<AskedSnapshot, 'mode' | 'firstMethod' | 'valueRows'>

export interface RecorderSnapshotOptions extends AskedSnapshot {
  /** Threads, keyed by jfluid thread number. The map may grow after the call. */
  readonly threads: ReadonlyMap<number, RecordedThread>
  /** Requested data about slow calls. Default: none. */
  readonly slow?: SlowWant
}

export interface RecorderStats {
  /** Number of entry and exit events decoded since the start, or since `reset`. */
  readonly events: number
  /** Total time that target threads waited for the client, in ticks. */
  readonly waitTicks: number
  readonly healed: number
  /** Number of StackOverflowErrors, keyed by the id of the first method that the error left. */
  readonly overflows: ReadonlyMap<number, number>
  /**
   * Tasks and threads: `followed` counts those attached below the context that submitted them, `orphans` counts those whose context is
   * lost.
   */
  readonly followed: number
  readonly orphans: number
  /** Number of calls that were still running at the end, in modes in which a call is reported only when the call ends. */
  readonly openCalls: number
  /** Number of sampled contexts that were merged into their callers. */
  readonly purged: number
  /** Number of contexts with calls that were merged into rows for collapsed contexts. */
  readonly collapsed: number
  /** Number of samples, and the sum of their weights: bytecodes or ticks (event-layout.ts). */
  readonly samples: { readonly count: number; readonly sum: number }
  /** Number of bytes that root calls have allocated, as reported by the JVM. */
  readonly allocatedBytes: number
  readonly virtualRoots: number
  /** Number of events that the target could not record. */
  readonly gaps: number
  /** Facts about a full tree area: threads have found no space in the buffer, and it cannot grow. Null if the tree area has space. */
  readonly treesFull: TreesFull | null
  /** Total number of contexts of all threads. */
  readonly nodes: number
  /** Number of distinct methods that were called. */
  readonly calledMethods: number
  /** Session time of the latest event. */
  readonly lastTicks: number
  readonly freeChunks: number
  /** Number of lost events about virtual threads that were mounted or unmounted. */
  readonly disordered: number
  /** Whether the buffer is mapped into memory. If it is not, it is read as a file. */
  readonly mapped: boolean
  /** Reason why the target has stopped recording on its own, such as ENDED_STOPPED; 0 if it has not stopped. */
  readonly ended: number
  /** Total duration of the intervals of at least 250 ms in which the recorder did not run. */
  readonly silentMs: number
  /** Threshold of slow calls in ticks, NEVER_SLOW if no duration is slow; null if it is unknown, or if slow calls are not kept. */
  readonly slowFromTicks: number | null
}

/** Start parameters of the worker. */
export interface RecorderData extends Omit<BuilderOptions, 'alive' | 'maxNodes' | 'mostSampled'> {
  /** Path of the event buffer; or, if the target cannot access files of the client, the address to which the agent sends the buffer. */
  readonly ring: string | MirrorOffer
  /** Whether events contain durations of regions. If they do, no trees are built. */
  readonly regions?: boolean
  /** Number of first root calls to trace. All events of a traced call are kept. */
  readonly trace?: number
  /** Whether threads of the target count calls in trees, which are part of the event buffer. */
  readonly trees?: boolean
  /** Shared debug log; undefined if there is none. */
  readonly debugLog: DebugLogShare | undefined
}

export interface RecorderOptions extends Omit<RecorderData, 'debugLog'> {
  readonly workerUrl?: URL
}

/** A `Picture` with thread numbers instead of thread names. */
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
  /** Numbers and names of classes of exceptions whose names have changed since the last snapshot. */
  readonly thrownNames: readonly (readonly [thrown: number, name: string])[]
}

/** Requests to the worker, keyed by the name in the message. */
export interface RecorderRequests {
  snapshot(options: AskedSnapshot, slow: SlowWant | undefined): NumberedPicture
  regions(): RegionState[]
  trace(options: TraceOptions, slowest: number): Trace<number> | undefined
  segments(nowTicks: number | undefined): SegmentsState | null
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
  probesCost(calibration: Calibration): void
  timeRoots(): void
  keepSlow(wanted: SlowWanted): void
  keepSegments(options: AskedSegments, nsPerTick: number | null): void
  courseBegins(): void
  survivors(news: SurvivorNews): void
  openAllocations(open: readonly OpenAllocation[]): void
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
  /** `port` is the TCP port at which the worker waits for the agent; 0 if the buffer is a file. */
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
  /** Called at most 20 times a second, if few chunks are free and the agent could reclaim idle chunks. */
  onScarce: () => void = () => {}
  /** Called if the target has stopped recording on its own. `why` is a code such as ENDED_STOPPED. */
  onEnded: (why: number) => void = () => {}
  /** Called if recording has ended with an error. Snapshots of the data recorded before are still possible. */
  onError: (error: Error) => void = () => {}

  readonly #waiting = new Map<number, Waiting>()
  #requests = 0
  #threads: ReadonlyMap<number, RecordedThread> = new Map()
  /** Names of allocated classes, keyed by id, as of the latest `snapshot`. */
  readonly classNames = new Map<number, string>()
  /** Names of classes of exceptions that ended root calls, keyed by their numbers. */
  readonly #thrownNames = new Map<number, string>()
  /** Time of the first call of each method, keyed by method id, as of the latest `snapshot`. In ms since the epoch, accurate to some ms. */
  readonly firstCalls = new Map<number, number>()
  #port = 0
  #gone: Error | undefined

  private constructor(private readonly worker: Worker) {}

  /** TCP port at which the worker waits for an agent that sends its buffer. */
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
    const { snapshot, activities, events, names, firstCalls, calls, rootCalls, course, slow, thrownNames } =
      await this.#ask('snapshot', asked, wanted)
    for (const [id, name] of names) this.classNames.set(id, name)
    for (const [number, name] of thrownNames) this.#thrownNames.set(number, name)
    for (const [method, at] of firstCalls) this.firstCalls.set(method, at)
    const methodOf = calls && leastOfMethod(calls)
    const withMethods = (tree: Tree): Tree => (methodOf === null ? tree : { ...tree, methodOf })
    const unit = rootCalls === null ? null : EVENTS[mode].rootCallsIn
    return {
      ...(calls !== null && { calls }),
      ...(rootCalls !== null &&
        unit !== null && {
          rootCalls: rootCallTimes(rootCalls, unit, nsPerTick, (it) => this.#thrownName(it)),
        }),
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
    const { wanted, thresholdTicks, knownAtMs, count, dropped, slowest, latest, tree } = state
    const { treeFromMs, treeCount } = state
    const { threshold } = wanted
    const call = (it: SlowCall & { readonly tree?: Tree }): SlowCallTimes => ({
      ...{ number: it.number, thread: this.#name(it.thread), method: it.method },
      ...{ time: it.ticks * scale, atMs: it.atMs },
      span: { thread: it.thread, fromTicks: it.beginTicks, toTicks: it.endTicks },
      ...(it.first > 0 && { first: it.first }),
      ...(it.threw >= 0 && { threw: this.#thrownName(it.threw) }),
      ...detailsOf(it),
      ...(it.tree !== undefined && { tree: withMethods(it.tree) }),
    })
    return {
      ...{ unit, count, dropped, knownAtMs },
      ...(treeFromMs !== null && { treeFromMs, treeCount }),
      threshold: typeof threshold === 'string' ? threshold : threshold * scale,
      thresholdNow: thresholdTicks === null ? null : thresholdTicks * scale,
      slowest: slowest.map(call),
      ...(wanted.threw && { threw: { count: state.threwCount, latest: state.threw.map(call) } }),
      latest: latest && call(latest),
      ...(tree !== undefined && { tree: withMethods(tree), spans: state.spans }),
    }
  }

  /** Returns the name of a class of exceptions by its number. */
  #thrownName(thrown: number): string {
    return this.#thrownNames.get(thrown) ?? 'exceptions of other classes'
  }

  /** Regions that have been executed, in sessions that time regions. */
  regions(): Promise<RegionState[]> {
    return this.#ask('regions')
  }

  /**
   * Returns the traced calls so far; undefined unless calls are traced.
   *
   * @param threads  keyed by jfluid thread number
   * @param slowest  number of slow calls to trace; 0 if the first calls are traced
   */
  async trace(
    options: TraceOptions,
    threads: ReadonlyMap<number, RecordedThread>,
    slowest = 0,
  ): Promise<Trace | undefined> {
    const trace = await this.#ask('trace', options, slowest)
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
   * Returns the segments of the recording so far; undefined if they are not kept.
   *
   * @param nowTicks   time up to which open frames are charged; undefined if costs are not times
   * @param nsPerTick  1 if costs are not times
   */
  async segments(nowTicks: number | undefined, nsPerTick: number): Promise<SegmentTimes | undefined> {
    const state = await this.#ask('segments', nowTicks)
    return state === null ? undefined : segmentTimes(state, nsPerTick)
  }

  /**
   * Freezes the rows: later events are read, but belong to no row. Requires timed root calls.
   *
   * @param endTicks   end time that is assumed for unfinished calls
   * @param fromTicks  a time shortly before `endTicks`
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

  /** Makes the worker time root calls. Must be called before anything is recorded. */
  timeRoots(): void {
    this.#send('timeRoots')
  }

  /** Passes the cost of the probes, which the worker subtracts from root calls and segments that end later. */
  probesCost({ innerTicks, outerTicks }: Calibration): void {
    this.#send('probesCost', { innerTicks, outerTicks })
  }

  /** Makes the worker keep the trees of slow calls from now on, if root calls are timed. Discards the trees that were kept before. */
  keepSlow(wanted: SlowWanted): void {
    this.#send('keepSlow', wanted)
  }

  /**
   * Makes the worker keep segments of the recording, from which trees of time ranges are made. Must be called before anything is recorded.
   *
   * @param nsPerTick  null if costs are not times
   */
  keepSegments(options: AskedSegments, nsPerTick: number | null): void {
    this.#send('keepSegments', options, nsPerTick)
  }

  /** Starts the timeline (`Course`). The time before was preparation. */
  courseBegins(): void {
    this.#send('courseBegins')
  }

  /** Returns the ids in `methods` that were ever called, including calls before a `reset`. */
  called(methods: readonly number[]): Promise<number[]> {
    return this.#ask('called', methods)
  }

  /** Excludes a stop-the-world pause from the time of every active thread. May be called after events that follow the pause were read. */
  pause(startTicks: number, endTicks: number): void {
    this.#send('pause', startTicks, endTicks)
  }

  /** Passes changes in the set of tracked objects to the worker. */
  survivors(news: SurvivorNews): void {
    this.#send('survivors', news)
  }

  /** Passes the bytes allocated in unfinished root calls to the worker. */
  openAllocations(open: readonly OpenAllocation[]): void {
    this.#send('openAllocations', open)
  }

  /** Makes the worker poll the buffer less often. Called if no target thread ever waits for a free chunk (`neverWait` of the agent). */
  noThreadWaits(): void {
    this.#send('noThreadWaits')
  }

  /** Marks everything measured so far as warm-up. */
  markWarmup(): void {
    this.#send('markWarmup')
  }

  /** Resets the trees to zero. The durations of root calls and the timeline still cover the whole recording. */
  newRows(nowTicks: number): void {
    this.#send('newRows', nowTicks)
  }

  /**
   * Resets the counts. Threads keep their current position in the tree.
   *
   * @param nowTicks  if given, the time of open frames until now is discarded, too
   */
  reset(nowTicks?: number): void {
    this.#send('reset', nowTicks)
  }

  /**
   * Reads all remaining events and closes open frames. The target must have stopped writing.
   *
   * @param endTicks  end time that is assumed for open frames; default: time of the latest event
   * @returns whether all events were read; a buffer sent over a network may be truncated
   */
  async finish(endTicks?: number): Promise<boolean> {
    return await this.#ask('finish', endTicks)
  }

  /** Closes the buffer and ends the worker. Idempotent. */
  async stop(): Promise<void> {
    if (this.#gone !== undefined) return
    const exit = new Promise<void>((resolve) => this.worker.once('exit', () => resolve()))
    await this.#ask('stop').catch(() => {}) // an error means that the worker has already ended
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

  #send<K extends keyof RecorderCommands>(kind: K, ...args: Parameters<RecorderCommands[K]>): void {
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
  // If a thread reaches its heap limit, Node.js terminates the thread, and its data are lost.
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

/** Returns those details of a slow call that are known. */
function detailsOf({ details }: SlowCall): Pick<SlowCallTimes, 'values' | 'caller' | 'traceId'> {
  if (details === null) return {}
  const { values, caller, traceId } = details
  return {
    ...(values.length > 0 && { values }),
    ...(caller !== null && { caller }),
    ...(traceId !== null && { traceId }),
  }
}
