// How fast a session's updates may come: so many bytes a second, and what has been saved up for a moment.

import { setTimeout as sleep } from 'node:timers/promises'

/** With the headers of ssh or TLS, TCP and IP, and with what is sent twice, 1 MB. */
const BYTES_PER_SECOND = 850_000
/** A picture's share where there are five a second. */
const MOST_SAVED = BYTES_PER_SECOND / 5
/** What a picture may always have: names and its head do not fit into nothing. */
const LEAST = 4096

export class Pace {
  #saved = MOST_SAVED
  #at = performance.now()

  /** Bytes that may be sent now. */
  get room(): number {
    const now = performance.now()
    this.#saved = Math.min(MOST_SAVED, this.#saved + ((now - this.#at) / 1000) * BYTES_PER_SECOND)
    this.#at = now
    return Math.max(LEAST, this.#saved)
  }

  spend(bytes: number): void {
    this.#saved -= bytes
  }

  /** Until what has been spent is earned. */
  async wait(): Promise<void> {
    for (;;) {
      const { room } = this
      if (room > LEAST) return
      await sleep(((LEAST - this.#saved) / BYTES_PER_SECOND) * 1000 + 1)
    }
  }
}
