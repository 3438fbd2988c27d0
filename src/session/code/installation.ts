// What was revealed becomes code in the target: the order in which redefinitions, classes that are still being
// loaded and threads that wait for an answer follow each other.

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
import { reflectionTasks } from './reflection-points.ts'

/** Without a redefinition for so long, the last one has settled. */
const SETTLED_MS = 100
/** Looks for what turns up while the first methods go in. A program may load classes all the time. */
const CATCH_UP_ROUNDS = 10
/** A class that passed the load hook is looked for until the JVM has defined it: at once, and the longer it takes, the more seldom. */
const DEFINED_MS = 2
const LONGEST_LOOK_MS = 500
/** Its superclass comes first, from wherever its loader has it. One that could not be defined does not come at all. */
const COMING_MS = 60_000

/** The parts of a session that an installation works with. */
export interface Workshop {
  readonly agent: Agent
  /** Those of the loaded classes that the scheme wants to know of, each once. */
  readonly listClasses: () => Promise<LoadedClasses>
  /** Whether what classes contribute that are loaded meanwhile is put in as well. */
  readonly followsLoads: boolean
  readonly instrumenter: Instrumenter
  readonly revealer: Revealer
  readonly recorder: Recorder
  readonly clock: TargetClock
  readonly classes: TargetClasses
  readonly turns: Turns
}

export class Installation {
  /** Why methods were left as they are, by their names. */
  readonly skipped = new Map<string, string>()
  readonly swaps = new Swaps()
  redefinitions = 0
  hotSwapMs = 0
  /** Of the stops of the target for redefinitions; null where it does not tell how long they were. */
  longestPauseMs: number | null = null
  /** When the last redefinition had settled, as `performance.now()` has it; -∞ if none has. */
  settledAt = Number.NEGATIVE_INFINITY
  #settleTimer: NodeJS.Timeout | undefined
  #begun = false
  #reflectionHooked = false
  /** What goes in with the first redefinition, whatever that is for. */
  #first: readonly Task[] = []
  /** Why method handles have the JDK's own code; null unless they do. */
  #handlesRefused: string | null = null
  /** Methods of classes in the load hook: they can be rewritten once the class is defined. */
  #deferred: Task[] = []
  /** When the latest of them came. */
  #deferredSince = 0
  readonly #answeredLate = new Set<number>()
  /** Classes of which calls may have been missed. */
  lateClasses = 0
  /** What classes that came out of turn lead to in others. */
  readonly #rests: { readonly others: Revelation; readonly readyOwn: readonly number[] }[] = []

  /** Asked before each list of the loaded classes, and what it returns is told which have been defined since the one before. */
  listing: () => (classIds: ReadonlySet<number>) => void = () => () => {}

  constructor(private readonly workshop: Workshop) {}

  get warnings(): string[] {
    const refused = refusedWarnings([...this.skipped].map(([method, reason]) => ({ method, reason })))
    if (this.#handlesRefused === null) return refused
    return [
      ...refused,
      `calls through method handles may be missing: the JDK's code for them was left as it is (${this.#handlesRefused})`,
    ]
  }

  get hasRests(): boolean {
    return this.#rests.length > 0
  }

  /** These go in with the first redefinition, whatever that is for, and with a redefinition of their own when `begin` makes none. */
  withFirst(tasks: readonly Task[]): void {
    this.#first = tasks
  }

  /**
   * Puts in the roots and what is ahead of them, and what classes contribute that have appeared since they were revealed.
   * From now on, what new classes contribute goes in as they appear, if loads are followed; and what is to go in first has a redefinition of its
   * own then where nothing else goes in.
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
   * Before recording begins: puts in what has turned up meanwhile, until nothing more does. Classes that came out of turn
   * or have been defined, and what only refused methods call.
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

  /** Learns what has been loaded, and puts in what that contributes. */
  async refreshClasses(): Promise<void> {
    const appeared = await this.#learnClasses()
    if (appeared !== null) await this.apply([appeared])
  }

  /** @param owed  what is owed to the next answer is wanted, also if no class has appeared */
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
   * Rewrites and swaps what was revealed, in one redefinition: what one revelation takes for found must be in before the
   * methods of another are ready, whichever came first.
   */
  async apply(revelations: readonly Revelation[]): Promise<void> {
    const rests = this.#rests.splice(0)
    const all = [...rests.map(({ others }) => others), ...revelations]
    const { classes } = this.workshop
    const tasks: Task[] = []
    const ready: number[] = rests.flatMap(({ readyOwn }) => readyOwn)
    const take = (revelation: Revelation) => {
      append(tasks, revelation.instrument.map(taskOf))
      append(ready, revelation.ready)
      this.noteSkipped(revelation.skipped)
      if (revelation.reflection && !this.#reflectionHooked) {
        this.#reflectionHooked = true
        append(tasks, reflectionTasks(classes.bootClasses))
      }
    }
    for (const revelation of all) take(revelation)
    // Most of them have been defined since their hook: the list of loaded classes tells.
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

  /** Swaps these, and lets go of the threads that wait for the `ready`. */
  async install(tasks: readonly Task[], ready: readonly number[]): Promise<void> {
    await this.#install(tasks.length === 0 ? tasks : [...this.#takeFirst(), ...tasks], ready)
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
    // What these classes contribute must be in before the threads that wait go on: none is ready yet.
    await this.refreshClasses()
    await this.applyRests()
    await this.install([], ready)
  }

  /**
   * These methods, and no others, have their own code whatever else is wanted of them, in one redefinition. What was recorded before
   * is no warm-up because of that.
   *
   * @returns ids of those that stay as they were
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
   * What a class leads to that could not wait for it. It is in before anything is ready that was revealed later.
   *
   * @param readyOwn  methods of the class itself, whose first calls wait
   */
  addRest(others: Revelation, readyOwn: readonly number[]): void {
    this.#rests.push({ others, readyOwn })
    void this.workshop.turns.enqueue(() => this.applyRests())
  }

  /** Puts in what classes have led to that came out of turn. */
  async applyRests(): Promise<void> {
    while (this.hasRests) await this.apply([])
  }

  /** Counts a redefinition, and takes its pause out of the times. */
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
    // The stop-the-world part is at the end of the call; the rest runs beside the application.
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

  /** A class went on before what it leads to was in. */
  noteLate(): void {
    debug.redefine?.('a class was defined before what it calls had probes: calls may be missing')
    this.lateClasses++
  }

  /** A class was defined without these, and the JVM has counted the gap. */
  deferLate(tasks: readonly Task[]): void {
    debug.redefine?.(`a class was defined without its ${tasks.length} probes, which go in later`)
    for (const t of tasks) this.#answeredLate.add(t.id)
    this.#defer(tasks)
  }

  unloaded(classIds: ReadonlySet<number>): void {
    this.#deferred = this.#deferred.filter((t) => !classIds.has(t.classId))
  }

  /** What has been recorded is warm-up if a redefinition has not settled yet. */
  settle(): void {
    clearTimeout(this.#settleTimer)
    if (this.#settleTimer === undefined) return
    this.#settleTimer = undefined
    this.workshop.recorder.markWarmup()
    this.settledAt = performance.now()
  }

  /** What comes before the last redefinition has settled is warm-up; a burst of them settles once. */
  #settleSoon(): void {
    clearTimeout(this.#settleTimer)
    this.#settleTimer = setTimeout(() => this.settle(), SETTLED_MS)
  }

  /**
   * A superclass that is loaded on behalf of a class in the hook may reveal methods of that class,
   * which the JVM has not defined yet: there is nothing to redefine. They are taken up as soon as
   * there is; the first calls may be missed, so this counts as a gap.
   */
  #defer(tasks: readonly Task[]): void {
    append(this.#deferred, tasks)
    this.#deferredSince = performance.now()
    if (this.#deferred.length === tasks.length) this.#retryDeferred()
  }

  /** Of the deferred, those whose class the JVM has defined by now. */
  #takeDefined(): Task[] {
    const { classes } = this.workshop
    const defined = this.#deferred.filter((t) => !classes.isComing(t.classId))
    this.#deferred = this.#deferred.filter((t) => classes.isComing(t.classId))
    return defined
  }

  #retryDeferred(): void {
    const { turns } = this.workshop
    const waited = performance.now() - this.#deferredSince
    const pause = Math.min(LONGEST_LOOK_MS, Math.max(DEFINED_MS, waited / 8))
    setTimeout(() => {
      if (turns.closed) return
      turns
        .enqueue(async () => {
          await this.refreshClasses()
          const now = this.#takeDefined()
          this.lateClasses += now.filter((t) => !this.#answeredLate.has(t.id)).length
          await this.install(now, [])
          if (this.#deferred.length === 0) return
          if (performance.now() - this.#deferredSince < COMING_MS) this.#retryDeferred()
          else
            await this.noteRefused(this.#deferred.splice(0).map((task) => ({ task, reason: NEVER_DEFINED })))
        })
        .catch(() => {}) // the turns have told
    }, pause)
  }
}

function isNothing({ instrument, ready, reflection, skipped }: Revelation): boolean {
  return instrument.length + ready.length + skipped.length === 0 && !reflection
}

const MOST = 1_000

export interface Swap {
  /** When it had been done, as `performance.now()` has it. */
  readonly at: number
  readonly classes: number
  /** Bodies that were sent; 0 where none had to be. */
  readonly methods: number
  /** When it had been done, in the target's ticks. */
  readonly endTicks: number
  /** How long it took in the target. */
  readonly ms: number
  /** For how much of that it stood still; null where it does not tell. */
  readonly pauseMs: number | null
}

export class Swaps {
  /** Oldest first. */
  latest: Swap[] = []
  /** How many there were before these. */
  before = 0

  add(swap: Swap): void {
    this.latest.push(swap)
    if (this.latest.length <= MOST) return
    this.latest.shift()
    this.before++
  }
}
