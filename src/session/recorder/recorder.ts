// The recording end of a session, seen from the main thread: a worker that reads the event buffer
// and builds the tree. Only what is asked for crosses between the two, and nothing here ever waits
// for the worker except through a promise.

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

/** What a picture is asked for; its sink is that of the mode. */
export interface AskedSnapshot extends Omit<SnapshotOptions, 'sink'> {
  readonly mode: Mode
}

export interface RecorderSnapshotOptions extends AskedSnapshot {
  /** By jfluid thread number. May go on growing: `unknownThreads` compares with it. */
  readonly threads: ReadonlyMap<number, RecordedThread>
  /** What is wanted of slow calls; nothing, unless given. */
  readonly slow?: SlowWant
}

export interface RecorderStats {
  /** Enter and exit events decoded since the start, or since `reset`. */
  readonly events: number
  /** Ticks that target threads waited for us. */
  readonly waitTicks: number
  readonly healed: number
  /** StackOverflowErrors, by the id of the method that they left first. */
  readonly overflows: ReadonlyMap<number, number>
  /** Tasks and threads taken up below the context they come from, and those where that was lost. */
  readonly followed: number
  readonly orphans: number
  /** Calls that had not ended at the end, where what they have executed is told when they end. */
  readonly openCalls: number
  /** Contexts of samples that have become part of their callers. */
  readonly purged: number
  /** Contexts of calls that have become rows of collapsed contexts. */
  readonly collapsed: number
  /** How many samples, and what their threads had executed in all (event-layout.ts). */
  readonly samples: { readonly count: number; readonly sum: number }
  /** What the JVM says that calls of roots have allocated, those that have ended; and calls of which it does not say. */
  readonly allocatedBytes: number
  /** By thread number: how many of them. */
  readonly allocatedTold: ReadonlyMap<number, number>
  readonly virtualRoots: number
  /** What the target could not record. */
  readonly gaps: number
  /** Threads have found no room for their trees, and there will be no more. */
  readonly treesFull: TreesFull | null
  /** Contexts, over all threads. */
  readonly nodes: number
  /** Distinct methods called. */
  readonly calledMethods: number
  /** Session time of the latest event. */
  readonly lastTicks: number
  readonly freeChunks: number
  /** Switches of virtual threads that were lost. */
  readonly disordered: number
  /** Whether the buffer is mapped, or read as a file. */
  readonly mapped: boolean
  /** 0, or why the target has stopped recording by itself: ENDED_STOPPED and its like. */
  readonly ended: number
  /** How long it has read nothing, in all, of times of 250 ms and more. */
  readonly silentMs: number
}

/** What the worker is started with. */
export interface RecorderData extends Omit<BuilderOptions, 'alive' | 'maxNodes' | 'mostSampled'> {
  /** A path; or what comes over a connection, where the target sees no file of ours. */
  readonly ring: string | MirrorOffer
  /** Events tell durations of regions, and there are no trees. */
  readonly regions?: boolean
  /** So many calls of roots are kept event by event. */
  readonly trace?: number
  /** Calls are counted in the trees of threads, which lie in the buffer, too. */
  readonly trees?: boolean
  /** Undefined: there is no debug log. */
  readonly debugLog: DebugLogShare | undefined
}

export interface RecorderOptions extends Omit<RecorderData, 'debugLog'> {
  readonly workerUrl?: URL
}

/** A picture, before its threads have names. */
export interface NumberedPicture {
  readonly snapshot: NumberedSnapshot
  /** By thread of the snapshot. */
  readonly activities: readonly Activity[]
  readonly events: number
  readonly names: readonly (readonly [id: number, name: string])[]
  readonly firstCalls: readonly (readonly [method: number, at: number])[]
  readonly calls: CallTable | null
  readonly rootCalls: RootCallsState | null
  readonly course: CourseState
  readonly slow: SlowState | null
}

/** What the worker is asked, by the name in its message. */
export interface RecorderRequests {
  snapshot(options: AskedSnapshot, slow: SlowWant | undefined): NumberedPicture
  regions(): RegionState[]
  trace(options: TraceOptions): Trace<number> | undefined
  stats(): RecorderStats
  threads(): number[]
  called(methods: readonly number[]): number[]
  endRows(endTicks: number, fromTicks: number): LatestCalls
  bareCalls(fromTicks: number): LatestCalls
  finish(endTicks: number | undefined): boolean
  stop(): void
}

/** What it is told. */
export interface RecorderCommands {
  pause(startTicks: number, endTicks: number): void
  markWarmup(): void
  nobodyWaits(): void
  timeRoots(calibration: Calibration): void
  keepSlow(threshold: SlowThreshold): void
  courseBegins(): void
  survivors(news: SurvivorNews): void
  reset(nowTicks: number | undefined): void
  newRows(nowTicks: number): void
}

/** A call of one of these, as it goes from thread to thread. */
export interface CallOf<T> {
  readonly kind: keyof T
  readonly args: readonly unknown[]
}

export type RecorderCommand =
  | CallOf<RecorderCommands>
  | { readonly kind: 'request'; readonly id: number; readonly request: CallOf<RecorderRequests> }

/** An error on its way between threads: classes do not survive that. */
export interface ErrorFacts {
  readonly message: string
  readonly exitCode: number
  readonly hint: string
}

export type RecorderMessage =
  /** With the port where the agent is waited for; 0: there is a file. */
  | { readonly kind: 'ready'; readonly port: number }
  | { readonly kind: 'scarce' }
  | { readonly kind: 'ended'; readonly why: number }
  | { readonly kind: 'broken'; readonly error: ErrorFacts }
  | { readonly kind: 'reply'; readonly id: number; readonly value: unknown }
  | { readonly kind: 'refused'; readonly id: number; readonly error: ErrorFacts }

/** Something went wrong in the recording thread. What it had built can still be asked for. */
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
  /** Few chunks are free and some are idle: the agent could take those back. At most 20 times a second. */
  onScarce: () => void = () => {}
  /** The target has stopped recording by itself: ENDED_STOPPED and its like. */
  onEnded: (why: number) => void = () => {}
  /** Recording has ended with an error; snapshots of what came before can still be taken. */
  onError: (error: Error) => void = () => {}

  readonly #waiting = new Map<number, Waiting>()
  #requests = 0
  #threads: ReadonlyMap<number, RecordedThread> = new Map()
  /** By id: classes of which something was allocated, as of the latest `snapshot`. */
  readonly classNames = new Map<number, string>()
  /** By method, as of the latest `snapshot`: when it was called for the first time, to some ms, in ms since the epoch. */
  readonly firstCalls = new Map<number, number>()
  #port = 0
  #gone: Error | undefined

  private constructor(private readonly worker: Worker) {}

  /** Where the agent is waited for that sends its buffer. */
  get port(): number {
    return this.#port
  }

  /**
   * Starts the worker. Once this resolves it holds the buffer, so the file may be unlinked.
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
   * The calls that are kept event by event, so far; undefined unless that was asked for.
   *
   * @param threads by jfluid thread number
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
   * The trees have all that they will have: events that come from now on are read, and are in no row. Where calls of roots are timed.
   *
   * @param endTicks   until then calls that have not ended are charged
   * @param fromTicks  a moment shortly before
   * @returns the calls of roots that began after that
   */
  endRows(endTicks: number, fromTicks: number): Promise<LatestCalls> {
    return this.#ask('endRows', endTicks, fromTicks)
  }

  /** After `endRows`: the calls of roots that began at `fromTicks` or later. */
  bareCalls(fromTicks: number): Promise<LatestCalls> {
    return this.#ask('bareCalls', fromTicks)
  }

  stats(): Promise<RecorderStats> {
    return this.#ask('stats')
  }

  /** Calls of roots are timed: before anything is recorded. */
  timeRoots(calibration: Calibration): void {
    this.#tell('timeRoots', calibration)
  }

  /** Keeps trees of slow calls from now on, where calls of roots are timed; anew, if some were kept. */
  keepSlow(threshold: SlowThreshold): void {
    this.#tell('keepSlow', threshold)
  }

  /** What was before is preparation. */
  courseBegins(): void {
    this.#tell('courseBegins')
  }

  /** Those of the methods that have been called, before a `reset` included. */
  called(methods: readonly number[]): Promise<number[]> {
    return this.#ask('called', methods)
  }

  /**
   * Numbers of platform threads in the data that the map of the latest `snapshot` does not name.
   * Virtual threads share one tree, and need no names.
   */
  async unknownThreads(): Promise<number[]> {
    const seen = await this.#ask('threads')
    return seen.filter((number) => !this.#threads.has(number))
  }

  /** Takes a stop-the-world pause out of every active thread's time; may be told late. */
  pause(startTicks: number, endTicks: number): void {
    this.#tell('pause', startTicks, endTicks)
  }

  /** Which tracked objects are new, and which have gone. */
  survivors(news: SurvivorNews): void {
    this.#tell('survivors', news)
  }

  /** In this session no thread of the target waits for a free chunk (`neverWait` of the agent): the buffer is polled less often. */
  nobodyWaits(): void {
    this.#tell('nobodyWaits')
  }

  /** What was measured so far becomes the warm-up share. */
  markWarmup(): void {
    this.#tell('markWarmup')
  }

  /** The trees start at zero; how long calls of roots took, and what was when, is of all that was recorded. */
  newRows(nowTicks: number): void {
    this.#tell('newRows', nowTicks)
  }

  /**
   * Starts counting anew; threads stay where they are.
   *
   * @param nowTicks if given, what open frames have spent until now is forgotten as well
   */
  reset(nowTicks?: number): void {
    this.#tell('reset', nowTicks)
  }

  /**
   * Reads all that is there and closes open frames; the target must not be writing any more.
   *
   * @param endTicks up to where open frames are charged; default: the latest event's time
   * @returns whether that was all; a buffer elsewhere may have been cut off
   */
  async finish(endTicks?: number): Promise<boolean> {
    return await this.#ask('finish', endTicks)
  }

  /** Lets go of the buffer and ends the worker. Does nothing when that has happened already. */
  async stop(): Promise<void> {
    if (this.#gone !== undefined) return
    const exit = new Promise<void>((resolve) => this.worker.once('exit', () => resolve()))
    await this.#ask('stop').catch(() => {}) // it is gone, which is what we want
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

/** What is left of an error when it has crossed to another thread. */
export function factsOf(error: unknown): ErrorFacts {
  if (error instanceof JfluidError) {
    return { message: error.message, exitCode: error.exitCode, hint: error.hint }
  }
  // Node.js ends a thread that has come to the limit of its heap, and what it held goes with it.
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
