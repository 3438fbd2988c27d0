// Error bars: now and then everything but the roots gets its own code back for a second or two, and each root is timed
// against itself. What comes of it is in cct/uncertainty.ts.
//
// A round: the graph is closed, and threads in it are waited for; children out; roots timed until the JVM has compiled
// what it now has, and as long as it takes to tell; children in again; the graph is open. What roots do meanwhile is
// no event and in no tree, so the profile is exact, but for the calls that it leaves out: those are counted. In
// between, the trees are looked at, to have the time of the same calls with probes from just before.
//
// While roots are closed nobody is inside who could ask for a first invocation. What is installed meanwhile (a class that is
// loaded) waits with the rest.

import { setTimeout as sleep } from 'node:timers/promises'
import type { MeasuredCalibration } from '../../cct/compensation.ts'
import type { RootSum } from '../../cct/root-sums.ts'
import {
  type Comparison,
  errorOfCall,
  meanOf,
  type RootError,
  type RootErrors,
  type RootTimes,
  rootError,
} from '../../cct/uncertainty.ts'
import { LinkLost } from '../../wire/link.ts'
import type { BareTime } from '../../wire/messages.ts'
import { allLeft, asTimes, ENOUGH_CALLS, INSIDE_MS, spansOf, timeBare } from './bare-times.ts'
import type { Installation, Workshop } from './installation.ts'

/** Between two looks at the trees, or longer where a look takes long: millions of contexts. */
const LOOK_MS = 200
const LOOK_SHARE = 10
const RARE_LOOK_MS = 1_000
/** Code that has just been redefined runs slowly for about so long. */
const COLD_MS = 1_000
/** Calls with probes are those of so long a time before a round, longer if they are few. */
const SPAN_MS = 1_500
const LONGEST_SPAN_MS = 60_000
/** The first round, after the last redefinition; the next ones after twice the time each. */
const FIRST_MS = 2_500
const NEXT_MS = 10_000
const UNSETTLED_MS = 15_000
/** More classes than that stop the target for too long: they are redefined once, at the end. */
const MOST_CLASSES = 1_000
/** How long roots are timed. */
const BARE_MS = { leastMs: 700, mostMs: 2_000 }
const FEW_CALLS = 5

/** What is known of one root, for the profile. Ticks of an outermost call. */
export interface TimedRoot {
  readonly method: number
  readonly rounds: number
  readonly bareCalls: number
  readonly bareTicks: number
  readonly instrumentedTicks: number
  readonly errorTicks: number
}

interface Look {
  readonly at: number
  readonly sums: ReadonlyMap<number, RootSum>
}

interface Known {
  readonly comparisons: Comparison[]
  bareCalls: number
  onceTicks: number
}

export class ErrorBars {
  readonly #workshop: Workshop
  readonly #installation: Installation
  readonly #calibration: MeasuredCalibration
  readonly #known = new Map<number, Known>()
  /** Oldest first, all since the code was what it is. */
  #looks: Look[] = []
  #nextAt = 0
  #wait = NEXT_MS
  #rounds = 0
  #leftOut = 0
  /** Of all rounds, as of when they were last looked at. */
  #bareCalls = 0
  #leftOutBefore = 0
  #isBare = false
  #problem: string | null = null
  #ending = false
  #hurried = false
  #gone = false
  #wake = new AbortController()
  #running: Promise<void> = Promise.resolve()
  #errors: RootErrors = new Map()

  constructor(workshop: Workshop, installation: Installation, calibration: MeasuredCalibration) {
    this.#workshop = workshop
    this.#installation = installation
    this.#calibration = calibration
  }

  /** Of roots that have been timed. A new map after each round. */
  get errors(): RootErrors {
    return this.#errors
  }

  /** Whether roots are being timed bare, and nothing is recorded. */
  get isBare(): boolean {
    return this.#isBare
  }

  /** Whether roots could be timed, and have not been. */
  get isOwed(): boolean {
    return this.#rounds === 0 && this.#wasCalled
  }

  get rounds(): number {
    return this.#rounds
  }

  /** Calls of roots that are in no tree. */
  get leftOut(): number {
    return this.#leftOut
  }

  get roots(): TimedRoot[] {
    return [...this.#known].flatMap(([method, { comparisons, bareCalls }]) => {
      const latest = comparisons.at(-1)
      if (latest === undefined) return []
      return {
        ...{ method, rounds: comparisons.length, bareCalls },
        bareTicks: latest.bare.ticks,
        instrumentedTicks: latest.instrumented.ticks,
        errorTicks: errorOfCall(latest),
      }
    })
  }

  /** Why roots have not been timed, for the user; null while there is no reason to think so. */
  get warning(): string | null {
    return this.#rounds > 0 || this.#problem === null ? null : `no error bars: ${this.#problem}`
  }

  /** Recording has begun. */
  start(): void {
    this.#nextAt = performance.now() + FIRST_MS
    const startedAt = performance.now()
    this.#running = this.#run(startedAt).catch((error: unknown) => {
      const lost = error instanceof LinkLost
      this.#problem = lost
        ? `the JVM ended${this.#isBare ? ' while they were timed' : ' first'}`
        : String(error)
    })
  }

  /** Methods have other probes, or none: calls before that are not compared with those after it. */
  codeChanged(): void {
    this.#looks = []
  }

  /** Counting begins anew. What is known of the roots is as true as it was. */
  reset(): void {
    this.#looks = []
    this.#leftOutBefore = this.#bareCalls
    this.#leftOut = 0
    for (const known of this.#known.values()) known.onceTicks = 0
    this.#conclude()
  }

  /**
   * The recording is over: if no root has been timed, that is done now, and children stay without probes.
   */
  async finish(): Promise<void> {
    // What comes from now on is left out of nothing.
    if (!this.#isOver) await this.#countLeftOut()
    this.#ending = true
    this.#wake.abort()
    await this.#running
    if (this.#hurried && !this.#gone && this.#rounds === 0) this.#problem = 'they were not waited for'
  }

  /** The user will not wait, or there is nothing to wait for any more. */
  hurry(): void {
    this.#hurried = true
    this.#wake.abort()
  }

  /** The target has ended, or the link. */
  lost(): void {
    this.#gone = true
    if (this.#isBare || this.#rounds === 0) this.#problem ??= 'the session ended first'
    this.hurry()
  }

  get #isOver(): boolean {
    return this.#gone || this.#workshop.turns.closed
  }

  async #run(startedAt: number): Promise<void> {
    while (!this.#isOver) {
      const spent = await this.#look()
      if (this.#ending) {
        this.#learnCold()
        if (this.isOwed && !this.#hurried) await this.#round()
        else if (this.#rounds === 0) this.#problem ??= 'no root was called'
        return
      }
      if (this.#isDue(startedAt)) {
        this.#nextAt = Number.POSITIVE_INFINITY
        await this.#round()
        this.#nextAt = performance.now() + this.#wait
        this.#wait *= 2
        if (this.#ending) return
      } else {
        await this.#pause(Math.min(RARE_LOOK_MS, Math.max(LOOK_MS, spent * LOOK_SHARE)))
      }
    }
  }

  #isDue(startedAt: number): boolean {
    const now = performance.now()
    const settled = Math.max(startedAt, this.#installation.settledAt)
    if (now < this.#nextAt || (now - settled < FIRST_MS && now - startedAt < UNSETTLED_MS)) return false
    if (this.#workshop.instrumenter.instrumentedClasses > MOST_CLASSES) {
      this.#problem = `more than ${MOST_CLASSES} classes have probes, which go out once only, at the end`
      return false
    }
    return this.#wasCalled
  }

  get #wasCalled(): boolean {
    return [...(this.#looks.at(-1)?.sums.values() ?? [])].some(({ calls }) => calls > 0)
  }

  async #pause(ms: number): Promise<void> {
    if (this.#ending || this.#hurried) return
    await sleep(ms, undefined, { signal: this.#wake.signal, ref: false }).catch(() => {})
  }

  /** @returns how many milliseconds it took */
  async #look(): Promise<number> {
    const at = performance.now()
    const looks = this.#looks
    const sums = await this.#workshop.recorder.rootSums()
    // Unless all was set to zero meanwhile.
    if (looks === this.#looks) looks.push({ at, sums: new Map(sums.map((sum) => [sum.method, sum])) })
    else await this.#look()
    // The first one is where all begins.
    if (looks.length > 2 && at - looks[1].at > LONGEST_SPAN_MS + COLD_MS) looks.splice(1, 1)
    return performance.now() - at
  }

  // ---- a round ----

  async #round(): Promise<void> {
    const { agent } = this.#workshop
    await agent.closeRoots()
    this.#isBare = true
    let out: number[] = []
    try {
      if (!(await allLeft(this.#workshop.agent, () => this.#isOver))) {
        this.#problem = `a root was running all the time, for ${INSIDE_MS / 1000} s at least`
        return
      }
      await this.#look()
      const withProbes = this.#looks // if counting begins anew meanwhile, they are what they were
      out = await this.#takeOut()
      const isOver = () => this.#hurried || this.#isOver
      const bare = await timeBare(agent, BARE_MS, isOver, (times) => {
        this.#bareCalls = callsOf(times)
      })
      if (this.#compare(withProbes, bare)) this.#rounds++
      else this.#problem = `roots were called fewer than ${FEW_CALLS} times, with probes or without`
      this.#learnCold()
    } finally {
      if (!this.#isOver) {
        if (!this.#ending) {
          await this.#putBack(out)
          await this.#countLeftOut()
        }
        this.#isBare = false
      }
    }
  }

  /** Of all rounds: a call that began while roots were closed may have ended later. */
  async #countLeftOut(): Promise<void> {
    this.#bareCalls = callsOf(await this.#workshop.agent.bareTimes())
    this.#leftOut = this.#bareCalls - this.#leftOutBefore
  }

  /** @returns the classes */
  async #takeOut(): Promise<number[]> {
    const { agent, instrumenter, turns } = this.#workshop
    let out: number[] = []
    await turns.enqueue(async () => {
      const roots = instrumenter.rootMethods
      out = [...roots.keys()]
      this.#installation.noteSwap(await agent.takeOut(roots))
    })
    return out
  }

  async #putBack(out: readonly number[]): Promise<void> {
    const { agent, instrumenter, turns } = this.#workshop
    if (out.length === 0) {
      await agent.openRoots()
      return
    }
    await turns.enqueue(async () => {
      await this.#installation.refreshClasses()
      const result = await agent.putBack([...instrumenter.rootMethods.keys()])
      this.#installation.noteSwap(result)
      for (const _ of result.refused) this.#installation.noteLate()
      await this.#installation.refreshClasses()
      await agent.openRoots()
    })
    this.#looks = []
  }

  /** @returns whether something can be said of a root */
  #compare(looks: readonly Look[], bareLooks: readonly { times: ReadonlyMap<number, BareTime> }[]): boolean {
    let compared = false
    const methods = new Set(bareLooks.flatMap(({ times }) => [...times.keys()]))
    for (const method of methods) {
      const bareSpans = spansOf(bareLooks.map(({ times }) => asTimes(times.get(method))))
      const bare = meanOf(bareSpans, this.#calibration)
      const spans = lately(looks, method)
      const instrumented = meanOf(spans, this.#calibration)
      if (bare === null || instrumented === null || Math.min(bare.calls, instrumented.calls) < FEW_CALLS)
        continue
      const callsEach = spans.reduce((sum, { allCalls }) => sum + allCalls, 0) / instrumented.calls
      const known = this.#known.get(method) ?? { comparisons: [], bareCalls: 0, onceTicks: 0 }
      this.#known.set(method, known)
      known.comparisons.push({ instrumented, bare, callsEach })
      known.bareCalls += bare.calls
      compared = true
    }
    return compared
  }

  /** What calls took too long since the code was redefined, until it was compiled anew. Then all that can be is known. */
  #learnCold(): void {
    const [first] = this.#looks
    const end = this.#looks.findLast(({ at }) => at <= first.at + 2 * COLD_MS)
    const told = end === undefined || end === first ? [] : this.#known
    for (const [method, known] of told) {
      const latest = known.comparisons.at(-1)
      const cold = meanOf(
        spansOf([first, end!].map(({ sums }) => asTimes(sums.get(method)))),
        this.#calibration,
      )
      if (cold === null || latest === undefined) continue
      known.onceTicks += Math.max(0, cold.ticks - latest.instrumented.ticks) * cold.calls
    }
    this.#conclude()
  }

  #conclude(): void {
    const errors = new Map<number, RootError>()
    for (const [method, { comparisons, onceTicks }] of this.#known) {
      if (comparisons.length === 0) continue
      errors.set(method, rootError(comparisons, this.#calibration.spread, onceTicks))
    }
    this.#errors = errors
  }
}

/** Calls with probes in a span of time just before the last look, once they were warm. */
function lately(looks: readonly Look[], method: number): RootTimes[] {
  const last = looks.at(-1)!
  const warm = looks.findIndex(({ at }) => at >= looks[0].at + COLD_MS)
  // A recording that short has nothing better.
  let from = warm < 0 || warm >= looks.length - 1 ? 0 : warm
  const callsSince = (i: number) =>
    (last.sums.get(method)?.calls ?? 0) - (looks[i].sums.get(method)?.calls ?? 0)
  while (
    from < looks.length - 2 &&
    last.at - looks[from + 1].at >= SPAN_MS &&
    callsSince(from + 1) >= ENOUGH_CALLS
  ) {
    from++
  }
  return spansOf(looks.slice(from).map(({ sums }) => asTimes(sums.get(method))))
}

function callsOf(times: readonly BareTime[]): number {
  return times.reduce((sum, { calls }) => sum + calls, 0)
}
