// The agent as the client sees it: one typed method a command, one typed event a question.
//
// Everything that comes over the wire is checked here, once; the rest of the client works with types.

import type { MeasuredCalibration } from '../base/compensation.ts'
import { debug } from '../base/debug.ts'
import type { FrameName } from '../base/frame-name.ts'
import { bytes, count, listOf, methodId, number, orNull, string } from './checked.ts'
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
  type SamplingRequest,
  type StackRow,
} from './messages.ts'

/** A body as it is sent: the whole content of a Code attribute. */
export interface Body {
  readonly classId: number
  readonly methodIndex: number
  readonly code: Uint8Array
}

/** A method as a profiler of the user's is to call it. */
export interface NamedMethod {
  readonly id: number
  /** With dots. */
  readonly className: string
  readonly name: string
  readonly descriptor: string
}

/** What the load hook answers. */
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
  /** @param unprobed  whether it has lost its probes */
  changed(classId: number, unprobed: boolean): void
  lateLoad(hook: number): void
  /** Threads have begun to wait for this class, or an instance of it; `kind` as instrument/waits.ts has it. */
  waited(id: number, kind: number, itself: boolean, className: string): void
  ended(reason: string): void
}

/** A redefinition takes 1 to 18 ms, if it need not wait for somebody. */
const SLOW_SWAP_MS = 25

export class Agent {
  /** Ends with the redefinition that runs. The agent would keep what we ask meanwhile, and what comes behind it. */
  private swapped: Promise<unknown> = Promise.resolve()
  /** Classes of that redefinition: another thread that asks the JVM for them waits until it is over. */
  private swapping: ReadonlySet<number> = new Set()
  private slow = false
  private onSlowSwap = () => {}

  constructor(private readonly link: Link) {}

  private async noSwap(): Promise<void> {
    for (let seen: Promise<unknown> | undefined; seen !== this.swapped; ) {
      seen = this.swapped
      await seen
    }
  }

  /** For all that has to do with classes, and can wait. */
  private async request(op: string, ...args: unknown[]): Promise<unknown> {
    await this.noSwap()
    // biome-ignore lint/plugin/no-spread: the arguments of one request
    return await this.link.request(op, ...args)
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
    /** The JVM's hsperfdata file as the target sees it, '' if it has none. */
    perfFile: string
    safepointTimeOffset: number
    /** Classes of the JDK where work changes hands, if threads are followed; else none. */
    follow: readonly string[]
    /** Events tell what was executed, and not the time. */
    counts: boolean
    /** Waits are told apart. */
    waits: boolean
    /** Threads keep trees behind the chunks (events/tree-layout.ts). */
    trees: boolean
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
      ),
    )
  }

  async loadedClasses(): Promise<LoadedClasses> {
    return readClasses(await this.request('loadedClasses'))
  }

  /**
   * The same of loaded classes of these names, and of all above them: much less than all.
   *
   * @param names  the last parts of class names, between which any of `.`, `/` and `$` may be
   */
  async findClasses(names: readonly string[]): Promise<LoadedClasses> {
    return readClasses(await this.request('findClasses', names))
  }

  /** From now on a thread that finds the buffer full goes on unrecorded. Before `enable`. */
  async neverWait(): Promise<void> {
    await this.link.request('neverWait')
  }

  /** Probes of these methods will ask nothing. */
  async ready(ids: readonly number[], highestId: number): Promise<void> {
    await this.request('ready', ids, highestId)
  }

  async classBytes(ids: readonly number[]): Promise<(Uint8Array | null)[]> {
    if (ids.some((id) => this.swapping.has(id))) await this.noSwap()
    return listOf(orNull(bytes))(await this.link.request('classBytes', ids))
  }

  /** Address at which the JVM's library begins in the target; 0 if the target cannot tell. */
  async vmLibrary(): Promise<number> {
    return number(await this.request('vmLibrary'))
  }

  /** Eight bytes out of the mirror of each class, one after the other; zeros for one that has been unloaded. */
  async mirrorWords(offset: number, classIds: readonly number[]): Promise<Uint8Array> {
    return bytes(await this.request('mirrorWords', offset, classIds))
  }

  /**
   * Reads the target's memory, safely.
   *
   * @param addresses  eight bytes each, in the target's byte order
   * @returns `length` bytes of each, one after the other; zeros where nothing can be read
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
    await this.noSwap()
    const swap = this.link.request('redefineMethods', rows, ready, highestId)
    this.swapped = swap.catch(() => {})
    this.swapping = classIds
    const timer = setTimeout(() => {
      debug.redefine?.(`a redefinition takes more than ${SLOW_SWAP_MS} ms: class loads are answered first`)
      this.slow = true
      this.onSlowSwap()
    }, SLOW_SWAP_MS)
    let reply: unknown
    try {
      reply = await swap
    } finally {
      clearTimeout(timer)
      this.slow = false
      this.swapping = new Set()
    }
    return { classes: classIds.size, methods: rows.length, ...readSwap(reply) }
  }

  /**
   * Whether a redefinition has been running for so long that it may be waiting for a class in the load hook,
   * to link another. Only hooks can be answered then, and classes read that are not part of it.
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

  /** From now on the target counts on us: threads that ask something wait for the answer. */
  async enable(): Promise<void> {
    await this.request('enable')
  }

  /** From now on roots are recorded. Lets main() begin in a JVM that was started under jfluid. */
  async go(): Promise<void> {
    await this.request('go')
  }

  async calibrate(ms: number): Promise<MeasuredCalibration> {
    const { innerSpread, outerSpread, ...rest } = readCalibration(await this.request('calibrate', ms))
    return { ...rest, spread: { innerTicks: innerSpread, outerTicks: outerSpread } }
  }

  /** Regions are timed, and nothing else: calibrates for that. `session` is what the probes carry. */
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

  /** Ends the recording and gives the target its own code back. Memory can still be read, until `detach`. */
  async restore(): Promise<DetachReport> {
    return readDetached(await this.link.request('restore'))
  }

  /** The same, if that has not been done, and the agent ends. */
  async detach(): Promise<DetachReport> {
    return readDetached(await this.link.request('detach'))
  }

  /** Before the session is enabled: threads sample themselves. */
  async sampling({ every, random }: SamplingRequest): Promise<void> {
    await this.link.request('sampling', every, random)
  }

  /**
   * From `go` on, stacks of threads inside a root are taken, for `insideSamples`.
   *
   * @param roots  of the root methods
   */
  async sampleInside(roots: readonly FrameName[]): Promise<void> {
    await this.link.request(
      'sampleInside',
      roots.flatMap((it) => [it.className, it.method]),
    )
  }

  /**
   * Which methods tell that they run, from the next call of a root on; those that are switched off tell nothing from now on.
   *
   * @param modes  by method id: MODE_OFF, MODE_COUNT or MODE_TIME; off beyond
   */
  async modes(modes: Uint8Array): Promise<void> {
    await this.request('modes', buffer(modes))
  }

  /** Of so many calls of roots one is timed, at random, and the others are only counted: from the next call of each thread on. */
  async timeOneOf(calls: number): Promise<void> {
    await this.request('timeOneOf', calls)
  }

  /** By method id, how often those that are only counted have been called. */
  async modeCounts(): Promise<Float64Array> {
    const content = bytes(await this.request('modeCounts'))
    const view = new DataView(content.buffer, content.byteOffset, content.length)
    return Float64Array.from({ length: content.length >> 3 }, (_, id) =>
      Number(view.getBigInt64(id * 8, true)),
    )
  }

  /** What has been sampled since the last call. */
  async insideSamples(): Promise<InsideNews> {
    return insideNews(await this.link.request('insideSamples'))
  }

  /** Before calibration: callers tell where they call. */
  async tellSites(): Promise<void> {
    await this.link.request('tellSites')
  }

  /** @throws AgentRefused if there is no profiler in the jar */
  async profiler(jar: string): Promise<void> {
    await this.link.request('profiler', jar)
  }

  /**
   * @param every    one of so many allocations is told, by chance
   * @param liveness whether recorded objects are looked after
   */
  async allocations(every: number, liveness: boolean): Promise<void> {
    await this.link.request('allocations', every, liveness)
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

/** msgpackr packs Buffers as binary without surprises; other views it may not. */
function buffer(v: Uint8Array): Buffer {
  return Buffer.from(v.buffer, v.byteOffset, v.byteLength)
}
