// Limits the rate of a session's updates: a fixed number of bytes per second, plus a small saved budget for bursts.

import { setTimeout as sleep } from 'node:timers/promises'

/** Rate of the updates. With the headers of ssh or TLS, TCP and IP, and with retransmissions, the network carries about 1 MB/s. */
const BYTES_PER_SECOND = 850_000
/** Maximum saved budget: the bytes of one snapshot at five snapshots per second. */
const MAX_SAVED_BYTES = BYTES_PER_SECOND / 5
/** Minimum budget for the trees of a snapshot, in bytes. The header and the names of a snapshot are sent in any case. */
const MIN_BYTES = 4096

export class Pace {
  #saved = MAX_SAVED_BYTES
  #at = performance.now()

  /** Number of bytes that may be sent now. */
  get room(): number {
    const now = performance.now()
    this.#saved = Math.min(MAX_SAVED_BYTES, this.#saved + ((now - this.#at) / 1000) * BYTES_PER_SECOND)
    this.#at = now
    return Math.max(MIN_BYTES, this.#saved)
  }

  spend(bytes: number): void {
    this.#saved -= bytes
  }

  /** Waits until the budget is above its minimum again. */
  async wait(): Promise<void> {
    for (;;) {
      const { room } = this
      if (room > MIN_BYTES) return
      await sleep(((MIN_BYTES - this.#saved) / BYTES_PER_SECOND) * 1000 + 1)
    }
  }
}
