// What is done twice a second while a session records: the target's status is read, and roots and methods that were left
// alone are looked at.

import { LinkLost } from '../wire/link.ts'
import { collapsedWarning } from './context-bound.ts'
import type { Engine } from './engine.ts'

const STATUS_MS = 500
/** Every so many of them, methods that were left alone are looked at. */
const RARE_TICKS = 4

export class Pulse {
  readonly #engine: Engine
  #timer: NodeJS.Timeout | undefined
  #stopped = false
  #ticks = 0
  /** The roots are being looked at, which waits for the target and the revealer. */
  #looking = false
  #hasRecorded = false

  constructor(engine: Engine) {
    this.#engine = engine
  }

  /** Whether it has seen that something was recorded, even if that has been forgotten. */
  get hasRecorded(): boolean {
    return this.#hasRecorded
  }

  start(): void {
    if (!this.#stopped) this.#timer = setInterval(() => void this.#tick(), STATUS_MS)
  }

  stop(): void {
    this.#stopped = true
    clearInterval(this.#timer)
  }

  async readStatus(): Promise<void> {
    const { agent, clock, recorder, targetState, turns } = this.#engine
    const status = await agent.status()
    clock.update(status.clock)
    targetState.take(status)
    if (status.survivors !== null) recorder.survivors(status.survivors)
    const { unloaded } = status
    if (unloaded.classes.length + unloaded.loaders.length > 0)
      void turns.enqueue(() => this.#engine.unloaded(unloaded))
  }

  async #tick(): Promise<void> {
    if (this.#stopped) return
    const { options, rareWatch, recorder, rootWatch, warnings } = this.#engine
    try {
      await this.readStatus()
      if (++this.#ticks % RARE_TICKS === 0) rareWatch.look().catch(() => {}) // the turns have told
      const stats = await recorder.stats()
      if (stats.events > 0) this.#hasRecorded = true
      if (stats.collapsed > 0) warnings.add(collapsedWarning(options))
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
}
