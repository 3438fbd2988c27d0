// One session with one target: attach → calibrate → reveal → instrument → profile → detach.
//
// This module joins the engine and draws nothing. It owns the order of things: questions of the target
// are answered one after the other, so that every decision of the revealer sees a fixed set of classes
// (report, section 6.1), and the answer to a first invocation leaves only after the redefinition.

import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { CLASS_JDK, CLASS_OURS } from '../base/class-info.ts'
import { EX_TEMPFAIL, JfluidError } from '../base/errors.ts'
import type { MethodName, Snapshot } from '../cct/tree.ts'
import { createRing } from '../events/ring.ts'
import { chunksOffset } from '../events/ring-layout.ts'
import type { Profile } from '../profile/profile.ts'
import { inOneLine } from '../reveal/errors.ts'
import type { FilterReport } from '../reveal/filters.ts'
import type { ClassPattern, RootPattern } from '../reveal/patterns.ts'
import { Revealer, type Revelation } from '../reveal/revealer.ts'
import type { RootReport } from '../reveal/roots.ts'
import { Agent, type ClassLoading, type LoadAnswer } from '../wire/agent.ts'
import { LINK_CLOSED, LinkLost } from '../wire/link.ts'
import type { AgentFacts, DetachReport, ThreadRow, Unloaded } from '../wire/messages.ts'
import { TargetClock } from './clock.ts'
import type { OpenDoor } from './door.ts'
import { FOLLOWED_CLASSES, handOverTasks } from './hand-over-points.ts'
import { Instrumenter, isTimed, type Refusal, type Task, taskOf } from './instrumenter.ts'
import { Recorder } from './recorder.ts'
import { RootWatch } from './root-watch.ts'

const CHUNK_BYTES = 32 << 10
const CHUNK_COUNT = 512
const CALIBRATION_MS = 80
const STATUS_MS = 500
/** Without a redefinition for so long, the last one has settled. */
const SETTLED_MS = 100
/** How long a detach may take before we leave without an answer. */
const DETACH_MS = 10_000
/**
 * How much longer than others a class waits for a redefinition on its behalf if calls could be missed
 * otherwise. The target's thread waits no longer than 250 ms.
 */
const LONGER_MS = 150
/** A class that passed the load hook is looked for this often until the JVM has defined it. */
const DEFINED_MS = 2
const DEFINED_TRIES = 500
/** Why the target ends a session, see PATIENCE_NANOS of its runtime. */
const UNANSWERED = 'the client did not answer for 250 ms'

export interface SessionOptions {
  readonly scheme: 'a' | 'b'
  readonly roots: readonly RootPattern[]
  readonly include: readonly ClassPattern[]
  readonly exclude: readonly ClassPattern[]
  readonly jdk: boolean
  /** Methods that one first invocation may add beyond its direct callees. */
  readonly lookAhead: number
  /** Work that is handed to other threads inside the root is part of it. */
  readonly followThreads?: boolean
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
  /** What there is to say while nothing has been recorded. */
  readonly message: string | null
  /** What there is to say of each root that has not been called. */
  readonly notes: readonly string[]
  readonly warnings: readonly string[]
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

/** `a/B$C` as `Class.getName()` gives it. */
function sourceName(internal: string): string {
  return internal.replaceAll('/', '.')
}

const HANDLE = 'java/lang/invoke/DirectMethodHandle'

export class Session {
  private readonly agent: Agent
  private readonly instrumenter: Instrumenter
  private readonly revealer: Revealer
  private readonly threads = new Map<number, ThreadRow>()
  private readonly loaders = new Map<number, string>([[0, 'bootstrap']])
  private readonly jdkClasses = new Set<string>()
  private readonly bootClasses = new Map<string, number>()
  /** Loader of a class, by ids. */
  private readonly loaderOf = new Map<number, number>()
  private readonly skipped = new Map<string, string>()
  private readonly warnings = new Set<string>()
  private startedAt = new Date()
  private begun = performance.now()
  private queue: Promise<void> = Promise.resolve()
  /** The revealer is asked one thing at a time. */
  private readonly questions: (() => Promise<void>)[] = []
  private asking: Promise<void> | undefined
  private readonly firsts = new Set<number>()
  /** The roots are being looked at, which waits for the target and the revealer. */
  private looking = false
  private statusTimer: NodeJS.Timeout | undefined
  private settleTimer: NodeJS.Timeout | undefined
  private phase: SessionStatus['phase'] = 'starting'
  private readonly rootWatch: RootWatch
  private redefinitions = 0
  private hotSwapMs = 0
  private gaps = 0
  private lastRedefinitionMs = 0
  private truncated: string | null = null
  private endedHow: Ending | null = null
  private stopping = false
  private detachReport: DetachReport | null = null
  private reflectionHooked = false
  private readonly changed = new Set<number>()
  /** Classes that passed the load hook and have not been seen among the loaded ones. */
  private readonly coming = new Set<number>()
  /** Methods of such classes: they can be rewritten once the class is defined. */
  private deferred: Task[] = []
  private deferredTries = 0
  private lateClasses = 0
  private readonly answeredLate = new Set<number>()
  /** Classes in the load hook whose turn has not come. */
  private readonly waitingLoads = new Set<ClassLoading>()
  /** What classes that came out of turn lead to in others. */
  private readonly rests: (() => Promise<void>)[] = []
  /** Lets the class whose turn it is go first: a redefinition on its behalf takes long. */
  private letLoad = () => {}
  /** What load hooks were answered, until it is known whether that was in time. */
  private readonly hookTasks = new Map<number, Task[]>()
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
    private readonly calibration: { innerTicks: number; outerTicks: number },
  ) {
    this.agent = agent
    // HotSpot verifies redefined classes of every loader but the bootstrap one.
    this.instrumenter = new Instrumenter(agent, {
      unverified: (classId) => (this.loaderOf.get(classId) ?? 0) === 0,
    })
    this.revealer = new Revealer(options, { classBytes: (ids) => this.instrumenter.classBytes(ids) })
    this.rootWatch = new RootWatch({
      progress: () => this.revealer.rootProgress(),
      method: (id) => this.revealer.method(id),
      called: (ids) => this.recorder.called(ids),
      stacks: () => this.agent.stackTraces(400),
      callees: (ids) => this.reveal(() => this.revealer.callees(ids)),
      problemOf: (root) => {
        const problem = this.rootReport().find((it) => it.text === root)?.problem ?? null
        return problem && inOneLine(problem)
      },
      isJdk: (name) => this.jdkClasses.has(name),
      nowMs: () => performance.now(),
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
    let recorder: Recorder | undefined
    try {
      const facts = await agent.hello()
      const perf = door.perf(door.pid ?? facts.pid)
      createRing(ringPath, { chunkBytes: CHUNK_BYTES, chunkCount: CHUNK_COUNT })
      door.share(ringPath)
      const [started, configured] = await Promise.all([
        Recorder.start(ringPath),
        agent.configure({
          ring: ringPath,
          chunkBytes: CHUNK_BYTES,
          chunkCount: CHUNK_COUNT,
          chunksOffset: chunksOffset(CHUNK_COUNT),
          perfFile: perf.file,
          safepointTimeOffset: perf.offset,
          follow: options.followThreads === true ? FOLLOWED_CLASSES : [],
        }),
      ])
      recorder = started
      // Both sides have it open: however we end, no file stays.
      rmSync(ringPath, { force: true })
      door.leave()
      onPhase('calibrating')
      const calibration = await agent.calibrate(CALIBRATION_MS)
      const clock = new TargetClock(configured.clock, facts.clock)
      const session = new Session(door, options, facts, agent, recorder, clock, calibration)
      if (!configured.pausesKnown) {
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
      await recorder?.stop()
      throw error
    }
  }

  private async begin(onPhase: (phase: string) => void): Promise<void> {
    this.recorder.onScarce = () => void this.agent.reclaim().catch(() => {})
    this.recorder.onEnded = () => this.endedByTarget(UNANSWERED)
    this.recorder.onError = (error) => {
      this.endedByTarget(error.message, error instanceof JfluidError ? error.exitCode : undefined)
    }
    this.agent.listen({
      first: (id) => this.onFirst(id),
      reflect: (request, classId, name, descriptor) =>
        this.enqueue(async () => {
          try {
            await this.refreshClasses()
            await this.apply(
              await this.reveal(() => this.revealer.reflectiveTarget(classId, name, descriptor)),
            )
          } finally {
            this.agent.reflected(request)
          }
        }),
      hiddenClass: (request, hostId, bytes) =>
        this.enqueue(async () => {
          try {
            await this.refreshClasses()
            await this.apply(await this.reveal(() => this.revealer.hiddenClass(hostId, bytes)))
          } finally {
            this.agent.reflected(request)
          }
        }),
      classLoading: (load) => this.onClassLoading(load),
      changed: (classId) => this.onChanged(classId),
      lateLoad: (hook) => this.onLateLoad(hook),
      ended: (reason) => this.endedByTarget(reason),
    })
    this.agent.whenSwapIsSlow(() => {
      this.letLoad()
      for (const load of this.waitingLoads) this.loadOutOfTurn(load)
    })
    void this.agent.closed.then((reason) => this.onClosed(reason))

    onPhase('reading classes')
    await this.agent.enable()
    await this.agent.watch(this.options.jdk)
    await this.enqueue(async () => {
      await this.refreshClasses()
      onPhase(this.instrumentingPhase())
      if (this.options.followThreads) await this.installHandOvers()
      await this.apply(await this.reveal(() => this.revealer.start()))
    })
    await this.agent.go()
    this.phase = 'waiting for root'
    await this.rootWatch.look()
    this.statusTimer = setInterval(() => void this.tick(), STATUS_MS)
    onPhase('recording')
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
    void this.enqueue(async () => {
      await this.refreshClasses()
      const ids = [...this.firsts]
      this.firsts.clear()
      const revelations: Revelation[] = []
      for (const first of ids) revelations.push(await this.reveal(() => this.revealer.firstInvocation(first)))
      await this.apply(...revelations)
    })
  }

  /** Another agent has redefined the class: our probes go into what it is now, and what that calls is found. */
  private onChanged(classId: number): void {
    this.changed.add(classId)
    if (this.changed.size > 1) return
    void this.enqueue(async () => {
      await this.refreshClasses()
      const ids = [...this.changed]
      this.changed.clear()
      await this.install(this.instrumenter.takeBack(ids), [])
      await this.apply(await this.reveal(() => this.revealer.classesChanged(ids)))
    })
  }

  private onClassLoading(load: ClassLoading): void {
    this.loaderOf.set(load.id, load.loader)
    this.coming.add(load.id)
    if (load.urgent || this.agent.swapIsSlow) {
      this.loadOutOfTurn(load)
      return
    }
    this.waitingLoads.add(load)
    void this.enqueue(async () => {
      if (this.waitingLoads.delete(load)) await this.answerLoad(load, true)
    })
  }

  /**
   * A redefinition takes long, perhaps because the JVM wants this very class, to link and verify another; or it
   * loads the class itself. It cannot wait for what that class leads to.
   */
  private loadOutOfTurn(load: ClassLoading): void {
    this.waitingLoads.delete(load)
    this.answerLoad(load, false).catch((error: unknown) => this.noteUnanswered(error))
  }

  /** @param inTurn  whether other classes can be redefined before this one is defined */
  private async answerLoad(load: ClassLoading, inTurn: boolean): Promise<void> {
    const { hook, id, loader, name, bytes, urgent } = load
    let answered = false
    try {
      const revelation = await this.reveal(
        () => this.revealer.classLoading({ id, name, loader }, bytes),
        urgent,
      )
      const own = revelation.instrument.filter((t) => t.classId === id).map(taskOf)
      const others = revelation.instrument.filter((t) => t.classId !== id)
      const ownIds = new Set(own.map((t) => t.id))
      const readyOwn = revelation.ready.filter((it) => ownIds.has(it))
      const readyOthers = revelation.ready.filter((it) => !ownIds.has(it))
      const refused: Refusal[] = []
      const answer = (ready: readonly number[]) => {
        if (answered) return
        answered = true
        let given: LoadAnswer | null = null
        try {
          const { answer, refusals } = this.instrumenter.atLoad(id, bytes, own, ready)
          refused.push(...refusals)
          if (own.length > 0) this.hookTasks.set(hook, own)
          given = answer
        } catch (error) {
          this.noteUnanswered(error)
        }
        this.agent.loadHook(hook, given)
      }
      this.noteSkipped(revelation.skipped)
      // What must be in other classes before this one runs goes first: the loading thread waits. If it cannot,
      // the first call of each of its methods waits instead. What it inherits needs no such call: there, calls
      // may be missed, except while a redefinition loads the class itself.
      const leadsOn = others.length > 0 || revelation.reflection
      const exposed =
        leadsOn && (own.length === 0 || others.some((t) => this.revealer.inherits(id, t.classId)))
      const early = () => {
        if (exposed && !urgent && !answered) this.lateClasses++
        answer([])
      }
      const apply = () => this.apply({ ...revelation, instrument: others, skipped: [], ready: readyOthers })
      if (inTurn && (leadsOn || this.rests.length > 0)) {
        await this.lettingLoad(exposed ? LONGER_MS : 0, early, apply)
        if (answered) await this.install([], readyOwn)
      } else if (!inTurn && (leadsOn || own.length > 0)) {
        // What its methods call may have been found before, and be on its way in with what runs now.
        early()
        this.rests.push(async () => {
          await apply()
          await this.install([], readyOwn)
        })
        void this.enqueue(() => this.applyRests())
      }
      answer(readyOwn)
      await this.noteRefused(refused)
    } finally {
      if (!answered) this.agent.loadHook(hook, null)
    }
  }

  /** Does `work`, and `early` as well if a redefinition takes long meanwhile, and `ms` longer. */
  private async lettingLoad(ms: number, early: () => void, work: () => Promise<void>): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    this.letLoad = () => {
      if (ms === 0) early()
      else timer ??= setTimeout(early, ms)
    }
    try {
      await work()
    } finally {
      clearTimeout(timer)
      this.letLoad = () => {}
    }
  }

  /** The class was defined without what its hook was answered: it is redefined as soon as it is there. */
  private onLateLoad(hook: number): void {
    const tasks = this.hookTasks.get(hook)
    if (tasks === undefined) return
    this.hookTasks.delete(hook)
    this.instrumenter.forgetClass(tasks[0]!.classId)
    for (const t of tasks) this.answeredLate.add(t.id) // the JVM has counted the gap
    this.defer(tasks)
  }

  private async refreshClasses(): Promise<void> {
    const { loaders, classes } = await this.agent.loadedClasses()
    for (const loader of loaders) this.loaders.set(loader.id, loader.name)
    for (const c of classes) {
      this.coming.delete(c.id)
      this.loaderOf.set(c.id, c.loader)
      if (c.loader === 0) this.bootClasses.set(c.name, c.id)
      if ((c.flags & (CLASS_JDK | CLASS_OURS)) !== 0) this.jdkClasses.add(sourceName(c.name))
    }
    if (classes.length === 0) return
    this.forgetHooks(new Set(classes.map((c) => c.id))) // defined, and no lateLoad came before: in time
    await this.reveal(() => this.revealer.addClasses(classes))
    if (this.phase !== 'starting') await this.apply(await this.reveal(() => this.revealer.classesAppeared()))
  }

  /** The target has dropped classes and loaders. What was recorded of them keeps its names. */
  private async forgetUnloaded({ classes, loaders }: Unloaded): Promise<void> {
    await this.reveal(() => this.revealer.unloaded(classes, loaders))
    const gone = new Set(classes)
    this.forgetHooks(gone)
    this.deferred = this.deferred.filter((t) => !gone.has(t.classId))
    for (const id of gone) {
      this.instrumenter.classUnloaded(id)
      this.coming.delete(id)
      if (!this.revealer.hasMethodsOf(id)) this.loaderOf.delete(id)
    }
    if (loaders.length === 0) return
    const named = new Set(this.loaderOf.values())
    for (const id of loaders) if (!named.has(id)) this.loaders.delete(id)
  }

  private forgetHooks(classIds: ReadonlySet<number>): void {
    for (const [hook, tasks] of this.hookTasks)
      if (classIds.has(tasks[0]!.classId)) this.hookTasks.delete(hook)
  }

  /** Rewrites and swaps what was revealed, in one redefinition. */
  private async apply(...revelations: readonly Revelation[]): Promise<void> {
    // What these take for found must be in before they are ready.
    await this.applyRests()
    const tasks: Task[] = []
    const ready: number[] = []
    for (const revelation of revelations) {
      tasks.push(...revelation.instrument.map(taskOf))
      ready.push(...revelation.ready)
      this.noteSkipped(revelation.skipped)
      if (revelation.reflection && !this.reflectionHooked) {
        this.reflectionHooked = true
        tasks.push(...this.reflectionTasks())
      }
    }
    // Most of them have been defined since their hook: the list of loaded classes tells.
    if (tasks.some((t) => this.coming.has(t.classId))) await this.refreshClasses()
    const early = tasks.filter((t) => this.coming.has(t.classId))
    if (early.length > 0) this.defer(early)
    await this.install(
      tasks.filter((t) => !this.coming.has(t.classId)),
      ready,
    )
  }

  private async install(tasks: readonly Task[], ready: readonly number[]): Promise<void> {
    if (tasks.length === 0 && ready.length === 0) return
    const { refusals, results } = await this.instrumenter.install(tasks, ready)
    await this.noteRefused(refusals)
    for (const r of results) {
      this.redefinitions += r.calls
      if (r.calls === 0) continue
      this.hotSwapMs += this.clock.toNs(r.endTicks - r.startTicks) / 1e6
      if (r.pauseNs !== null) {
        // The stop-the-world part is at the end of the call; the rest runs beside the application.
        const pause = Math.min(r.pauseNs / this.clock.nsPerTick, r.endTicks - r.startTicks)
        this.recorder.pause(r.endTicks - pause, r.endTicks)
      }
      this.lastRedefinitionMs = performance.now() - this.begun
      this.settleSoon()
    }
    if (!results.some((r) => r.loadedClasses)) return
    // What these classes contribute must be in before the threads that wait go on: none is ready yet.
    await this.refreshClasses()
    await this.applyRests()
    await this.install([], ready)
  }

  private async applyRests(): Promise<void> {
    for (let rest = this.rests.shift(); rest !== undefined; rest = this.rests.shift()) await rest()
  }

  /** What comes before the last redefinition has settled is warm-up; a burst of them settles once. */
  private settleSoon(): void {
    clearTimeout(this.settleTimer)
    this.settleTimer = setTimeout(() => this.settle(), SETTLED_MS)
  }

  private settle(): void {
    clearTimeout(this.settleTimer)
    if (this.settleTimer !== undefined) this.recorder.markWarmup()
    this.settleTimer = undefined
  }

  /**
   * A superclass that is loaded on behalf of a class in the hook may reveal methods of that class,
   * which the JVM has not defined yet: there is nothing to redefine. They are taken up as soon as
   * there is; the first calls may be missed, so this counts as a gap.
   */
  private defer(tasks: readonly Task[]): void {
    this.deferred.push(...tasks)
    this.deferredTries = 0
    if (this.deferred.length === tasks.length) this.retryDeferred()
  }

  private retryDeferred(): void {
    setTimeout(() => {
      if (this.stopping || this.phase === 'ended') return
      this.enqueue(async () => {
        await this.refreshClasses()
        const now = this.deferred.filter((t) => !this.coming.has(t.classId))
        this.deferred = this.deferred.filter((t) => this.coming.has(t.classId))
        this.lateClasses += now.filter((t) => !this.answeredLate.has(t.id)).length
        await this.install(now, [])
        if (this.deferred.length === 0) return
        if (++this.deferredTries < DEFINED_TRIES) this.retryDeferred()
        else
          await this.noteRefused(
            this.deferred.splice(0).map((task) => ({ task, reason: 'its class was never defined' })),
          )
      }).catch(() => {}) // enqueue has noted it
    }, DEFINED_MS)
  }

  /** Where the JDK calls what no call site names, a probe tells what it is about to call. */
  private reflectionTasks(): Task[] {
    const hooks = [
      ['java/lang/reflect/Method', 'invoke', '(Ljava/lang/Object;[Ljava/lang/Object;)Ljava/lang/Object;'],
      [
        'java/lang/reflect/Constructor',
        'newInstanceWithCaller',
        '([Ljava/lang/Object;ZLjava/lang/Class;)Ljava/lang/Object;',
      ],
      [HANDLE, 'internalMemberName', '(Ljava/lang/Object;)Ljava/lang/Object;'],
      [HANDLE, 'internalMemberNameEnsureInit', '(Ljava/lang/Object;)Ljava/lang/Object;'],
      [HANDLE, 'constructorMethod', '(Ljava/lang/Object;)Ljava/lang/Object;'],
      [HANDLE, 'internalMemberName', '()Ljava/lang/invoke/MemberName;'], // of a lambda made by hand
      [
        'java/lang/invoke/MethodHandles$Lookup$ClassDefiner',
        'defineClass',
        '(ZLjava/lang/Object;)Ljava/lang/Class;',
      ],
    ] as const
    return hooks.flatMap(([className, name, descriptor]) => {
      const classId = this.bootClasses.get(className)
      return classId === undefined
        ? []
        : [{ id: 0, classId, className, name, descriptor, probe: 'reflection' as const }]
    })
  }

  /** Before the roots: whatever they hand over is seen. */
  private async installHandOvers(): Promise<void> {
    const { tasks, unknown } = await handOverTasks(this.bootClasses, (ids) =>
      this.instrumenter.classBytes(ids),
    )
    await this.install(tasks, [])
    for (const kind of unknown) {
      this.warnings.add(
        `JDK ${this.facts.feature} hands work over in a way that is not known here (${kind}): it is not followed`,
      )
    }
  }

  private noteSkipped(list: Revelation['skipped']): void {
    for (const s of list) this.skipped.set(`${sourceName(s.className)}.${s.method}${s.descriptor}`, s.reason)
  }

  private async noteRefused(refusals: readonly Refusal[]): Promise<void> {
    if (refusals.length === 0) return
    await this.reveal(() => {
      for (const { task, reason } of refusals) {
        this.skipped.set(`${sourceName(task.className)}.${task.name}${task.descriptor}`, reason)
        if (isTimed(task)) this.revealer.refused(task.id, reason)
      }
    })
  }

  /**
   * One question after the other: a class may come out of turn while the answer to another is looked for.
   *
   * @param urgent  before those that wait
   */
  private reveal<T>(question: () => T | Promise<T>, urgent = false): Promise<T> {
    const answer = new Promise<T>((resolve, reject) => {
      const ask = async () => {
        try {
          resolve(await question())
        } catch (error) {
          reject(error)
        }
      }
      if (urgent) this.questions.unshift(ask)
      else this.questions.push(ask)
    })
    this.asking ??= this.askAll()
    return answer
  }

  private async askAll(): Promise<void> {
    for (let ask = this.questions.shift(); ask !== undefined; ask = this.questions.shift()) await ask()
    this.asking = undefined
  }

  /** Runs tasks one after the other. A task that fails because the link is lost ends quietly. */
  private enqueue(task: () => Promise<void>): Promise<void> {
    // Nothing is begun once the session is being left: what is written to an agent that has gone
    // would cost us its last answer.
    const run = this.queue.then(() => (this.stopping ? undefined : task()))
    this.queue = run.catch((error: unknown) => this.noteUnanswered(error))
    return run
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
    // Virtual threads share one tree: to name each would be a leak in a target that makes one a request.
    for (const thread of status.threads) if (!thread.virtual) this.threads.set(thread.number, thread)
    const { unloaded } = status
    if (unloaded.classes.length + unloaded.loaders.length > 0)
      void this.enqueue(() => this.forgetUnloaded(unloaded))
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
    if (await this.leftByItself()) this.endedByTarget(UNANSWERED)
    if (this.stopping || this.endedHow !== null) return
    this.noteTargetEnded()
    this.finishPhase(reason === LINK_CLOSED ? 'the JVM ended' : `the JVM ended (${reason})`)
  }

  private finishPhase(reason: string): void {
    this.phase = 'ended'
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

  get scheme(): 'a' | 'b' {
    return this.options.scheme
  }

  get rootNames(): string[] {
    return this.options.roots.map((r) => r.text)
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
      message: waits ? notes.join('; ') || nothing : null,
      notes,
      // A root among others that is not called must not stand in the way of what the others give.
      warnings: [...this.warnings, ...(waits ? [] : notes)],
    }
  }

  snapshot(perThread = true): Promise<Snapshot> {
    return this.recorder.snapshot({
      calibration: this.calibration,
      nsPerTick: this.clock.nsPerTick,
      nowTicks: this.endTicks ?? this.clock.nowTicks,
      threads: this.threads,
      perThread,
    })
  }

  methodName(id: number): MethodName {
    const m = this.revealer.method(id)
    return {
      class: sourceName(m.className),
      method: m.name,
      descriptor: m.descriptor,
      loader: this.loaders.get(this.loaderOf.get(m.classId) ?? 0) ?? 'bootstrap',
    }
  }

  /** Forgets the counts so far. */
  reset(): void {
    this.recorder.reset(this.clock.nowTicks)
    this.startedAt = new Date()
    this.begun = performance.now()
    this.lastRedefinitionMs = 0
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
    if (this.phase !== 'ended') {
      try {
        await within(DETACH_MS, this.idle(), new TargetSilent(this.pid))
        await within(DETACH_MS, this.readStatus(), new TargetSilent(this.pid))
        this.durationMs = performance.now() - this.begun
        this.endTicks = this.clock.nowTicks
        this.detachReport = await within(DETACH_MS, this.agent.detach(), new TargetSilent(this.pid))
        this.endedHow = { how: 'detached' }
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
    this.settle()
    await this.recorder.finish(this.endTicks)
    return this.detachReport
  }

  /** Nothing is written to an agent that is about to go: it would cost us its last answer. */
  private async idle(): Promise<void> {
    await this.queue
    while (this.asking !== undefined) await this.asking
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
    if (await this.leftByItself()) this.noteEndedByItself(UNANSWERED)
    else this.noteTargetEnded()
  }

  /** Whether the JVM lives on: the agent's farewell is lost if we were just writing to it. */
  private leftByItself(): Promise<boolean> {
    return this.recorder.stats().then(
      (stats) => stats.ended,
      () => false,
    )
  }

  /** The finished profile. Call after `detach`. */
  async profile(): Promise<Profile> {
    const snapshot = await this.snapshot()
    const stats = await this.recorder.stats()
    if (stats.orphans > 0) {
      this.warnings.add(
        `${stats.orphans} tasks began whose submission was lost: what they called stands for itself`,
      )
    }
    const { counters } = this.revealer
    const methodNames: MethodName[] = [{ class: '', method: '', descriptor: '', loader: '' }]
    for (const m of this.revealer.methods()) methodNames[m.id] = this.methodName(m.id)
    return {
      target: {
        pid: this.pid,
        jdk: this.facts.version,
        vm: this.facts.vm,
        mainClass: this.facts.command.split(' ')[0] ?? '',
      },
      mode: 'exact',
      scheme: this.options.scheme,
      roots: this.rootNames,
      startedAt: this.startedAt.toISOString(),
      durationMs: this.durationMs ?? performance.now() - this.begun,
      calibration: {
        innerNs: this.clock.toNs(this.calibration.innerTicks),
        outerNs: this.clock.toNs(this.calibration.outerTicks),
        clock: this.facts.clock,
      },
      instrumentation: {
        instrumentedMethods: counters.instrumentedMethods,
        calledMethods: stats.calledMethods,
        redefinitions: this.redefinitions,
        redefinedClasses: this.instrumenter.instrumentedClasses,
        hotSwapMs: this.hotSwapMs,
        analysisMs: counters.analysisMs,
        skipped: [...this.skipped].map(([method, reason]) => ({ method, reason })),
        gaps: this.gaps + counters.gaps + this.lateClasses,
        healed: stats.healed,
      },
      warmupMs: this.lastRedefinitionMs,
      truncated: this.truncated !== null,
      warnings: [...this.warnings],
      events: { count: stats.events, waitMs: this.clock.toNs(stats.waitTicks) / 1e6 },
      ...(this.options.followThreads === true && { followedTasks: stats.followed }),
      methodNames,
      merged: snapshot.merged,
      threads: snapshot.threads,
    }
  }

  /** Lets go of the recorder. */
  async close(): Promise<void> {
    await this.recorder.stop()
  }
}
