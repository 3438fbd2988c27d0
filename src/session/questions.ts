// Handles questions and notifications of the target while a session runs. Questions are answered one after the other (report, section 6.1),
// except for class loads for which a redefinition may be waiting. The answer to a first invocation is sent only after its redefinition.

import { span as spanText } from '../profile/text.ts'
import type { Revelation } from '../reveal/revealer.ts'
import type { Task } from './code/instrumenter.ts'
import type { Engine } from './engine.ts'
import type { Span } from './span.ts'
import { sourceName } from './target-classes.ts'

export class Questions {
  readonly #firsts = new Set<number>()
  readonly #changed = new Set<number>()
  /** Classes that have lost their probes, with the time of the loss, in ms from the start of recording. */
  readonly #lost = new Map<number, number>()

  constructor(
    private readonly engine: Engine,
    private readonly span: Span,
  ) {}

  /** @param ended  receives the reason why the target has ended the session */
  listen(ended: (reason: string) => void): void {
    const { agent, classLoads, names, revealer, values } = this.engine
    agent.listen({
      first: (id) => this.#firstInvocation(id),
      reflect: (request, classId, name, descriptor) =>
        this.#namelessCall(request, () => revealer.reflectiveTarget(classId, name, descriptor)),
      hiddenClass: (request, hostId, bytes) =>
        this.#namelessCall(request, () => revealer.hiddenClass(hostId, bytes)),
      classLoading: (load) => classLoads.loading(load),
      changed: (classId, unprobed) => this.#redefined(classId, unprobed),
      lateLoad: (hook) => classLoads.late(hook),
      waited: (id, kind, itself, className) => names.waited(id, { kind, itself, className }),
      valueClass: (path, step, classId) => values?.valueClass(path, step, classId),
      ended,
    })
  }

  /** First invocations that arrive during a redefinition are answered together by the next redefinition. */
  #firstInvocation(id: number): void {
    this.#firsts.add(id)
    if (this.#firsts.size > 1) return
    const { installation, revealer, turns } = this.engine
    void turns.enqueue(async () => {
      await installation.refreshClasses()
      const ids = [...this.#firsts]
      this.#firsts.clear()
      const revelations: Revelation[] = []
      for (const first of ids) revelations.push(await turns.ask(() => revealer.firstInvocation(first)))
      await installation.apply(revelations)
    })
  }

  /**
   * Handles a call whose target is not named in bytecode, for example a call by reflection. The calling thread is blocked until the answer
   * arrives.
   */
  #namelessCall(request: number, reveal: () => Revelation | Promise<Revelation>): void {
    const { agent, installation, turns } = this.engine
    void turns.enqueue(async () => {
      try {
        await installation.refreshClasses()
        await installation.apply([await turns.ask(reveal)])
      } finally {
        agent.reflected(request)
      }
    })
  }

  /**
   * Handles a class that another agent has redefined: adds probes to the new code of the class, and reveals the methods that this code
   * calls.
   */
  #redefined(classId: number, unprobed: boolean): void {
    if (unprobed && !this.#lost.has(classId)) this.#lost.set(classId, this.span.durationMs)
    this.#changed.add(classId)
    if (this.#changed.size > 1) return
    const { installation, instrumenter, revealer, turns } = this.engine
    void turns.enqueue(async () => {
      await installation.refreshClasses()
      const ids = [...this.#changed]
      this.#changed.clear()
      const tasks = instrumenter.takeBack(ids)
      await installation.install(tasks, [])
      await installation.apply([await turns.ask(() => revealer.classesChanged(ids))])
      this.#warnAboutLostCalls(tasks)
    })
  }

  /** Warns about missing calls. Needed only with scheme adaptive, where a timed row normally contains all calls. */
  #warnAboutLostCalls(tasks: readonly Task[]): void {
    const { options, warnings } = this.engine
    const again = spanText(this.span.durationMs)
    for (const [classId, atMs] of this.#lost) {
      const task = tasks.find((it) => it.classId === classId)
      if (task === undefined || options.scheme !== 'adaptive') continue
      warnings.add(
        `${sourceName(task.className)} lost its probes ${spanText(atMs)} after the start, because another agent changed it, and got new probes at ${again}: its calls in this interval are missing`,
      )
    }
    this.#lost.clear()
  }
}
