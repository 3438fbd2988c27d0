// Samples of the code inside the roots, between timed calls. Reads the samples of the agent and adds them to a tree.

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
import { COLD_DURATION_MS } from './pause.ts'

/** Warning about rows that are only sampled. */
const BENT =
  'with its garbage collector (serial, parallel or CMS) this JVM has no safepoints in compiled loops: samples are taken after loops, and sampled rows are unreliable for methods with loops'

const OTHERS: MethodName = { class: '', method: '(other methods)', descriptor: '', loader: '' }

/** Id of the common tree of all virtual threads, and its number in samples. */
const VIRTUAL_THREADS = 0

type Sources = Pick<
  Engine,
  'agent' | 'arming' | 'instrumenter' | 'revealer' | 'clock' | 'targetState' | 'process'
>

/** Maximum time between two readings of the JVM's safepoint time. After a longer time, the cause of a stall cannot be identified. */
const MAX_READING_INTERVAL_MS = 1_500

/** A moment in which the target's threads may have been stopped. */
export interface Stall {
  readonly ms: number
  readonly atTicks: number
  /** Whether stacks were being taken during the stall. */
  readonly taking: boolean
  /** Upper bound of the time at safepoints. Null if the JVM does not report it. */
  readonly safepointMs: number | null
  /** Upper bound of the time in garbage collections. */
  readonly collectionMs: number | null
  /** Upper bound of the time for which the kernel throttled the process. */
  readonly throttledMs: number | null
  /** Whether the process was seen stopped during the stall. */
  readonly stopped: boolean
}

const NO_STALL = {
  ...{ ms: 0, taking: false, stopped: false },
  ...{ safepointMs: null, collectionMs: null, throttledMs: null },
}

/** In a shorter stall the process may have been stopped for only a part of it. */
const MIN_SUSPENSION_MS = 1_000

/**
 * Returns the cause that explains at least half of a stall.
 * @param redefinedTicks  start and end of each pause by a redefinition
 * @returns null if the cause is not known, or if there was no stall
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
  if (stopped && ms >= MIN_SUSPENSION_MS) return 'suspended'
  if (safepointMs === null) return taking ? 'stacks' : null
  if (safepointMs >= ms / 2) {
    if ((collectionMs ?? 0) >= ms / 2) return 'collection'
    return taking ? 'stacks' : 'safepoint'
  }
  if ((throttledMs ?? 0) >= ms / 2) return 'throttled'
  return taking ? 'stacks' : 'processor'
}

/** Returns the increase between two readings in ns, converted to ms. */
function msBetween(before: number | null | undefined, now: number | null | undefined): number | null {
  return typeof before !== 'number' || typeof now !== 'number' ? null : (now - before) / 1e6
}

/** Returns root calls per second by the target's clock, so delays of the client have no effect. */
function rateBetween(a: InsideNews, b: InsideNews, clock: TargetClock): number {
  const seconds = clock.toNs(b.atTicks - a.atTicks) / 1e9
  return seconds <= 0 ? 0 : (b.rootCalls - a.rootCalls) / seconds
}

/** Methods that a stack trace does not distinguish. */
interface Revealed {
  readonly ids: readonly number[]
  /** Whether all these methods are timed, and no other method has this name. */
  readonly areTimed: boolean
}

/**
 * Returns whether the list contains all methods with this name in each class. False for constructors, since their probes run only after the
 * call of another constructor.
 */
function isWhole(methods: readonly MethodTarget[], classes: Revealer['classes']): boolean {
  if (methods[0]?.name.startsWith('<') === true) return false
  const inClass = (wanted: number) => methods.filter(({ classId }) => classId === wanted).length
  return methods.every(({ classId, name }) => inClass(classId) === classes.countNamed(classId, name))
}

export class Inside {
  readonly #samples = new InsideSamples()
  /** Names of methods that only occur in samples. */
  readonly #names = new Map<number, MethodName>()
  readonly #ids = new Map<string, number>()
  #others = 0
  /** Number of root methods that the agent knows. */
  #roots = 0
  #news: InsideNews | null = null
  /** Value of `#news` at the latest reset. */
  #before: InsideNews | null = null
  /** Number of samples in earlier rows that have been discarded. */
  #samplesBefore = 0
  #failure: string | null = null
  #fromTicks = Number.NEGATIVE_INFINITY
  #longest: Stall | null = null
  #suspendedMs = 0
  #safepointNs: number | null = null
  readonly #stops: StopCounters | null
  /** Stop times read before the latest request. An event that ends during the request is thus counted in the next reading, too. */
  #stopTimes: StopTimes | null = null
  #readAt = Number.NEGATIVE_INFINITY
  /** Root calls per second: the two latest rates. */
  #rates: readonly number[] = []
  /** Number n: one in n root calls is timed. */
  timedOneOf = 1
  /** Whether compiled loops of this JVM have no safepoint, so samples appear after the loop. False if the JVM's counters cannot be read. */
  readonly #isBent: boolean

  constructor(private readonly from: Sources) {
    this.#stops = from.process === null ? null : new StopCounters(from.process)
    this.#isBent = this.#stops?.loopsHaveNoSafepoints() ?? false
  }

  /** Must be called before `go`. */
  async begin(): Promise<void> {
    await this.rootsAre()
    this.#others = this.from.revealer.methods.reserve()
    this.#names.set(this.#others, OTHERS)
  }

  /** Sends the root methods to the agent if they have changed. The agent samples stacks below the frames of root methods. */
  async rootsAre(): Promise<void> {
    const { agent, revealer } = this.from
    const roots = [...revealer.methods].filter((it) => it.root)
    if (this.#others !== 0 && roots.length === this.#roots) return
    this.#roots = roots.length
    await agent.sampleInside(roots.map((it) => ({ className: sourceName(it.className), method: it.name })))
  }

  /**
   * Reads the samples since the previous call.
   * @param swaps    all redefinitions
   * @param stopped  whether the process was seen stopped since the previous call
   * @returns start and end of a suspension of the process in ticks; null if there was none
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
    const isRecent = readAt - this.#readAt < MAX_READING_INTERVAL_MS + ms // a stopped agent does not answer, so `ms` is added
    const stopsBefore = this.#stopTimes
    this.#safepointNs = now
    this.#stopTimes = asked
    this.#readAt = readAt
    this.#rates = last === null ? [] : [rateBetween(last, news, this.from.clock), ...this.#rates.slice(0, 1)]
    if (ms <= Math.min(this.#longest?.ms ?? 0, MIN_SUSPENSION_MS)) return null
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
    // Threads are stopped at the end of a redefinition.
    const redefined = swaps.map(
      ({ ms, pauseMs, endTicks }) => [endTicks - ticksOf(pauseMs ?? ms), endTicks] as const,
    )
    return causeOf(stall, ticksOf, redefined)
  }

  /** Longest delay of the sampler thread, or longest time to take stacks. The program's threads may have been stopped for this time. */
  get longestStallMs(): number {
    return this.#longest?.ms ?? 0
  }

  /** Time spent on taking stacks in the target since the latest reset. */
  get costMs(): number {
    return ((this.#news?.costNs ?? 0) - (this.#before?.costNs ?? 0)) / 1e6
  }

  /**
   * Rate of outermost root calls: the lower of the two latest rates, so that a single burst does not count. 0 until there are two rates.
   */
  get callsPerSecond(): number {
    return this.#rates.length < 2 ? 0 : minOf(this.#rates)
  }

  /** From now on, only one in `calls` root calls is timed. */
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
      found.push(`sampling has stopped: the sampler thread failed (${this.#failure})`)
    return found
  }

  /** Number of root calls that contain samples. */
  get calls(): number {
    return this.#samples.calls
  }

  /** Discards the samples of the rows. */
  newRows(nowTicks: number): void {
    this.#samplesBefore += this.#samples.count
    this.#samples.reset()
    this.#fromTicks = nowTicks
  }

  /** Discards all measured data. */
  reset(nowTicks: number): void {
    this.newRows(nowTicks)
    this.#samplesBefore = 0
    this.#before = this.#news
    this.#longest = null
    this.#suspendedMs = 0
  }

  /**
   * @param beginTicks        start of the recording
   * @param pauses            pauses of redefinitions
   * @param swaps             all redefinitions
   * @param rowsFromMs        start time of the current rows
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
        clock.toNs((swaps.at(-1)?.endTicks ?? beginTicks) - beginTicks) / 1e6 + COLD_DURATION_MS,
      ),
    }
  }

  /** Name of an id that no revealed method has. */
  name(id: number): MethodName | undefined {
    return this.#names.get(id)
  }

  *names(): Generator<[number, MethodName]> {
    yield* this.#names
  }

  /**
   * Returns the snapshot with rows for the samples.
   * @param leastSamples  rows with fewer samples are merged; default: MIN_SAMPLES, below which a row is not informative
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

  /** Returns methods keyed by their name in a stack trace. Overloads are merged, and so are classes of several loaders. */
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
    // If only some root calls are timed, samples of untimed calls would look like calls without probe events.
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
