// Connections of those who have not shown the key yet: they are few at a time, so that they cost little, and of too many goes one
// that is no client, as far as can be told. Who has shown it holds no place here.

/** What is known of a connection. */
export interface Stranger {
  readonly remoteAddress?: string | undefined
  readonly remotePort?: number | undefined
  /** What has come; a client says something at once. */
  readonly bytesRead: number
  destroy(): unknown
  once(event: 'close', listener: () => void): unknown
}

/** At a time. */
const MOST = 256
/** A client has said something by then, however far away it is. */
const QUIET_MS = 1000

interface Known {
  readonly end: string
  readonly stranger: Stranger
  readonly since: number
}

export class Strangers {
  /** By their end, the oldest first: of a connection that comes by TLS there are two objects. */
  readonly #all = new Map<string, Known>()
  readonly #random: () => number
  readonly #now: () => number

  /**
   * @param random  from 0 to 1
   * @param now     in ms
   */
  constructor(random = Math.random, now = () => performance.now()) {
    this.#random = random
    this.#now = now
  }

  come(stranger: Stranger): void {
    const end = endOf(stranger)
    const goes = this.#all.size < MOST ? undefined : this.#leastLikelyClient()
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

  /** It is none any more. */
  leave(stranger: Pick<Stranger, 'remoteAddress' | 'remotePort'>): void {
    this.#all.delete(endOf(stranger))
  }

  /**
   * Of the address that most come from, which leaves others to theirs: the oldest that has said nothing for long, else any of them. Were it
   * the oldest, a flood would have it be a client for sure.
   */
  #leastLikelyClient(): Known {
    const byAddress = new Map<string | undefined, Known[]>()
    for (const known of this.#all.values()) {
      const { remoteAddress } = known.stranger
      const others = byAddress.get(remoteAddress)
      if (others === undefined) byAddress.set(remoteAddress, [known])
      else others.push(known)
    }
    const most = [...byAddress.values()].reduce((a, b) => (b.length > a.length ? b : a))
    const quiet = this.#now() - QUIET_MS
    return (
      most.find(({ stranger, since }) => stranger.bytesRead === 0 && since <= quiet) ??
      most[Math.floor(this.#random() * most.length)]!
    )
  }
}

function endOf({ remoteAddress, remotePort }: Pick<Stranger, 'remoteAddress' | 'remotePort'>): string {
  return `${remoteAddress} ${remotePort}`
}
