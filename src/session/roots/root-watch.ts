// Detects roots that are not called, and explains why. Each root is checked separately, since one root may be called while another is not.

import type { MethodTarget } from '../../reveal/method-ids.ts'
import type { Callee } from '../../reveal/revealer.ts'
import type { RootProgress } from '../../reveal/roots.ts'
import type { StackRow } from '../../wire/messages.ts'
import {
  describeIdleRoot,
  describeRootOnStack,
  MAX_CALLEES,
  rootsOnStacks,
  type StackMethod,
} from './why-not-called.ts'

/** Time without a call of a root after which an explanation is shown for it. */
const NOT_CALLED_TIMEOUT_MS = 5000
/** Delay before stacks are checked, and between two checks while a thread of the root waits for an answer of the client. */
const STACK_CHECK_DELAY_MS = 1100

/** Access to the session. */
export interface RootPort {
  progress(): readonly RootProgress[]
  method(id: number): MethodTarget
  /** Returns the ids of the methods in `ids` that have been called. */
  called(ids: readonly number[]): Promise<readonly number[]>
  stacks(): Promise<readonly StackRow[]>
  /** Returns callees of the methods, at most `enough`. */
  callees(ids: Iterable<number>, enough: number): Promise<readonly Callee[]>
  /** Returns the reason why no class with the root's name can be used, and a suggestion; null if there is no problem. */
  problemOf(root: string): string | null
  isJdk(className: string): boolean
  nowMs(): number
  /** Whether the roots are regions. For a region, no other root is suggested. */
  readonly areRegions?: boolean
}

interface Watched {
  /** Time of the next check. The last check gives an explanation. */
  dueMs: number
  readonly lastMs: number
  note: string | null
}

export class RootWatch {
  readonly #watched = new Map<string, Watched>()
  /** Problems of roots that have no method. */
  readonly #failed = new Map<string, string>()
  readonly #called = new Set<string>()

  constructor(private readonly port: RootPort) {}

  /** One line for each root with a problem or an explanation. */
  get notes(): string[] {
    const notes = [...this.#watched.values()].map((it) => it.note).filter((it) => it !== null)
    return [...this.#failed.values(), ...notes]
  }

  /** Whether all roots are still without a method, and no root has failed. */
  get armed(): boolean {
    return this.port.progress().every((it) => it.ids.size === 0 && !it.failed)
  }

  /** Returns the roots that have methods but no called method. */
  async uncalled(): Promise<string[]> {
    const roots = this.port.progress().filter((it) => it.ids.size > 0)
    const called = await this.#calledOf(roots)
    return roots.filter((it) => !called.has(it.text)).map((it) => it.text)
  }

  /** Checks the roots that have not been called. Costs almost nothing once all roots have been called. */
  async look(): Promise<void> {
    const now = this.port.nowMs()
    const waiting: RootProgress[] = []
    for (const root of this.port.progress()) {
      if (root.ids.size > 0) {
        this.#failed.delete(root.text)
        if (!this.#called.has(root.text)) waiting.push(root)
      } else if (root.failed && !this.#failed.has(root.text)) {
        const problem = this.port.problemOf(root.text)
        if (problem !== null) this.#failed.set(root.text, problem)
      }
    }
    if (waiting.length === 0) return
    await this.#forgetCalled(waiting)
    const due = waiting.filter((it) => !this.#called.has(it.text) && this.#isDue(it, now))
    if (due.length > 0) await this.#explain(due, now)
  }

  #isDue({ text }: RootProgress, now: number): boolean {
    const known = this.#watched.get(text)
    if (known !== undefined) return now >= known.dueMs
    this.#watched.set(text, {
      dueMs: now + STACK_CHECK_DELAY_MS,
      lastMs: now + NOT_CALLED_TIMEOUT_MS,
      note: null,
    })
    return false
  }

  async #explain(due: readonly RootProgress[], now: number): Promise<void> {
    const stacks = await this.port.stacks()
    // A root that was called after the first check may be on a stack, and needs no explanation.
    await this.#forgetCalled(due)
    for (const root of due) {
      const watched = this.#watched.get(root.text)
      if (watched === undefined) continue
      const isLast = now >= watched.lastMs
      watched.dueMs = isLast ? Number.POSITIVE_INFINITY : watched.lastMs
      const methods = [...root.ids].map((id) => stackMethod(this.port.method(id)))
      const found = rootsOnStacks(stacks, methods, (name) => this.port.isJdk(name))
      if (found.some((it) => it.isAsking)) {
        watched.dueMs = now + STACK_CHECK_DELAY_MS
        continue
      }
      if (found.length === 0 && !isLast) continue
      if (found.length > 0 && watched.note !== null) continue // this root already has an explanation
      const calls = (await this.port.callees(root.ids, MAX_CALLEES)).map(stackMethod)
      const isRegion = this.port.areRegions === true
      watched.note =
        found.length > 0
          ? describeRootOnStack(found, calls, isRegion)
          : describeIdleRoot(root.text, calls, isRegion)
    }
  }

  async #forgetCalled(roots: readonly RootProgress[]): Promise<void> {
    for (const text of await this.#calledOf(roots)) {
      this.#called.add(text)
      this.#watched.delete(text)
    }
  }

  async #calledOf(roots: readonly RootProgress[]): Promise<Set<string>> {
    const called = new Set(await this.port.called(roots.flatMap((it) => [...it.ids])))
    return new Set(roots.filter((it) => [...it.ids].some((id) => called.has(id))).map((it) => it.text))
  }
}

function stackMethod({ className, name }: Callee): StackMethod {
  return { class: className.replaceAll('/', '.'), method: name }
}
