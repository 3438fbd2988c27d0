// One session with one target: attach → calibrate → reveal → instrument → profile → detach.
//
// This is what commands see of it. It draws nothing and does little: the parts are joined in `recording.ts` and `engine.ts`; when
// what is done with them stands in `preparation.ts`, `beginning.ts`, `questions.ts`, `pulse.ts` and `ending.ts`; what comes of it is
// in `session-profile.ts`. Roots that are changed while it runs are a recording after another: `changed-roots.ts`.

import { pairTicks } from '../base/compensation.ts'
import { debug } from '../base/debug.ts'
import { messageOf } from '../base/errors.ts'
import type { Scheme } from '../base/scheme.ts'
import type { SlowWant } from '../cct/slow-times.ts'
import type { Trace } from '../cct/trace.ts'
import type { MethodName, Snapshot } from '../cct/tree.ts'
import { forgetRecent } from '../classfile/recent.ts'
import type { InstrumentationFacts } from '../profile/code-facts.ts'
import { type DetachFacts, detachWarnings } from '../profile/detach-facts.ts'
import type { Mode, Profile, RegionTimes, SkippedMethod } from '../profile/profile.ts'
import type { FilterReport } from '../reveal/filters.ts'
import { parseRoot, type RootPattern } from '../reveal/patterns.ts'
import type { RootReport } from '../reveal/roots.ts'
import type { AgentFacts, DetachReport } from '../wire/messages.ts'
import { CannotTime, type Controller } from './adaptive/controller.ts'
import { beginAnew, CannotChangeRoots, checkRoots, type KeepProfile, OldRootsAgain } from './changed-roots.ts'
import { type ByHandEntry, CannotAdd, CannotLeaveOut } from './code/by-hand.ts'
import { instrumentationOf } from './code/instrumentation.ts'
import type { RegionProblem } from './code/regions.ts'
import type { OpenDoor } from './doors/door.ts'
import type { Ending } from './ending.ts'
import type { Engine } from './engine.ts'
import { pictureOf } from './picture.ts'
import { Recording } from './recording.ts'
import { eventsOf, firstMethodOf, modeOf, type SessionRequest } from './session-options.ts'
import { type Recorded, rootNames, sessionProfile, skippedMethods, warningsAtEnd } from './session-profile.ts'

/** One when it begins, one when it ends. */
const EVENTS_A_CALL = 2

export interface SessionStatus {
  readonly phase: 'waiting for root' | 'recording' | 'changing roots' | 'ended'
  readonly instrumentedMethods: number
  readonly calledMethods: number
  readonly events: number
  readonly waitMs: number
  readonly elapsedMs: number
  /**
   * With scheme adaptive: stacks of threads inside roots, how late the sampler woke at most, and how long stacks and
   * probes have taken in the target.
   */
  readonly stacks?: { readonly samples: number; readonly longestStallMs: number; readonly costMs: number }
  /** What there is to say while nothing has been recorded. */
  readonly message: string | null
  /** What there is to say of each root that has not been called. */
  readonly notes: readonly string[]
  readonly warnings: readonly string[]
  readonly skipped: readonly SkippedMethod[]
}

export class Session {
  /** Another recording is about to take the place of this one. */
  #isChanging = false
  /** Asked for while it records. */
  #slow: 'p99' | number | undefined
  /** `detach` has been called. */
  #isLeaving = false
  /** Settles when what is being changed has been. */
  #changed: Promise<void> = Promise.resolve()
  /** How often the roots have been changed. Method ids and nodes are those of one generation. */
  generation = 0
  /** Once there is a profile of calls: all roots, if no call of any began. */
  rootsInVain: readonly string[] = []
  /** Once there is a profile: calls that may have been missed. */
  gaps = 0
  #wasReset = false
  #endWith: (reason: string) => void = () => {}
  /** Resolves with the reason when the session ends otherwise than by `detach`. */
  readonly ended: Promise<string>

  private constructor(private recording: Recording) {
    this.ended = new Promise((resolve) => {
      this.#endWith = resolve
    })
    this.#listen(recording)
  }

  /**
   * Configures the agent behind an open door and begins to record.
   *
   * @param onPhase  told what is being done, for progress
   * @throws RootNotFound and other errors of the revealer; the target is then as it was
   */
  static async start(
    door: OpenDoor,
    options: SessionRequest,
    onPhase: (phase: string) => void = () => {},
  ): Promise<Session> {
    return new Session(await Recording.start(door, options, onPhase))
  }

  #listen(recording: Recording): void {
    void recording.end.ended.then((reason) => this.#endWith(reason))
  }

  /** Its parts: benchmarks look at them, and turn them by hand. */
  get engine(): Engine {
    return this.recording.engine
  }

  /**
   * Records other roots from now on: the target gets its code back, and what the new roots reach is instrumented. Counts and
   * times begin at zero, and what was recorded before is forgotten.
   *
   * @param onPhase  told what is being done, for progress
   * @param keep     what was recorded before, if it would be lost though the new roots are not recorded; where that is
   * @throws OldRootsAgain: the new roots were found but could not be recorded, `generation` is another one, and a warning says so
   * @throws RootNotFound, AbstractOrNativeRoot, RootNeverInstrumented, RootNotLoaded, CannotChangeRoots, or an error of attaching: the
   *   session goes on as it was, unless `ended` resolves; then what was recorded before is what it ends with
   */
  async changeRoots(
    roots: readonly RootPattern[],
    onPhase: (phase: string) => void = () => {},
    keep: KeepProfile | null = null,
  ): Promise<void> {
    if (this.#isChanging) throw new CannotChangeRoots('they are being changed')
    if (this.timesRegions) throw new CannotChangeRoots('regions are timed, and no calls recorded')
    if (this.recording.end.isStopping || this.recording.end.isOver)
      throw new CannotChangeRoots('the session has ended')
    this.#isChanging = true
    const change = this.#change(roots, onPhase, keep).finally(() => {
      this.#isChanging = false
    })
    this.#changed = change.catch(() => {}) // whoever asked is told
    await change
  }

  async #change(
    roots: readonly RootPattern[],
    onPhase: (phase: string) => void,
    keep: KeepProfile | null,
  ): Promise<void> {
    const before = this.recording
    onPhase('looking for the root')
    await checkRoots(before.engine, roots)
    try {
      const { recording, problem } = await beginAnew(before, roots, onPhase)
      this.recording = recording
      this.generation++
      if (this.#slow !== undefined) recording.engine.keepSlow(this.#slow)
      this.#listen(recording)
      const again = problem === null ? null : await this.#oldRootsAgain(before, problem, keep)
      if (again !== null) recording.engine.warnings.add(again.warning)
      await before.engine.recorder.stop()
      if (again !== null) throw again
    } catch (error) {
      if (this.recording === before) this.#endWith(messageOf(error))
      throw error
    }
  }

  /** What had been recorded is kept before its recorder goes. */
  async #oldRootsAgain(
    before: Recording,
    problem: unknown,
    keep: KeepProfile | null,
  ): Promise<OldRootsAgain> {
    if (keep === null) return new OldRootsAgain(problem, null)
    try {
      return new OldRootsAgain(problem, await keep(await this.#profileOf(before)))
    } catch (error) {
      // Nowhere is room for it; that is the worse news.
      return new OldRootsAgain(error, null)
    }
  }

  /**
   * Leaves a method out, all methods of a class, or of packages: their probes go out, and those of what only they were seen to
   * call. Their time is their callers' from then on; their rows keep what they had.
   *
   * @param text  as --root has methods, and --exclude classes
   * @throws BadPattern, NothingToLeaveOut, CannotLeaveOut: nothing has changed then
   */
  async exclude(text: string): Promise<ByHandEntry> {
    this.#mayChange(CannotLeaveOut)
    const { engine, span } = this.recording
    const snapshot = await this.snapshot(false)
    const { calls } = snapshot
    const methodOf = (id: number) => (calls === undefined ? id : (calls.method[id] ?? 0))
    return await engine.byHand.exclude(text, snapshot, methodOf, span.durationMs)
  }

  /**
   * Adds what the filters leave out, classes of the JDK among it: methods of it that are reached get probes, by the scheme of the
   * session, as if it had never been left out.
   *
   * @param text  as for `exclude`
   * @throws BadPattern, NothingToAdd, CannotAdd: nothing has changed then
   */
  async add(text: string): Promise<ByHandEntry> {
    this.#mayChange(CannotAdd)
    const { engine, span } = this.recording
    return await engine.byHand.add(text, span.durationMs)
  }

  /**
   * Takes back what `exclude` has left out, or `add` has added.
   *
   * @returns how many methods have probes because of that, or have none any more
   * @throws NotByHand
   */
  async takeBack(text: string): Promise<number> {
    this.#mayChange(CannotLeaveOut)
    const { engine, span } = this.recording
    return await engine.byHand.takeBack(text, span.durationMs)
  }

  /**
   * How long the JVM will stand still so that a method has exact times, in ms: 0 if that needs no redefinition, null if it cannot be
   * told.
   *
   * @throws BadPattern, CannotTime
   */
  async pauseToTime(text: string): Promise<number | null> {
    return await this.#timing().pauseToTime(parseRoot(text))
  }

  /**
   * With scheme adaptive: gives a method below the roots exact times. Rows begin at zero; times of the roots go on.
   *
   * @param text  as --time has it, with the class in full
   * @returns how many methods that are
   * @throws BadPattern, CannotTime: nothing has changed then
   */
  async time(text: string): Promise<number> {
    return await this.#timing().time(parseRoot(text))
  }

  #timing(): Controller {
    const { controller, end } = this.recording
    if (controller === null)
      throw new CannotTime(
        `scheme ${this.scheme} has no rows that are only sampled`,
        'Take --scheme adaptive, or --scheme b for all methods.',
      )
    if (this.#isChanging)
      throw new CannotTime('the roots are being changed', 'Try again when they have been.')
    if (end.isStopping || end.isOver) throw new CannotTime('the session has ended', 'Begin another one.')
    return controller
  }

  #mayChange(Problem: typeof CannotLeaveOut | typeof CannotAdd): void {
    if (this.timesRegions) throw new Problem('regions are timed, and no calls recorded')
    if (this.scheme === 'adaptive')
      throw new Problem(
        'scheme adaptive chooses what it times',
        '--time <method> adds to that from the start; --scheme b records all calls.',
      )
    if (this.#isChanging) throw new Problem('the roots are being changed')
    if (this.recording.end.isStopping || this.recording.end.isOver) throw new Problem('the session has ended')
  }

  /** What is left out and added by hand, newest last. */
  get byHand(): readonly ByHandEntry[] {
    return this.engine.byHand.entries
  }

  /** Whether the method of a node's id has no probes because of that. */
  isLeftOut(id: number): boolean {
    const { byHand, names } = this.engine
    return byHand.ids.has(names.methodOf(id))
  }

  /** What has been done to the target's code. */
  instrumentation(): InstrumentationFacts {
    return instrumentationOf(this.engine, this.recording.span)
  }

  get target(): AgentFacts {
    return this.engine.facts
  }

  get pid(): number {
    return this.engine.pid
  }

  get mode(): Mode {
    return modeOf(this.engine.options)
  }

  get scheme(): Scheme {
    return this.engine.options.scheme
  }

  get rootNames(): string[] {
    return rootNames(this.engine.options)
  }

  /** What each --root matched, for the user. */
  rootReport(): RootReport[] {
    return this.engine.revealer.roots.report()
  }

  /** What each --include and --exclude matched so far. */
  filterReport(): FilterReport[] {
    // Of all other classes nothing has been heard.
    if (this.scheme === 'adaptive') return []
    return this.engine.revealer.classes.filters.report()
  }

  /** Roots of which no method has been called, though there is one. */
  uncalledRoots(): Promise<string[]> {
    return this.engine.rootWatch.uncalled()
  }

  /** Whether regions are timed, and no calls recorded. */
  get timesRegions(): boolean {
    return this.engine.regionTable !== null
  }

  /** What is known of the regions so far. */
  async regions(): Promise<RegionTimes[]> {
    const { calibration, clock, recorder, regionTable } = this.engine
    const scale = { calibration, nsPerTick: clock.nsPerTick }
    return regionTable?.times(await recorder.regions(), scale) ?? []
  }

  /** Of regions whose methods are there, and the lines are not. */
  regionProblems(): RegionProblem[] {
    return this.engine.regionTable?.problems() ?? []
  }

  /** What the probes cost a call, or an execution of a region. */
  get overheadNs(): number {
    const { calibration, clock } = this.engine
    return clock.toNs(pairTicks(1, calibration))
  }

  async status(): Promise<SessionStatus> {
    const { end, engine, pulse, span } = this.recording
    const { clock, inside, recorder, revealer, rootWatch } = engine
    const stats = await recorder.stats()
    const { armed } = rootWatch
    const notes = [...rootWatch.notes, ...(pulse.note === null ? [] : [pulse.note])]
    const nothing = armed ? 'the class of the root is not loaded yet; waiting for it' : null
    const waits = stats.events === 0
    const recording = !waits || pulse.hasRecorded
    return {
      phase: this.#isChanging
        ? 'changing roots'
        : end.isOver
          ? 'ended'
          : recording
            ? 'recording'
            : 'waiting for root',
      instrumentedMethods: revealer.counters.instrumentedMethods,
      calledMethods: stats.calledMethods,
      events: stats.events,
      waitMs: clock.toNs(stats.waitTicks) / 1e6,
      elapsedMs: span.durationMs,
      ...(inside !== null && {
        stacks: {
          ...{ samples: inside.samples, longestStallMs: inside.longestStallMs },
          costMs: inside.costMs + ((stats.events / EVENTS_A_CALL) * this.overheadNs) / 1e6,
        },
      }),
      message: waits ? notes.join('; ') || nothing : null,
      notes,
      // A root among others that is not called must not stand in the way of what the others give.
      warnings: [...engine.allWarnings(), ...(waits ? [] : notes)],
      skipped: skippedMethods(engine),
    }
  }

  snapshot(perThread = true, slow?: SlowWant): Promise<Snapshot> {
    return this.#snapshotOf(this.recording, perThread, slow)
  }

  async #snapshotOf({ engine, span }: Recording, perThread: boolean, slow?: SlowWant): Promise<Snapshot> {
    const snapshot = await pictureOf(engine, span, perThread, slow)
    engine.names.show(snapshot)
    return snapshot
  }

  /** Trees of slow calls are kept from now on, where it is known how long calls of roots take; anew, if they were. */
  keepSlow(threshold: 'p99' | number = 'p99'): void {
    this.#slow = threshold
    this.engine.keepSlow(threshold)
  }

  /** Where threads keep trees of their own, no event tells what a slow call has called. */
  get mayKeepSlow(): boolean {
    return !this.engine.hasTrees
  }

  get keepsSlow(): boolean {
    return this.#slow !== undefined || this.engine.options.slow !== undefined
  }

  /** Of a node's id: a method, with the place it was called from, or a class of which something was allocated. */
  methodName(id: number): MethodName {
    return this.engine.names.of(id)
  }

  /**
   * Forgets the counts so far; once the session is over, they stay, as none follow. What the target does while the recorder has not heard of
   * it yet may be forgotten, too: the next answer (`status`, say) comes after that.
   */
  reset(): void {
    const { end } = this.recording
    if (end.isStopping || end.isOver) return
    const { byHand, clock, inside, options, recorder, targetState } = this.engine
    inside?.reset(clock.nowTicks)
    this.recording.controller?.reset()
    recorder.reset(eventsOf(options).tellsTime ? clock.nowTicks : undefined)
    targetState.reset()
    byHand.reset()
    this.recording.span.begin()
    this.#wasReset = true
  }

  /** How the session ended; null while it has not. */
  get ending(): Ending | null {
    return this.recording.end.ending
  }

  /** The program under `run` did not end by itself: what was recorded is not all. */
  endedBy(signal: string): void {
    this.recording.end.bySignal(signal)
  }

  /** What was seen of the target after `detach`; null where there was nothing to be seen any more. */
  get detachFacts(): DetachFacts | null {
    return this.recording.end.facts
  }

  /**
   * Ends the session: the target gets its code back and the recorder reads what is left.
   *
   * @returns what the agent says of the restoration, null if it could say nothing: see `ending`
   */
  async detach(): Promise<DetachReport | null> {
    this.#isLeaving = true
    await this.#changed
    return await this.recording.end.detach()
  }

  /** The finished profile, once `detach` has been called: much of it is made while the target is looked at. */
  async profile(): Promise<Profile> {
    await this.#changed
    return await this.#profileOf(this.recording, this.#isLeaving)
  }

  /** Of a recording that has ended, or is about to. */
  async #profileOf(recording: Recording, isEnding = recording.end.isStopping): Promise<Profile> {
    const { end, engine } = recording
    if (isEnding) await end.recorded
    const recorded = await this.#recordedBy(recording)
    const { snapshot, stats } = recorded
    debug.end?.(`the trees have been made: ${snapshot.merged.count} rows, ${snapshot.threads.length} threads`)
    if (isEnding) await end.left
    for (const warning of warningsAtEnd(engine, stats)) engine.warnings.add(warning)
    // What came before a reset is not known any more.
    if (stats.events === 0 && !this.#wasReset && eventsOf(engine.options).recordsCalls)
      this.rootsInVain = rootNames(engine.options)
    const { facts } = end
    for (const warning of facts === null ? [] : detachWarnings(facts)) engine.warnings.add(warning)
    const profile = sessionProfile(recording, recorded)
    this.gaps = profile.instrumentation.gaps
    return facts === null ? profile : { ...profile, detach: facts }
  }

  async #recordedBy(recording: Recording): Promise<Recorded> {
    const snapshot = await this.#snapshotOf(recording, true, 'everything')
    const regions = this.timesRegions ? await this.regions() : undefined
    const trace = await this.#traceOf(recording)
    return { snapshot, stats: await recording.engine.recorder.stats(), regions, trace }
  }

  async #traceOf({ engine, span }: Recording): Promise<Trace | undefined> {
    const { calibration, clock, options, recorder, targetState } = engine
    if (options.trace === undefined) return undefined
    const { nsPerTick } = clock
    const { latestTicks, durationMs } = span
    const traced = {
      ...{ calibration, nsPerTick, firstMethod: firstMethodOf(options) },
      beginTicks: latestTicks - (durationMs * 1e6) / nsPerTick,
    }
    return await recorder.trace(traced, targetState.threads)
  }

  /**
   * What has been recorded so far, as a profile; recording goes on.
   *
   * @param why  what the profile says of its being cut short
   */
  async profileSoFar(why: string): Promise<Profile> {
    const { recording } = this
    const profile = sessionProfile(recording, await this.#recordedBy(recording))
    return recording.end.isOver ? profile : { ...profile, truncated: why }
  }

  /** Lets go of the recorder. */
  async close(): Promise<void> {
    forgetRecent()
    await this.engine.recorder.stop()
  }
}
