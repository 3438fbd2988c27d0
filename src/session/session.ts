// One session with one target: attach → calibrate → reveal → instrument → profile → detach.
//
// This is what commands see of it. It draws nothing and does little: the parts are joined in `engine.ts`; when what is
// done with them stands in `preparation.ts`, `beginning.ts`, `questions.ts`, `pulse.ts` and `ending.ts`; what comes of it is
// in `session-profile.ts`.

import type { MethodName, Snapshot } from '../cct/tree.ts'
import { COST_OF, type Mode, type Profile, type RegionTimes, type SkippedMethod } from '../profile/profile.ts'
import type { FilterReport } from '../reveal/filters.ts'
import type { RootReport } from '../reveal/roots.ts'
import { LinkLost } from '../wire/link.ts'
import type { AgentFacts, DetachReport } from '../wire/messages.ts'
import { Beginning } from './beginning.ts'
import type { Budget } from './budget.ts'
import type { OpenDoor } from './door.ts'
import { type Ending, SessionEnd } from './ending.ts'
import { Engine } from './engine.ts'
import { Preparation, type Prepared } from './preparation.ts'
import { Pulse } from './pulse.ts'
import { Questions } from './questions.ts'
import type { RegionProblem } from './regions.ts'
import { firstMethodOf, modeOf, type SessionOptions, tellsTime } from './session-options.ts'
import { rootNames, sessionProfile, skippedMethods, warningsAtEnd } from './session-profile.ts'
import { Span } from './span.ts'

export interface SessionStatus {
  readonly phase: 'waiting for root' | 'recording' | 'ended'
  readonly instrumentedMethods: number
  readonly calledMethods: number
  readonly events: number
  readonly waitMs: number
  readonly elapsedMs: number
  /** With error bars: whether roots are timed by themselves now, and nothing is recorded. */
  readonly isBare: boolean
  /** How often roots have been timed. */
  readonly rounds: number
  /** With a budget: what the latest second or so cost, as a part, and how many methods are folded. */
  readonly overhead?: {
    readonly part: number
    readonly budget: number
    readonly counted: number
    readonly folded: number
  }
  /** What there is to say while nothing has been recorded. */
  readonly message: string | null
  /** What there is to say of each root that has not been called. */
  readonly notes: readonly string[]
  readonly warnings: readonly string[]
  readonly skipped: readonly SkippedMethod[]
}

function overheadNow({ budget, windows, counted, folded }: Budget): NonNullable<SessionStatus['overhead']> {
  return { part: windows.at(-1)?.part ?? 0, budget, counted: counted.length, folded: folded.length }
}

export class Session {
  readonly #engine: Engine
  readonly #span: Span
  readonly #pulse: Pulse
  readonly #end: SessionEnd

  private constructor(prepared: Prepared) {
    this.#engine = new Engine(prepared, (error) => this.#noteUnanswered(error))
    this.#span = new Span(prepared.clock)
    this.#pulse = new Pulse(this.#engine)
    this.#end = new SessionEnd(this.#engine, this.#pulse, this.#span)
    if (!prepared.pausesKnown && tellsTime(prepared.options) && prepared.regionTable === null)
      this.#engine.warnings.add(
        'this JVM keeps no safepoint counter (hsperfdata): pauses of redefinitions are part of the times',
      )
  }

  /**
   * Configures the agent behind an open door and begins to record.
   *
   * @param onPhase  told what is being done, for progress
   * @throws RootNotFound and other errors of the revealer; the target is then as it was
   */
  static async start(
    door: OpenDoor,
    options: SessionOptions,
    onPhase: (phase: string) => void = () => {},
  ): Promise<Session> {
    const preparation = new Preparation(door, options)
    try {
      const session = new Session(await preparation.prepare(onPhase))
      await session.#begin(onPhase)
      return session
    } catch (error) {
      await preparation.abandon()
      throw error
    }
  }

  async #begin(onPhase: (phase: string) => void): Promise<void> {
    const { agent, budget, errorBars, recorder, rootWatch } = this.#engine
    recorder.onScarce = () => void agent.reclaim().catch(() => {})
    this.#end.listen()
    new Questions(this.#engine).listen((reason) => this.#end.byTarget(reason))
    await new Beginning(this.#engine, this.#pulse, onPhase).run(() => this.#span.begin())
    errorBars?.start()
    budget?.start()
    await rootWatch.look()
    this.#pulse.start()
    onPhase('recording')
  }

  #noteUnanswered(error: unknown): void {
    if (this.#end.isStopping || error instanceof LinkLost) return
    this.#engine.warnings.add(`a question of the target went unanswered: ${String(error)}`)
  }

  /** Its parts: benchmarks look at them, and turn them by hand. */
  get engine(): Engine {
    return this.#engine
  }

  get target(): AgentFacts {
    return this.#engine.facts
  }

  get pid(): number {
    return this.#engine.pid
  }

  get mode(): Mode {
    return modeOf(this.#engine.options)
  }

  get scheme(): 'a' | 'b' {
    return this.#engine.options.scheme
  }

  get rootNames(): string[] {
    return rootNames(this.#engine.options)
  }

  /** What each --root matched, for the user. */
  rootReport(): RootReport[] {
    return this.#engine.revealer.roots()
  }

  /** What each --include and --exclude matched so far. */
  filterReport(): FilterReport[] {
    return this.#engine.revealer.filters()
  }

  /** Roots of which no method has been called, though there is one. */
  uncalledRoots(): Promise<string[]> {
    return this.#engine.rootWatch.uncalled()
  }

  /** Whether regions are timed, and no calls recorded. */
  get timesRegions(): boolean {
    return this.#engine.regionTable !== null
  }

  /** What is known of the regions so far. */
  async regions(): Promise<RegionTimes[]> {
    const { calibration, clock, recorder, regionTable } = this.#engine
    const scale = { innerTicks: calibration.innerTicks, nsPerTick: clock.nsPerTick }
    return regionTable?.times(await recorder.regions(), scale) ?? []
  }

  /** Of regions whose methods are there, and the lines are not. */
  regionProblems(): RegionProblem[] {
    return this.#engine.regionTable?.problems() ?? []
  }

  /** What the probes cost a call, or an execution of a region. */
  get overheadNs(): number {
    const { calibration, clock } = this.#engine
    return clock.toNs(calibration.innerTicks + calibration.outerTicks)
  }

  async status(): Promise<SessionStatus> {
    const { budget, clock, errorBars, recorder, revealer, rootWatch } = this.#engine
    const stats = await recorder.stats()
    const { notes, armed } = rootWatch
    const nothing = armed ? 'the class of the root is not loaded yet; waiting for it' : null
    const waits = stats.events === 0
    const recording = !waits || this.#pulse.hasRecorded
    return {
      phase: this.#end.isOver ? 'ended' : recording ? 'recording' : 'waiting for root',
      instrumentedMethods: revealer.counters.instrumentedMethods,
      calledMethods: stats.calledMethods,
      events: stats.events,
      waitMs: clock.toNs(stats.waitTicks) / 1e6,
      elapsedMs: this.#span.durationMs,
      isBare: errorBars?.isBare === true,
      rounds: errorBars?.rounds ?? 0,
      ...(budget !== null && { overhead: overheadNow(budget) }),
      message: waits ? notes.join('; ') || nothing : null,
      notes,
      // A root among others that is not called must not stand in the way of what the others give.
      warnings: [...this.#engine.allWarnings(), ...(waits ? [] : notes)],
      skipped: skippedMethods(this.#engine),
    }
  }

  async snapshot(perThread = true): Promise<Snapshot> {
    const { calibration, clock, errorBars, names, options, recorder, targetState } = this.#engine
    const snapshot = await recorder.snapshot({
      cost: COST_OF[modeOf(options)],
      calibration,
      nsPerTick: clock.nsPerTick,
      // What an open frame has executed since its last event is not known.
      ...(tellsTime(options) && { nowTicks: this.#span.latestTicks }),
      threads: targetState.threads,
      ...(errorBars !== null && { errors: errorBars.errors }),
      perThread,
      firstMethod: firstMethodOf(options),
      ...(options.sampleEvery !== undefined && { every: options.sampleEvery }),
    })
    names.show(snapshot)
    return snapshot
  }

  /** Of a node's id: a method, with the place it was called from, or a class of which something was allocated. */
  methodName(id: number): MethodName {
    return this.#engine.names.of(id)
  }

  /** Forgets the counts so far. */
  reset(): void {
    const { budget, clock, errorBars, options, recorder, targetState } = this.#engine
    recorder.reset(tellsTime(options) ? clock.nowTicks : undefined)
    errorBars?.reset()
    targetState.reset()
    budget?.reset()
    this.#span.begin()
  }

  /** Resolves with the reason when the session ends otherwise than by `detach`. */
  get ended(): Promise<string> {
    return this.#end.ended
  }

  /** How the session ended; null while it has not. */
  get ending(): Ending | null {
    return this.#end.ending
  }

  /** The program under `run` did not end by itself: what was recorded is not all. */
  endedBy(signal: string): void {
    this.#end.bySignal(signal)
  }

  /** Whether error bars keep the end waiting. */
  get mayTakeLong(): boolean {
    return this.#engine.errorBars?.rounds === 0 && !this.#end.isOver
  }

  /** Whoever ends the session will not wait for error bars. */
  hurry(): void {
    this.#engine.errorBars?.hurry()
  }

  /**
   * Ends the session: the target gets its code back and the recorder reads what is left.
   *
   * @returns what the agent says of the restoration, null if it could say nothing: see `ending`
   */
  detach(): Promise<DetachReport | null> {
    return this.#end.detach()
  }

  /** The finished profile. Call after `detach`. */
  async profile(): Promise<Profile> {
    const snapshot = await this.snapshot()
    const regions = this.timesRegions ? await this.regions() : undefined
    const stats = await this.#engine.recorder.stats()
    for (const warning of warningsAtEnd(this.#engine, stats)) this.#engine.warnings.add(warning)
    const { isTruncated } = this.#end
    return sessionProfile(this.#engine, { snapshot, stats, regions, span: this.#span, isTruncated })
  }

  /** Lets go of the recorder. */
  async close(): Promise<void> {
    await this.#engine.recorder.stop()
  }
}
