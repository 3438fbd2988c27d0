// Queue of events from the JVM. Each event set has one consumer: the first waiting `next` that matches one of its
// events, otherwise the listener, otherwise the set is held for a later `next` or listener. So no event is missed
// between a request and the call that waits for its event.
//
// The number of held sets is bounded. Above the limit the connection ends: dropping a set that has suspended threads would
// leave them suspended, while a JVM without a debugger resumes them.

import { alarm } from './alarm.ts'
import type { EventKind } from './constants.ts'
import { EventsNotTaken } from './errors.ts'
import type { EventOf, EventSet, JdwpEvent, UnknownEvent } from './events.ts'

export const MAX_HELD = 4096
export const MAX_HELD_BYTES = 16 << 20
/** Default timeout for an event. */
export const EVENT_TIMEOUT_MS = 10_000

export interface Wanted<K extends EventKind> {
  /** Restricts the events to those of this request: the number returned by EventRequest.Set. */
  readonly request?: number
  readonly where?: (event: EventOf<K>) => boolean
  /** Timeout, ms; Infinity for none. */
  readonly timeoutMs?: number
}

export interface Taken<K extends EventKind> {
  /** First matching event of the set. */
  readonly event: EventOf<K>
  /** The whole set, with its other events and its suspend policy. */
  readonly set: EventSet
}

type Listener = (set: EventSet) => void

interface Held {
  readonly set: EventSet
  readonly bytes: number
}

/** @returns whether the set was consumed */
type Waiter = (set: EventSet) => boolean

export class EventQueue {
  #held: Held[] = []
  #bytes = 0
  #listener: Listener | null = null
  readonly #waiters = new Map<Waiter, (error: Error) => void>()
  #ended: Error | null = null

  /**
   * Delivers or holds a set.
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

  /** Ends the queue: rejects waiting calls, and later calls for events that the queue does not hold. */
  end(reason: Error): void {
    this.#ended = reason
    for (const reject of this.#waiters.values()) reject(reason)
    this.#waiters.clear()
  }

  /**
   * Returns the next event of a kind: a held event if there is one, otherwise a future event. Consumes the whole set of the event.
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
          settle(() => reject(error)) // an error of the caller's `where` does not affect other waiters
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
   * Sets the listener for every set that no `next` matches, held sets first. Replaces an earlier listener.
   *
   * @param listener  must return quickly, since no reply is read until then; if it throws, the connection ends with that error
   * @returns a function that removes the listener
   * @throws an error of the listener for a held set: the listener is removed, and later held sets stay held
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
