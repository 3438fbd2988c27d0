// Classes in the target's load hook. Each class waits until it is rewritten. It also waits for the redefinition of other classes if their
// methods must have probes before the class runs. A class does not wait if a redefinition itself waits for the class.

import { append } from '../../base/arrays.ts'
import type { Revelation } from '../../reveal/revealer.ts'
import type { LoadAnswer } from '../../wire/agent.ts'
import type { ClassLoading } from '../../wire/messages.ts'
import type { Installation, Workshop } from './installation.ts'
import { type Refusal, type Task, taskOf } from './instrumenter.ts'

/**
 * Additional time that a class waits for redefinitions of other classes if calls could be missed otherwise. The target's thread waits in
 * the load hook for at most 250 ms.
 */
const EXPOSED_DELAY_MS = 150

/** Changes that are necessary because a class is loaded: in the class itself, and in other classes. */
interface Contribution {
  readonly own: readonly Task[]
  readonly readyOwn: readonly number[]
  readonly others: Revelation
  /** Whether other classes must be redefined. */
  readonly leadsOn: boolean
}

export class ClassLoads {
  /** Classes in the load hook that wait for their turn in the queue. */
  readonly #waiting = new Set<ClassLoading>()
  /** Lets the JVM load the class at the head of the queue without waiting for its redefinition, if that redefinition is slow. */
  #letLoad = () => {}
  #recording = true
  /** Unfinished answers to load hooks of classes that do not wait for their turn in the queue. */
  readonly #early = new Set<Promise<void>>()
  /** Tasks in the answer to each load hook, keyed by hook id. Kept until it is known whether the answer arrived in time. */
  readonly #answers = new Map<number, readonly Task[]>()

  /** @param unanswered  called with the error if an error leaves a class unchanged */
  constructor(
    private readonly workshop: Workshop,
    private readonly installation: Installation,
    private readonly unanswered: (error: unknown) => void,
  ) {
    installation.listing = () => {
      const answered = new Set(this.#answers.keys())
      // The list was made after the answers had arrived, and the agent had reported none of them as late. So all answers were in time.
      return (classIds) => this.#forget((hook, classId) => answered.has(hook) && classIds.has(classId))
    }
    workshop.agent.whenSwapIsSlow(() => {
      this.#letLoad()
      for (const load of this.#waiting) this.#outOfTurn(load)
    })
  }

  /** Handles a class that the target is about to load. */
  loading(load: ClassLoading): void {
    const { agent, classes, turns } = this.workshop
    classes.comes(load.id, load.loader)
    if (load.urgent || agent.swapIsSlow || !this.#recording) {
      this.#outOfTurn(load)
      return
    }
    this.#waiting.add(load)
    void turns.enqueue(async () => {
      if (this.#waiting.delete(load)) await this.#answer(load, true)
    })
  }

  /**
   * Runs `work` before recording begins. Classes do not wait for their turn, since no call can be missed before the recording. When the
   * promise resolves, the installation has received the pending changes (`addRest`) for all classes loaded during `work`.
   */
  async beforeRecording(work: () => Promise<void>): Promise<void> {
    this.#recording = false
    for (const load of this.#waiting) this.#outOfTurn(load)
    try {
      await work()
    } finally {
      this.#recording = true
    }
    await Promise.all(this.#early)
  }

  /** Handles a class whose loading continued before the answer to its hook arrived. The class is redefined after its definition. */
  late(hook: number): void {
    const tasks = this.#answers.get(hook)
    if (tasks === undefined) return
    this.#answers.delete(hook)
    this.workshop.instrumenter.forgetClass(tasks[0]!.classId)
    this.installation.deferLate(tasks)
  }

  /** Discards the answers for unloaded classes. */
  unloaded(classIds: ReadonlySet<number>): void {
    this.#forget((_, classId) => classIds.has(classId))
  }

  #forget(which: (hook: number, classId: number) => boolean): void {
    for (const [hook, tasks] of this.#answers) if (which(hook, tasks[0]!.classId)) this.#answers.delete(hook)
  }

  /**
   * Answers the load hook of a class without waiting for its turn. A running redefinition may itself wait for this class: to link and
   * verify another class, or because it loads the class. So the class cannot wait for changes in other classes.
   */
  #outOfTurn(load: ClassLoading): void {
    this.#waiting.delete(load)
    const answer = this.#answer(load, false)
      .catch(this.unanswered)
      .finally(() => this.#early.delete(answer))
    this.#early.add(answer)
  }

  /** @param inTurn  whether other classes can be redefined before this class is defined */
  async #answer(load: ClassLoading, inTurn: boolean): Promise<void> {
    const { hook, id, bytes, urgent } = load
    const { agent, instrumenter, revealer } = this.workshop
    const installation = this.installation
    // If recording has not begun, the changes in other classes are installed before the recording begins.
    const recording = this.#recording
    let answered = false
    try {
      const { own, readyOwn, others, leadsOn } = await this.#contributionOf(load)
      const refused: Refusal[] = []
      const answer = (ready: readonly number[]) => {
        if (answered) return
        answered = true
        let given: LoadAnswer | null = null
        try {
          const { answer, refusals } = instrumenter.atLoad(id, bytes, own, ready)
          append(refused, refusals)
          if (own.length > 0) this.#answers.set(hook, own)
          given = answer
        } catch (error) {
          this.unanswered(error)
        }
        agent.loadHook(hook, given)
      }
      // Usually the loading thread waits while the changes in other classes are installed. If the thread cannot wait, the first call of
      // each method of the class waits instead. Inherited methods have no waiting first call, so their calls may be missed, except while a
      // redefinition loads the class.
      const exposed =
        leadsOn &&
        (own.length === 0 || others.instrument.some((t) => revealer.classes.inherits(id, t.classId)))
      const early = () => {
        if (exposed && !urgent && !answered && recording) installation.noteLate()
        answer([])
      }
      if (inTurn && (leadsOn || installation.hasRests)) {
        await this.#letting(exposed ? EXPOSED_DELAY_MS : 0, early, () => installation.apply([others]))
        if (answered) await installation.install([], readyOwn)
      } else if (!inTurn && (leadsOn || own.length > 0)) {
        // This answer does not wait: the running redefinition may already instrument the callees of this class.
        early()
        installation.addRest(others, readyOwn)
      }
      answer(readyOwn)
      await installation.noteRefused(refused)
    } finally {
      if (!answered) agent.loadHook(hook, null)
    }
  }

  async #contributionOf({ id, name, loader, bytes, urgent }: ClassLoading): Promise<Contribution> {
    const { revealer, turns } = this.workshop
    const revelation = await turns.ask(() => revealer.classLoading({ id, name, loader }, bytes), urgent)
    this.installation.noteSkipped(revelation.skipped)
    const own = revelation.instrument.filter((t) => t.classId === id).map(taskOf)
    const others = revelation.instrument.filter((t) => t.classId !== id)
    const ownIds = new Set(own.map((t) => t.id))
    return {
      own,
      readyOwn: revelation.ready.filter((it) => ownIds.has(it)),
      others: {
        ...revelation,
        instrument: others,
        skipped: [],
        ready: revelation.ready.filter((it) => !ownIds.has(it)),
      },
      leadsOn: others.length > 0 || revelation.reflection,
    }
  }

  /** Runs `work`. Also runs `early` if a redefinition is reported as slow and has not ended `ms` later. */
  async #letting(ms: number, early: () => void, work: () => Promise<void>): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    this.#letLoad = () => {
      if (ms === 0) early()
      else timer ??= setTimeout(early, ms)
    }
    try {
      await work()
    } finally {
      clearTimeout(timer)
      this.#letLoad = () => {}
    }
  }
}
