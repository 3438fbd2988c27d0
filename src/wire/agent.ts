// The client's interface to the agent: one typed method per command, one typed event per question.
// All data from the agent are validated here, once. The rest of the client relies on their types.

import type { MeasuredCalibration } from '../base/compensation.ts'
import { debug } from '../base/debug.ts'
import type { FrameName } from '../base/frame-name.ts'
import { bytes, count, flag, listOf, methodId, number, orNull, string } from './checked.ts'
import { type InsideNews, insideNews } from './inside-news.ts'
import type { EventHandler, Link } from './link.ts'
import {
  type AgentFacts,
  type AgentStatus,
  type ClassLoading,
  type DetachReport,
  type LoadedClasses,
  type RedefineResult,
  readCalibration,
  readClasses,
  readConfigured,
  readDetached,
  readFacts,
  readLoading,
  readRegions,
  readStacks,
  readStatus,
  readSwap,
  readValueCounts,
  type SamplingRequest,
  type StackRow,
  type TraceIdSource,
  type ValueCounts,
} from './messages.ts'

/** A method body that the client sends: the whole content of a Code attribute. */
export interface Body {
  readonly classId: number
  readonly methodIndex: number
  readonly code: Uint8Array
}

/** Name of a method, as sent to the user's profiling agent. */
export interface NamedMethod {
  readonly id: number
  /** Class name with dots. */
  readonly className: string
  readonly name: string
  readonly descriptor: string
}

/** Reply to the class-load hook. */
export interface LoadAnswer {
  readonly poolEntries: number
  readonly poolBytes: Uint8Array
  readonly bodies: readonly { readonly methodIndex: number; readonly code: Uint8Array }[]
  readonly ready: readonly number[]
  readonly highestId: number
}

export interface AgentEvents {
  first(methodId: number): void
  reflect(request: number, classId: number, name: string, descriptor: string): void
  hiddenClass(request: number, hostId: number, bytes: Uint8Array): void
  classLoading(load: ClassLoading): void
  /** Another agent has redefined a class. @param unprobed  whether the class has lost its probes */
  changed(classId: number, unprobed: boolean): void
  lateLoad(hook: number): void
  /** A thread has waited, for the first time, for this class (`itself`) or for an instance of it. For `kind` see instrument/waits.ts. */
  waited(id: number, kind: number, itself: boolean, className: string): void
  /** A step of a value's path (wire/messages.ts) has met an object of this class for the first time. */
  valueClass(path: number, step: number, classId: number): void
  ended(reason: string): void
}

/** A redefinition that takes longer counts as slow. It takes 1 to 18 ms unless it must wait for a thread. */
const SLOW_SWAP_TIMEOUT_MS = 25

export class Agent {
  /** Resolves when the running redefinition ends. Until it ends, the agent would only queue requests, so the client sends none. */
  private swapped: Promise<unknown> = Promise.resolve()
  /** Classes of the running redefinition. A thread that asks the JVM about these classes is blocked until the redefinition ends. */
  private swapping: ReadonlySet<number> = new Set()
  private slow = false
  private onSlowSwap = () => {}

  constructor(private readonly link: Link) {}

  /**
   * Calls `send` when no redefinition runs. No redefinition can begin between the last check and the call: the agent would then wait for the
   * end of the redefinition, which may itself wait for the agent, in the load hook of a class.
   */
  private async whenNoSwap<T>(send: () => Promise<T>): Promise<T> {
    for (let seen: Promise<unknown> | undefined; seen !== this.swapped; ) {
      seen = this.swapped
      await seen
    }
    return await send()
  }

  /** Sends requests that may be delayed, and that the agent does not execute while a redefinition runs. */
  private async request(op: string, ...args: unknown[]): Promise<unknown> {
    // biome-ignore lint/plugin/no-spread: the arguments of one request
    return await this.whenNoSwap(() => this.link.request(op, ...args))
  }

  get closed(): Promise<string> {
    return this.link.closed
  }

  listen(events: AgentEvents): void {
    const handler: EventHandler = (event, a) => {
      switch (event) {
        case 'first':
          return events.first(methodId(a[0]))
        case 'reflect':
          return events.reflect(count(a[0]), count(a[1]), string(a[2]), string(a[3]))
        case 'hiddenClass':
          return events.hiddenClass(count(a[0]), count(a[1]), bytes(a[2]))
        case 'classLoading':
          return events.classLoading(readLoading(a))
        case 'changed':
          return events.changed(count(a[0]), a[1] === true)
        case 'lateLoad':
          return events.lateLoad(count(a[0]))
        case 'waited':
          return events.waited(count(a[0]), count(a[1]), a[2] === true, string(a[3]))
        case 'valueClass':
          return events.valueClass(count(a[0]), count(a[1]), count(a[2]))
        case 'ended':
          return events.ended(string(a[0]))
      }
    }
    this.link.listen(handler)
  }

  async hello(): Promise<AgentFacts> {
    return readFacts(await this.link.request('hello'))
  }

  async configure(o: {
    ring: string
    chunkBytes: number
    chunkCount: number
    chunksOffset: number
    /** Path of the JVM's hsperfdata file in the target's file system; '' if there is no such file. */
    perfFile: string
    safepointTimeOffset: number
    /** JDK classes with probes for submitted tasks, if threads are followed; otherwise empty. */
    follow: readonly string[]
    /** Whether events count executed bytecodes instead of time. */
    counts: boolean
    /** Whether kinds of waits are distinguished. */
    waits: boolean
    /** Whether threads keep trees after the chunks (events/tree-layout.ts). */
    trees: boolean
    /** Whether this client has started the JVM, so that its threads wait longer for answers. */
    isStarted: boolean
  }): Promise<ReturnType<typeof readConfigured>> {
    return readConfigured(
      await this.link.request(
        'configure',
        o.ring,
        o.chunkBytes,
        o.chunkCount,
        o.chunksOffset,
        o.perfFile,
        o.safepointTimeOffset,
        o.follow,
        o.counts,
        o.waits,
        o.trees,
        o.isStarted,
      ),
    )
  }

  async loadedClasses(): Promise<LoadedClasses> {
    return readClasses(await this.request('loadedClasses'))
  }

  /**
   * Returns the loaded classes with one of these names, and all their supertypes. Faster than `loadedClasses`.
   *
   * @param names  last parts of class names; the parts may be separated by `.`, `/` or `$`
   */
  async findClasses(names: readonly string[]): Promise<LoadedClasses> {
    return readClasses(await this.request('findClasses', names))
  }

  /** From this call on, a thread that finds the buffer full continues unrecorded. Must be called before `enable`. */
  async neverWait(): Promise<void> {
    await this.request('neverWait')
  }

  /** Stops first-invocation requests for these methods. */
  async ready(ids: readonly number[], highestId: number): Promise<void> {
    await this.request('ready', ids, highestId)
  }

  async classBytes(ids: readonly number[]): Promise<(Uint8Array | null)[]> {
    const read = () => this.link.request('classBytes', ids)
    const isBlocked = ids.some((id) => this.swapping.has(id))
    return listOf(orNull(bytes))(await (isBlocked ? this.whenNoSwap(read) : read()))
  }

  /** Returns the address of the JVM's library in the target; 0 if unknown. */
  async vmLibrary(): Promise<number> {
    return number(await this.request('vmLibrary'))
  }

  /** Returns eight bytes from the mirror of each class; zeros for an unloaded class. */
  async mirrorWords(offset: number, classIds: readonly number[]): Promise<Uint8Array> {
    return bytes(await this.request('mirrorWords', offset, classIds))
  }

  /**
   * Reads the target's memory without crashing it.
   *
   * @param addresses  eight bytes each, in the target's byte order
   * @returns `length` bytes per address, concatenated; zeros if unreadable
   */
  async peek(length: number, addresses: Uint8Array): Promise<Uint8Array> {
    return bytes(await this.request('peek', length, buffer(addresses)))
  }

  async extendConstantPool(classId: number, crc: number, entries: number, pool: Uint8Array): Promise<void> {
    await this.request('extendConstantPool', classId, crc | 0, entries, buffer(pool))
  }

  async redefineMethods(
    bodies: readonly Body[],
    ready: readonly number[],
    highestId: number,
  ): Promise<RedefineResult> {
    const classIds = new Set(bodies.map((b) => b.classId))
    const rows = bodies.map((b) => [b.classId, b.methodIndex, buffer(b.code)])
    const reply = await this.whenNoSwap(() => {
      const swap = this.link.request('redefineMethods', rows, ready, highestId)
      const timer = setTimeout(() => {
        debug.redefine?.(
          `a redefinition takes more than ${SLOW_SWAP_TIMEOUT_MS} ms: class loads are answered first`,
        )
        this.slow = true
        this.onSlowSwap()
      }, SLOW_SWAP_TIMEOUT_MS)
      const ended = () => {
        clearTimeout(timer)
        this.slow = false
        this.swapping = new Set()
      }
      this.swapping = classIds
      this.swapped = swap.then(ended, ended)
      return swap
    })
    return { classes: classIds.size, methods: rows.length, ...readSwap(reply) }
  }

  /**
   * Whether a redefinition has been running for so long that it may be blocked: it may link a class whose load hook waits for an answer. As
   * long as it runs, the client may only answer hooks, and read classes that are not part of the redefinition.
   */
  get swapIsSlow(): boolean {
    return this.slow
  }

  whenSwapIsSlow(handler: () => void): void {
    this.onSlowSwap = handler
  }

  async watch(jdk: boolean): Promise<void> {
    await this.request('watch', jdk)
  }

  /** From this call on, threads of the target wait for the client's answers. */
  async enable(): Promise<void> {
    await this.request('enable')
  }

  /** From this call on, roots are recorded. In a JVM that jfluid started, main() begins. */
  async go(): Promise<void> {
    await this.request('go')
  }

  /** @param leastRounds  number of blocks of 200 calls that are measured even after `ms` */
  async calibrate(ms: number, leastRounds: number): Promise<MeasuredCalibration> {
    const answer = await this.request('calibrate', ms, leastRounds)
    const { innerSpread, outerSpread, ...rest } = readCalibration(answer)
    return { ...rest, spread: { innerTicks: innerSpread, outerTicks: outerSpread } }
  }

  /** Switches the session to timing regions only, and calibrates for it. `session` is the number that the probes contain. */
  async timeRegions(ms: number): Promise<ReturnType<typeof readRegions>> {
    return readRegions(await this.request('timeRegions', ms))
  }

  async status(): Promise<AgentStatus> {
    return readStatus(await this.request('status'))
  }

  async stackTraces(depth: number): Promise<StackRow[]> {
    return readStacks(await this.request('stackTraces', depth))
  }

  async reclaim(): Promise<number> {
    return number(await this.link.request('reclaim'))
  }

  /** Ends the recording and restores the target's code. Memory can still be read until `detach`. */
  async restore(): Promise<DetachReport> {
    return readDetached(await this.link.request('restore'))
  }

  /** Restores the target's code, unless `restore` has done so already, then ends the agent. */
  async detach(): Promise<DetachReport> {
    return readDetached(await this.link.request('detach'))
  }

  /** Makes each thread record samples of its own stack. Must be called before `enable`. */
  async sampling({ every, random }: SamplingRequest): Promise<void> {
    await this.request('sampling', every, random)
  }

  /**
   * Starts sampling stacks of threads inside a root at `go`; `insideSamples` returns them.
   *
   * @param roots  class and name of each root method
   */
  async sampleInside(roots: readonly FrameName[]): Promise<void> {
    await this.request(
      'sampleInside',
      roots.flatMap((it) => [it.className, it.method]),
    )
  }

  /**
   * Selects the methods that record calls. A method that is switched on records from the next root call on; a method that is switched off
   * stops immediately.
   *
   * @param modes  MODE_OFF, MODE_COUNT or MODE_TIME, indexed by method id; off beyond the end
   */
  async modes(modes: Uint8Array): Promise<void> {
    await this.request('modes', buffer(modes))
  }

  /** Times one in `calls` root calls, chosen at random, and only counts the other root calls. Applies from each thread's next root call. */
  async timeOneOf(calls: number): Promise<void> {
    await this.request('timeOneOf', calls)
  }

  /**
   * Makes threads write the details of outermost root calls that begin later and take at least this number of ticks, or that an exception
   * ends.
   */
  async slowFrom(ticks: number, threw: boolean): Promise<void> {
    await this.request('slowFrom', ticks, threw)
  }

  /**
   * Selects the values of root calls to read. Must be called before the roots get probes.
   *
   * @param paths     start and number of steps of each path; null for a path that is not used
   * @param firstRow  lowest of the ids that are reserved for rows of values; -1 if there are no such rows
   * @param thrown    number of the start that is the exception of the call; -1 if no path starts from it
   */
  async values(
    paths: readonly (readonly [start: number, steps: number] | null)[],
    firstRow: number,
    thrown: number,
  ): Promise<void> {
    await this.request('values', paths, firstRow, thrown)
  }

  /**
   * Defines how a step reads objects of a class.
   * @returns whether the class is still loaded
   * @throws AgentRefused if the class has no such member
   */
  async valueStep(
    path: number,
    step: number,
    classId: number,
    how: number,
    {
      holder,
      name,
      descriptor,
    }: { readonly holder: number; readonly name: string; readonly descriptor: string },
  ): Promise<boolean> {
    return flag(await this.request('valueStep', path, step, classId, how, holder, name, descriptor))
  }

  /** Returns what reading values has cost so far. */
  async valueCounts(): Promise<ValueCounts> {
    return readValueCounts(await this.request('valueCounts'))
  }

  /** Returns the ids of the loaded classes with these names, which contain dots; an empty list for a name without a class. */
  async classesNamed(names: readonly string[]): Promise<number[][]> {
    return listOf(listOf(count))(await this.request('classesNamed', names))
  }

  /** Makes threads write the trace id that a library holds with the details of a root call. Replaces earlier sources. */
  async traceIds(sources: readonly TraceIdSource[]): Promise<void> {
    await this.request(
      'traceIds',
      sources.map(({ local, key, steps }) => [local, key, steps]),
    )
  }

  /** Returns the number of calls that were only counted, indexed by method id. */
  async modeCounts(): Promise<Float64Array> {
    const content = bytes(await this.request('modeCounts'))
    const view = new DataView(content.buffer, content.byteOffset, content.length)
    return Float64Array.from({ length: content.length >> 3 }, (_, id) =>
      Number(view.getBigInt64(id * 8, true)),
    )
  }

  /** Returns the samples since the last call of this method. */
  async insideSamples(): Promise<InsideNews> {
    return insideNews(await this.request('insideSamples'))
  }

  /** Makes callers record their call sites. Must be called before calibration. */
  async tellSites(): Promise<void> {
    await this.request('tellSites')
  }

  /** Loads the user's profiling agent. @throws AgentRefused if the jar contains no profiler */
  async profiler(jar: string): Promise<void> {
    await this.request('profiler', jar)
  }

  /**
   * @param every    one in `every` allocations is recorded, chosen at random
   * @param liveness whether recorded objects are tracked
   */
  async allocations(every: number, liveness: boolean): Promise<void> {
    await this.request('allocations', every, liveness)
  }

  names(methods: readonly NamedMethod[]): void {
    this.link.send(
      'names',
      methods.map((it) => [it.id, it.className, it.name, it.descriptor]),
    )
  }

  loadHook(hook: number, a: LoadAnswer | null): void {
    this.link.send(
      'loadHook',
      hook,
      a?.poolEntries ?? 0,
      buffer(a?.poolBytes ?? new Uint8Array()),
      a?.bodies.map((b) => [b.methodIndex, buffer(b.code)]) ?? [],
      a?.ready ?? [],
      a?.highestId ?? 0,
    )
  }

  reflected(request: number): void {
    this.link.send('reflected', request)
  }

  close(): void {
    this.link.close()
  }
}

/** Returns the bytes as a Buffer: msgpackr always packs a Buffer as binary, but may pack other views differently. */
function buffer(v: Uint8Array): Buffer {
  return Buffer.from(v.buffer, v.byteOffset, v.byteLength)
}
