// One session with one target: attach → calibrate → reveal → instrument → profile → detach.
//
// This module joins the engine and draws nothing. It owns the order of things: questions of the target
// are answered one after the other (report, section 6.1), but for classes that a redefinition may be waiting
// for, and the answer to a first invocation leaves only after the redefinition.

import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { EX_DATAERR, EX_TEMPFAIL, JfluidError } from '../base/errors.ts'
import { allocationName, isClassId, withDenseIds } from '../cct/allocation.ts'
import type { CallTable } from '../cct/call-ids.ts'
import type { MeasuredCalibration } from '../cct/compensation.ts'
import type { MethodName, Snapshot } from '../cct/tree.ts'
import { FIRST_METHOD_BESIDE_CLASSES } from '../events/event-layout.ts'
import { createRing } from '../events/ring.ts'
import { chunksOffset, ENDED_SILENT, ENDED_STARVED } from '../events/ring-layout.ts'
import { FIRST_METHOD, FIRST_METHOD_BESIDE_WAITS } from '../events/wait-ids.ts'
import { ALLOCATING_INTRINSICS } from '../instrument/allocations.ts'
import type { BlockAnalysis } from '../instrument/blocks.ts'
import { EXACT_TIME, type Recipe } from '../instrument/class.ts'
import type { BlockCounting } from '../instrument/counting.ts'
import { SiteNumbers } from '../instrument/sites.ts'
import {
  type AllocationFacts,
  COST_OF,
  isTimed as isTimedMode,
  type Mode,
  type OverheadFacts,
  type Profile,
  type RegionTimes,
  type Sampling,
  type SkippedMethod,
} from '../profile/profile.ts'
import { inOneLine } from '../reveal/errors.ts'
import type { FilterReport } from '../reveal/filters.ts'
import { NO_PAST, type Past } from '../reveal/past.ts'
import type { ClassPattern, RootPattern } from '../reveal/patterns.ts'
import type { RegionPattern } from '../reveal/region-pattern.ts'
import { Revealer, type Revelation } from '../reveal/revealer.ts'
import type { RootReport } from '../reveal/roots.ts'
import { Agent } from '../wire/agent.ts'
import { AgentRefused, LINK_CLOSED, LinkLost } from '../wire/link.ts'
import type { AgentFacts, DetachReport, OpenAllocation, ThreadRow, Unloaded } from '../wire/messages.ts'
import { Budget } from './budget.ts'
import { ClassLoads } from './class-loads.ts'
import { TargetClock } from './clock.ts'
import type { OpenDoor } from './door.ts'
import { ErrorBars } from './error-bars.ts'
import { FOLLOWED_CLASSES, handOverTasks } from './hand-over-points.ts'
import { Installation, type Workshop } from './installation.ts'
import { Instrumenter, isTimed, type Task } from './instrumenter.ts'
import { RareWatch } from './rare-watch.ts'
import { Recorder, type RecorderStats } from './recorder.ts'
import { type RegionProblem, RegionTable } from './regions.ts'
import { RootWatch } from './root-watch.ts'
import { sourceName, TargetClasses } from './target-classes.ts'
import { compiledPast } from './target-past.ts'
import { Turns } from './turns.ts'
import { type WaitedClass, waitName, waitRecipe, waitTasks } from './wait-points.ts'

const CHUNK_BYTES = 32 << 10
const CHUNK_COUNT = 512
const CALIBRATION_MS = 80
const STATUS_MS = 500
/** Methods that are known before the first call. */
const LARGE_ROOT = 5_000
/** Every so many of them, methods that were left alone are looked at. */
const RARE_TICKS = 4
/** How long a detach may take before we leave without an answer. */
const DETACH_MS = 10_000
/** Why the target ends a session, see isLost() of its runtime. The agent says the same, if it can. */
const WHY_ENDED = new Map([
  [ENDED_SILENT, 'the client did not answer for 250 ms'],
  [ENDED_STARVED, 'the client got no processor for 2 s'],
])

export interface SessionOptions {
  /** Default: exact time. */
  readonly mode?: Mode
  /** Of mode `bytecodes`, where basic blocks end, and what that is called. Default: default. */
  readonly blocks?: { readonly name: string; readonly analysis: BlockCounting | BlockAnalysis }
  /** With mode `exact`: waiting has rows of its own. Mode `locks` has them anyway. */
  readonly waits?: boolean
  /** Calls of a method from different places are told apart. Not with `errorBars`. */
  readonly callSites?: boolean
  /** Of mode `sample`: when one is due. */
  readonly sampling?: Pick<Sampling, 'every' | 'unit' | 'random'>
  /** Of mode `alloc`: one of so many allocations is recorded. Default: all. */
  readonly sampleEvery?: number
  /** Of mode `alloc`: recorded objects are looked after, which of them are alive. */
  readonly liveness?: boolean
  /** Path of a jar with a jfluid.api.Profiler, for mode `bytecodes`. */
  readonly profiler?: string
  readonly scheme: 'a' | 'b'
  readonly roots: readonly RootPattern[]
  /** Times these and records no calls; the roots are then their methods, the scheme b, the look-ahead 0. */
  readonly regions?: readonly RegionPattern[]
  readonly include: readonly ClassPattern[]
  readonly exclude: readonly ClassPattern[]
  readonly jdk: boolean
  /** Methods that one first invocation may add beyond its direct callees. */
  readonly lookAhead: number
  /** Work that is handed to other threads inside the root is part of it. */
  readonly followThreads?: boolean
  /**
   * What becomes of methods that have run seldom or never in a JVM whose roots run often. `arm`: probes, in case;
   * `watch`: none before they run, which costs their first calls.
   */
  readonly rare?: 'arm' | 'watch'
  /** Roots are timed without the probes of what they call, now and then. Of exact time. */
  readonly errorBars?: boolean
  /** The overhead is held below that, by taking probes out of methods: 0.05 is 5 %. Of exact time. */
  readonly maxOverhead?: number
  /** The target's end is the expected end of the session, as with `run`. */
  readonly untilExit?: boolean
}

export interface SessionStatus {
  readonly phase: 'starting' | 'waiting for root' | 'recording' | 'ended'
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
  readonly overhead?: { readonly part: number; readonly budget: number; readonly folded: number }
  /** What there is to say while nothing has been recorded. */
  readonly message: string | null
  /** What there is to say of each root that has not been called. */
  readonly notes: readonly string[]
  readonly warnings: readonly string[]
  readonly skipped: readonly SkippedMethod[]
}

/**
 * How a session ended, and its target.
 *
 * - `detached`: we left, and the target has its code back;
 * - `target silent`: we left without an answer; it leaves us as soon as it runs again;
 * - `by itself`: the target goes on, and what comes after is not in the profile;
 * - `target ended`: its process has gone, or is about to.
 */
export type Ending =
  | { readonly how: 'detached' | 'target silent' | 'target ended' }
  | { readonly how: 'by itself'; readonly reason: string; readonly exitCode: number }

/** A target that is stopped (SIGSTOP), or so busy that it does not answer. */
class TargetSilent extends Error {
  constructor(pid: number) {
    super(`JVM ${pid} did not answer for ${DETACH_MS / 1000} s; its agent detaches as soon as it runs again`)
  }
}

/** A profiler of the user's that the target could not start. */
export class BadProfiler extends JfluidError {
  readonly exitCode = EX_DATAERR
  readonly hint =
    'It is a jar that the JVM can read, with a jfluid.api.Profiler that its manifest names: see the README.'
  constructor(reason: string) {
    super(`the profiler cannot be used: ${reason}`)
  }
}

async function startProfiler(agent: Agent, jar: string): Promise<void> {
  try {
    await agent.profiler(jar)
  } catch (error) {
    if (!(error instanceof AgentRefused)) throw error
    throw new BadProfiler(error.reason.replace(/^[\w.]*IOException: /, ''))
  }
}

async function within<T>(ms: number, work: Promise<T>, otherwise: Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(otherwise), ms)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

const NO_CALIBRATION: MeasuredCalibration = {
  ...{ innerTicks: 0, outerTicks: 0 },
  spread: { innerTicks: 0, outerTicks: 0 },
}

function recipeOf(options: SessionOptions, feature: number, sites: SiteNumbers | null): Recipe {
  const recipe = whatIsTold(options, feature)
  return sites === null ? recipe : { ...recipe, sites }
}

function whatIsTold(options: SessionOptions, feature: number): Recipe {
  const { mode, blocks, sampling, jdk } = options
  if (mode === 'alloc') return { tells: 'allocations', jdk, liveness: options.liveness === true }
  if (mode === 'sample')
    return { tells: 'samples', due: sampling?.unit === 'bytecodes' ? 'bytecodes' : 'time' }
  if (mode === 'bytecodes') return { tells: 'bytecodes', blocks: blocks?.analysis ?? 'default' }
  if (mode === 'count') return { tells: 'calls' }
  return tellsWaits(options) ? { tells: 'time', waits: waitRecipe(feature, options.jdk) } : EXACT_TIME
}

function overheadNow({ budget, windows, folded }: Budget): NonNullable<SessionStatus['overhead']> {
  return { part: windows.at(-1)?.part ?? 0, budget, folded: folded.length }
}

function overheadFacts({ budget, windows, folded, changes, above }: Budget): OverheadFacts {
  return { budget, windows, aboveBudget: above.windows, changes, folded }
}

function tellsWaits({ mode, waits }: SessionOptions): boolean {
  return mode === 'locks' || waits === true
}

function firstMethodOf(options: SessionOptions): number {
  return tellsWaits(options) ? FIRST_METHOD_BESIDE_WAITS : FIRST_METHOD
}

export class Session {
  private readonly agent: Agent
  private readonly instrumenter: Instrumenter
  private readonly revealer: Revealer
  private readonly threads = new Map<number, ThreadRow>()
  private readonly warnings = new Set<string>()
  private startedAt = new Date()
  private begun = performance.now()
  private readonly classes = new TargetClasses()
  private readonly turns = new Turns((error) => this.noteUnanswered(error))
  private readonly installation: Installation
  private readonly classLoads: ClassLoads
  private readonly rareWatch: RareWatch
  /** Null unless asked for. */
  private readonly errorBars: ErrorBars | null
  private readonly budget: Budget | null
  /** Numbers of call sites; null unless these are told. */
  private readonly sites: SiteNumbers | null
  /** What ids of nodes stand for, of the latest picture; null where that is methods. */
  private calls: CallTable | null = null
  private ticks = 0
  private readonly firsts = new Set<number>()
  /** What ids of waiting stand for. */
  private readonly waited = new Map<number, WaitedClass>()
  /** The roots are being looked at, which waits for the target and the revealer. */
  private looking = false
  private statusTimer: NodeJS.Timeout | undefined
  private phase: SessionStatus['phase'] = 'starting'
  private readonly rootWatch: RootWatch
  private gaps = 0
  private kept = { heapBytes: 0, outsideBytes: 0 }
  /** Of roots that have not ended; and what of it was before a reset. */
  private openAllocations: readonly OpenAllocation[] | null = null
  /** Of objects that are looked after: collections so far, and how many objects were not. Null if nobody asked. */
  private liveness: NonNullable<AllocationFacts['liveness']> | null = null
  private forgottenBytes = 0
  private truncated: string | null = null
  private endedHow: Ending | null = null
  private stopping = false
  private detachReport: DetachReport | null = null
  private readonly changed = new Set<number>()
  private endTicks: number | undefined
  private durationMs: number | undefined
  private endWith: (reason: string) => void = () => {}
  /** Resolves with the reason when the session ends otherwise than by `detach`. */
  readonly ended: Promise<string>

  private constructor(
    private readonly door: OpenDoor,
    private readonly options: SessionOptions,
    private readonly facts: AgentFacts,
    agent: Agent,
    private readonly recorder: Recorder,
    private readonly clock: TargetClock,
    private readonly calibration: MeasuredCalibration,
    private readonly regionTable: RegionTable | null,
  ) {
    this.agent = agent
    this.sites = options.callSites === true ? new SiteNumbers() : null
    // HotSpot verifies redefined classes of every loader but the bootstrap one.
    this.instrumenter = new Instrumenter(agent, {
      unverified: (classId) => this.classes.loaderOf(classId) === 0,
      recipe: regionTable ?? recipeOf(options, facts.feature, this.sites),
      onTasks: (tasks) => this.nameTasks(tasks),
    })
    // Threads find bytecode indices of the rewritten code on their stacks.
    if (this.sites !== null && options.sampling?.unit === 'ns') this.instrumenter.tellsMovedCalls = true
    const ofAllocations = { firstId: FIRST_METHOD_BESIDE_CLASSES, intrinsics: ALLOCATING_INTRINSICS }
    this.revealer = new Revealer(
      { ...options, firstId: firstMethodOf(options), ...(options.mode === 'alloc' && ofAllocations) },
      { classBytes: (ids) => this.instrumenter.classBytes(ids) },
    )
    const workshop: Workshop = {
      ...{ agent, recorder, clock, classes: this.classes, turns: this.turns },
      ...{ instrumenter: this.instrumenter, revealer: this.revealer },
    }
    this.installation = new Installation(workshop)
    this.rareWatch = new RareWatch(workshop, this.installation)
    this.errorBars =
      options.errorBars === true ? new ErrorBars(workshop, this.installation, calibration) : null
    this.budget =
      options.maxOverhead === undefined
        ? null
        : new Budget(workshop, this.installation, calibration, options.maxOverhead)
    this.classLoads = new ClassLoads(workshop, this.installation, (error) => this.noteUnanswered(error))
    this.rootWatch = new RootWatch({
      progress: () => this.revealer.rootProgress(),
      method: (id) => this.revealer.method(id),
      called: (ids) => this.called(ids),
      stacks: () => this.agent.stackTraces(400),
      callees: async (ids, enough) =>
        regionTable === null ? await this.turns.ask(() => this.revealer.callees(ids, enough)) : [],
      problemOf: (root) => {
        const problem = this.rootReport().find((it) => it.text === root)?.problem ?? null
        return problem && inOneLine(problem)
      },
      isJdk: (name) => this.classes.isJdk(name),
      nowMs: () => performance.now(),
      areRegions: regionTable !== null,
    })
    this.ended = new Promise((resolve) => {
      this.endWith = resolve
    })
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
    const agent = new Agent(door.link)
    const ringPath = join(door.dir, 'ring')
    let starting: Promise<Recorder> | undefined
    try {
      const facts = await agent.hello()
      const perf = door.perf(door.pid ?? facts.pid)
      createRing(ringPath, { chunkBytes: CHUNK_BYTES, chunkCount: CHUNK_COUNT })
      door.share(ringPath)
      const timesRegions = options.regions !== undefined
      const counts = timesRegions || !isTimedMode(options.mode ?? 'exact')
      const bySite = options.callSites === true
      starting = Recorder.start(ringPath, undefined, counts, firstMethodOf(options), timesRegions, bySite)
      const [recorder, configured] = await Promise.all([
        starting,
        agent.configure({
          ring: ringPath,
          chunkBytes: CHUNK_BYTES,
          chunkCount: CHUNK_COUNT,
          chunksOffset: chunksOffset(CHUNK_COUNT),
          perfFile: perf.file,
          safepointTimeOffset: perf.offset,
          follow: options.followThreads === true ? FOLLOWED_CLASSES : [],
          counts,
          waits: tellsWaits(options),
        }),
      ])
      // Both sides have it open: however we end, no file stays.
      rmSync(ringPath, { force: true })
      door.leave()
      if (options.sampling !== undefined) await agent.sampling(options.sampling)
      if (options.callSites === true) await agent.tellSites()
      if (options.profiler !== undefined) await startProfiler(agent, options.profiler)
      if (options.mode === 'alloc')
        await agent.allocations(options.sampleEvery ?? 1, options.liveness === true)
      if (!counts || timesRegions) onPhase('calibrating')
      const regions = timesRegions ? await agent.timeRegions(CALIBRATION_MS) : null
      const calibration =
        regions !== null
          ? { ...NO_CALIBRATION, innerTicks: regions.innerTicks, outerTicks: regions.outerTicks }
          : counts
            ? NO_CALIBRATION
            : await agent.calibrate(CALIBRATION_MS)
      const table = regions && new RegionTable(options.regions ?? [], regions.session)
      const clock = new TargetClock(configured.clock, facts.clock)
      const session = new Session(door, options, facts, agent, recorder, clock, calibration, table)
      if (!configured.pausesKnown && !counts) {
        session.warnings.add(
          'this JVM keeps no safepoint counter (hsperfdata): pauses of redefinitions are part of the times',
        )
      }
      await session.begin(onPhase)
      return session
    } catch (error) {
      // The first error is the one to tell, and a silent target must not keep it from being told.
      await within(DETACH_MS, agent.detach(), new TargetSilent(door.pid ?? 0)).catch(() => {})
      agent.close()
      door.leave()
      await starting?.then(
        (recorder) => recorder.stop(),
        () => {}, // it is the first error, or came after it
      )
      throw error
    }
  }

  private async begin(onPhase: (phase: string) => void): Promise<void> {
    this.recorder.onScarce = () => void this.agent.reclaim().catch(() => {})
    this.recorder.onEnded = (why) => this.endedByTarget(WHY_ENDED.get(why) ?? `code ${why}`)
    this.recorder.onError = (error) => {
      this.endedByTarget(error.message, error instanceof JfluidError ? error.exitCode : undefined)
    }
    this.agent.listen({
      first: (id) => this.onFirst(id),
      reflect: (request, classId, name, descriptor) =>
        this.turns.enqueue(async () => {
          try {
            await this.installation.refreshClasses()
            await this.installation.apply(
              await this.turns.ask(() => this.revealer.reflectiveTarget(classId, name, descriptor)),
            )
          } finally {
            this.agent.reflected(request)
          }
        }),
      hiddenClass: (request, hostId, bytes) =>
        this.turns.enqueue(async () => {
          try {
            await this.installation.refreshClasses()
            await this.installation.apply(
              await this.turns.ask(() => this.revealer.hiddenClass(hostId, bytes)),
            )
          } finally {
            this.agent.reflected(request)
          }
        }),
      classLoading: (load) => this.classLoads.loading(load),
      changed: (classId) => this.onChanged(classId),
      lateLoad: (hook) => this.classLoads.late(hook),
      waited: (id, kind, itself, className) => this.waited.set(id, { kind, itself, className }),
      ended: (reason) => this.endedByTarget(reason),
    })
    void this.agent.closed.then((reason) => this.onClosed(reason))

    onPhase('reading classes')
    // Before the first redefinition, which may discard what has been compiled.
    const past = await this.targetPast()
    await this.agent.enable()
    await this.agent.watch(this.options.jdk)
    await this.turns.enqueue(async () => {
      await this.installation.refreshClasses()
      onPhase(this.instrumentingPhase())
      const roots = await this.turns.ask(() => this.revealer.start())
      await this.checkRegions(roots)
      await this.classLoads.beforeRecording(async () => {
        // A redefinition is timed in ticks of which the length must be known.
        await this.readStatus()
        await this.leaveRareAlone()
        // After that: what a class has done is forgotten when it is redefined.
        if (this.options.followThreads) await this.installHandOvers()
        if (tellsWaits(this.options)) await this.installWaits()
        const ahead = await this.aheadOfRoots(this.rareWatch.past ?? past)
        for await (const recent of this.rareWatch.recent()) ahead.push(recent)
        this.adviseWatch(onPhase)
        await this.installation.begin([...ahead, roots])
      })
      await this.installation.catchUp()
      await this.rareWatch.settle()
      if (this.regionTable !== null) this.recorder.reset()
      await this.agent.go()
      this.startedNow()
    })
    this.rareWatch.lookFurther().catch(() => {}) // the turns have told
    this.phase = 'waiting for root'
    this.errorBars?.start()
    this.budget?.start()
    await this.rootWatch.look()
    this.statusTimer = setInterval(() => void this.tick(), STATUS_MS)
    onPhase('recording')
  }

  /** @throws RegionProblem before anything is changed */
  private async checkRegions({ instrument }: Revelation): Promise<void> {
    if (this.regionTable === null) return
    const bytes = await this.instrumenter.classBytes(instrument.map((it) => it.classId))
    this.regionTable.check(instrument, bytes)
  }

  /** Of methods with regions: those of which one has been executed. */
  private async called(ids: readonly number[]): Promise<number[]> {
    const table = this.regionTable
    if (table === null) return await this.recorder.called(ids)
    const executed = new Set(await this.recorder.called(ids.flatMap((id) => table.idsOf(id))))
    return ids.filter((id) => table.idsOf(id).some((it) => executed.has(it)))
  }

  private async leaveRareAlone(): Promise<void> {
    if (this.options.rare !== 'watch') return
    const why = this.looksAhead ? await this.rareWatch.begin() : 'it takes scheme B with a look-ahead'
    if (why !== null) this.warnings.add(`--rare watch had no effect: ${why}`)
  }

  /** On a busy server such a root takes half a minute to be ready, and its service with it. */
  private adviseWatch(onPhase: (phase: string) => void): void {
    const { instrumentedMethods } = this.revealer.counters
    if (!this.looksAhead || this.options.rare === 'watch' || instrumentedMethods < LARGE_ROOT) return
    onPhase(
      `instrumenting ${instrumentedMethods} methods that may be called; --rare watch takes those that are`,
    )
  }

  /**
   * Scheme B: what the roots call, and what is known to run behind it, goes in with the roots,
   * while nobody waits for it. In a server this is by far the largest step. The paper's own scheme
   * (`--look-ahead 0`) waits.
   */
  private async aheadOfRoots(past: Past): Promise<Revelation[]> {
    const revelations: Revelation[] = []
    if (!this.looksAhead) return revelations
    const steps = this.revealer.rootsWillRun(past)
    for (;;) {
      const { done, value } = await this.turns.ask(() => steps.next())
      if (done) return revelations
      revelations.push(value)
    }
  }

  private async targetPast(): Promise<Past> {
    return this.looksAhead ? compiledPast(await this.door.executed()) : NO_PAST
  }

  private get looksAhead(): boolean {
    return this.options.scheme === 'b' && this.options.lookAhead > 0
  }

  private nameTasks(tasks: readonly Task[]): void {
    const { profiler, sampling } = this.options
    if (profiler === undefined && sampling?.unit !== 'ns') return
    const names = tasks.filter(isTimed).map(({ id, className, name, descriptor, probe }) => ({
      ...{ id, name, descriptor, isRoot: probe === 'root' },
      className: sourceName(className),
    }))
    if (profiler !== undefined) this.agent.names(names)
    if (sampling?.unit === 'ns') {
      const calls = tasks.filter(isTimed).map((task) => this.callsOf(task))
      this.agent.frames(names.map((name, i) => ({ ...name, calls: calls[i]! })))
    }
  }

  /** Bytecode indices of calls in the code that is about to be installed, in order, with their numbers. */
  private callsOf({ id, classId, name, descriptor }: Task): [bci: number, site: number][] {
    const numbers = this.sites?.known(id)
    const moved = this.instrumenter.movedCalls(classId, name + descriptor)
    if (numbers === undefined || moved === undefined) return []
    return [...moved]
      .flatMap(([now, before]): [number, number][] => {
        const site = numbers.get(before)
        return site === undefined ? [] : [[now, site]]
      })
      .sort(([a], [b]) => a - b)
  }

  /** A user deserves to be told before it happens. */
  private instrumentingPhase(): string {
    // JDK-8324241: from 23 on, HotSpot records from the start what a redefinition invalidates.
    const flushes = this.facts.feature <= 22 && !this.door.woken && this.options.untilExit !== true
    return flushes
      ? `instrumenting: once in its life, a JVM of JDK ${this.facts.feature} discards all its compiled code now`
      : 'instrumenting'
  }

  // ---- questions of the target ----

  /** First invocations that arrive while a redefinition runs are answered together by the next. */
  private onFirst(id: number): void {
    this.firsts.add(id)
    if (this.firsts.size > 1) return
    void this.turns.enqueue(async () => {
      await this.installation.refreshClasses()
      const ids = [...this.firsts]
      this.firsts.clear()
      const revelations: Revelation[] = []
      for (const first of ids)
        revelations.push(await this.turns.ask(() => this.revealer.firstInvocation(first)))
      await this.installation.apply(...revelations)
    })
  }

  /** Another agent has redefined the class: our probes go into what it is now, and what that calls is found. */
  private onChanged(classId: number): void {
    this.changed.add(classId)
    if (this.changed.size > 1) return
    void this.turns.enqueue(async () => {
      await this.installation.refreshClasses()
      const ids = [...this.changed]
      this.changed.clear()
      this.rareWatch.redefined(new Set(ids))
      await this.installation.install(this.instrumenter.takeBack(ids), [])
      await this.installation.apply(await this.turns.ask(() => this.revealer.classesChanged(ids)))
    })
  }

  /** The target has dropped classes and loaders. What was recorded of them keeps its names. */
  private async forgetUnloaded({ classes, loaders }: Unloaded): Promise<void> {
    await this.turns.ask(() => this.revealer.unloaded(classes, loaders))
    const gone = new Set(classes)
    this.classLoads.unloaded(gone)
    this.installation.unloaded(gone)
    this.rareWatch.unloaded(gone)
    for (const id of gone) this.instrumenter.classUnloaded(id)
    this.classes.unloaded(gone, loaders, (id) => this.revealer.hasMethodsOf(id))
  }

  /** Before the roots: whatever they hand over is seen. */
  private async installHandOvers(): Promise<void> {
    const { tasks, unknown } = await handOverTasks(this.classes.bootClasses, (ids) =>
      this.instrumenter.classBytes(ids),
    )
    await this.installation.install(tasks, [])
    for (const kind of unknown) {
      this.warnings.add(
        `JDK ${this.facts.feature} hands work over in a way that is not known here (${kind}): it is not followed`,
      )
    }
  }

  private async installWaits(): Promise<void> {
    const { feature } = this.facts
    const { tasks, unknown } = await waitTasks(
      this.classes.bootClasses,
      (ids) => this.instrumenter.classBytes(ids),
      waitRecipe(feature, this.options.jdk),
    )
    await this.installation.install(tasks, [])
    for (const kind of unknown) {
      this.warnings.add(
        `JDK ${feature} waits in a way that is not known here (${kind}): that time is not told apart`,
      )
    }
  }

  private noteUnanswered(error: unknown): void {
    if (this.stopping || error instanceof LinkLost) return
    this.warnings.add(`a question of the target went unanswered: ${String(error)}`)
  }

  // ---- while it runs ----

  private async tick(): Promise<void> {
    if (this.stopping || this.phase === 'ended') return
    try {
      await this.readStatus()
      if (++this.ticks % RARE_TICKS === 0) this.rareWatch.look().catch(() => {}) // the turns have told
      const stats = await this.recorder.stats()
      if (stats.events > 0) this.phase = 'recording'
      if (this.looking) return
      this.looking = true
      try {
        await this.rootWatch.look()
      } finally {
        this.looking = false
      }
    } catch (error) {
      if (!(error instanceof LinkLost)) this.warnings.add(String(error))
    }
  }

  private async readStatus(): Promise<void> {
    const status = await this.agent.status()
    this.clock.update(status.clock)
    this.gaps = status.gaps
    this.openAllocations = status.openAllocations
    if (status.survivors !== null) {
      const { collections, untracked } = status.survivors
      this.liveness = { collections, untracked }
      this.recorder.survivors(status.survivors)
    }
    this.kept = {
      heapBytes: Math.max(this.kept.heapBytes, status.kept.heap),
      outsideBytes: Math.max(this.kept.outsideBytes, status.kept.outside),
    }
    // Virtual threads share one tree: to name each would be a leak in a target that makes one a request.
    for (const thread of status.threads) if (!thread.virtual) this.threads.set(thread.number, thread)
    const { unloaded } = status
    if (unloaded.classes.length + unloaded.loaders.length > 0)
      void this.turns.enqueue(() => this.forgetUnloaded(unloaded))
  }

  private endedByTarget(reason: string, exitCode?: number): void {
    if (this.stopping || this.endedHow !== null) return
    this.noteEndedByItself(reason, exitCode)
    this.finishPhase(reason)
  }

  private noteEndedByItself(reason: string, exitCode = EX_TEMPFAIL): void {
    this.truncated ??= reason
    this.endedHow = { how: 'by itself', reason, exitCode }
    this.warnings.add(`the session ended by itself: ${reason}`)
  }

  private noteTargetEnded(): void {
    this.endedHow = { how: 'target ended' }
    if (this.options.untilExit) return
    this.truncated ??= 'the JVM ended'
    this.warnings.add('the JVM ended while it was profiled; this is what had been recorded')
  }

  private async onClosed(reason: string): Promise<void> {
    const why = await this.whyItEnded()
    if (why !== undefined) this.endedByTarget(why)
    if (this.stopping || this.endedHow !== null) return
    this.noteTargetEnded()
    this.finishPhase(reason === LINK_CLOSED ? 'the JVM ended' : `the JVM ended (${reason})`)
  }

  private finishPhase(reason: string): void {
    this.phase = 'ended'
    this.turns.close()
    this.errorBars?.lost()
    this.budget?.stop()
    this.durationMs ??= performance.now() - this.begun
    this.endTicks ??= this.clock.nowTicks
    clearInterval(this.statusTimer)
    this.endWith(reason)
  }

  get target(): AgentFacts {
    return this.facts
  }

  get pid(): number {
    return this.door.pid ?? this.facts.pid
  }

  get mode(): Mode {
    return this.options.mode ?? 'exact'
  }

  /** Whether events tell the time. */
  private get isTimed(): boolean {
    return isTimedMode(this.mode)
  }

  get scheme(): 'a' | 'b' {
    return this.options.scheme
  }

  get rootNames(): string[] {
    return (this.options.regions ?? this.options.roots).map((r) => r.text)
  }

  /** What each --root matched, for the user. */
  rootReport(): RootReport[] {
    return this.revealer.roots()
  }

  /** What each --include and --exclude matched so far. */
  filterReport(): FilterReport[] {
    return this.revealer.filters()
  }

  /** Roots of which no method has been called, though there is one. */
  uncalledRoots(): Promise<string[]> {
    return this.rootWatch.uncalled()
  }

  async status(): Promise<SessionStatus> {
    const stats = await this.recorder.stats()
    const { notes, armed } = this.rootWatch
    const nothing = armed ? 'the class of the root is not loaded yet; waiting for it' : null
    const waits = stats.events === 0
    return {
      phase: this.phase === 'waiting for root' && stats.events > 0 ? 'recording' : this.phase,
      instrumentedMethods: this.revealer.counters.instrumentedMethods,
      calledMethods: stats.calledMethods,
      events: stats.events,
      waitMs: this.clock.toNs(stats.waitTicks) / 1e6,
      elapsedMs: this.durationMs ?? performance.now() - this.begun,
      isBare: this.errorBars?.isBare === true,
      rounds: this.errorBars?.rounds ?? 0,
      ...(this.budget !== null && { overhead: overheadNow(this.budget) }),
      message: waits ? notes.join('; ') || nothing : null,
      notes,
      // A root among others that is not called must not stand in the way of what the others give.
      warnings: [
        ...this.warnings,
        ...this.barWarnings,
        ...(this.budget?.warnings ?? []),
        ...this.untracked,
        ...this.rareWatch.warnings,
        ...(waits ? [] : notes),
      ],
      skipped: this.skipped(),
    }
  }

  private get barWarnings(): string[] {
    const warning = this.errorBars?.warning ?? null
    return warning === null ? [] : [warning]
  }

  private get untracked(): string[] {
    const { untracked = 0 } = this.liveness ?? {}
    if (untracked === 0) return []
    return [
      `${untracked} objects were not looked after, since 65,536 were already: fewer are told alive than are. ` +
        'A higher --sample-every leaves room',
    ]
  }

  private skipped(): SkippedMethod[] {
    return [...this.installation.skipped].map(([method, reason]) => ({ method, reason }))
  }

  async snapshot(perThread = true): Promise<Snapshot> {
    const snapshot = await this.recorder.snapshot({
      cost: COST_OF[this.mode],
      calibration: this.calibration,
      nsPerTick: this.clock.nsPerTick,
      // What an open frame has executed since its last event is not known.
      ...(this.isTimed && { nowTicks: this.endTicks ?? this.clock.nowTicks }),
      threads: this.threads,
      ...(this.errorBars !== null && { errors: this.errorBars.errors }),
      perThread,
      firstMethod: firstMethodOf(this.options),
      ...(this.options.sampleEvery !== undefined && { every: this.options.sampleEvery }),
    })
    this.calls = snapshot.calls ?? null
    return snapshot
  }

  /** Whether regions are timed, and no calls recorded. */
  get timesRegions(): boolean {
    return this.regionTable !== null
  }

  /** What the probes cost a call, or an execution of a region. */
  get overheadNs(): number {
    return this.clock.toNs(this.calibration.innerTicks + this.calibration.outerTicks)
  }

  /** What is known of the regions so far. */
  async regions(): Promise<RegionTimes[]> {
    const { innerTicks } = this.calibration
    const scale = { innerTicks, nsPerTick: this.clock.nsPerTick }
    return this.regionTable?.times(await this.recorder.regions(), scale) ?? []
  }

  /** Of regions whose methods are there, and the lines are not. */
  regionProblems(): RegionProblem[] {
    return this.regionTable?.problems() ?? []
  }

  /** Of a node's id: a method, with the place it was called from, or a class of which something was allocated. */
  methodName(id: number): MethodName {
    if (this.calls === null) return this.ownName(id)
    const name = this.ownName(this.calls.method[id] ?? 0)
    const site = this.sites?.site(this.calls.site[id] ?? 0)
    // The JVM calls these by itself, where a class is first used.
    if (site === undefined || name.method === '<clinit>') return name
    return { ...name, bci: site.bci, ...(site.line !== undefined && { line: site.line }) }
  }

  private ownName(id: number): MethodName {
    if (id < firstMethodOf(this.options)) return waitName(id, this.waited.get(id))
    if (this.mode === 'alloc' && isClassId(id)) return allocationName(this.recorder.classNames.get(id) ?? '?')
    const m = this.revealer.method(id)
    return {
      class: sourceName(m.className),
      method: m.name,
      descriptor: m.descriptor,
      loader: this.classes.loaderName(m.classId),
    }
  }

  /** Forgets the counts so far. */
  reset(): void {
    this.recorder.reset(this.isTimed ? this.clock.nowTicks : undefined)
    this.errorBars?.reset()
    this.forgottenBytes = this.openAllocations?.reduce((sum, { bytes }) => sum + bytes, 0) ?? 0
    this.budget?.reset()
    this.startedNow()
  }

  private startedNow(): void {
    this.startedAt = new Date()
    this.begun = performance.now()
  }

  /**
   * Ends the session: the target gets its code back and the recorder reads what is left.
   *
   * @returns what the agent says of the restoration, null if it could say nothing: see `ending`
   */
  async detach(): Promise<DetachReport | null> {
    if (this.stopping) return this.detachReport
    this.stopping = true
    clearInterval(this.statusTimer)
    this.budget?.stop()
    await this.timeRootsAtLast()
    this.turns.close()
    if (this.phase !== 'ended') {
      try {
        await within(DETACH_MS, this.turns.idle(), new TargetSilent(this.pid))
        await within(DETACH_MS, this.readStatus(), new TargetSilent(this.pid))
        this.durationMs ??= performance.now() - this.begun
        this.endTicks ??= this.clock.nowTicks
        await within(DETACH_MS, this.rareWatch.lastLook(), new TargetSilent(this.pid))
        this.detachReport = await within(DETACH_MS, this.agent.detach(), new TargetSilent(this.pid))
        this.endedHow = { how: 'detached' }
        const { profilerFailure } = this.detachReport
        if (profilerFailure !== undefined) this.warnings.add(`the profiler failed: ${profilerFailure}`)
      } catch (error) {
        if (error instanceof TargetSilent) {
          // What was recorded is worth more than the answer; the agent leaves once it sees us gone.
          this.warnings.add(error.message)
          this.endedHow = { how: 'target silent' }
        } else if (error instanceof LinkLost) {
          await this.onClosedWhileStopping()
        } else {
          throw error
        }
      }
    }
    this.phase = 'ended'
    this.agent.close()
    this.door.leave()
    this.installation.settle()
    await this.recorder.finish(this.isTimed ? this.endTicks : 0)
    return this.detachReport
  }

  /** What there is to do before the code goes back: it takes about two seconds, if no root has been timed before. */
  private async timeRootsAtLast(): Promise<void> {
    if (this.errorBars === null || this.phase === 'ended') return
    this.durationMs = performance.now() - this.begun
    this.endTicks = this.clock.nowTicks
    await within(DETACH_MS, this.errorBars.finish(), new TargetSilent(this.pid)).catch(() => {}) // what follows will tell
  }

  /** Whoever ends the session will not wait for error bars. */
  hurry(): void {
    this.errorBars?.hurry()
  }

  /** Whether error bars keep the end waiting. */
  get mayTakeLong(): boolean {
    return this.errorBars?.rounds === 0 && this.phase !== 'ended'
  }

  /** How the session ended; null while it has not. */
  get ending(): Ending | null {
    return this.endedHow
  }

  /** The program under `run` did not end by itself: what was recorded is not all. */
  endedBy(signal: string): void {
    this.truncated ??= signal
    this.warnings.add(`the program was ended by ${signal}; this is what had been recorded`)
  }

  private async onClosedWhileStopping(): Promise<void> {
    const why = await this.whyItEnded()
    if (why !== undefined) this.noteEndedByItself(why)
    else this.noteTargetEnded()
  }

  /** Why, if the JVM lives on: the agent's farewell is lost if we were just writing to it. */
  private whyItEnded(): Promise<string | undefined> {
    return this.recorder.stats().then(
      (stats) => WHY_ENDED.get(stats.ended),
      () => undefined,
    )
  }

  /** The finished profile. Call after `detach`. */
  async profile(): Promise<Profile> {
    const snapshot = await this.snapshot()
    const regions = this.timesRegions ? await this.regions() : undefined
    for (const { message, hint } of this.regionProblems()) this.warnings.add(`${message}. ${hint}`)
    const stats = await this.recorder.stats()
    if (stats.orphans > 0) {
      this.warnings.add(
        `${stats.orphans} tasks began whose submission was lost: what they called stands for itself`,
      )
    }
    const openCalls = this.mode === 'sample' || this.mode === 'alloc' ? 0 : stats.openCalls
    if (stats.purged > 0) {
      this.warnings.add(
        `the tree of samples has grown too large: ${stats.purged} contexts with the fewest samples are part of their callers now`,
      )
    }
    if (openCalls > 0) {
      this.warnings.add(
        `calls that had not ended: ${openCalls}; what they have executed themselves is missing, in part or as a whole`,
      )
    }
    const { counters } = this.revealer
    const methodNames: MethodName[] = [{ class: '', method: '', descriptor: '', loader: '' }]
    for (let id = 1; id < firstMethodOf(this.options); id++) methodNames[id] = this.methodName(id)
    const methods = snapshot.calls
      ? snapshot.calls.method.keys()
      : Array.from(this.revealer.methods(), ({ id }) => id)
    for (const id of methods) if (id > 0) methodNames[id] = this.methodName(id)
    const { merged, threads } = snapshot
    for (const id of this.recorder.classNames.keys()) methodNames[id] = this.methodName(id)
    return {
      target: {
        pid: this.pid,
        jdk: this.facts.version,
        vm: this.facts.vm,
        mainClass: this.facts.command.split(' ')[0] ?? '',
      },
      mode: this.mode,
      ...(this.mode === 'bytecodes' && { blocks: this.options.blocks?.name ?? 'default' }),
      ...(this.options.sampling !== undefined && {
        sampling: { ...this.options.sampling, by: 'probes', ...this.sampled(stats) },
      }),
      ...(this.mode === 'alloc' && { allocation: this.allocationFacts(stats) }),
      scheme: this.options.scheme,
      roots: this.rootNames,
      selection: {
        include: this.options.include.map((it) => it.text),
        exclude: this.options.exclude.map((it) => it.text),
        jdk: this.options.jdk,
        lookAhead: this.options.lookAhead,
        rare: this.options.rare ?? 'arm',
      },
      startedAt: this.startedAt.toISOString(),
      durationMs: this.durationMs ?? performance.now() - this.begun,
      calibration: {
        innerNs: this.clock.toNs(this.calibration.innerTicks),
        outerNs: this.clock.toNs(this.calibration.outerTicks),
        ...(this.isTimed && {
          innerSpreadNs: this.clock.toNs(this.calibration.spread.innerTicks),
          outerSpreadNs: this.clock.toNs(this.calibration.spread.outerTicks),
        }),
        clock: this.facts.clock,
      },
      instrumentation: {
        instrumentedMethods: counters.instrumentedMethods,
        calledMethods: stats.calledMethods,
        redefinitions: this.installation.redefinitions,
        redefinedClasses: this.instrumenter.instrumentedClasses,
        hotSwapMs: this.installation.hotSwapMs,
        ...(this.installation.longestPauseMs !== null && {
          longestPauseMs: this.installation.longestPauseMs,
        }),
        analysisMs: counters.analysisMs,
        skipped: this.skipped(),
        gaps:
          Math.max(this.gaps, stats.gaps) +
          counters.gaps +
          this.installation.lateClasses +
          this.rareWatch.gaps,
        healed: stats.healed,
      },
      warmupMs: Math.max(0, this.installation.settledAt - this.begun),
      truncated: this.truncated !== null,
      warnings: [
        ...this.warnings,
        ...this.barWarnings,
        ...(this.budget?.warnings ?? []),
        ...this.untracked,
        ...this.rareWatch.warnings,
        ...this.rareWatch.lastWarnings,
      ],
      events: { count: stats.events, waitMs: this.clock.toNs(stats.waitTicks) / 1e6 },
      kept: this.kept,
      ...(this.sites !== null && { callSites: true as const }),
      ...(this.errorBars !== null && { errorBars: this.errorBarFacts(this.errorBars) }),
      ...(this.budget !== null && { overhead: overheadFacts(this.budget) }),
      ...(openCalls > 0 && { openCalls }),
      ...(this.options.followThreads === true && { followedTasks: stats.followed }),
      ...(regions !== undefined && { regions }),
      ...(this.mode === 'alloc' ? withDenseIds(methodNames, snapshot) : { methodNames, merged, threads }),
    }
  }

  private sampled({ samples }: RecorderStats): Pick<Sampling, 'samples' | 'bytecodes' | 'latencyNs'> {
    const { count, sum, p50, p90, p99, max } = samples
    if (this.options.sampling?.unit === 'bytecodes') return { samples: count, bytecodes: sum }
    const [ns50, ns90, ns99, nsMax] = [p50, p90, p99, max].map((ticks) => this.clock.toNs(ticks))
    return { samples: count, latencyNs: { p50: ns50!, p90: ns90!, p99: ns99!, max: nsMax! } }
  }

  private allocationFacts({ allocatedBytes, allocatedTold, virtualRoots }: RecorderStats): AllocationFacts {
    const { sampleEvery = 1, followThreads } = this.options
    const facts = { sampleEvery, ...(this.liveness !== null && { liveness: this.liveness }) }
    // Of work that was handed over, and of virtual threads, nothing is known.
    if (this.openAllocations === null || virtualRoots > 0 || followThreads) return facts
    let bytes = allocatedBytes - this.forgottenBytes
    for (const open of this.openAllocations)
      if (open.told === (allocatedTold.get(open.number) ?? 0)) bytes += open.bytes
    return { ...facts, jvmBytes: Math.max(0, bytes) }
  }

  private errorBarFacts({ rounds, leftOut, roots }: ErrorBars): NonNullable<Profile['errorBars']> {
    return {
      rounds,
      leftOutCalls: leftOut,
      roots: roots.map((it) => ({
        method: it.method,
        rounds: it.rounds,
        bareCalls: it.bareCalls,
        bareNs: this.clock.toNs(it.bareTicks),
        instrumentedNs: this.clock.toNs(it.instrumentedTicks),
        errorNs: this.clock.toNs(it.errorTicks),
      })),
    }
  }

  /** Lets go of the recorder. */
  async close(): Promise<void> {
    await this.recorder.stop()
  }
}
