// Samples of methods inside the roots that have no timing probes. Reads the samples from the agent and adds them to a tree.

import { StopCounters, type StopTimes } from '../../attach/stops.ts'
import { addTo, minOf } from '../../base/arrays.ts'
import { getOrAdd } from '../../base/maps.ts'
import { valueRowOf } from '../../base/stack-sample.ts'
import { InsideSamples } from '../../cct/inside-samples.ts'
import type { LineTable, MethodLines } from '../../cct/line-samples.ts'
import { OTHERS_NAME, type PictureParts, SHORT_NAME, withSamples } from '../../cct/merge-samples.ts'
import type { SampleTimes } from '../../cct/sample-times.ts'
import { type SlowTimes, withCalls } from '../../cct/slow-times.ts'
import type { MethodName, Snapshot, Tree } from '../../cct/tree.ts'
import { byCalls, type ShortMethod } from '../../profile/short-methods.ts'
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

/** Id of the common tree of all virtual threads. Samples use the same number for it. */
const VIRTUAL_THREADS = 0

type Sources = Pick<
  Engine,
  'agent' | 'arming' | 'dumps' | 'instrumenter' | 'revealer' | 'clock' | 'targetState' | 'process' | 'values'
>

/** Maximum time between two readings of the JVM's safepoint time. If the time is longer, the cause of a stall cannot be identified. */
const MAX_READING_INTERVAL_MS = 1_500

/** A moment in which the target's threads may have been stopped. */
export interface Stall {
  readonly ms: number
  readonly atTicks: number
  /** Whether the sampler was reading stacks during the stall. */
  readonly taking: boolean
  /** Upper bound of the time at safepoints during the stall. Null if the JVM does not report this time. */
  readonly safepointMs: number | null
  /** Upper bound of the time in garbage collections during the stall. */
  readonly collectionMs: number | null
  /** Upper bound of the time for which thread dumps of the live view stopped the JVM during the stall. */
  readonly dumpMs: number
  /** Upper bound of the time for which the kernel throttled the process during the stall. */
  readonly throttledMs: number | null
  /** Whether the client observed during the stall that the process was stopped. */
  readonly stopped: boolean
}

const NO_STALL = {
  ...{ ms: 0, taking: false, stopped: false, dumpMs: 0 },
  ...{ safepointMs: null, collectionMs: null, throttledMs: null },
}

/** Minimum stall that counts as a suspension of the process. In a shorter stall the process may have been stopped only partly. */
const MIN_SUSPENSION_MS = 1_000

/**
 * Returns the cause that explains at least half of a stall.
 * @param redefinedTicks  start and end of each pause by a redefinition
 * @returns null if the cause is not known, or if there was no stall
 */
export function causeOf(
  { ms, atTicks, taking, stopped, safepointMs, collectionMs, dumpMs, throttledMs }: Stall,
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
  const isOfCollection = (safepointMs ?? 0) >= ms / 2 && (collectionMs ?? 0) >= ms / 2
  // A collection may run during a dump. The JVM may add the safepoint of a dump to its total only after the reading.
  if (dumpMs >= ms / 2 && !isOfCollection) return 'dump'
  if (safepointMs === null) return taking ? 'stacks' : null
  if (safepointMs >= ms / 2) {
    if (isOfCollection) return 'collection'
    return taking ? 'stacks' : 'safepoint'
  }
  if ((throttledMs ?? 0) >= ms / 2) return 'throttled'
  return taking ? 'stacks' : 'processor'
}

/**
 * Returns whether a stall began before the previous reading. After a suspension of the process, the agent may answer before the sampler
 * thread runs again. The stall is then contained only in the next reading.
 */
export function beganBefore(
  { ms, atTicks }: Pick<Stall, 'ms' | 'atTicks'>,
  ticksOf: (ms: number) => number,
  previousTicks: number,
): boolean {
  return atTicks - ticksOf(ms) < previousTicks
}

/** Returns the increase between two readings in ns, converted to ms. */
function msBetween(before: number | null | undefined, now: number | null | undefined): number | null {
  return typeof before !== 'number' || typeof now !== 'number' ? null : (now - before) / 1e6
}

/** Returns the number of root calls per second. Uses the target's clock, so delays of the client have no effect. */
function rateBetween(a: InsideNews, b: InsideNews, clock: TargetClock): number {
  const seconds = clock.toNs(b.atTicks - a.atTicks) / 1e9
  return seconds <= 0 ? 0 : (b.rootCalls - a.rootCalls) / seconds
}

/** Methods with the same name in a stack trace: overloads, and methods of a class in several loaders. */
interface Revealed {
  readonly ids: readonly number[]
  /** Whether all these methods are timed, and no other method has this name. */
  readonly areTimed: boolean
}

/**
 * Returns whether the list contains, for each of its classes, all methods with this name. False for constructors, since their probes run
 * only after the call of another constructor.
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
  #short = 0
  /** Methods with short calls, keyed by class and name. */
  readonly #shortMethods = new Map<string, ShortMethod>()
  /** Number of root methods that have been sent to the agent. */
  #roots = 0
  #news: InsideNews | null = null
  /** Value of `#news` at the latest reset. */
  #before: InsideNews | null = null
  /** Number of samples in discarded rows. */
  #samplesBefore = 0
  #failure: string | null = null
  /** Start of the recording, and of the current rows. */
  #fromTicks = Number.NEGATIVE_INFINITY
  #rowsFromTicks = Number.NEGATIVE_INFINITY
  #longest: Stall | null = null
  #suspendedMs = 0
  #safepointNs: number | null = null
  readonly #stops: StopCounters | null
  /** Stop times that were read before the latest request. A stop that ends during the request is also counted in the next reading. */
  #stopTimes: StopTimes | null = null
  #readAt = Number.NEGATIVE_INFINITY
  /** Whether the client observed before the previous reading that the process was stopped. */
  #wasStopped = false
  /** The two latest rates of root calls, in calls per second. */
  #rates: readonly number[] = []
  /** Number n: one in n root calls is timed. */
  timedOneOf = 1
  /** Whether this JVM compiles loops without safepoints, so samples appear after the loop. False if the JVM's counters are unreadable. */
  readonly #isBent: boolean

  constructor(private readonly from: Sources) {
    this.#stops = from.process === null ? null : new StopCounters(from.process)
    this.#isBent = this.#stops?.loopsHaveNoSafepoints() ?? false
  }

  /** Must be called before `go`. */
  async begin(): Promise<void> {
    await this.rootsAre()
    this.#others = this.from.revealer.methods.reserve()
    this.#names.set(this.#others, OTHERS_NAME)
    this.#short = this.from.revealer.methods.reserve()
    this.#names.set(this.#short, SHORT_NAME)
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
   * @param stopped  whether the client observed since the previous call that the process was stopped
   * @returns start and end of a suspension of the process in ticks; null if there was none
   */
  async read(swaps: readonly Swap[], stopped: boolean): Promise<readonly [from: number, to: number] | null> {
    if (this.#others === 0) return null
    const asked = this.#stops?.read() ?? null
    const news = await this.from.agent.insideSamples()
    const readAt = performance.now()
    const last = this.#news
    this.#samples.add(news.batch, this.#fromTicks, this.#rowsFromTicks)
    this.#news = news
    if (news.failure !== null) this.#failure = news.failure
    const ms = news.longestLateNs / 1e6
    const late = { ms, atTicks: news.longestLateAt }
    const isStop =
      stopped ||
      (this.#wasStopped && last !== null && beganBefore(late, (it) => this.#ticksOf(it), last.atTicks))
    this.#wasStopped = stopped
    const [before, now] = [this.#safepointNs, news.safepointNs]
    const isRecent = readAt - this.#readAt < MAX_READING_INTERVAL_MS + ms // a stopped agent does not answer, so `ms` is added
    const stopsBefore = this.#stopTimes
    this.#safepointNs = now
    this.#stopTimes = asked
    this.#readAt = readAt
    this.#rates = last === null ? [] : [rateBetween(last, news, this.from.clock), ...this.#rates.slice(0, 1)]
    if (ms <= Math.min(this.#longest?.ms ?? 0, MIN_SUSPENSION_MS)) return null
    const stops = this.#stops?.read()
    const { clock, dumps } = this.from
    const endedAt = performance.now() - clock.toNs(clock.nowTicks - late.atTicks) / 1e6
    const dumpMs = dumps.msWithin(endedAt - ms, endedAt)
    const stall = {
      ...{ ...late, taking: news.longestTaking, stopped: isStop, dumpMs },
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
    // The pause, in which threads are stopped, is at the end of a redefinition.
    const redefined = swaps.map(
      ({ ms, pauseMs, endTicks }) => [endTicks - ticksOf(pauseMs ?? ms), endTicks] as const,
    )
    return causeOf(stall, ticksOf, redefined)
  }

  /**
   * Longest delay of the sampler thread, or longest time to read stacks if that is longer. The program's threads may have been stopped for
   * this time.
   */
  get longestStallMs(): number {
    return this.#longest?.ms ?? 0
  }

  /** Time spent on reading stacks in the target since the latest reset, in ms. */
  get costMs(): number {
    return ((this.#news?.costNs ?? 0) - (this.#before?.costNs ?? 0)) / 1e6
  }

  /**
   * Rate of outermost root calls: the lower of the two latest rates, so that a single burst does not count. 0 until there are two rates.
   */
  get callsPerSecond(): number {
    return this.#rates.length < 2 ? 0 : minOf(this.#rates)
  }

  /** Makes the agent time only one in `calls` root calls from now on. */
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

  /** Number of samples in the current rows, and number of outermost root calls since the latest reset. */
  get counts(): { readonly samples: number; readonly rootCalls: number } {
    return { samples: this.samples, rootCalls: this.#since('rootCalls') }
  }

  /** Number of root calls that contain samples. */
  get calls(): number {
    return this.#samples.calls
  }

  /** Discards all rows with their samples. The samples of single slow calls are kept. */
  newRows(nowTicks: number): void {
    this.#samplesBefore += this.#samples.count
    this.#samples.reset()
    this.#rowsFromTicks = nowTicks
  }

  /** Discards all measured data. */
  reset(nowTicks: number): void {
    this.newRows(nowTicks)
    this.#fromTicks = nowTicks
    this.#samples.resetTimes()
    this.#samplesBefore = 0
    this.#before = this.#news
    this.#longest = null
    this.#suspendedMs = 0
  }

  /** Returns the increase of a counter of the agent since the latest reset. */
  #since(name: 'missed' | 'dropped' | 'rootCalls'): number {
    return (this.#news?.[name] ?? 0) - (this.#before?.[name] ?? 0)
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
    const { clock } = this.from
    const stall = this.#longest ?? { ...NO_STALL, atTicks: beginTicks }
    return {
      ...{
        samples: this.#samplesBefore + this.#samples.count,
        missed: this.#since('missed'),
        dropped: this.#since('dropped'),
        costMs: this.costMs,
        longestStallMs: stall.ms,
        stallAtMs: Math.max(0, clock.toNs(stall.atTicks - beginTicks) / 1e6),
        stallCause: this.#causeOf(stall, swaps),
        suspendedMs: this.#suspendedMs,
        rootCalls: this.#since('rootCalls'),
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

  /** The methods with short calls, those with the most calls first. */
  get shortMethods(): readonly ShortMethod[] {
    return byCalls(this.#shortMethods.values())
  }

  /** Records that a method has short calls: its samples have no row of their own. */
  addShort(it: ShortMethod): void {
    this.#shortMethods.set(`${it.class}.${it.method}`, it)
  }

  /** Records that a method is timed now, however short its calls are. */
  removeShort({ class: className, method }: Pick<MethodName, 'class' | 'method'>): void {
    this.#shortMethods.delete(`${className}.${method}`)
  }

  /** Returns the name for an id that belongs to no revealed method. */
  name(id: number): MethodName | undefined {
    return this.#names.get(id)
  }

  *names(): Generator<[number, MethodName]> {
    yield* this.#names
  }

  /**
   * Returns the snapshot with additional rows for the samples.
   * @param leastSamples  rows with fewer samples are merged; default: MIN_SAMPLES, below which a row is not informative
   */
  picture(snapshot: Snapshot, leastSamples?: number): Snapshot {
    const parts = this.#parts(leastSamples)
    const numbers = new Map<number, number>([[VIRTUAL_THREADS, VIRTUAL_THREADS]])
    for (const [number, { id }] of this.from.targetState.threads) numbers.set(id, number)
    const ofThread = (id: number, tree: Tree): Tree => {
      const thread = numbers.get(id)
      return thread === undefined ? tree : withSamples(tree, { ...parts, thread })
    }
    const threads = snapshot.threads.map((it) => ({ ...it, tree: ofThread(it.id, it.tree) }))
    return { ...snapshot, merged: withSamples(snapshot.merged, parts), threads }
  }

  /** Returns slow calls with the number of samples in each call, and their trees with rows for these samples. */
  slowPicture(slow: SlowTimes): SlowTimes {
    const parts = this.#parts(1)
    const { tree, spans = [] } = slow
    const all =
      tree === undefined ? undefined : withSamples(tree, { ...parts, samples: this.#samples.within(spans) })
    const slowest = new Set(slow.slowest.map(({ number }) => number))
    // Methods that are timed now may not have been timed in a call before the current rows: no probe has missed their calls.
    const before = { ...parts, isSeen: () => false }
    // A method whose calls are short on average may be long in a slow call, so a single slow call shows each method.
    const short = undefined
    const calls = withCalls(slow, ({ span, tree: own, ...call }) => {
      const samples = this.#samples.within(span === undefined ? [] : [span])
      const of = span !== undefined && span.fromTicks < this.#rowsFromTicks ? before : parts
      const rows = own === undefined ? undefined : withSamples(own, { ...of, samples, short })
      // A fast call that an exception ended usually has no sample, so its 0 is left out.
      const isTold = samples.count > 0 || slowest.has(call.number)
      return { ...call, ...(isTold && { samples: samples.count }), ...(rows !== undefined && { tree: rows }) }
    })
    return { ...calls, ...(all !== undefined && { tree: all }) }
  }

  #parts(leastSamples: number | undefined): PictureParts {
    const revealed = this.#revealed()
    return {
      samples: this.#samples,
      timed: (className: string, method: string) => {
        const row = valueRowOf(className, method)
        return row === null ? revealed.get(`${className}.${method}`)?.ids : [row]
      },
      isSeen: (className: string, method: string) =>
        valueRowOf(className, method) === null
          ? revealed.get(`${className}.${method}`)?.areTimed === true
          : this.timedOneOf === 1,
      methodOf: (className: string, method: string) =>
        valueRowOf(className, method) ?? this.#idOf(className, method),
      valueRows: this.from.values?.rows,
      others: this.#others,
      short: {
        id: this.#short,
        has: (className, method) => this.#shortMethods.has(`${className}.${method}`),
      },
      isBent: this.#isBent,
      ...(leastSamples !== undefined && { leastSamples }),
    }
  }

  /** Returns the samples per line of a method, its overloads included; undefined if no sample contains the method. */
  linesOf({ class: className, method }: MethodName): MethodLines | undefined {
    return this.#samples.linesOf(className, method)
  }

  /** Returns all samples of the recording with their times. @param beginTicks  start of the recording */
  sampleTimes(beginTicks: number): SampleTimes {
    const { clock } = this.from
    return this.#samples.times((ticks) => clock.toNs(ticks - beginTicks) / 1e6)
  }

  /** Returns the samples per line of all methods that have an id. */
  lineTable(): LineTable {
    const revealed = this.#revealed()
    return this.#samples.lineTable(({ className, method }) => {
      const key = `${className}.${method}`
      const own = this.#ids.get(key)
      return [...(revealed.get(key)?.ids ?? []), ...(own === undefined ? [] : [own])]
    })
  }

  /** Returns methods keyed by their name in a stack trace. Overloads are merged, and so are classes of several loaders. */
  #revealed(): ReadonlyMap<string, Revealed> {
    const { arming, instrumenter, revealer } = this.from
    const methods = new Map<string, MethodTarget[]>()
    for (const it of revealer.methods) {
      const key = `${sourceName(it.className)}.${it.name}`
      addTo(methods, key, it)
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
    return getOrAdd(this.#ids, key, () => {
      const id = this.from.revealer.methods.reserve()
      this.#names.set(id, { class: className, method, descriptor: '', loader: '' })
      return id
    })
  }
}
