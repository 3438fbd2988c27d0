// Installs revealed methods in the target. Defines the order of these steps: redefining classes, answering load hooks, releasing waiting
// threads.

import { performance } from 'node:perf_hooks'
import { append } from '../../base/arrays.ts'
import { debug, msText, some } from '../../base/debug.ts'
import { NEVER_DEFINED } from '../../base/refusal.ts'
import { refusedWarnings } from '../../profile/skipped.ts'
import type { Revealer, Revelation } from '../../reveal/revealer.ts'
import type { Agent } from '../../wire/agent.ts'
import type { LoadedClasses, RedefineResult } from '../../wire/messages.ts'
import type { TargetClock } from '../clock.ts'
import type { Recorder } from '../recorder/recorder.ts'
import { sourceName, type TargetClasses } from '../target-classes.ts'
import type { Turns } from '../turns.ts'
import { type Instrumenter, isTimed, type Refusal, type Task, taskOf } from './instrumenter.ts'
import { reflectionTasks } from './nameless-calls.ts'

/** The last redefinition counts as settled after this time without another redefinition. */
const SETTLED_DELAY_MS = 100
/** Maximum number of checks for new classes while the first methods are installed. Needed since a program may load classes continuously. */
const CATCH_UP_ROUNDS = 10
/** Bounds of the interval between checks whether the JVM has defined a class that passed the load hook. It grows with the waiting time. */
const MIN_DEFINED_INTERVAL_MS = 2
const MAX_DEFINED_INTERVAL_MS = 500
/**
 * Time after which a class that passed the load hook is assumed to be never defined. The JVM loads its superclass first, possibly from a
 * slow source. If the JVM refuses the class, the class is never defined.
 */
const DEFINITION_TIMEOUT_MS = 60_000

const ALWAYS: (tasks: readonly Task[]) => Promise<boolean> = async () => true

/** Parts of a session that an installation uses. */
export interface Workshop {
  readonly agent: Agent
  /** Returns the loaded classes that the scheme needs, each class once. */
  readonly listClasses: () => Promise<LoadedClasses>
  /** Whether classes are instrumented when the target loads them. */
  readonly followsLoads: boolean
  readonly instrumenter: Instrumenter
  readonly revealer: Revealer
  readonly recorder: Recorder
  readonly clock: TargetClock
  readonly classes: TargetClasses
  readonly turns: Turns
  /** Feature version of the JDK. */
  readonly feature: number
}

export class Installation {
  /** Methods that were left unchanged: name -> reason. */
  readonly skipped = new Map<string, string>()
  readonly swaps = new Swaps()
  redefinitions = 0
  hotSwapMs = 0
  /** Longest pause of the target for a redefinition. Null if the target does not report pauses. */
  longestPauseMs: number | null = null
  /** Time at which the last redefinition settled, on the clock of `performance.now()`; -∞ if none has settled. */
  settledAt = Number.NEGATIVE_INFINITY
  #settleTimer: NodeJS.Timeout | undefined
  #begun = false
  #reflectionHooked = false
  /** Tasks of `withFirst` that are not installed yet. */
  #first: readonly Task[] = []
  #needsFirst = ALWAYS
  /** Reason why the JDK's method handle code was left unchanged. Null if it was not refused. */
  #handlesRefused: string | null = null
  /** Tasks for methods of classes that are in the load hook. Each method can be rewritten once its class is defined. */
  #deferred: Task[] = []
  /** Time at which the latest deferred method was added. */
  #deferredSince = 0
  readonly #answeredLate = new Set<number>()
  /** Number of classes whose calls may have been missed. */
  lateClasses = 0
  /** Pending changes in other classes. They are required by classes that were loaded without waiting in the queue. */
  readonly #rests: { readonly others: Revelation; readonly readyOwn: readonly number[] }[] = []

  /**
   * Called before the loaded classes are listed. The returned function is called with the ids of the classes that are new in this list.
   */
  listing: () => (classIds: ReadonlySet<number>) => void = () => () => {}

  constructor(private readonly workshop: Workshop) {}

  get warnings(): string[] {
    const refused = refusedWarnings([...this.skipped].map(([method, reason]) => ({ method, reason })))
    if (this.#handlesRefused === null) return refused
    return [
      ...refused,
      `calls through method handles may be missing: the JDK classes for them could not be changed (${this.#handlesRefused})`,
    ]
  }

  get hasRests(): boolean {
    return this.#rests.length > 0
  }

  /**
   * Makes the tasks part of the first redefinition that needs them.
   *
   * @param needs  returns whether a redefinition with the given tasks needs them. By default the first redefinition does, whatever its
   * reason, and if `begin` makes no redefinition, they get their own one
   */
  withFirst(tasks: readonly Task[], needs = ALWAYS): void {
    this.#first = tasks
    this.#needsFirst = needs
  }

  /**
   * Installs the roots, the revealed methods, and methods of classes that are loaded during this installation. If loads are followed,
   * classes are instrumented from now on when they are loaded, and the tasks of `withFirst` get their own redefinition if there was none.
   */
  async begin(revelations: readonly Revelation[]): Promise<void> {
    this.#begun = true
    await this.apply(revelations)
    if (!this.workshop.followsLoads) return
    await this.#install(this.#takeFirst(), [])
    await this.refreshClasses()
  }

  #takeFirst(): readonly Task[] {
    const first = this.#first
    this.#first = []
    return first
  }

  /**
   * Installs all pending changes before recording begins: changes for classes that did not wait in the queue, methods of classes that are
   * defined now, and callees of refused methods. Repeats this until no change is pending.
   */
  async catchUp(): Promise<void> {
    for (let round = 0; round < CATCH_UP_ROUNDS; round++) {
      const appeared = await this.#learnClasses(true)
      const deferred = this.#takeDefined()
      if (!this.hasRests && deferred.length === 0 && appeared !== null && isNothing(appeared)) return
      await this.apply(appeared === null ? [] : [appeared])
      await this.install(deferred, [])
    }
  }

  /** Lists the loaded classes, and installs the methods that new classes reveal. */
  async refreshClasses(): Promise<void> {
    const appeared = await this.#learnClasses()
    if (appeared !== null) await this.apply([appeared])
  }

  /** @param owed  whether to ask the revealer for pending results even if the list has no new class */
  async #learnClasses(owed = false): Promise<Revelation | null> {
    const { listClasses, revealer, classes: known, turns } = this.workshop
    const defined = this.listing()
    const { loaders, classes } = await listClasses()
    known.add(loaders, classes)
    if (classes.length === 0 && !owed) return null
    defined(new Set(classes.map((c) => c.id)))
    await turns.ask(() => revealer.addClasses(classes))
    return this.#begun ? await turns.ask(() => revealer.classesAppeared()) : null
  }

  /**
   * Rewrites and installs the revealed methods in one redefinition. A revelation may rely on methods of another revelation, so all methods
   * must be installed before any method is marked as ready.
   */
  async apply(revelations: readonly Revelation[]): Promise<void> {
    const rests = this.#rests.splice(0)
    const all = [...rests.map(({ others }) => others), ...revelations]
    const { classes, feature } = this.workshop
    const tasks: Task[] = []
    const ready: number[] = rests.flatMap(({ readyOwn }) => readyOwn)
    const take = (revelation: Revelation) => {
      append(tasks, revelation.instrument.map(taskOf))
      append(ready, revelation.ready)
      this.noteSkipped(revelation.skipped)
      if (revelation.reflection && !this.#reflectionHooked) {
        this.#reflectionHooked = true
        append(tasks, reflectionTasks(classes.bootClasses, feature))
      }
    }
    for (const revelation of all) take(revelation)
    // Most classes whose load hook was answered are defined now. The list of loaded classes shows these classes.
    if (tasks.some((t) => classes.isComing(t.classId))) {
      const appeared = await this.#learnClasses()
      if (appeared !== null) take(appeared)
    }
    const early = tasks.filter((t) => classes.isComing(t.classId))
    if (early.length > 0) this.#defer(early)
    await this.install(
      tasks.filter((t) => !classes.isComing(t.classId)),
      ready,
    )
  }

  /** Installs the tasks, and releases the threads that wait for the `ready` methods. */
  async install(tasks: readonly Task[], ready: readonly number[]): Promise<void> {
    const needsFirst = this.#first.length > 0 && tasks.length > 0 && (await this.#needsFirst(tasks))
    await this.#install(needsFirst ? [...this.#takeFirst(), ...tasks] : tasks, ready)
  }

  async #install(tasks: readonly Task[], ready: readonly number[]): Promise<void> {
    if (tasks.length === 0 && ready.length === 0) return
    const { instrumenter } = this.workshop
    const { refusals, results } = await instrumenter.install(tasks, ready)
    await this.noteRefused(refusals)
    for (const r of results) {
      this.noteSwap(r)
      if (r.calls > 0) this.#settleSoon()
    }
    if (!this.workshop.followsLoads || !results.some((r) => r.loadedClasses)) return
    // Probes of the classes that the redefinition loaded must be installed before waiting threads continue. So no method is ready before that.
    await this.refreshClasses()
    await this.applyRests()
    await this.install([], ready)
  }

  /**
   * Makes `ids` the set of methods with their original code, in one redefinition. Data recorded before does not become warm-up data.
   * @returns ids of the methods that could not be changed
   */
  async leaveOut(ids: ReadonlySet<number>): Promise<number[]> {
    const { instrumenter } = this.workshop
    const before = instrumenter.leftOutMethods
    const tasks = instrumenter.leaveOut(ids)
    if (tasks.length === 0) return []
    const { refusals, results } = await instrumenter.install(tasks, [])
    const refused = refusals.map(({ task }) => task)
    instrumenter.keepIn(refused, before)
    for (const r of results) this.noteSwap(r)
    if (results.some((r) => r.loadedClasses)) await this.refreshClasses()
    return refused.map(({ id }) => id)
  }

  /**
   * Adds changes in other classes that are required by a class which could not wait for the changes. They are installed before methods
   * that are revealed later become ready.
   * @param readyOwn  methods of the class itself. Their first calls wait until the changes are installed
   */
  addRest(others: Revelation, readyOwn: readonly number[]): void {
    this.#rests.push({ others, readyOwn })
    void this.workshop.turns.enqueue(() => this.applyRests())
  }

  /** Installs the pending changes in other classes that `addRest` has added. */
  async applyRests(): Promise<void> {
    while (this.hasRests) await this.apply([])
  }

  /** Counts a redefinition, and excludes its pause from the recorded times. */
  noteSwap({ calls, classes, methods, startTicks, endTicks, pauseNs }: RedefineResult): void {
    const { clock, recorder } = this.workshop
    this.redefinitions += calls
    if (calls === 0) return
    const ms = clock.toNs(endTicks - startTicks) / 1e6
    this.hotSwapMs += ms
    const pauseMs = pauseNs === null ? null : pauseNs / 1e6
    debug.redefine?.(
      `${classes} classes, ${methods} bodies, ${calls} calls: ${msText(ms)}, stopped for ${pauseMs === null ? 'an unknown time' : msText(pauseMs)}`,
    )
    this.swaps.add({ at: performance.now(), classes, methods, ms, pauseMs, endTicks })
    if (pauseNs === null) return
    // The pause is at the end of the redefinition call. Before the pause, the application runs concurrently.
    const pause = Math.min(pauseNs / clock.nsPerTick, endTicks - startTicks)
    recorder.pause(endTicks - pause, endTicks)
    this.longestPauseMs = Math.max(this.longestPauseMs ?? 0, clock.toNs(pause) / 1e6)
  }

  noteSkipped(list: Revelation['skipped']): void {
    for (const s of list) this.skipped.set(`${sourceName(s.className)}.${s.method}${s.descriptor}`, s.reason)
  }

  async noteRefused(refusals: readonly Refusal[]): Promise<void> {
    if (refusals.length === 0) return
    debug.redefine?.(
      `${refusals.length} methods refused: ${some(refusals, ({ task, reason }) => `${sourceName(task.className)}.${task.name} (${reason})`)}`,
    )
    const { revealer, turns } = this.workshop
    await turns.ask(() => {
      for (const { task, reason } of refusals) {
        this.skipped.set(`${sourceName(task.className)}.${task.name}${task.descriptor}`, reason)
        if (isTimed(task)) revealer.refused(task.id, reason)
        if (task.probe === 'handle-member') this.#handlesRefused = reason
      }
    })
  }

  /** Counts a class that was defined before its callees were instrumented. */
  noteLate(): void {
    debug.redefine?.('a class was defined before what it calls had probes: calls may be missing')
    this.lateClasses++
  }

  /** Defers tasks of a class that was defined without them. The JVM has already counted the gap. */
  deferLate(tasks: readonly Task[]): void {
    debug.redefine?.(`a class was defined without its ${tasks.length} probes, which go in later`)
    for (const t of tasks) this.#answeredLate.add(t.id)
    this.#defer(tasks)
  }

  unloaded(classIds: ReadonlySet<number>): void {
    this.#deferred = this.#deferred.filter((t) => !classIds.has(t.classId))
  }

  /** Marks the recorded data as warm-up if a redefinition has not settled yet. */
  settle(): void {
    clearTimeout(this.#settleTimer)
    if (this.#settleTimer === undefined) return
    this.#settleTimer = undefined
    this.workshop.recorder.markWarmup()
    this.settledAt = performance.now()
  }

  /** Schedules `settle`, once for a burst of redefinitions. Data recorded before `settle` runs is warm-up data. */
  #settleSoon(): void {
    clearTimeout(this.#settleTimer)
    this.#settleTimer = setTimeout(() => this.settle(), SETTLED_DELAY_MS)
  }

  /**
   * Defers tasks of classes that the JVM has not defined yet. Example: while a class is in the load hook, its superclass is loaded and
   * reveals methods of the class. They are installed once the class is defined. Their first calls may be missed: this counts as a gap.
   */
  #defer(tasks: readonly Task[]): void {
    append(this.#deferred, tasks)
    this.#deferredSince = performance.now()
    if (this.#deferred.length === tasks.length) this.#retryDeferred()
  }

  /** Removes and returns the deferred tasks whose class has been defined. */
  #takeDefined(): Task[] {
    const { classes } = this.workshop
    const defined = this.#deferred.filter((t) => !classes.isComing(t.classId))
    this.#deferred = this.#deferred.filter((t) => classes.isComing(t.classId))
    return defined
  }

  #retryDeferred(): void {
    const { turns } = this.workshop
    const waited = performance.now() - this.#deferredSince
    const pause = Math.min(MAX_DEFINED_INTERVAL_MS, Math.max(MIN_DEFINED_INTERVAL_MS, waited / 8))
    setTimeout(() => {
      if (turns.closed) return
      turns
        .enqueue(async () => {
          await this.refreshClasses()
          const now = this.#takeDefined()
          this.lateClasses += now.filter((t) => !this.#answeredLate.has(t.id)).length
          await this.install(now, [])
          if (this.#deferred.length === 0) return
          if (performance.now() - this.#deferredSince < DEFINITION_TIMEOUT_MS) this.#retryDeferred()
          else
            await this.noteRefused(this.#deferred.splice(0).map((task) => ({ task, reason: NEVER_DEFINED })))
        })
        .catch(() => {}) // `turns` has already reported the error
    }, pause)
  }
}

function isNothing({ instrument, ready, reflection, skipped }: Revelation): boolean {
  return instrument.length + ready.length + skipped.length === 0 && !reflection
}

const MAX_SWAPS = 1_000

export interface Swap {
  /** End of the redefinition, on the clock of `performance.now()`. */
  readonly at: number
  readonly classes: number
  /** Number of method bodies sent; 0 if the redefinition needed no body. */
  readonly methods: number
  /** End of the redefinition, in the target's ticks. */
  readonly endTicks: number
  /** Duration of the redefinition in the target. */
  readonly ms: number
  /** Duration of the pause, which is a part of `ms`. Null if the target does not report the pause. */
  readonly pauseMs: number | null
}

export class Swaps {
  /** The latest redefinitions, oldest first. */
  latest: Swap[] = []
  /** Number of earlier redefinitions that are no longer in `latest`. */
  before = 0

  add(swap: Swap): void {
    this.latest.push(swap)
    if (this.latest.length <= MAX_SWAPS) return
    this.latest.shift()
    this.before++
  }
}
