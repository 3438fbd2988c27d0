// Limits the number of connections that have not yet shown the key. Above the limit, the connection that is least likely to come from a
// client is closed. Connections that have shown the key do not count.

import { addTo } from '../base/arrays.ts'
/** An unauthenticated connection. */
export interface Stranger {
  readonly remoteAddress?: string | undefined
  readonly remotePort?: number | undefined
  /** Number of bytes received. A client sends data immediately. */
  readonly bytesRead: number
  destroy(): unknown
  once(event: 'close', listener: () => void): unknown
}

/** Maximum number of simultaneous unauthenticated connections. */
const MAX_STRANGERS = 256
/** Time within which a client sends its first data, even over a slow network. */
const QUIET_DURATION_MS = 1000

interface Known {
  readonly end: string
  readonly stranger: Stranger
  readonly since: number
}

export class Strangers {
  /**
   * Unauthenticated connections keyed by remote address and port, the oldest first. The map is not keyed by object, since each TLS
   * connection has two objects.
   */
  readonly #all = new Map<string, Known>()
  readonly #random: () => number
  readonly #now: () => number

  /**
   * @param random  returns a number from 0 to 1
   * @param now     returns the time in ms
   */
  constructor(random = Math.random, now = () => performance.now()) {
    this.#random = random
    this.#now = now
  }

  come(stranger: Stranger): void {
    const end = endOf(stranger)
    const goes = this.#all.size < MAX_STRANGERS ? undefined : this.#leastLikelyClient()
    if (goes !== undefined) {
      this.#all.delete(goes.end)
      goes.stranger.destroy()
    }
    const known = { end, stranger, since: this.#now() }
    this.#all.set(end, known)
    stranger.once('close', () => {
      if (this.#all.get(end) === known) this.#all.delete(end)
    })
  }

  /** Removes a connection that has shown the key. */
  leave(stranger: Pick<Stranger, 'remoteAddress' | 'remotePort'>): void {
    this.#all.delete(endOf(stranger))
  }

  /**
   * Chooses a connection from the address with the most connections, so that clients at other addresses are not affected. Prefers the
   * oldest connection that has sent no data for QUIET_DURATION_MS; otherwise chooses at random. If the oldest connection were always
   * chosen, a flood of connections would always close the connections of real clients.
   */
  #leastLikelyClient(): Known {
    const byAddress = new Map<string | undefined, Known[]>()
    for (const known of this.#all.values()) addTo(byAddress, known.stranger.remoteAddress, known)
    const most = [...byAddress.values()].reduce((a, b) => (b.length > a.length ? b : a))
    const quiet = this.#now() - QUIET_DURATION_MS
    return (
      most.find(({ stranger, since }) => stranger.bytesRead === 0 && since <= quiet) ??
      most[Math.floor(this.#random() * most.length)]!
    )
  }
}

function endOf({ remoteAddress, remotePort }: Pick<Stranger, 'remoteAddress' | 'remotePort'>): string {
  return `${remoteAddress} ${remotePort}`
}
