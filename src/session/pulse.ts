// What is done twice a second while a session records: the target's status is read, and roots are looked at.

import { LinkLost } from '../wire/link.ts'
import type { Controller } from './adaptive/controller.ts'
import type { Engine } from './engine.ts'
import { collapsedWarning } from './recorder/context-bound.ts'
import { treesFullWarning } from './session-profile.ts'
import { stopOf } from './target-waits.ts'

const STATUS_MS = 500
/** A target that says nothing for so long may be stopped. */
const SILENT_MS = 900
/** The first call has been shown by then, and no batch of methods has been chosen. */
const REHEARSAL_TICK = 4
/** Every so many statuses, classes of roots are looked for that have not been loaded. */
const ROOT_TICKS = 2
/** And others, once each root has one. */
const MORE_ROOTS_TICKS = 20

export class Pulse {
  #timer: NodeJS.Timeout | undefined
  #stopped = false
  #ticks = 0
  /** The roots are being looked at, which waits for the target and the revealer. */
  #looking = false
  /** Whether it has seen that something was recorded, even if that has been forgotten. */
  hasRecorded = false
  /** When a status was asked for that has not come; null if none is due. */
  #askedAt: number | null = null
  /** Why the target says nothing; null while it does. */
  note: string | null = null
  /** The process was seen to be stopped since it last gave its status. */
  #wasStopped = false

  /** @param controller  goes on and ends with it */
  constructor(
    private readonly engine: Engine,
    private readonly controller: Controller | null,
  ) {}

  start(): void {
    if (this.#stopped) return
    this.#timer = setInterval(() => void this.#tick(), STATUS_MS)
    this.controller?.start()
  }

  stop(): void {
    this.#stopped = true
    clearInterval(this.#timer)
    this.controller?.stop()
  }

  async readStatus(): Promise<void> {
    const { agent, clock, inside, installation, recorder, targetState, turns } = this.engine
    const status = await agent.status()
    clock.update(status.clock)
    targetState.take(status)
    const suspended = (await inside?.read(installation.swaps.latest, this.#wasStopped)) ?? null
    this.#wasStopped = false
    if (suspended !== null) recorder.pause(suspended[0], suspended[1])
    if (status.survivors !== null) recorder.survivors(status.survivors)
    const { unloaded } = status
    if (unloaded.classes.length + unloaded.loaders.length > 0)
      void turns.enqueue(() => this.engine.unloaded(unloaded))
  }

  async #tick(): Promise<void> {
    if (this.#stopped) return
    const { options, recorder, rootWatch, turns, warnings } = this.engine
    if (this.#askedAt !== null) {
      // One question at a time: a target that is stopped would have hundreds to answer when it goes on.
      const silence = this.#silence()
      if (silence !== null) this.#wasStopped = true
      this.note = performance.now() - this.#askedAt < SILENT_MS ? null : silence
      return
    }
    this.#askedAt = performance.now()
    try {
      await this.readStatus().finally(() => {
        this.#askedAt = null
        this.note = null
      })
      if (++this.#ticks === 1) void this.engine.openCode()
      // In a turn: a redefinition, or the end, waits for it.
      if (this.#ticks === REHEARSAL_TICK && this.controller !== null)
        void turns.enqueue(() => this.engine.rehearseProof())
      if (this.#ticks % ROOT_TICKS === 0) this.#findRoots()
      const stats = await recorder.stats()
      if (stats.events > 0) this.hasRecorded = true
      if (stats.collapsed > 0) warnings.add(collapsedWarning(options))
      const treesFull = treesFullWarning(this.engine, stats)
      if (treesFull !== null) warnings.add(treesFull)
      if (this.#looking) return
      this.#looking = true
      try {
        await rootWatch.look()
      } finally {
        this.#looking = false
      }
    } catch (error) {
      if (!(error instanceof LinkLost)) warnings.add(String(error))
    }
  }

  /** Where no class that is loaded is heard of, those of roots that are not there yet are looked for. */
  #findRoots(): void {
    const { arming, inside, installation, revealer, turns } = this.engine
    if (arming === null) return
    // Another loader may have a class of that name later, or a wildcard match another class.
    const areThere = revealer.roots.progress().every((it) => it.ids.size > 0 || it.failed)
    if (areThere && this.#ticks % MORE_ROOTS_TICKS !== 0) return
    void turns.enqueue(async () => {
      await installation.refreshClasses()
      await inside?.rootsAre()
    })
  }

  #silence(): string | null {
    const { process } = this.engine
    const stop = process === null ? null : stopOf(process)
    return stop === null ? null : `JVM ${process} is ${stop.how}: nothing is recorded until it goes on`
  }
}
