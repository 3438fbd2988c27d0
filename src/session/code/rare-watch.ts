// `--rare watch` in the course of a session: what is left alone, when it is looked at, what becomes of it.

import { append } from '../../base/arrays.ts'
import type { ObservedCalls } from '../../reveal/observed.ts'
import type { Past, RareMethod } from '../../reveal/past.ts'
import type { Revelation } from '../../reveal/revealer.ts'
import { LinkLost } from '../../wire/link.ts'
import { sourceName } from '../target-classes.ts'
import type { Installation, Workshop } from './installation.ts'
import { RareMethods } from './rare-methods.ts'

/** What a method that has run leads to may have run as well: so many calls deep at a time. */
const ROUNDS = 4
const NAMES = 10
const LATE = 'ran seldom or never, and was left alone until it ran: its first calls are missing'

export class RareWatch {
  #rare: RareMethods | null = null
  #recording = false
  #looking = false
  #lookingFurther = false
  #lookedLast = false
  /** What ran, or may have run, before it had probes, after recording had begun. By name and descriptor. */
  readonly #late = new Set<string>()
  #observed: ObservedCalls | null = null
  readonly #known = new Set<number>()
  /** Seen to have run while a redefinition was prepared. */
  #pending: RareMethod[] = []

  constructor(
    private readonly workshop: Workshop,
    private readonly installation: Installation,
  ) {}

  /**
   * After the roots have been found.
   *
   * @returns why all methods get probes nevertheless; null if rare ones are left alone from now on
   */
  async begin(): Promise<string | null> {
    const { agent, instrumenter, revealer, turns } = this.workshop
    const { roots, classIds } = await turns.ask(() => revealer.forRarity())
    const movedCalls = (classId: number, selector: string) => instrumenter.movedCalls(classId, selector)
    const rare = await RareMethods.open(agent, roots, classIds, movedCalls)
    for (const id of classIds) this.#known.add(id)
    if (typeof rare === 'string') return rare
    if (rare.showsCalls) {
      instrumenter.tellsMovedCalls = true
      this.#observed = await turns.ask(() => revealer.observe(rare))
      rare.expect(this.#observed)
    }
    this.#rare = rare
    await turns.ask(() => revealer.leaveRareAlone(rare))
    this.installation.aroundSwap = {
      before: async (ids) => {
        // With their code, the JVM forgets what their calls have led to.
        const called = await turns.ask(() => revealer.observeAgain(ids))
        append(this.#pending, this.#recording ? this.#noted(called) : called)
        if (!this.#recording) return
        await this.#watchLeftAlone()
        append(this.#pending, this.#noted(await rare.beforeRedefinition(ids)))
      },
      after: (ids) => rare.redefined(ids),
    }
    return null
  }

  /** Which methods run often; null where rare ones are not left alone. */
  get past(): Past | null {
    return this.#rare
  }

  /** Methods of which first calls are missing. */
  get gaps(): number {
    return this.#late.size
  }

  get warnings(): string[] {
    const warnings: string[] = []
    if (this.#late.size > 0) {
      const names = [...this.#late].slice(0, NAMES).map((it) => it.slice(0, it.indexOf('(')))
      const more = this.#late.size > NAMES ? ` and ${this.#late.size - NAMES} more` : ''
      warnings.push(
        `${this.#late.size} methods that had run seldom or never may have run before they had probes; their first calls are missing: ${names.join(', ')}${more}`,
      )
    }
    return warnings
  }

  /** At the end: what cannot be known any more. */
  get lastWarnings(): string[] {
    return this.#recording && !this.#lookedLast
      ? [
          'the session ended before methods that run seldom could be looked at once more: calls of them may be missing',
        ]
      : []
  }

  /** What has run since the beginning, though it was left alone, and what that leads to. Before recording. */
  async *recent(): AsyncGenerator<Revelation, void, void> {
    const { revealer, turns } = this.workshop
    for (let round = 0; round < ROUNDS && this.#rare !== null; round++) {
      await this.#watchLeftAlone()
      const ran = [...this.#pending.splice(0), ...(await this.#rare.thatRanSince())]
      if (ran.length === 0) return
      yield await turns.ask(() => revealer.wake(ran))
    }
  }

  /**
   * Recording is about to begin. What has run since `recent` gets its probes now; what runs from now on without has been missed.
   */
  async settle(): Promise<void> {
    if (this.#rare === null) return
    const revelations: Revelation[] = []
    for await (const revelation of this.recent()) revelations.push(revelation)
    if (revelations.length > 0) await this.installation.apply(revelations)
    await this.#watchLeftAlone()
    this.#rare.recordingBegins()
    this.#recording = true
  }

  /** Looks into classes that were passed over, while recording goes on; in turns of its own. */
  async lookFurther(): Promise<void> {
    const { revealer, turns } = this.workshop
    if (this.#lookingFurther || this.#rare === null) return
    this.#lookingFurther = true
    try {
      while (revealer.hasDormant && !turns.closed)
        await turns.enqueue(async () => {
          await this.installation.apply([await turns.ask(() => revealer.lookIntoDormant())])
          await this.#watchLeftAlone()
        })
    } finally {
      this.#lookingFurther = false
    }
  }

  /** Gives probes to what has run since the last look, in a turn of its own. */
  async look(): Promise<void> {
    const { revealer, turns } = this.workshop
    if (this.#looking || this.#rare === null) return
    this.#looking = true
    try {
      await turns.enqueue(async () => {
        await this.installation.refreshClasses()
        await this.#learnClasses()
        const revelations = await this.#wakeAll()
        // Together, at last: the JVM forgets the counts of a class that is redefined.
        if (revelations.length > 0) await this.installation.apply(revelations)
      })
      if (revealer.hasDormant) await this.lookFurther()
    } finally {
      this.#looking = false
    }
  }

  /** The last look, before the target has its own code back: for the names only, and not worth a failure. */
  async lastLook(): Promise<void> {
    if (this.#rare === null) return
    try {
      await this.#watchLeftAlone()
      const { revealer, turns } = this.workshop
      this.#noted(await turns.ask(() => revealer.observeAgain()))
      this.#noted(await this.#rare.thatRanSince())
      this.#lookedLast = true
    } catch (error) {
      if (error instanceof LinkLost) throw error
    }
  }

  /** Another agent has redefined these classes. */
  redefined(classIds: ReadonlySet<number>): void {
    this.#rare?.redefined(classIds)
    this.#observed?.redefined(classIds)
  }

  unloaded(classIds: ReadonlySet<number>): void {
    this.#rare?.unloaded(classIds)
    for (const id of classIds) this.#known.delete(id)
    this.#pending = this.#pending.filter((it) => !classIds.has(it.classId))
  }

  async #learnClasses(): Promise<void> {
    const { revealer, turns } = this.workshop
    const classIds = await turns.ask(() => revealer.forRarity().classIds)
    const fresh = classIds.filter((id) => !this.#known.has(id))
    if (fresh.length === 0) return
    for (const id of fresh) this.#known.add(id)
    await this.#rare?.appeared(fresh)
    this.#observed?.appeared()
  }

  async #wakeAll(): Promise<Revelation[]> {
    const revelations: Revelation[] = []
    const { revealer, turns } = this.workshop
    append(this.#pending, this.#noted(await turns.ask(() => revealer.observeAgain())))
    for (let round = 0; round < ROUNDS && this.#rare !== null; round++) {
      await this.#watchLeftAlone()
      const ran = [...this.#pending.splice(0), ...this.#noted(await this.#rare.thatRanSince())]
      if (ran.length === 0) break
      const revelation = await turns.ask(() => revealer.wake(ran))
      // What else it calls has no probes either, until now.
      this.#noted(revelation.instrument)
      revelations.push(revelation)
    }
    return revelations
  }

  async #watchLeftAlone(): Promise<void> {
    const { revealer, turns } = this.workshop
    this.#rare?.watch(await turns.ask(() => revealer.takeLeftAlone()))
  }

  #noted<T extends Omit<RareMethod, 'methodIndex'>>(methods: readonly T[]): readonly T[] {
    for (const it of methods) this.#late.add(`${sourceName(it.className)}.${it.name}${it.descriptor}`)
    this.installation.noteSkipped(methods.map((it) => ({ ...it, method: it.name, reason: LATE })))
    return methods
  }
}
