// What threads do inside the roots, between calls that are timed: the agent's samples, and the picture that they make of a tree.

import { StopCounters, type StopTimes } from '../../attach/stops.ts'
import { minOf } from '../../base/arrays.ts'
import { InsideSamples } from '../../cct/inside-samples.ts'
import { withSamples } from '../../cct/picture.ts'
import type { MethodName, Snapshot, Tree } from '../../cct/tree.ts'
import type { PauseFact, StackFacts, StallCause } from '../../profile/stack-facts.ts'
import type { MethodTarget } from '../../reveal/method-ids.ts'
import type { Revealer } from '../../reveal/revealer.ts'
import type { InsideNews } from '../../wire/inside-news.ts'
import type { TargetClock } from '../clock.ts'
import type { Swap } from '../code/installation.ts'
import type { Engine } from '../engine.ts'
import { sourceName } from '../target-classes.ts'
import { COLD_MS } from './pause.ts'

/** Of rows that are only sampled. */
const BENT =
  'compiled loops of this JVM have no safepoint, by its garbage collector (the serial or the parallel one, or CMS): samples fall behind loops, and sampled rows are unreliable for methods with loops'

const OTHERS: MethodName = { class: '', method: '(other methods)', descriptor: '', loader: '' }

/** Of the one tree of all virtual threads, its id, and its number in samples. */
const VIRTUAL_THREADS = 0

type Sources = Pick<
  Engine,
  'agent' | 'arming' | 'instrumenter' | 'revealer' | 'clock' | 'targetState' | 'process'
>

/** Between two readings of the JVM's time at safepoints: after longer ones a stall may not be told from others. */
const LONGEST_BETWEEN_MS = 1_500

/** A moment in which the target's threads may have stood still. */
export interface Stall {
  readonly ms: number
  readonly atTicks: number
  /** Stacks were taken meanwhile. */
  readonly taking: boolean
  /** Most of it that can have been at safepoints; null where the JVM does not tell. */
  readonly safepointMs: number | null
  /** The same in garbage collections. */
  readonly collectionMs: number | null
  /** The same without its share of the processors, by the kernel. */
  readonly throttledMs: number | null
  /** The process was seen to be stopped meanwhile. */
  readonly stopped: boolean
}

const NO_STALL = {
  ...{ ms: 0, taking: false, stopped: false },
  ...{ safepointMs: null, collectionMs: null, throttledMs: null },
}

/** In a shorter one the process may have been stopped for a part of it. */
const SUSPENDED_MS = 1_000

/**
 * Most of it must have been for that.
 *
 * @param redefinedTicks  when redefinitions have stopped the threads, from when to when
 * @returns null where that is not known, or there was no stall
 */
export function causeOf(
  { ms, atTicks, taking, stopped, safepointMs, collectionMs, throttledMs }: Stall,
  ticksOf: (ms: number) => number,
  redefinedTicks: Iterable<readonly [from: number, to: number]>,
): StallCause | null {
  if (ms === 0) return null
  const began = atTicks - ticksOf(ms)
  let redefined = 0
  for (const [from, to] of redefinedTicks)
    redefined += Math.max(0, Math.min(to, atTicks) - Math.max(from, began))
  if (redefined >= (atTicks - began) / 2) return 'redefinition'
  if (stopped && ms >= SUSPENDED_MS) return 'suspended'
  if (safepointMs === null) return taking ? 'stacks' : null
  if (safepointMs >= ms / 2) {
    if ((collectionMs ?? 0) >= ms / 2) return 'collection'
    return taking ? 'stacks' : 'safepoint'
  }
  if ((throttledMs ?? 0) >= ms / 2) return 'throttled'
  return taking ? 'stacks' : 'processor'
}

/** How much of that there was between two readings, in ms. */
function msBetween(before: number | null | undefined, now: number | null | undefined): number | null {
  return typeof before !== 'number' || typeof now !== 'number' ? null : (now - before) / 1e6
}

/** Calls of roots a second, by the target's clock: what the client is late does not count. */
function rateBetween(a: InsideNews, b: InsideNews, clock: TargetClock): number {
  const seconds = clock.toNs(b.atTicks - a.atTicks) / 1e9
  return seconds <= 0 ? 0 : (b.rootCalls - a.rootCalls) / seconds
}

/** What a stack trace does not tell apart. */
interface Revealed {
  readonly ids: readonly number[]
  /** All of them, and no other has that name. */
  readonly areTimed: boolean
}

/** Whether these are all methods of their name, in each of their classes. Constructors have their probes behind the call of another one. */
function isWhole(methods: readonly MethodTarget[], classes: Revealer['classes']): boolean {
  if (methods[0]?.name.startsWith('<') === true) return false
  const inClass = (wanted: number) => methods.filter(({ classId }) => classId === wanted).length
  return methods.every(({ classId, name }) => inClass(classId) === classes.countNamed(classId, name))
}

export class Inside {
  readonly #samples = new InsideSamples()
  /** Of rows that are only sampled. */
  readonly #names = new Map<number, MethodName>()
  readonly #ids = new Map<string, number>()
  #others = 0
  /** How many methods of roots the agent knows. */
  #roots = 0
  #news: InsideNews | null = null
  /** What it was at the latest reset. */
  #before: InsideNews | null = null
  /** Stacks of rows that have been given up. */
  #samplesBefore = 0
  #failure: string | null = null
  #fromTicks = Number.NEGATIVE_INFINITY
  #longest: Stall | null = null
  #suspendedMs = 0
  #safepointNs: number | null = null
  readonly #stops: StopCounters | null
  /** Read before the latest news were asked for, so that what ended meanwhile is in the next ones, too. */
  #stopTimes: StopTimes | null = null
  #readAt = Number.NEGATIVE_INFINITY
  /** Calls of roots a second, before the latest two readings. */
  #rates: readonly number[] = []
  /** Of so many calls of roots one is timed. */
  timedOneOf = 1
  /** Compiled loops have no safepoint in them: samples fall behind them. False where the JVM's counters cannot be seen, too. */
  readonly #isBent: boolean

  constructor(private readonly from: Sources) {
    this.#stops = from.process === null ? null : new StopCounters(from.process)
    this.#isBent = this.#stops?.loopsHaveNoSafepoints() ?? false
  }

  /** Before `go`. */
  async begin(): Promise<void> {
    await this.rootsAre()
    this.#others = this.from.revealer.methods.reserve()
    this.#names.set(this.#others, OTHERS)
  }

  /** Tells the agent below what frames stacks are wanted, if that has changed. */
  async rootsAre(): Promise<void> {
    const { agent, revealer } = this.from
    const roots = [...revealer.methods].filter((it) => it.root)
    if (this.#others !== 0 && roots.length === this.#roots) return
    this.#roots = roots.length
    await agent.sampleInside(roots.map((it) => ({ className: sourceName(it.className), method: it.name })))
  }

  /**
   * Takes what has been sampled since the last time.
   *
   * @param swaps    all redefinitions
   * @param stopped  the process was seen to be stopped since the last time
   * @returns when the process was suspended meanwhile, in ticks; null if it was not
   */
  async read(swaps: readonly Swap[], stopped: boolean): Promise<readonly [from: number, to: number] | null> {
    if (this.#others === 0) return null
    const asked = this.#stops?.read() ?? null
    const news = await this.from.agent.insideSamples()
    const readAt = performance.now()
    const last = this.#news
    this.#samples.add(news.batch, this.#fromTicks)
    this.#news = news
    if (news.failure !== null) this.#failure = news.failure
    const ms = news.longestLateNs / 1e6
    const [before, now] = [this.#safepointNs, news.safepointNs]
    const isRecent = readAt - this.#readAt < LONGEST_BETWEEN_MS + ms // the agent does not answer while it stands still
    const stopsBefore = this.#stopTimes
    this.#safepointNs = now
    this.#stopTimes = asked
    this.#readAt = readAt
    this.#rates = last === null ? [] : [rateBetween(last, news, this.from.clock), ...this.#rates.slice(0, 1)]
    if (ms <= Math.min(this.#longest?.ms ?? 0, SUSPENDED_MS)) return null
    const stops = this.#stops?.read()
    const stall = {
      ...{ ms, atTicks: news.longestLateAt, taking: news.longestTaking, stopped },
      safepointMs: isRecent ? msBetween(before, now) : null,
      collectionMs: isRecent ? msBetween(stopsBefore?.collectionNs, stops?.collectionNs) : null,
      throttledMs: isRecent ? msBetween(stopsBefore?.throttledNs, stops?.throttledNs) : null,
    }
    if (ms > (this.#longest?.ms ?? 0)) this.#longest = stall
    if (this.#causeOf(stall, swaps) !== 'suspended') return null
    this.#suspendedMs += ms
    return [stall.atTicks - this.#ticksOf(ms), stall.atTicks]
  }

  #ticksOf(ms: number): number {
    return (ms * 1e6) / this.from.clock.nsPerTick
  }

  #causeOf(stall: Stall, swaps: readonly Swap[]): StallCause | null {
    const ticksOf = (ms: number) => this.#ticksOf(ms)
    // Threads stand still at the end of a redefinition.
    const redefined = swaps.map(
      ({ ms, pauseMs, endTicks }) => [endTicks - ticksOf(pauseMs ?? ms), endTicks] as const,
    )
    return causeOf(stall, ticksOf, redefined)
  }

  /** How late the sampler's thread woke at most, or for how long it took stacks: so long the program's threads may have stood still. */
  get longestStallMs(): number {
    return this.#longest?.ms ?? 0
  }

  /** How long taking stacks has taken in the target since the latest reset. */
  get costMs(): number {
    return ((this.#news?.costNs ?? 0) - (this.#before?.costNs ?? 0)) / 1e6
  }

  /** Calls of roots from outside: the lower of the latest two rates, so that a burst is none. 0 until there are two. */
  get callsPerSecond(): number {
    return this.#rates.length < 2 ? 0 : minOf(this.#rates)
  }

  /** From now on. */
  async timeOneOf(calls: number): Promise<void> {
    await this.from.agent.timeOneOf(calls)
    this.timedOneOf = calls
  }

  get samples(): number {
    return this.#samples.count
  }

  get warnings(): string[] {
    const found = this.#isBent ? [BENT] : []
    if (this.#failure !== null)
      found.push(`no more stacks are taken: the thread that takes them has failed (${this.#failure})`)
    return found
  }

  /** Calls of roots in which there were samples. */
  get calls(): number {
    return this.#samples.calls
  }

  /** The rows start at zero. */
  newRows(nowTicks: number): void {
    this.#samplesBefore += this.#samples.count
    this.#samples.reset()
    this.#fromTicks = nowTicks
  }

  /** All that was measured is forgotten. */
  reset(nowTicks: number): void {
    this.newRows(nowTicks)
    this.#samplesBefore = 0
    this.#before = this.#news
    this.#longest = null
    this.#suspendedMs = 0
  }

  /**
   * @param beginTicks        when recording began
   * @param pauses            of redefinitions
   * @param swaps             all of them
   * @param rowsFromMs        since when rows count
   */
  stackFacts(
    beginTicks: number,
    pauses: readonly PauseFact[],
    swaps: readonly Swap[],
    rowsFromMs: number,
  ): Omit<StackFacts, 'unseenPart'> {
    const since = (name: 'missed' | 'dropped' | 'rootCalls') =>
      (this.#news?.[name] ?? 0) - (this.#before?.[name] ?? 0)
    const { clock } = this.from
    const stall = this.#longest ?? { ...NO_STALL, atTicks: beginTicks }
    return {
      ...{
        samples: this.#samplesBefore + this.#samples.count,
        missed: since('missed'),
        dropped: since('dropped'),
        costMs: this.costMs,
        longestStallMs: stall.ms,
        stallAtMs: Math.max(0, clock.toNs(stall.atTicks - beginTicks) / 1e6),
        stallCause: this.#causeOf(stall, swaps),
        suspendedMs: this.#suspendedMs,
        rootCalls: since('rootCalls'),
        timedOneOf: this.timedOneOf,
      },
      pauses,
      rowsFromMs,
      coldUntilMs: Math.max(
        0,
        clock.toNs((swaps.at(-1)?.endTicks ?? beginTicks) - beginTicks) / 1e6 + COLD_MS,
      ),
    }
  }

  /** Of an id that no method has. */
  name(id: number): MethodName | undefined {
    return this.#names.get(id)
  }

  *names(): Generator<[number, MethodName]> {
    yield* this.#names
  }

  /**
   * The same with rows of what was sampled.
   *
   * @param leastSamples  rows with fewer are put together; default: LEAST_SAMPLES, below which a reader learns nothing from a row
   */
  picture(snapshot: Snapshot, leastSamples?: number): Snapshot {
    const revealed = this.#revealed()
    const parts = {
      samples: this.#samples,
      timed: (className: string, method: string) => revealed.get(`${className}.${method}`)?.ids,
      isSeen: (className: string, method: string) =>
        revealed.get(`${className}.${method}`)?.areTimed === true,
      methodOf: (className: string, method: string) => this.#idOf(className, method),
      others: this.#others,
      isBent: this.#isBent,
      ...(leastSamples !== undefined && { leastSamples }),
    }
    const numbers = new Map<number, number>([[VIRTUAL_THREADS, VIRTUAL_THREADS]])
    for (const [number, { id }] of this.from.targetState.threads) numbers.set(id, number)
    const ofThread = (id: number, tree: Tree): Tree => {
      const thread = numbers.get(id)
      return thread === undefined ? tree : withSamples(tree, { ...parts, thread })
    }
    const threads = snapshot.threads.map((it) => ({ ...it, tree: ofThread(it.id, it.tree) }))
    return { ...snapshot, merged: withSamples(snapshot.merged, parts), threads }
  }

  /** Methods by what a stack trace calls them, overloads and classes of several loaders together. */
  #revealed(): ReadonlyMap<string, Revealed> {
    const { arming, instrumenter, revealer } = this.from
    const methods = new Map<string, MethodTarget[]>()
    for (const it of revealer.methods) {
      const key = `${sourceName(it.className)}.${it.name}`
      const known = methods.get(key)
      if (known === undefined) methods.set(key, [it])
      else known.push(it)
    }
    const withProbes = instrumenter.methodsWithProbes()
    const isTimed = ({ id, root }: MethodTarget) =>
      withProbes.has(id) && (root || arming?.isTimed(id) === true)
    // Else samples of root calls that are not timed would look like calls that probes did not see.
    const isEachTimed = this.timedOneOf === 1
    return new Map(
      [...methods].map(([key, all]) => {
        const areTimed = isEachTimed && all.every(isTimed) && isWhole(all, revealer.classes)
        return [key, { ids: all.map(({ id }) => id), areTimed }]
      }),
    )
  }

  #idOf(className: string, method: string): number {
    const key = `${className}.${method}`
    let id = this.#ids.get(key)
    if (id === undefined) {
      id = this.from.revealer.methods.reserve()
      this.#ids.set(key, id)
      this.#names.set(id, { class: className, method, descriptor: '', loader: '' })
    }
    return id
  }
}
