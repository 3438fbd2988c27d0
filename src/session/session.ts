// One session with one target: attach → calibrate → reveal → instrument → profile → detach.
//
// This is the interface for commands. It prints nothing. `recording.ts` and `engine.ts` create the parts. `preparation.ts`, `beginning.ts`,
// `questions.ts`, `pulse.ts` and `ending.ts` control them. `session-profile.ts` builds the profile. A change of the roots begins another
// recording: `changed-roots.ts`.

import { pairTicks } from '../base/compensation.ts'
import { debug } from '../base/debug.ts'
import { messageOf } from '../base/errors.ts'
import type { Scheme } from '../base/scheme.ts'
import type { MethodLines } from '../cct/line-samples.ts'
import type { SlowWant } from '../cct/slow-times.ts'
import type { Trace } from '../cct/trace.ts'
import type { MethodName, Snapshot } from '../cct/tree.ts'
import { forgetRecent } from '../classfile/recent.ts'
import type { SlowOption } from '../options/value.ts'
import type { InstrumentationFacts } from '../profile/code-facts.ts'
import { type DetachFacts, detachWarnings } from '../profile/detach-facts.ts'
import { probesMs } from '../profile/overhead.ts'
import type { Mode, Profile, RegionTimes, SkippedMethod } from '../profile/profile.ts'
import type { MethodPlace } from '../profile/source-lines.ts'
import type { ValueFacts } from '../profile/values.ts'
import type { FilterReport } from '../reveal/filters.ts'
import { parseRoot, type RootPattern } from '../reveal/patterns.ts'
import type { RootReport } from '../reveal/roots.ts'
import type { AgentFacts, DetachReport } from '../wire/messages.ts'
import { CannotTime, type Controller } from './adaptive/controller.ts'
import { beginAnew, CannotChangeRoots, checkRoots, type KeepProfile, OldRootsAgain } from './changed-roots.ts'
import { type ByHandEntry, CannotChange } from './code/by-hand.ts'
import { instrumentationOf } from './code/instrumentation.ts'
import type { RegionProblem } from './code/regions.ts'
import type { OpenDoor } from './doors/door.ts'
import type { Ending } from './ending.ts'
import type { Engine } from './engine.ts'
import { placeOf } from './method-place.ts'
import { Recording } from './recording.ts'
import { eventsOf, firstMethodOf, modeOf, type SessionRequest, valueRowsOf } from './session-options.ts'
import { type Recorded, rootNames, sessionProfile, skippedMethods, warningsAtEnd } from './session-profile.ts'
import { pictureOf, segmentsOf } from './snapshots.ts'
import { DumpNotPossible, type JvmThreads } from './why/jvm-threads.ts'

export interface SessionStatus {
  readonly phase: 'waiting for root' | 'recording' | 'changing roots' | 'ended'
  readonly instrumentedMethods: number
  readonly calledMethods: number
  readonly events: number
  readonly waitMs: number
  readonly elapsedMs: number
  /**
   * Scheme adaptive: number of stacks sampled inside roots, maximum delay of the sampler, and total time that stacks and probes have cost
   * in the target.
   */
  readonly stacks?: { readonly samples: number; readonly longestStallMs: number; readonly costMs: number }
  /** Message for the user while nothing has been recorded. */
  readonly message: string | null
  /** Notes about roots that have not been called, one per root. */
  readonly notes: readonly string[]
  readonly warnings: readonly string[]
  readonly skipped: readonly SkippedMethod[]
}

export class Session {
  /** Whether the roots are being changed. */
  #isChanging = false
  /** Threshold for slow calls that was set during the session; undefined if none was set. */
  #slow: SlowOption | undefined
  /** Whether `detach` has been called. */
  #isLeaving = false
  /** Settles when the current change of roots has ended. */
  #changed: Promise<void> = Promise.resolve()
  /** Number of times that the roots have changed. Method ids and nodes are valid only for one value of this number. */
  generation = 0
  /** Names of the roots, or regions, that have methods but no recorded call. Set when the profile is built. */
  rootsNeverCalled: readonly string[] = []
  /** Whether a call of a root was recorded. Set when the profile is built. */
  wasAnyRootCalled = false
  /** Number of calls that may be missing. Set when the profile is built. */
  gaps = 0
  #wasReset = false
  #endWith: (reason: string) => void = () => {}
  /** Resolves with the reason if the session ends without a call of `detach`. */
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
   * @param onPhase  receives the name of each phase, for progress
   * @throws RootNotFound and other errors of the revealer; the target is then as before
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

  /** The parts of the current recording. Benchmarks inspect and control these parts. */
  get engine(): Engine {
    return this.recording.engine
  }

  /**
   * Records other roots from now on. The target gets its original code back, and the methods below the new roots are instrumented. Counts
   * and times begin at zero, and earlier results are discarded.
   *
   * @param onPhase  receives the name of each phase, for progress
   * @param keep     saves the earlier results and returns their location. Called if the new roots cannot be recorded and the earlier
   * results would be lost
   * @throws OldRootsAgain  if the new roots were found but could not be recorded. `generation` has then changed, and a warning is added
   * @throws RootNotFound, AbstractOrNativeRoot, RootNeverInstrumented, RootNotLoaded, CannotChangeRoots, or an error of attaching: the
   * session continues as before, unless `ended` resolves; the session then ends with the earlier results
   */
  async changeRoots(
    roots: readonly RootPattern[],
    onPhase: (phase: string) => void = () => {},
    keep: KeepProfile | null = null,
  ): Promise<void> {
    if (this.#isChanging) throw new CannotChangeRoots('another change of the roots is in progress')
    if (this.timesRegions) throw new CannotChangeRoots('this session times regions, and has no roots')
    if (this.recording.end.isStopping || this.recording.end.isOver)
      throw new CannotChangeRoots('the session has ended')
    this.#isChanging = true
    const change = this.#change(roots, onPhase, keep).finally(() => {
      this.#isChanging = false
    })
    this.#changed = change.catch(() => {}) // the caller receives the error
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

  /** Saves the earlier results before their recorder is stopped. */
  async #oldRootsAgain(
    before: Recording,
    problem: unknown,
    keep: KeepProfile | null,
  ): Promise<OldRootsAgain> {
    if (keep === null) return new OldRootsAgain(problem, null)
    try {
      return new OldRootsAgain(problem, await keep(await this.#profileOf(before)))
    } catch (error) {
      // The earlier results could not be saved. This error is more important than `problem`.
      return new OldRootsAgain(error, null)
    }
  }

  /**
   * Removes the probes of a method, or of all methods of classes or packages, and of methods that only these methods called. From then on,
   * the time of a method without probes counts for its caller. The rows keep their earlier values.
   *
   * @param text  names a method as for --root, or classes as for --exclude
   * @throws BadPattern, NothingToLeaveOut, CannotChange  before any change
   */
  async exclude(text: string): Promise<ByHandEntry> {
    this.#mayChange('exclude')
    const { engine, span } = this.recording
    const snapshot = await this.snapshot(false)
    const { calls } = snapshot
    const methodOf = (id: number) => (calls === undefined ? id : (calls.method[id] ?? 0))
    return await engine.byHand.exclude(text, snapshot, methodOf, span.durationMs)
  }

  /**
   * Adds methods that the filters or the user have excluded, including JDK methods. If a root can reach an added method, it gets probes by
   * the scheme of the session, as if it had never been excluded.
   *
   * @param text  names methods, as for `exclude`
   * @throws BadPattern, NothingToAdd, CannotChange  before any change
   */
  async add(text: string): Promise<ByHandEntry> {
    this.#mayChange('add')
    const { engine, span } = this.recording
    return await engine.byHand.add(text, span.durationMs)
  }

  /**
   * Reverts an earlier `exclude` or `add`.
   *
   * @returns number of methods whose probes were added or removed by the reversal
   * @throws NotByHand
   */
  async takeBack(text: string): Promise<number> {
    this.#mayChange('exclude')
    const { engine, span } = this.recording
    return await engine.byHand.takeBack(text, span.durationMs)
  }

  /**
   * Returns the expected pause of the JVM, in ms, if a method is given exact times. 0 if no redefinition is needed, null if the pause is
   * unknown.
   *
   * @throws BadPattern, CannotTime
   */
  async pauseToTime(text: string): Promise<number | null> {
    return await this.#timing().pauseToTime(parseRoot(text))
  }

  /**
   * Scheme adaptive: gives a method below the roots exact times. All rows are reset to zero; the durations of root calls are kept.
   *
   * @param text  names the method as for --time, with the full class name
   * @returns number of matching methods
   * @throws BadPattern, CannotTime  before any change
   */
  async time(text: string): Promise<number> {
    return await this.#timing().time(parseRoot(text))
  }

  #timing(): Controller {
    const { controller, end } = this.recording
    if (controller === null)
      throw new CannotTime(
        `scheme ${this.scheme} has no sampled rows`,
        'Use --scheme adaptive, or --scheme b for all methods.',
      )
    if (this.#isChanging)
      throw new CannotTime('the roots are being changed', 'Try again when the change has ended.')
    if (end.isStopping || end.isOver) throw new CannotTime('the session has ended', 'Start a new session.')
    return controller
  }

  #mayChange(what: ByHandEntry['what']): void {
    if (this.timesRegions) throw new CannotChange(what, 'this session times regions, and has no roots')
    if (this.scheme === 'adaptive')
      throw new CannotChange(
        what,
        'scheme adaptive chooses what it times',
        '--time <method> adds to that from the start; --scheme b records all calls.',
      )
    if (this.#isChanging) throw new CannotChange(what, 'the roots are being changed')
    if (this.recording.end.isStopping || this.recording.end.isOver) throw new CannotChange(what)
  }

  /** Active entries of methods that the user excluded or added during the session, newest last. */
  get byHand(): readonly ByHandEntry[] {
    return this.engine.byHand.entries
  }

  /** Returns whether the user has excluded the method of a node, so that the method has no probes. */
  isLeftOut(id: number): boolean {
    const { byHand, names } = this.engine
    return byHand.ids.has(names.methodOf(id))
  }

  /** Returns facts about the instrumentation of the target. */
  instrumentation(): InstrumentationFacts {
    return instrumentationOf(this.engine, this.recording.span)
  }

  /** Start of the JVM, ISO 8601; undefined if it is unknown. */
  get jvmStartedAt(): string | undefined {
    return this.engine.jvmStartedAt
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

  /** Values of root calls that are read; null without --show and --by. */
  get values(): ValueFacts | null {
    return this.engine.values?.facts() ?? null
  }

  get scheme(): Scheme {
    return this.engine.options.scheme
  }

  get rootNames(): string[] {
    return rootNames(this.engine.options)
  }

  /** Returns the methods that each --root matched, to be shown to the user. */
  rootReport(): RootReport[] {
    return this.engine.revealer.roots.report()
  }

  /** Returns the classes that each --include and --exclude matched so far. */
  filterReport(): FilterReport[] {
    // With scheme adaptive, the report would be incomplete, since the agent lists only some classes.
    if (this.scheme === 'adaptive') return []
    return this.engine.revealer.classes.filters.report()
  }

  /** Whether regions are timed. If they are, calls are not recorded. */
  get timesRegions(): boolean {
    return this.engine.regionTable !== null
  }

  /** Returns the times of the regions so far. */
  async regions(): Promise<RegionTimes[]> {
    const { calibration, clock, recorder, regionTable } = this.engine
    const scale = { calibration, nsPerTick: clock.nsPerTick }
    return regionTable?.times(await recorder.regions(), scale) ?? []
  }

  /** Returns the problems of regions whose method exists but has no code on the lines of the region. */
  regionProblems(): RegionProblem[] {
    return this.engine.regionTable?.problems() ?? []
  }

  /** Cost of the probes per call, or per execution of a region, in ns. */
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
          costMs: inside.costMs + probesMs(stats.events, this.overheadNs),
        },
      }),
      message: waits ? notes.join('; ') || nothing : null,
      notes,
      // If one of several roots is not called, its note is a warning, since results of the other roots are shown.
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

  /** Keeps the trees of slow calls from now on, if the mode measures the duration of root calls. Discards the earlier kept trees. */
  keepSlow(which: SlowOption = 'p99'): void {
    this.#slow = which
    this.engine.keepSlow(which)
  }

  /** Whether slow calls can be kept. False if threads keep their own trees, since then no event reports the calls inside a slow call. */
  get mayKeepSlow(): boolean {
    return !this.engine.hasTrees
  }

  get keepsSlow(): boolean {
    return this.#slow !== undefined || this.engine.options.slow !== undefined
  }

  /** Returns the name for a node id: a method with its call site, or the class of an allocated object. */
  methodName(id: number): MethodName {
    return this.engine.names.of(id)
  }

  /** Returns the samples per source line of a method; undefined if no sample contains it. */
  linesOf(id: number): MethodLines | undefined {
    return this.engine.inside?.linesOf(this.methodName(id))
  }

  /** Whether samples are taken, and their lines are known. */
  get samplesLines(): boolean {
    return this.engine.inside !== null
  }

  /** Reads the place of a method's code from its class file; null if the JVM does not provide the file. */
  placeOf(id: number): Promise<MethodPlace | null> {
    return placeOf(this.engine, id)
  }

  /**
   * Resets the counts. Does nothing after the end of the session, since no new counts would follow. Events that the recorder has not read
   * yet may also be discarded. The next answer of the recorder (for example `status`) contains data after the reset.
   */
  reset(): void {
    const { end } = this.recording
    if (end.isStopping || end.isOver) return
    const { byHand, clock, dumps, inside, options, recorder, unprobed } = this.engine
    inside?.reset(clock.nowTicks)
    unprobed?.reset()
    this.recording.controller?.reset()
    recorder.reset(eventsOf(options).tellsTime ? clock.nowTicks : undefined)
    byHand.reset()
    dumps.reset()
    this.recording.span.begin()
    this.#wasReset = true
  }

  /**
   * Takes a thread dump, which stops the JVM for some milliseconds. A warning of the profile has the total time of these stops.
   *
   * @param isConfirmed  see `SessionDumps.take`
   * @throws DumpNotPossible, ManyThreads, or the errors of `threadsOf`
   */
  async dumpThreads(isConfirmed: boolean): Promise<JvmThreads> {
    const { dumps, pid, process } = this.engine
    if (process === null) throw new DumpNotPossible(pid)
    return await dumps.take(process, isConfirmed)
  }

  /** How the session ended; null while it runs. */
  get ending(): Ending | null {
    return this.recording.end.ending
  }

  /** Notes that a signal has ended the program started by `run`, so the recording is incomplete. */
  endedBy(signal: string): void {
    this.recording.end.bySignal(signal)
  }

  /** Results of the checks of the target after `detach`; null if no check was possible. */
  get detachFacts(): DetachFacts | null {
    return this.recording.end.facts
  }

  /**
   * Ends the session: the target gets its original code back, and the recorder reads the remaining events.
   *
   * @returns the agent's report about the restored code; null if the agent could not report. `ending` then states the reason
   */
  async detach(): Promise<DetachReport | null> {
    this.#isLeaving = true
    await this.#changed
    return await this.recording.end.detach()
  }

  /** Returns the finished profile. `detach` must have been called. Much of the profile is built while the target is being checked. */
  async profile(): Promise<Profile> {
    await this.#changed
    return await this.#profileOf(this.recording, this.#isLeaving)
  }

  /** Returns the profile of a recording that has ended or is about to end. */
  async #profileOf(recording: Recording, isEnding = recording.end.isStopping): Promise<Profile> {
    const { end, engine } = recording
    if (isEnding) await end.recorded
    const recorded = await this.#recordedBy(recording)
    const { snapshot, stats } = recorded
    debug.end?.(`the trees have been made: ${snapshot.merged.count} rows, ${snapshot.threads.length} threads`)
    if (isEnding) await end.left
    for (const warning of warningsAtEnd(engine, stats)) engine.warnings.add(warning)
    const roots = rootNames(engine.options)
    const never = stats.events > 0 ? await engine.rootWatch.uncalled() : roots
    // After a reset without events, it is unknown whether a root was called before the reset.
    this.rootsNeverCalled = stats.events === 0 && this.#wasReset ? [] : never
    this.wasAnyRootCalled = never.length < roots.length
    const { facts } = end
    for (const warning of facts === null ? [] : detachWarnings(facts)) engine.warnings.add(warning)
    const profile = sessionProfile(recording, recorded)
    this.gaps = profile.instrumentation.gaps
    return facts === null ? profile : { ...profile, detach: facts }
  }

  async #recordedBy(recording: Recording): Promise<Recorded> {
    const { calibration } = recording.engine // read together with the snapshot, which subtracts it
    const snapshot = await this.#snapshotOf(recording, true, 'everything')
    const regions = this.timesRegions ? await this.regions() : undefined
    const segments = await segmentsOf(recording.engine, recording.span)
    const trace = await this.#traceOf(recording)
    const stats = await recording.engine.recorder.stats()
    return { calibration, snapshot, segments, stats, regions, trace }
  }

  async #traceOf({ engine, span }: Recording): Promise<Trace | undefined> {
    const { calibration, clock, options, recorder, targetState } = engine
    if (options.trace === undefined) return undefined
    const { nsPerTick } = clock
    const { latestTicks, durationMs } = span
    const traced = {
      ...{ calibration, nsPerTick, firstMethod: firstMethodOf(options), valueRows: valueRowsOf(options) },
      beginTicks: latestTicks - (durationMs * 1e6) / nsPerTick,
    }
    return await recorder.trace(traced, targetState.threads, options.slow === undefined ? 0 : options.trace)
  }

  /**
   * Returns a profile of the data recorded so far. The recording continues.
   *
   * @param why  text for the profile that explains why it is incomplete
   */
  async profileSoFar(why: string): Promise<Profile> {
    const { recording } = this
    const profile = sessionProfile(recording, await this.#recordedBy(recording))
    return recording.end.isOver ? profile : { ...profile, truncated: why }
  }

  /** Stops the recorder. */
  async close(): Promise<void> {
    forgetRecent()
    await this.engine.recorder.stop()
  }
}
