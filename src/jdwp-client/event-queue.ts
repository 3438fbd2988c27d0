// Queue of events from the JVM. Each event set has one consumer: the first waiting `next` that matches an event of the
// set, or else the listener. Without a consumer, the set is held for a later `next` or listener. So no event is missed
// between a request and the call of `next` that waits for the event.
//
// The number of held sets is limited. Above the limit the connection ends, and the JVM then resumes all threads. If a set
// were dropped instead, the threads that it suspended would stay suspended.

import { alarm } from './alarm.ts'
import type { EventKind } from './constants.ts'
import { EventsNotTaken } from './errors.ts'
import type { EventOf, EventSet, JdwpEvent, UnknownEvent } from './events.ts'

export const MAX_HELD = 4096
export const MAX_HELD_BYTES = 16 << 20
/** Default timeout for an event. */
export const EVENT_TIMEOUT_MS = 10_000

export interface Wanted<K extends EventKind> {
  /** Number of a request, as returned by EventRequest.Set. If present, only events of this request match. */
  readonly request?: number
  readonly where?: (event: EventOf<K>) => boolean
  /** Timeout, ms; Infinity for none. */
  readonly timeoutMs?: number
}

export interface Taken<K extends EventKind> {
  /** First event of the set that matches. */
  readonly event: EventOf<K>
  /** The whole set, with its other events and its suspend policy. */
  readonly set: EventSet
}

type Listener = (set: EventSet) => void

interface Held {
  readonly set: EventSet
  readonly bytes: number
}

/** Function that gets an event set. Returns whether it has consumed the set. */
type Waiter = (set: EventSet) => boolean

export class EventQueue {
  #held: Held[] = []
  #bytes = 0
  #listener: Listener | null = null
  readonly #waiters = new Map<Waiter, (error: Error) => void>()
  #ended: Error | null = null

  /**
   * Passes a set to its consumer, or holds the set.
   *
   * @param bytes  size of the set's packet
   * @throws EventsNotTaken, and errors of the listener
   */
  push(set: EventSet, bytes: number): void {
    for (const waiter of this.#waiters.keys()) if (waiter(set)) return
    if (this.#listener !== null) {
      this.#listener(set)
      return
    }
    this.#held.push({ set, bytes })
    this.#bytes += bytes
    if (this.#held.length > MAX_HELD || this.#bytes > MAX_HELD_BYTES) {
      throw new EventsNotTaken(this.#held.length, this.#bytes)
    }
  }

  /** Ends the queue. Waiting calls of `next` are rejected, and later calls are rejected unless the queue holds a matching set. */
  end(reason: Error): void {
    this.#ended = reason
    for (const reject of this.#waiters.values()) reject(reason)
    this.#waiters.clear()
  }

  /**
   * Returns the next event of a kind: from a held set if one matches, otherwise from a future set. Consumes the whole set.
   *
   * @returns null on a timeout
   * @throws the error that ended the connection
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

    const { timeoutMs = EVENT_TIMEOUT_MS } = wanted
    return new Promise((resolve, reject) => {
      const waiter: Waiter = (set) => {
        let event: EventOf<K> | undefined
        try {
          event = set.events.find(isWanted)
        } catch (error) {
          settle(() => reject(error)) // `where` of the caller threw: only this caller gets the error
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
   * Sets the listener for all sets that match no waiting `next`. The listener first gets the held sets. Replaces an earlier listener.
   *
   * @param listener  must return quickly, since no reply is read before it returns; if it throws, the connection ends with the error
   * @returns a function that removes the listener
   * @throws an error that the listener throws for a held set; the listener is then removed, and the remaining sets stay held
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

  /** Number of sets that the queue holds. */
  get held(): number {
    return this.#held.length
  }
}
