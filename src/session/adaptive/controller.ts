// Chooses methods by samples of the roots' time. Once the samples are significant, one batch of methods is instrumented. For about a second
// the probes only count calls. Then methods with long calls are timed, and the other methods are switched off. Only the instrumentation
// needs a redefinition. While methods are timed, the most frequently called methods are switched off if the probes cost too much.

import { performance } from 'node:perf_hooks'
import { append } from '../../base/arrays.ts'
import { pairTicks } from '../../base/compensation.ts'
import { debug } from '../../base/debug.ts'
import { EX_UNAVAILABLE, JfluidError } from '../../base/errors.ts'
import { isJdkName } from '../../base/jdk-names.ts'
import { DEFAULT_MAX_OVERHEAD } from '../../base/scheme.ts'
import { type Tree, topSum } from '../../cct/tree.ts'
import { shortNames } from '../../profile/short-methods.ts'
import { plural, shortCount, span } from '../../profile/text.ts'
import type { RootPattern } from '../../reveal/patterns.ts'
import { LinkLost } from '../../wire/link.ts'
import { MODE_COUNT, MODE_OFF, MODE_TIME } from '../../wire/messages.ts'
import type { Engine } from '../engine.ts'
import { firstRedefinition } from '../first-redefinition.ts'
import { MAX_PAUSE_MS, MIN_FREE_METASPACE_BYTES } from '../limits.ts'
import { allRows, timedRows } from '../snapshots.ts'
import type { Span } from '../span.ts'
import { sourceName } from '../target-classes.ts'
import type { Arming } from './arming.ts'
import { batchOf, mib } from './batch.ts'
import { BudgetWatch, type Look, type Rates } from './budget-watch.ts'
import { ownerBy, type Seen, type Shares, seenMethods, sharesOf, whileCold } from './choose.ts'
import { elsewhereText, returnsAtOnce, workElsewhere } from './elsewhere.ts'
import { batchPauseMs, COLD_DURATION_MS, tookTooLong } from './pause.ts'
import {
  type Costs,
  type Counted,
  callsForOneTimed,
  idleProbesOverBudget,
  mayChooseWhileCold,
  samplesNeeded,
  timedWithinBudget,
} from './probe-budget.ts'
import { shortCalls } from './short-calls.ts'

/** Interval between two steps of the controller. */
const STEP_INTERVAL_MS = 250
/** Minimum number of root calls before the first batch. */
const MIN_CALLS = 10
/** Factor by which the number of samples must grow before the next attempt to choose methods. */
const MORE_SAMPLES = 1.2
/** Minimum and maximum time for which methods are only counted. */
const MIN_SETTLE_DURATION_MS = 1_000
const MAX_SETTLE_DURATION_MS = 60_000

/** Number of stack dumps of all threads. Each dump needs a safepoint. */
const DUMPS_ELSEWHERE = 3
/** Minimum interval between two stack dumps of all threads. */
const ELSEWHERE_INTERVAL_MS = 1_000
const STACK_DEPTH = 400

/** Thrown if exact times that a user has requested during a session are not possible. */
export class CannotTime extends JfluidError {
  static sample = () =>
    new CannotTime('java.util.HashMap.get is a method of the JDK', 'Start a session with --jdk.')
  readonly exitCode = EX_UNAVAILABLE
  constructor(
    reason: string,
    readonly hint: string,
  ) {
    super(`cannot give this row exact times: ${reason}`)
  }
}

const hasEnded = (): CannotTime => new CannotTime('the session has ended', 'Start a new session.')
const dotted = (name: string): string => name.replaceAll('$', '.')

type Phase = 'look' | 'settle' | 'hold'

export class Controller {
  #timer: NodeJS.Timeout | undefined
  #phase: Phase = 'look'
  /** The running operation. Null if there is none. */
  #work: Promise<void> | null = null
  #stopped = false
  /** Number of samples at the latest attempt to choose a batch. */
  #lookedAt = 0
  /** Time of the first sample of the current rows, in ms since the start of recording. Null if there is no sample. */
  #sampledFromMs: number | null = null
  /** Methods that cannot have probes: methods without code of their own, or with too little code. */
  readonly #useless = new Set<string>()
  /** Methods of the batch: id -> shares of the roots' time when the method was chosen. */
  #batch: ReadonlyMap<number, Shares> = new Map()
  #armedAt: Look | null = null
  /** Whether the batch was chosen while code was interpreted, and the rows contain interpreted calls. */
  #isEarly = false
  readonly #watch = new BudgetWatch()
  /** Methods that were switched off since their probes cost too much, and the warning that has their number. */
  readonly #switchedOff = new Set<number>()
  #offNote = ''
  /**
   * Methods in which other threads ran while the root returned at once, collected over several stack dumps. The two fields below are the
   * number of dumps and the time of the next dump.
   */
  readonly #elsewhere: string[] = []
  #looksElsewhere = 0
  #nextElsewhere = 0
  #resets = 0
  /** Time at which the current rows began, in ms since the start of recording. */
  rowsFromMs = 0

  constructor(
    private readonly engine: Engine,
    private readonly span: Span,
  ) {}

  start(): void {
    if (!this.#stopped) this.#timer = setInterval(() => void this.#tick(), STEP_INTERVAL_MS)
  }

  stop(): void {
    this.#stopped = true
    clearInterval(this.#timer)
  }

  /** Discards the recorded data. Timed methods stay timed. */
  reset(): void {
    this.rowsFromMs = 0
    this.#lookedAt = 0
    this.#sampledFromMs = null
    this.#watch.forget()
    this.#armedAt = null
    this.#resets++
  }

  async #tick(): Promise<void> {
    if (this.#work !== null || this.#stopped) return
    await this.#alone(() => this.#step())
  }

  /** Runs `work` as the current operation. No other operation may be running. */
  async #alone(work: () => Promise<void>): Promise<void> {
    const done = work()
    const settled = done.catch(() => {}) // the caller gets the error
    this.#work = settled
    try {
      await done
    } finally {
      this.#work = null
    }
  }

  /**
   * Predicts how long the JVM will stop when methods are given exact times, in ms: 0 if the methods already have probes, null if no
   * prediction is possible.
   * @throws CannotTime if the methods already have exact times, or belong to the JDK
   */
  async pauseToTime(pattern: RootPattern): Promise<number | null> {
    while (this.#work !== null) await this.#work
    return await this.#pauseToTime(pattern)
  }

  async #pauseToTime(pattern: RootPattern): Promise<number | null> {
    const { arming, options } = this.engine
    if (arming?.areTimed(pattern) === true)
      throw new CannotTime(`${pattern.text} has exact times already`, 'Read the calls in its row.')
    if (!options.jdk && isJdkName(pattern.className))
      throw new CannotTime(`${pattern.text} is a method of the JDK`, 'Start a session with --jdk.')
    if (arming === null || arming.hasProbes(pattern)) return 0
    return await arming.predict(1)
  }

  /**
   * Gives methods exact times at the user's request. The methods stay timed even if their probes exceed the budget.
   * @returns the number of methods
   * @throws CannotTime  before any change
   */
  async time(pattern: RootPattern): Promise<number> {
    while (this.#work !== null) await this.#work
    let many = 0
    await this.#alone(async () => {
      many = await this.#time(pattern)
    })
    return many
  }

  async #time(pattern: RootPattern): Promise<number> {
    const { arming, door, inside, installation, names } = this.engine
    if (this.#stopped || arming === null) throw hasEnded()
    if (!arming.hasProbes(pattern)) {
      const left = await door.metaspaceLeft()
      if (left <= MIN_FREE_METASPACE_BYTES)
        throw new CannotTime(
          `${mib(left)} of the metaspace are free, and jfluid keeps ${mib(MIN_FREE_METASPACE_BYTES)} free`,
          'Use the samples of the row, which show its share of the time.',
        )
    }
    const ids = await arming.time(pattern, await this.#pauseToTime(pattern))
    if (this.#stopped) throw hasEnded()
    if (ids.length === 0) {
      const wanted = dotted(`${pattern.className}.${pattern.method}`)
      const refused = [...installation.skipped].find(
        ([name]) => dotted(name.slice(0, name.indexOf('('))) === wanted,
      )
      throw refused === undefined
        ? new CannotTime(
            `${pattern.text} cannot have probes: the method does not exist, is native or abstract, or is excluded by --include or --exclude`,
            'Choose a caller of the method instead.',
          )
        : new CannotTime(
            `${pattern.text} cannot have probes: ${refused[1]}`,
            'Choose a caller of the method instead.',
          )
    }
    // The user has requested exact times of the methods, so they are never switched off automatically.
    this.#batch = new Map([...this.#batch].filter(([id]) => !ids.includes(id)))
    for (const id of ids) {
      this.#switchedOff.delete(id)
      inside?.removeShort(names.of(id))
    }
    this.#noteOff()
    this.#newRows()
    return ids.length
  }

  async #step(): Promise<void> {
    try {
      await this.#timeFewerRootCalls()
      if (this.#phase === 'look') await this.#look()
      else if (this.#phase === 'settle') await this.#settle()
      else await this.#hold()
    } catch (error) {
      if (!this.#stopped && !(error instanceof LinkLost)) {
        this.engine.warnings.add(`no further methods are timed: ${String(error)}`)
        clearInterval(this.#timer)
      }
    }
  }

  /**
   * Times only some root calls if a root is called too often. This is permanent, since a lower call rate may be an effect of the probes.
   */
  async #timeFewerRootCalls(): Promise<void> {
    const { inside, options, warnings } = this.engine
    // A constructor that ends in its super() call reports no exit, so its thread would count no further calls.
    if (inside === null || inside.timedOneOf > 1 || options.roots.some((it) => it.method === '<init>')) return
    const { callsPerSecond } = inside
    const oneOf = callsForOneTimed(callsPerSecond)
    if (oneOf === 1) return
    await inside.timeOneOf(oneOf)
    warnings.add(hotRootText(options.roots.length, callsPerSecond, oneOf))
    this.#newRows()
  }

  /** Whether code is still interpreted, because the first redefinition has discarded the compiled code. */
  get #isCold(): boolean {
    return firstRedefinition(this.engine) !== 'is over' && this.span.durationMs < COLD_DURATION_MS
  }

  async #look(): Promise<void> {
    const { arming, inside, names, revealer } = this.engine
    if (inside === null || arming === null) return
    const { durationMs } = this.span
    if (inside.samples > 0) this.#sampledFromMs ??= durationMs
    const sampledMs = durationMs - (this.#sampledFromMs ?? durationMs)
    const isEarly = this.#isCold && mayChooseWhileCold({ sampledMs, ...inside.counts })
    const least = isEarly ? 0 : samplesNeeded(sampledMs)
    if (inside.samples < least) await this.#lookElsewhere()
    if (inside.samples < least || inside.calls < MIN_CALLS) return
    if (inside.samples < this.#lookedAt * MORE_SAMPLES) return
    if (this.#isCold && !isEarly) return
    this.#lookedAt = inside.samples
    const roots = [...revealer.methods].filter((it) => it.root).map((it) => sourceName(it.className))
    const tree = await allRows(this.engine, this.span)
    const seen = seenMethods(tree, (id) => names.of(id), ownerBy(roots)).filter(
      (it) => !this.#useless.has(`${it.className}.${it.method}`),
    )
    await this.#arm(firstRedefinition(this.engine) === 'is over' ? seen : whileCold(seen), arming, isEarly)
  }

  /**
   * Checks whether other threads do the work of the root. Such a root has almost no samples, so a warning names the methods that run in the
   * other threads.
   */
  async #lookElsewhere(): Promise<void> {
    const { agent, inside, revealer, warnings } = this.engine
    if (this.#looksElsewhere >= DUMPS_ELSEWHERE || performance.now() < this.#nextElsewhere) return
    if (inside !== null && inside.timedOneOf > 1) return // untimed calls have no durations
    const { rootCalls, rootNs } = await this.#lookNow('timed')
    const times = { calls: rootCalls, ns: rootNs, overMs: this.span.durationMs }
    this.#nextElsewhere = performance.now() + ELSEWHERE_INTERVAL_MS
    if (!returnsAtOnce(times)) return
    this.#looksElsewhere++
    const roots = [...revealer.methods]
      .filter((it) => it.root)
      .map((it) => ({ class: sourceName(it.className), method: it.name }))
    const ownerOf = ownerBy(roots.map((it) => it.class))
    const isOwn = (className: string) => ownerOf(className) !== 'library'
    append(this.#elsewhere, workElsewhere(await agent.stackTraces(STACK_DEPTH), roots, isOwn))
    if (this.#looksElsewhere === DUMPS_ELSEWHERE && this.#elsewhere.length > 0)
      warnings.add(elsewhereText(times, this.#elsewhere))
  }

  /** @param isEarly  whether code is still interpreted */
  async #arm(seen: readonly Seen[], arming: Arming, isEarly: boolean): Promise<void> {
    const [first] = arming.pauses
    if (first !== undefined && tookTooLong(first, MAX_PAUSE_MS)) {
      const [took, expected] = [first.measuredMs, first.predictedMs].map((it) => span(it ?? 0))
      this.#holdWithout(
        `only the root is timed: the first redefinition stopped the JVM for ${took}, where ${expected} were expected (--time Foo.bar times more)`,
      )
      return
    }
    const longestMs = batchPauseMs(MAX_PAUSE_MS, first)
    const { door, options } = this.engine
    const batch = await batchOf(seen, longestMs, arming, door, options.metaspaceBytes)
    if (batch === null || this.#stopped) return
    if ('why' in batch) {
      // HotSpot counts discarded methods until they are freed, so a later prediction may be shorter.
      if (!isEarly) this.#holdWithout(batch.why)
      return
    }
    const { patterns, limits, pauseMs } = batch
    const { ids } = await arming.arm(patterns, MODE_COUNT, limits, pauseMs)
    debug.reveal?.(`adaptive: ${ids.length} of ${patterns.length} methods are counted`)
    // No method was instrumented and no class redefined. The next attempt may choose the callees of these methods instead.
    if (ids.length === 0) for (const { text } of patterns) this.#useless.add(text)
    else {
      this.armed(ids, seen)
      this.#isEarly = isEarly
    }
  }

  /** Records that the methods of a batch have counting probes now. May be called before recording starts. */
  armed(ids: readonly number[], seen: readonly Seen[]): void {
    const { names } = this.engine
    this.#batch = new Map(
      ids.map((id) => {
        const { class: className, method } = names.of(id)
        return [id, sharesOf(seen, className, method)]
      }),
    )
    this.#phase = 'settle'
  }

  #holdWithout(note: string): void {
    debug.reveal?.(`adaptive: ${note}`)
    this.engine.warnings.add(note)
    this.#phase = 'hold'
  }

  async #settle(): Promise<void> {
    const { arming } = this.engine
    // If the batch was instrumented with the roots, the code may still be interpreted, with fewer and slower calls than usual.
    if (arming === null || (this.#isCold && !this.#isEarly)) return
    const before = this.#armedAt
    if (before !== null && performance.now() - before.atMs < MIN_SETTLE_DURATION_MS) return
    const resets = this.#resets
    const now = await this.#lookNow('counted')
    if (this.#resets !== resets) return
    if (before === null || now.rootNs < before.rootNs) {
      this.#armedAt = now
      return
    }
    // Root calls that began before the counting probes are not counted.
    const isOver = performance.now() - before.atMs > MAX_SETTLE_DURATION_MS
    if (now.rootCalls - before.rootCalls < MIN_CALLS && !isOver) return
    const isCounted = now.rootCalls - before.rootCalls >= MIN_CALLS
    const counted = this.#countedBetween(before, now)
    const timed = isCounted ? timedWithinBudget(counted, this.#costs(before, now)) : []
    const off = [...this.#batch.keys()].filter((id) => !timed.includes(id))
    if (this.#stopped) return
    if (isCounted) this.#noteShort(counted, this.#costs(before, now))
    await arming.switchTo([
      [off, MODE_OFF],
      [timed, MODE_TIME],
    ])
    debug.reveal?.(`adaptive: ${timed.length} of them are timed, ${off.length} are switched off`)
    this.#phase = 'hold'
    // A row cannot have both samples and timed calls, so the earlier rows are discarded.
    if (timed.length > 0) this.#newRows()
    await this.#giveBack(
      counted.filter(({ id }) => off.includes(id)),
      this.#costs(before, now),
    )
    const called = counted.filter((it) => it.callsPerSecond > 0)
    if (timed.length > 0 && called.length > 0 && !called.some((it) => timed.includes(it.id)))
      this.engine.warnings.add(
        `below the root only rarely called methods are timed: all others are called too often or are too short to be timed${this.#shortNames()}`,
      )
    if (timed.length === 0)
      this.engine.warnings.add(
        isCounted
          ? `only the root is timed: all other methods are called too often or are too short to be timed${this.#shortNames()}`
          : `only the root is timed: fewer than ${MIN_CALLS} of its calls began and ended within ${MAX_SETTLE_DURATION_MS / 1000} s, too few to choose methods below it`,
      )
  }

  /** Restores the original code of switched-off methods if they are called so often that their idle probes slow them down. */
  async #giveBack(off: readonly Counted[], costs: Costs): Promise<void> {
    const { arming, door, revealer, warnings } = this.engine
    if (arming === null || this.#stopped || !idleProbesOverBudget(off, costs)) return
    const keep = (why: string): void => {
      warnings.add(
        `methods that are called too often to be timed keep inactive probes, which slow them down: ${why}`,
      )
    }
    const ids = off.map(({ id }) => id)
    const pauseMs = await arming.predict(new Set(ids.map((id) => revealer.methods.get(id).classId)).size)
    if (pauseMs === null || pauseMs > batchPauseMs(MAX_PAUSE_MS, arming.pauses[0])) {
      keep(
        `restoring their code would stop the JVM for ${pauseMs === null ? 'an unknown time' : span(pauseMs)}`,
      )
      return
    }
    const left = await door.metaspaceLeft()
    if (left <= MIN_FREE_METASPACE_BYTES) {
      keep(`${mib(left)} of the metaspace are left`)
      return
    }
    const restored = await arming.restore(ids, pauseMs)
    if (this.#stopped) return
    debug.reveal?.(
      `adaptive: ${restored} of ${ids.length} methods have their own code again: they are called too often`,
    )
    if (restored < ids.length) keep('the JVM has refused to restore their code')
    // The earlier rows were measured with slower code.
    if (restored > 0) this.#newRows()
  }

  async #hold(): Promise<void> {
    const { arming } = this.engine
    const isWarm = this.#isEarly && this.span.durationMs >= COLD_DURATION_MS + MIN_SETTLE_DURATION_MS
    const timed = [...this.#batch.keys()].filter((id) => arming?.isTimed(id) === true)
    if (arming === null || (timed.length === 0 && !isWarm)) return
    const resets = this.#resets
    const now = await this.#lookNow('timed')
    if (this.#resets !== resets) return
    const ratesSince = (since: Look): Rates => ({
      called: this.#countedBetween(since, now).filter(({ id }) => timed.includes(id)),
      costs: this.#costs(since, now),
    })
    const { off, rates } = this.#watch.check(now, ratesSince, isWarm)
    if (this.#stopped || (off.length === 0 && !isWarm)) return
    if (off.length > 0) {
      await arming.switchTo([[off, MODE_OFF]])
      debug.reveal?.(`adaptive: ${off.length} methods are switched off: their probes cost too much`)
      for (const id of off) this.#switchedOff.add(id)
      this.#noteOff()
    }
    this.#isEarly &&= !isWarm
    this.#newRows() // the earlier rows contain interpreted calls, or timed calls of methods that are only sampled from now on
    if (rates !== undefined)
      await this.#giveBack(
        rates.called.filter(({ id }) => off.includes(id)),
        rates.costs,
      )
  }

  #shortNames(): string {
    const methods = this.engine.inside?.shortMethods ?? []
    return methods.length === 0 ? '' : ` (short: ${shortNames(methods)})`
  }

  /** Records which methods of the batch have short calls. */
  #noteShort(counted: readonly Counted[], costs: Costs): void {
    const { inside, names } = this.engine
    if (inside === null) return
    const named = counted.map((it) => {
      const { class: className, method } = names.of(it.id)
      return { ...it, class: className, method, share: this.#batch.get(it.id)!.nested }
    })
    for (const it of shortCalls(named, costs, inside.timedOneOf)) inside.addShort(it)
  }

  #noteOff(): void {
    const { warnings } = this.engine
    warnings.delete(this.#offNote)
    this.#offNote = offText(this.#switchedOff.size)
    if (this.#switchedOff.size > 0) warnings.add(this.#offNote)
  }

  #newRows(): void {
    if (this.#stopped) return // the final snapshot follows
    const { clock, inside, recorder } = this.engine
    recorder.newRows(clock.nowTicks)
    inside?.newRows(clock.nowTicks)
    this.rowsFromMs = this.span.durationMs
    this.#lookedAt = 0
    this.#sampledFromMs = null
    this.#armedAt = null
    this.#watch.forget()
  }

  #countedBetween(before: Look, now: Look): Counted[] {
    const seconds = Math.max(0.001, (now.atMs - before.atMs) / 1_000)
    return [...this.#batch].map(([id, { share }]) => ({
      id,
      share,
      callsPerSecond: Math.max(0, (now.counts[id] ?? 0) - (before.counts[id] ?? 0)) / seconds,
    }))
  }

  #costs(before: Look, now: Look): Costs {
    const { calibration, clock, options } = this.engine
    const seconds = Math.max(0.001, (now.atMs - before.atMs) / 1_000)
    return {
      nsPerCall: clock.toNs(pairTicks(1, calibration)),
      rootNsPerSecond: Math.max(0, now.rootNs - before.rootNs) / seconds,
      budget: options.maxOverhead ?? DEFAULT_MAX_OVERHEAD,
    }
  }

  async #lookNow(which: 'counted' | 'timed'): Promise<Look> {
    const tree = await timedRows(this.engine, this.span)
    const [rootNs, rootCalls] = [topSum(tree, 'totalNs'), topSum(tree, 'calls')]
    const counts = which === 'timed' ? callsByMethod(tree) : await this.engine.agent.modeCounts()
    return { atMs: performance.now(), counts, rootNs, rootCalls }
  }
}

function callsByMethod({ count, method, metrics }: Tree): Float64Array {
  let ids = 0
  for (let node = 0; node < count; node++) ids = Math.max(ids, method[node]! + 1)
  const calls = new Float64Array(ids)
  for (let node = 0; node < count; node++) calls[method[node]!]! += metrics.calls?.[node] ?? 0
  return calls
}

function offText(methods: number): string {
  return `${plural(methods, 'method')} ${methods === 1 ? 'is' : 'are'} no longer timed, so that the cost of the probes stays within --max-overhead`
}

function hotRootText(roots: number, callsPerSecond: number, oneOf: number): string {
  const [which, whose] = roots === 1 ? ['the root is', 'its'] : ['the roots are', 'their']
  return `${which} called ${shortCount(callsPerSecond)} times per second, which probes would slow down: only 1 of ${oneOf} of ${whose} calls is timed, and rows, times and rates refer to these (choose a caller as the root)`
}
