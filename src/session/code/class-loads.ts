// Classes in the target's load hook: each waits for its rewritten code, and for what it leads to in other classes,
// unless a redefinition is waiting for it.

import { append } from '../../base/arrays.ts'
import type { Revelation } from '../../reveal/revealer.ts'
import type { LoadAnswer } from '../../wire/agent.ts'
import type { ClassLoading } from '../../wire/messages.ts'
import type { Installation, Workshop } from './installation.ts'
import { type Refusal, type Task, taskOf } from './instrumenter.ts'

/**
 * How much longer than others a class waits for a redefinition on its behalf if calls could be missed
 * otherwise. The target's thread waits no longer than 250 ms.
 */
const LONGER_MS = 150

/** What a class that is being loaded leads to, in itself and in others. */
interface Contribution {
  readonly own: readonly Task[]
  readonly readyOwn: readonly number[]
  readonly others: Revelation
  /** Something must be put into other classes. */
  readonly leadsOn: boolean
}

export class ClassLoads {
  /** Those whose turn has not come. */
  readonly #waiting = new Set<ClassLoading>()
  /** Lets the class whose turn it is go first: a redefinition on its behalf takes long. */
  #letLoad = () => {}
  #recording = true
  /** Answers that are being made out of turn. */
  readonly #early = new Set<Promise<void>>()
  /** What load hooks were answered, until it is known whether that was in time. */
  readonly #answers = new Map<number, readonly Task[]>()

  /** @param unanswered  told of errors that leave a class as it is */
  constructor(
    private readonly workshop: Workshop,
    private readonly installation: Installation,
    private readonly unanswered: (error: unknown) => void,
  ) {
    installation.listing = () => {
      const answered = new Set(this.#answers.keys())
      // The list was made after these answers had come, and no `late` came before it: they were in time.
      return (classIds) => this.#forget((hook, classId) => answered.has(hook) && classIds.has(classId))
    }
    workshop.agent.whenSwapIsSlow(() => {
      this.#letLoad()
      for (const load of this.#waiting) this.#outOfTurn(load)
    })
  }

  /** A class is in the hook. */
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
   * While nothing is recorded yet, no call can be missed: classes do not wait for their turn. When this resolves, what
   * those that came meanwhile lead to is among the rests.
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

  /** The class was defined without what its hook was answered: it is redefined as soon as it is there. */
  late(hook: number): void {
    const tasks = this.#answers.get(hook)
    if (tasks === undefined) return
    this.#answers.delete(hook)
    this.workshop.instrumenter.forgetClass(tasks[0]!.classId)
    this.installation.deferLate(tasks)
  }

  /** These have gone. */
  unloaded(classIds: ReadonlySet<number>): void {
    this.#forget((_, classId) => classIds.has(classId))
  }

  #forget(which: (hook: number, classId: number) => boolean): void {
    for (const [hook, tasks] of this.#answers) if (which(hook, tasks[0]!.classId)) this.#answers.delete(hook)
  }

  /**
   * A redefinition takes long, perhaps because the JVM wants this very class, to link and verify another; or it
   * loads the class itself. It cannot wait for what that class leads to.
   */
  #outOfTurn(load: ClassLoading): void {
    this.#waiting.delete(load)
    const answer = this.#answer(load, false)
      .catch(this.unanswered)
      .finally(() => this.#early.delete(answer))
    this.#early.add(answer)
  }

  /** @param inTurn  whether other classes can be redefined before this one is defined */
  async #answer(load: ClassLoading, inTurn: boolean): Promise<void> {
    const { hook, id, bytes, urgent } = load
    const { agent, instrumenter, revealer } = this.workshop
    const installation = this.installation
    // What it leads to goes in before recording begins, if that has not been reached now.
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
      // What must be in other classes before this one runs goes first: the loading thread waits. If it cannot,
      // the first call of each of its methods waits instead. What it inherits needs no such call: there, calls
      // may be missed, except while a redefinition loads the class itself.
      const exposed =
        leadsOn &&
        (own.length === 0 || others.instrument.some((t) => revealer.classes.inherits(id, t.classId)))
      const early = () => {
        if (exposed && !urgent && !answered && recording) installation.noteLate()
        answer([])
      }
      if (inTurn && (leadsOn || installation.hasRests)) {
        await this.#letting(exposed ? LONGER_MS : 0, early, () => installation.apply([others]))
        if (answered) await installation.install([], readyOwn)
      } else if (!inTurn && (leadsOn || own.length > 0)) {
        // What its methods call may have been found before, and be on its way in with what runs now.
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

  /** Does `work`, and `early` as well if a redefinition takes long meanwhile, and `ms` longer. */
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
