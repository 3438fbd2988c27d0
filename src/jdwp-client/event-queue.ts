// Events between the JVM that tells them and whoever wants them. Each set goes to one taker: the first `next` that
// matches an event of it, else the listener, else it is held for the next `next` or the next listener. So nothing
// is missed between a request and the call that waits for what was requested.
//
// What is held is bounded. Beyond that the connection ends: to drop a set that has suspended threads would leave
// them suspended for good, while a JVM that has lost its debugger resumes them.

import { alarm } from './alarm.ts'
import type { EventKind } from './constants.ts'
import { EventsNotTaken } from './errors.ts'
import type { EventOf, EventSet, JdwpEvent, UnknownEvent } from './events.ts'

export const MOST_HELD = 4096
export const MOST_HELD_BYTES = 16 << 20
/** For an event unless told otherwise. */
export const EVENT_MS = 10_000

export interface Wanted<K extends EventKind> {
  /** Only what this request has brought: the number that EventRequest.Set gave. */
  readonly request?: number
  readonly where?: (event: EventOf<K>) => boolean
  /** Infinity: as long as it takes. */
  readonly timeoutMs?: number
}

export interface Taken<K extends EventKind> {
  /** The first of the set that was wanted. */
  readonly event: EventOf<K>
  /** All of it: what else happened, and whom it has suspended. */
  readonly set: EventSet
}

type Listener = (set: EventSet) => void

interface Held {
  readonly set: EventSet
  readonly bytes: number
}

/** @returns whether it took the set */
type Waiter = (set: EventSet) => boolean

export class EventQueue {
  #held: Held[] = []
  #bytes = 0
  #listener: Listener | null = null
  readonly #waiters = new Map<Waiter, (error: Error) => void>()
  #ended: Error | null = null

  /**
   * A set has come.
   *
   * @param bytes  of its packet
   * @throws EventsNotTaken, what the listener throws
   */
  push(set: EventSet, bytes: number): void {
    for (const waiter of this.#waiters.keys()) if (waiter(set)) return
    if (this.#listener !== null) {
      this.#listener(set)
      return
    }
    this.#held.push({ set, bytes })
    this.#bytes += bytes
    if (this.#held.length > MOST_HELD || this.#bytes > MOST_HELD_BYTES) {
      throw new EventsNotTaken(this.#held.length, this.#bytes)
    }
  }

  /** The connection has ended: whoever waits is told, and whoever asks for what is not held. */
  end(reason: Error): void {
    this.#ended = reason
    for (const reject of this.#waiters.values()) reject(reason)
    this.#waiters.clear()
  }

  /**
   * The next event of a kind: one that is held, else one that comes. Its whole set counts as taken.
   *
   * @returns null if none came in time
   * @throws why the connection has ended
   */
  next<K extends EventKind>(kind: K | readonly K[], wanted: Wanted<K> = {}): Promise<Taken<K> | null> {
    const kinds: ReadonlySet<string> = new Set([kind].flat())
    const isWanted = (event: JdwpEvent | UnknownEvent): event is EventOf<K> =>
      event.kind !== 'UNKNOWN' &&
      kinds.has(event.kind) &&
      (wanted.request === undefined || event.request === wanted.request) &&
      (wanted.where === undefined || wanted.where(event as EventOf<K>))

    for (const [i, { set, bytes }] of this.#held.entries()) {
      const event = set.events.find(isWanted)
      if (event === undefined) continue
      this.#held.splice(i, 1)
      this.#bytes -= bytes
      return Promise.resolve({ event, set })
    }
    if (this.#ended !== null) return Promise.reject(this.#ended)

    const { timeoutMs = EVENT_MS } = wanted
    return new Promise((resolve, reject) => {
      const waiter: Waiter = (set) => {
        let event: EventOf<K> | undefined
        try {
          event = set.events.find(isWanted)
        } catch (error) {
          settle(() => reject(error)) // `where` is its caller's; the others go on
        }
        if (event === undefined) return false
        const taken = { event, set }
        settle(() => resolve(taken))
        return true
      }
      const settle = (act: () => void): void => {
        disarm()
        this.#waiters.delete(waiter)
        act()
      }
      const disarm = alarm(timeoutMs, () => settle(() => resolve(null)))
      this.#waiters.set(waiter, (error) => settle(() => reject(error)))
    })
  }

  /**
   * Has a function take every set that no `next` wants, those that are held first. A later listener takes its place.
   *
   * @param listener  is to return soon, for no reply is read meanwhile; if it throws, the connection ends with that
   * @returns call it to listen no longer
   * @throws what the listener throws of a set that was held: it listens no longer then, and the sets behind that are held on
   */
  listen(listener: Listener): () => void {
    this.#listener = listener
    const listenNoMore = (): void => {
      if (this.#listener === listener) this.#listener = null
    }
    try {
      while (this.#listener === listener) {
        const held = this.#held.shift()
        if (held === undefined) break
        this.#bytes -= held.bytes
        listener(held.set)
      }
    } catch (error) {
      listenNoMore()
      throw error
    }
    return listenNoMore
  }

  /** Sets that wait for somebody. */
  get held(): number {
    return this.#held.length
  }
}
