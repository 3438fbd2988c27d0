// Runs twice a second while a session records: reads the target's status and checks the roots.

import { LinkLost } from '../wire/link.ts'
import type { Controller } from './adaptive/controller.ts'
import type { Engine } from './engine.ts'
import { collapsedWarning } from './recorder/context-bound.ts'
import { treesFullWarning } from './session-profile.ts'
import { stopOf } from './target-waits.ts'

const STATUS_INTERVAL_MS = 500
/** Time without an answer after which `note` reports a stopped target. */
const SILENT_TIMEOUT_MS = 900
/** Tick at which the proof is tested. By then, the first call has been shown, and no batch of methods has been chosen yet. */
const REHEARSAL_TICK = 4
/** Number of measurements of the probes' cost, at the start and at the first ticks. A busy JVM compiles the measured code in about 4 s. */
const MEASUREMENTS = 10
/** Number of ticks between two searches for classes of roots that are not loaded yet. */
const ROOT_SEARCH_TICKS = 2
/** Number of ticks between two searches for more classes of roots once each root has a class. */
const LATER_ROOT_SEARCH_TICKS = 20

export class Pulse {
  #timer: NodeJS.Timeout | undefined
  #stopped = false
  #ticks = 0
  /** Whether a check of the roots is running. The check waits for the target and the revealer. */
  #looking = false
  /** Whether any event was ever recorded. Events that a reset has discarded count. */
  hasRecorded = false
  /** Time of the unanswered status request; null if no request is unanswered. */
  #askedAt: number | null = null
  /** Reason why the target does not answer; null while the target answers. */
  note: string | null = null
  /** Whether a check since the last status has found the process stopped. */
  #wasStopped = false

  /** @param controller  controller that is started and stopped together with this object */
  constructor(
    private readonly engine: Engine,
    private readonly controller: Controller | null,
  ) {}

  start(): void {
    if (this.#stopped) return
    this.#timer = setInterval(() => void this.#tick(), STATUS_INTERVAL_MS)
    this.controller?.start()
    this.#measureProbes()
  }

  stop(): void {
    this.#stopped = true
    clearInterval(this.#timer)
    this.controller?.stop()
  }

  async readStatus(): Promise<void> {
    const { agent, classes, clock, inside, installation, recorder, targetState, turns, values } = this.engine
    const status = await agent.status()
    clock.update(status.clock)
    classes.add(status.loaders, [])
    targetState.take(status)
    const suspended = (await inside?.read(installation.swaps.latest, this.#wasStopped)) ?? null
    this.#wasStopped = false
    if (suspended !== null) recorder.pause(suspended[0], suspended[1])
    await values?.poll()
    if (status.survivors !== null) recorder.survivors(status.survivors)
    if (status.openAllocations !== null) recorder.openAllocations(status.openAllocations)
    const { unloaded } = status
    if (unloaded.classes.length + unloaded.loaders.length > 0)
      void turns.enqueue(() => this.engine.unloaded(unloaded))
  }

  async #tick(): Promise<void> {
    if (this.#stopped) return
    const { options, recorder, rootWatch, traceIds, turns, unprobed, warnings } = this.engine
    if (this.#askedAt !== null) {
      // At most one request is pending. Otherwise a stopped target would have hundreds of requests to answer when it continues.
      const silence = this.#silence()
      if (silence !== null) this.#wasStopped = true
      this.note = performance.now() - this.#askedAt < SILENT_TIMEOUT_MS ? null : silence
      return
    }
    this.#askedAt = performance.now()
    try {
      await this.readStatus().finally(() => {
        this.#askedAt = null
        this.note = null
      })
      if (++this.#ticks === 1) void this.engine.openCode()
      if (this.#ticks < MEASUREMENTS) this.#measureProbes()
      await unprobed?.poll()
      // The test of the proof runs as a task in the queue, so that no redefinition and no session end happens at the same time.
      if (this.#ticks === REHEARSAL_TICK && this.controller !== null)
        void turns.enqueue(() => this.engine.rehearseProof())
      if (traceIds.isDue()) void turns.enqueue(() => traceIds.find())
      if (this.#ticks % ROOT_SEARCH_TICKS === 0) this.#findRoots()
      const stats = await recorder.stats()
      await this.engine.tellSlow(stats.slowFromTicks)
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

  /** Measures the cost of the probes without waiting for the result. */
  #measureProbes(): void {
    if (this.#stopped) return
    this.engine.measureProbes().catch((error: unknown) => {
      if (!this.#stopped && !(error instanceof LinkLost)) this.engine.warnings.add(String(error))
    })
  }

  /** Searches for classes of roots that were not loaded before. Needed only if the target does not report class loads. */
  #findRoots(): void {
    const { arming, inside, installation, revealer, turns } = this.engine
    if (arming === null) return
    // Even if each root has a class, another loader may define a class of the same name later, or a wildcard may match another class.
    const areThere = revealer.roots.progress().every((it) => it.ids.size > 0 || it.failed)
    if (areThere && this.#ticks % LATER_ROOT_SEARCH_TICKS !== 0) return
    void turns.enqueue(async () => {
      await installation.refreshClasses()
      await inside?.rootsAre()
    })
  }

  #silence(): string | null {
    const { process } = this.engine
    const stop = process === null ? null : stopOf(process)
    return stop === null ? null : `JVM ${process} is ${stop.how}: nothing is recorded until it continues`
  }
}
