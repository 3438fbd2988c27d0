// Creates and connects the parts of a session. `beginning.ts`, `questions.ts`, `pulse.ts` and `ending.ts` use these parts.

import { SELECTIVE_INVALIDATION_JDK } from '../attach/admission.ts'
import { mainOf } from '../attach/java-command.ts'
import { readTargetProcess } from '../attach/target-process.ts'
import type { MeasuredCalibration } from '../base/compensation.ts'
import { isJdkName } from '../base/jdk-names.ts'
import { thousands } from '../base/thousands.ts'
import type { Recipe } from '../instrument/class.ts'
import { SiteNumbers } from '../instrument/sites.ts'
import { PROBES } from '../measures/probes.ts'
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
import type { OpenDoor } from './doors/door.ts'
import { MAX_METHODS } from './limits.ts'
import { Names } from './names.ts'
import { NO_CALIBRATION, type Prepared } from './preparation.ts'
import { type CodeAccess, openCode, seesProbes } from './proof.ts'
import type { Recorder } from './recorder/recorder.ts'
import { RootWatch } from './roots/root-watch.ts'
import { eventsOf, firstPlacedOf, keepsTrees, modeOf, type SessionOptions } from './session-options.ts'
import { sourceName, TargetClasses } from './target-classes.ts'
import { TargetState } from './target-state.ts'
import { Turns } from './turns.ts'

/**
 * Methods timed by scheme adaptive take at least 2 µs per call, so an error of some nanoseconds is negligible. A user waits for the first
 * timed method.
 */
const SHORT_CALIBRATION_DURATION_MS = 40

const NO_MORE_METHODS = `${thousands(MAX_METHODS)} methods have probes, which is the limit: time in other methods counts for their callers (use --scheme adaptive, or --yes to instrument all)`

/** Maximum number of frames of a stack that are searched for a root. */
const MAX_STACK_DEPTH = 400

export class Engine {
  readonly door: OpenDoor
  readonly options: SessionOptions
  readonly agent: Agent
  readonly facts: AgentFacts
  readonly recorder: Recorder
  readonly clock: TargetClock
  #calibration: MeasuredCalibration | null
  /** Whether the code comparison has detected the probes while they were installed; null before the check. */
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
  readonly names: Names
  readonly targetState = new TargetState()
  /** Whether the agent reads the JVM's counters. */
  readonly pausesKnown: boolean
  /** Main class of the JVM, or path of its jar. */
  readonly main: string
  #code: Promise<CodeAccess | null> | undefined
  /** Number of compilations of the JVM when its size was last read, before the first redefinition. */
  #compilationsBefore: number | null = null
  /** Warnings that are not stored in one of the parts: see `allWarnings`. */
  readonly warnings = new Set<string>()

  /** @param unanswered  receives errors that left a question of the target without an answer */
  constructor(prepared: Prepared, unanswered: (error: unknown) => void) {
    const { options, agent, facts, recorder, clock, calibration, regionTable } = prepared
    this.door = prepared.door
    this.pausesKnown = prepared.pausesKnown
    this.options = options
    this.agent = agent
    this.facts = facts
    const target = this.process === null ? undefined : readTargetProcess(this.process)
    this.main = mainOf(facts.command, target?.commandLine ?? []) ?? ''
    this.recorder = recorder
    this.clock = clock
    this.#calibration = calibration
    if (prepared.why !== null) this.warnings.add(prepared.why)
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
      ...{ agent, listClasses, recorder, clock, classes, turns, instrumenter, revealer },
    }
    this.installation = new Installation(workshop)
    this.byHand = new ByHand({ options, workshop, installation: this.installation })
    this.classLoads = new ClassLoads(workshop, this.installation, unanswered)
    this.rootWatch = this.#watchRoots()
    this.inside = isAdaptive ? new Inside(this) : null
    this.arming =
      finder === null
        ? null
        : new Arming(workshop, this.installation, finder, () => this.#size(), memorySlowness())
    this.names = new Names(this)
  }

  /** Cost of the probes. Zero before a session with scheme adaptive begins to record. */
  get calibration(): MeasuredCalibration {
    return this.#calibration ?? NO_CALIBRATION
  }

  /** Calibrates unless that is done already. The agent handles later requests after the calibration. */
  async calibrate(): Promise<void> {
    this.#calibration ??= await this.agent.calibrate(SHORT_CALIBRATION_DURATION_MS)
  }

  /** Locates the code of methods in the JVM, for the proof at the end. Doing this early shortens the detach. */
  openCode(): Promise<CodeAccess | null> {
    if (this.#code === undefined) {
      this.#code = openCode(this.agent)
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
    const compiledMethods =
      facts.feature < SELECTIVE_INVALIDATION_JDK ? compiledSince({ counted, compilations, before }) : counted
    return { compiledMethods, loadedClasses: facts.loadedClasses }
  }

  /** Process id as the door knows it, or as the JVM reports it. */
  get pid(): number {
    return this.door.pid ?? this.facts.pid
  }

  /** Process id of the JVM for /proc; null if the JVM is on another machine. */
  get process(): number | null {
    return this.door.elsewhere === undefined ? this.pid : null
  }

  /** Whether threads keep their own trees in the buffer. */
  get hasTrees(): boolean {
    return this.door.elsewhere === undefined && keepsTrees(this.options)
  }

  /** Measures the duration of root calls, if the events contain times or executed code. */
  timeRoots(): void {
    const { options, recorder } = this
    if (eventsOf(options).rootCallsIn === null) return
    recorder.timeRoots(this.calibration)
    if (options.slow !== undefined) this.keepSlow(options.slow)
  }

  /** Keeps the trees of slow calls from now on. */
  keepSlow(threshold: 'p99' | number): void {
    const ticks = threshold === 'p99' ? threshold : threshold / this.clock.nsPerTick
    if (eventsOf(this.options).rootCallsIn !== null) this.recorder.keepSlow(ticks)
  }

  allWarnings(): string[] {
    return [
      ...this.warnings,
      ...(this.sites?.warnings ?? []),
      ...this.targetState.warnings,
      ...this.installation.warnings,
      ...(this.revealer.isFull ? [NO_MORE_METHODS] : []),
      ...this.byHand.warnings,
      ...(this.inside?.warnings ?? []),
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

  /** The recipe for the probes of this mode. */
  #recipe(): Recipe {
    const recipe = PROBES[modeOf(this.options)].recipe(this.options, this.facts.feature)
    return this.sites === null ? recipe : { ...recipe, sites: this.sites }
  }

  /** Sends method names to the target before the methods get probes: a user's profiler may ask for them. */
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
