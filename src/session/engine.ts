// Creates and connects the parts of a session. `beginning.ts`, `questions.ts`, `pulse.ts` and `ending.ts` use these parts.

import { mainOf } from '../attach/java-command.ts'
import { readTargetProcess } from '../attach/target-process.ts'
import { untestedArchitecture } from '../base/architecture.ts'
import type { MeasuredCalibration } from '../base/compensation.ts'
import { debug } from '../base/debug.ts'
import { isJdkName } from '../base/jdk-names.ts'
import { SINCE } from '../base/jdk-releases.ts'
import type { Scheme } from '../base/scheme.ts'
import { thousands } from '../base/thousands.ts'
import { NEVER_SLOW } from '../cct/slow-calls.ts'
import type { Recipe } from '../instrument/class.ts'
import { SiteNumbers } from '../instrument/sites.ts'
import { METRICS } from '../measures/columns.ts'
import { PROBES } from '../measures/probes.ts'
import { type SlowOption, selectedBy } from '../options/value.ts'
import { inOneLine } from '../reveal/errors.ts'
import { Revealer } from '../reveal/revealer.ts'
import type { Agent } from '../wire/agent.ts'
import type { AgentFacts, AgentStatus, LoadedClasses } from '../wire/messages.ts'
import { Arming, ClassFinder } from './adaptive/arming.ts'
import { Inside } from './adaptive/inside.ts'
import { memorySlowness } from './adaptive/memory-latency.ts'
import { compiledSince, type JvmSize } from './adaptive/pause.ts'
import type { TargetClock } from './clock.ts'
import { ByHand } from './code/by-hand.ts'
import { ClassLoads } from './code/class-loads.ts'
import { Installation, type Workshop } from './code/installation.ts'
import { Instrumenter, isTimed, type Task } from './code/instrumenter.ts'
import type { RegionTable } from './code/regions.ts'
import { TraceIds } from './code/trace-ids.ts'
import { readsValues } from './code/value-paths.ts'
import { Values } from './code/values.ts'
import type { OpenDoor } from './doors/door.ts'
import { MAX_METHODS } from './limits.ts'
import { Names } from './names.ts'
import type { Prepared } from './preparation.ts'
import { ProbeCosts } from './probe-costs.ts'
import { type CodeAccess, CountedMemory, openCode, seesProbes } from './proof.ts'
import type { Recorder } from './recorder/recorder.ts'
import { RootWatch } from './roots/root-watch.ts'
import {
  eventsOf,
  firstMethodOf,
  firstPlacedOf,
  keepsTrees,
  modeOf,
  type SessionOptions,
  valueRowsOf,
} from './session-options.ts'
import { sourceName, TargetClasses } from './target-classes.ts'
import { TargetState } from './target-state.ts'
import { Turns } from './turns.ts'
import { UnprobedAllocations } from './unprobed-allocations.ts'
import { SessionDumps } from './why/jvm-threads.ts'

const noMoreMethods = (scheme: Scheme): string =>
  `${thousands(MAX_METHODS)} methods have probes, which is the limit: calls of other methods are missing, and their time counts for their callers (${scheme === 'adaptive' ? 'use' : 'use --scheme adaptive, or'} --yes to instrument all)`

/** Maximum number of frames of a stack that are searched for a root. */
const MAX_STACK_DEPTH = 400
/** The target writes the details of a call that takes at least this share of the threshold of slow calls. */
const DETAILS_SHARE = 0.8
/** Maximum relative change of the threshold that is not sent to the target. */
const UNSENT_CHANGE = 0.05

export class Engine {
  readonly door: OpenDoor
  readonly options: SessionOptions
  readonly agent: Agent
  /** For the proof. */
  readonly memory: CountedMemory
  readonly facts: AgentFacts
  readonly recorder: Recorder
  readonly clock: TargetClock
  readonly #probeCosts: ProbeCosts
  /** Whether the code comparison has detected the probes while the probes were installed; null before this check. */
  seesProbes: boolean | null = null
  /** Table of the timed regions; null unless regions are timed. */
  readonly regionTable: RegionTable | null
  /** Numbers of call sites; null unless call sites are recorded. */
  readonly sites: SiteNumbers | null
  readonly classes = new TargetClasses()
  readonly turns: Turns
  readonly instrumenter: Instrumenter
  readonly revealer: Revealer
  readonly installation: Installation
  readonly classLoads: ClassLoads
  readonly rootWatch: RootWatch
  readonly byHand: ByHand
  /** Samples inside roots; null unless the scheme is adaptive. */
  readonly inside: Inside | null
  readonly arming: Arming | null
  /** Samples of allocations by code without probes. Null in modes other than alloc, and if such samples are not possible. */
  readonly unprobed: UnprobedAllocations | null
  /** Values of root calls; null without --show and --by. */
  readonly values: Values | null
  readonly names: Names
  readonly traceIds: TraceIds
  /** Which calls are kept as slow calls; undefined if none are. */
  #slowOption: SlowOption | undefined
  /** Threshold in ticks that the target knows; null if it knows none. */
  #toldSlow: number | null = null
  readonly targetState = new TargetState()
  readonly dumps = new SessionDumps()
  /** Whether the agent reads the JVM's counters. */
  readonly pausesKnown: boolean
  /** Main class of the program, or path of the program's jar. */
  readonly main: string
  /** Start of the JVM, ISO 8601; undefined if it is unknown. */
  readonly jvmStartedAt: string | undefined
  #code: Promise<CodeAccess | null> | undefined
  /** Number of compilations of the JVM when its size was last read, before the first redefinition. */
  #compilationsBefore: number | null = null
  /** Warnings that are not stored in one of the parts: see `allWarnings`. */
  readonly warnings = new Set<string>()

  /** @param unanswered  called with an error if the error has left a question of the target without an answer */
  constructor(prepared: Prepared, unanswered: (error: unknown) => void) {
    const { options, agent, facts, recorder, clock, calibration, regionTable } = prepared
    this.door = prepared.door
    this.pausesKnown = prepared.pausesKnown
    this.options = options
    this.agent = agent
    this.memory = new CountedMemory(agent)
    this.facts = facts
    const target = this.process === null ? undefined : readTargetProcess(this.process)
    this.jvmStartedAt = target && new Date(target.startedAt).toISOString()
    this.main = mainOf(facts.command, target?.commandLine ?? []) ?? ''
    this.recorder = recorder
    this.clock = clock
    this.#probeCosts = new ProbeCosts(agent, recorder, calibration, (ticks) => clock.toNs(ticks))
    if (prepared.why !== null) this.warnings.add(prepared.why)
    const untested = untestedArchitecture(process.arch)
    if (untested !== null) this.warnings.add(untested)
    this.regionTable = regionTable
    this.sites = options.callSites === true ? new SiteNumbers(options.jdk) : null
    this.turns = new Turns(unanswered)
    const isAdaptive = options.scheme === 'adaptive'
    // HotSpot verifies redefined classes of every loader except the bootstrap loader.
    this.instrumenter = new Instrumenter(agent, {
      unverified: (classId) => this.classes.loaderOf(classId) === 0,
      recipe: regionTable ?? this.#recipe(),
      onTasks: (tasks) => this.#nameInTarget(tasks),
      readyFirst: isAdaptive,
    })
    const { intrinsics } = PROBES[modeOf(options)]
    this.revealer = new Revealer(
      { ...options, firstId: firstPlacedOf(options), ...(intrinsics !== undefined && { intrinsics }) },
      { classBytes: (ids) => this.instrumenter.classBytes(ids) },
    )
    const { classes, turns, instrumenter, revealer } = this
    const finder = isAdaptive ? new ClassFinder() : null
    finder?.want([...options.roots, ...(options.timed ?? [])])
    let first = prepared.listed
    const listClasses = async () => {
      const later = await (finder === null ? agent.loadedClasses() : finder.list(agent))
      const all = first === null ? later : joined(first, later)
      first = null
      return all
    }
    const workshop: Workshop = {
      followsLoads: !isAdaptive,
      feature: facts.feature,
      ...{ agent, listClasses, recorder, clock, classes, turns, instrumenter, revealer },
    }
    this.installation = new Installation(workshop)
    this.values = readsValues(options) ? new Values(this) : null
    this.byHand = new ByHand({ options, workshop, installation: this.installation })
    this.classLoads = new ClassLoads(workshop, this.installation, unanswered)
    this.rootWatch = this.#watchRoots()
    this.inside = isAdaptive ? new Inside(this) : null
    this.arming =
      finder === null
        ? null
        : new Arming(workshop, this.installation, finder, () => this.#size(), memorySlowness)
    this.unprobed = UnprobedAllocations.arePossible(this) ? new UnprobedAllocations(this) : null
    this.names = new Names(this)
    this.traceIds = new TraceIds(agent, this.warnings)
  }

  get calibration(): MeasuredCalibration {
    return this.#probeCosts.calibration
  }

  /** Measures the cost of the probes (again), with scheme adaptive and if the probes read a clock. */
  async measureProbes(): Promise<void> {
    if (this.options.scheme === 'adaptive' && eventsOf(this.options).tellsTime)
      await this.#probeCosts.measure()
  }

  /** Locates the code of methods in the JVM, for the proof at the end. The code is located early, to make the detach shorter. */
  openCode(): Promise<CodeAccess | null> {
    if (this.#code === undefined) {
      this.#code = openCode(this.memory)
      this.#code.catch(() => {}) // the proof reports the error
    }
    return this.#code
  }

  /** Checks whether the proof at the end can detect probes. */
  async rehearseProof(): Promise<void> {
    this.seesProbes = await seesProbes(this.openCode(), this.instrumenter.classesBefore())
  }

  async #size(): Promise<JvmSize> {
    const { door, facts, installation } = this
    const counted = await door.compiled()
    const compilations = door.compilations?.() ?? null
    if (installation.swaps.latest.length === 0) this.#compilationsBefore = compilations
    const before = this.#compilationsBefore
    debug.redefine?.(
      `${counted ?? '?'} compiled methods, ${compilations ?? '?'} compilations, ${before ?? '?'} before the first redefinition, ${facts.loadedClasses} classes`,
    )
    const compiledMethods =
      facts.feature < SINCE.SELECTIVE_INVALIDATION
        ? compiledSince({ counted, compilations, before })
        : counted
    return { compiledMethods, loadedClasses: facts.loadedClasses }
  }

  /** Process id of the JVM: the id that was used to connect, or the id that the JVM reports. */
  get pid(): number {
    return this.door.pid ?? this.facts.pid
  }

  /** Process id of the JVM for /proc; null if the JVM is on another machine. */
  get process(): number | null {
    return this.door.elsewhere === undefined ? this.pid : null
  }

  /** Whether each thread of the target counts its calls in its own tree in the event buffer. */
  get hasTrees(): boolean {
    return this.door.elsewhere === undefined && keepsTrees(this.options)
  }

  /** Makes the recorder measure root calls, if the events contain times or executed bytecodes. */
  timeRoots(): void {
    const { options, recorder } = this
    recorder.probesCost(this.calibration)
    this.#keepSegments()
    if (eventsOf(options).rootCallsIn === null) return
    recorder.timeRoots()
    if (options.slow !== undefined) this.keepSlow(options.slow)
  }

  /** Makes the recorder keep segments, unless there are no trees, or costs belong to classes. */
  #keepSegments(): void {
    const { clock, options, recorder } = this
    const mode = modeOf(options)
    if (METRICS[mode].hasClasses || options.regions !== undefined) return
    const nsPerTick = eventsOf(options).tellsTime ? clock.nsPerTick : null
    const [firstMethod, valueRows] = [firstMethodOf(options), valueRowsOf(options)]
    recorder.keepSegments({ mode, firstMethod, valueRows }, nsPerTick)
  }

  /** Makes the recorder keep the trees of slow calls from now on. */
  keepSlow(which: SlowOption): void {
    const { threshold: wanted, threw } = selectedBy(which)
    const threshold = typeof wanted === 'number' ? wanted / this.clock.nsPerTick : wanted
    if (eventsOf(this.options).rootCallsIn === null) return
    this.#slowOption = which
    this.#toldSlow = null
    this.recorder.keepSlow({ threshold, threw })
    this.traceIds.start()
  }

  /** Tells the target the threshold of slow calls if it is known before the first call. */
  async beginSlow(): Promise<void> {
    if (this.#slowOption === undefined) return
    const { threshold } = selectedBy(this.#slowOption)
    if (threshold === 'p99') return
    await this.tellSlow(threshold === 'threw' ? NEVER_SLOW : threshold / this.clock.nsPerTick)
  }

  /**
   * Tells the target from which duration on a root call is followed by its details. The threshold is somewhat lower than that of slow calls,
   * since p99 may fall before the next message.
   */
  async tellSlow(slowFromTicks: number | null): Promise<void> {
    if (slowFromTicks === null || this.#slowOption === undefined) return
    const ticks = Math.floor(slowFromTicks * DETAILS_SHARE)
    const told = this.#toldSlow
    if (told !== null && Math.abs(ticks - told) <= told * UNSENT_CHANGE) return
    this.#toldSlow = ticks
    await this.agent.slowFrom(ticks, selectedBy(this.#slowOption).threw)
  }

  allWarnings(): string[] {
    return [
      ...this.warnings,
      ...(this.sites?.warnings ?? []),
      ...this.targetState.warnings,
      ...this.installation.warnings,
      ...(this.revealer.isFull ? [noMoreMethods(this.options.scheme)] : []),
      ...this.byHand.warnings,
      ...(this.inside?.warnings ?? []),
      ...this.dumps.warnings,
      ...(this.unprobed?.warnings ?? []),
      ...(this.values?.warnings ?? []),
    ]
  }

  /** Handles classes and loaders that the target has unloaded. Recorded calls keep their names. */
  async unloaded({ classes, loaders }: AgentStatus['unloaded']): Promise<void> {
    await this.turns.ask(() => this.revealer.unloaded(classes, loaders))
    const gone = new Set(classes)
    this.classLoads.unloaded(gone)
    this.installation.unloaded(gone)
    for (const id of gone) this.instrumenter.classUnloaded(id)
    this.classes.unloaded(gone, loaders, (id) => this.revealer.methods.hasMethodsOf(id))
  }

  /** Returns the kind of probes for the mode of this session. */
  #recipe(): Recipe {
    const recipe = PROBES[modeOf(this.options)].recipe(this.options, this.facts.feature)
    return this.sites === null ? recipe : { ...recipe, sites: this.sites }
  }

  /** Sends method names to the target before the methods get probes, since a profiler of the user may request the names. */
  #nameInTarget(tasks: readonly Task[]): void {
    if (this.options.profiler === undefined) return
    this.agent.names(tasks.filter(isTimed).map((it) => ({ ...it, className: sourceName(it.className) })))
  }

  #watchRoots(): RootWatch {
    const { agent, classes, revealer, regionTable, turns } = this
    return new RootWatch({
      progress: () => revealer.roots.progress(),
      method: (id) => revealer.methods.get(id),
      called: (ids) => this.#called(ids),
      stacks: () => agent.stackTraces(MAX_STACK_DEPTH),
      callees: async (ids, enough) =>
        regionTable === null ? await turns.ask(() => revealer.callees(ids, enough)) : [],
      problemOf: (root) => {
        const problem = revealer.roots.report().find((it) => it.text === root)?.problem ?? null
        return problem && inOneLine(problem)
      },
      // With scheme adaptive, the origin of some classes is unknown.
      isJdk: (name) => classes.isJdk(name) || (this.arming !== null && isJdkName(name)),
      nowMs: () => performance.now(),
      areRegions: regionTable !== null,
    })
  }

  /** Returns the methods with at least one executed region. */
  async #called(ids: readonly number[]): Promise<number[]> {
    const table = this.regionTable
    if (table === null) return await this.recorder.called(ids)
    const executed = new Set(await this.recorder.called(ids.flatMap((id) => table.idsOf(id))))
    return ids.filter((id) => table.idsOf(id).some((it) => executed.has(it)))
  }
}

function joined(a: LoadedClasses, b: LoadedClasses): LoadedClasses {
  return { loaders: [...a.loaders, ...b.loaders], classes: [...a.classes, ...b.classes] }
}
