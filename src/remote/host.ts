// The sessions of a proxy. Each new connection is assigned to its session.

import type { Duplex } from 'node:stream'
import { debug } from '../base/debug.ts'
import { encodeFrame, FrameReader } from '../wire/frame.ts'
import { Desk, type Operations } from './desk.ts'
import { type ErrorFrame, errorFrame, ProxyTakesNoMore, SessionGone } from './errors.ts'
import { firstOf, type Hello, MAX_HELLO_BYTES, PROTOCOL, readHello, refusal } from './protocol.ts'

/** Time limit for the hello of a new connection. */
const HELLO_TIMEOUT_MS = 10_000
/** Maximum number of simultaneous sessions. Sessions that wait for their client to reconnect count, too. */
const MAX_SESSIONS = 64
/**
 * When the proxy ends, clients have this time to fetch the recorded data. Operating systems wait longer than this before they kill
 * processes at shutdown.
 */
const HAND_OVER_TIMEOUT_MS = 30_000

/** The operations of a session, and the ways to end it. */
export interface Hosted {
  readonly operations: Operations
  /** Detaches from the target. Idempotent. */
  close(): Promise<void>
  /**
   * Detaches from the target and reports the reason to the client.
   * @returns whether the client should still fetch recorded data
   */
  end(reason: string): Promise<boolean>
}

interface Entry {
  readonly desk: Desk
  readonly hosted: Hosted
  grace: NodeJS.Timeout | undefined
}

export interface HostOptions {
  readonly version: string
  /** Time for which a session waits for its client to reconnect, in ms. */
  readonly graceMs: number
  open(): Hosted
  /** Called when a session begins. */
  onOpen?(): void
  /** Called when the last session has ended. */
  onEmpty?(): void
  /** Called with the error that closing a session threw. Such an error is a defect of jfluid and does not affect other sessions. */
  onProblem?(error: unknown): void
}

export class Host {
  readonly #entries = new Map<string, Entry>()
  #isEnding = false
  /** Called when a client has disconnected. */
  #onGone: () => void = () => {}

  constructor(private readonly options: HostOptions) {}

  /** Accepts a new connection from an authenticated client. */
  welcome(connection: Duplex): void {
    const reader = new FrameReader(MAX_HELLO_BYTES)
    const timer = setTimeout(() => connection.destroy(), HELLO_TIMEOUT_MS)
    connection.on('error', () => connection.destroy())
    void firstOf(connection, reader).then((said) => {
      clearTimeout(timer)
      const [first, ...others] = said?.messages ?? []
      if (first === undefined) connection.destroy()
      else this.#admit(connection, reader, first, others)
    })
  }

  #admit(connection: Duplex, reader: FrameReader, first: unknown[], others: unknown[][]): void {
    const hello = readHello(first)
    if (hello === null) {
      connection.destroy()
      return
    }
    const { version } = this.options
    const wrong = refusal(hello, version) ?? this.#notNow(hello)
    if (wrong !== null) {
      debug.remote?.(`a client is refused: ${wrong[1]}`)
      connection.end(encodeFrame(['refused', ...wrong]))
      connection.resume() // discards further data, so that the end of the connection is detected
      return
    }
    connection.write(encodeFrame(['hello', PROTOCOL, version]))
    const entry = this.#entries.get(hello.session) ?? this.#open(hello.session)
    clearTimeout(entry.grace)
    entry.desk.join(connection, reader, others)
  }

  /** Returns the reason for refusing the session. Null if the session exists, or can be opened. */
  #notNow({ session, again }: Hello): ErrorFrame | null {
    if (this.#entries.has(session)) return null
    if (again) return errorFrame(new SessionGone())
    if (this.#isEnding) return errorFrame(new ProxyTakesNoMore('it is ending'))
    const isFull = this.#entries.size >= MAX_SESSIONS
    return isFull ? errorFrame(new ProxyTakesNoMore(`it has ${MAX_SESSIONS} sessions`)) : null
  }

  #open(session: string): Entry {
    const hosted = this.options.open()
    const desk = new Desk(
      {
        ...hosted.operations,
        bye: async () => {
          await this.#close(session)
          return null
        },
      },
      () => {
        const entry = this.#entries.get(session)
        if (entry !== undefined)
          entry.grace = setTimeout(() => void this.#close(session), this.options.graceMs)
        else this.#perhapsEmpty()
        this.#onGone()
      },
    )
    const entry: Entry = { desk, hosted, grace: undefined }
    this.#entries.set(session, entry)
    debug.remote?.(`a session begins; there are ${this.#entries.size}`)
    this.options.onOpen?.()
    return entry
  }

  async #close(session: string): Promise<void> {
    const entry = this.#entries.get(session)
    if (entry === undefined) return
    this.#entries.delete(session)
    debug.remote?.(`a session ends; there are ${this.#entries.size}`)
    clearTimeout(entry.grace)
    try {
      await entry.hosted.close()
    } catch (error) {
      this.options.onProblem?.(error)
    }
    // A connected client must first receive its last answer. In this case `onEmpty` is called after the client has disconnected.
    if (entry.desk.isAlone) this.#perhapsEmpty()
  }

  #perhapsEmpty(): void {
    if (this.#entries.size === 0) this.options.onEmpty?.()
  }

  /** Number of sessions with a connected client. */
  get clients(): number {
    return [...this.#entries.values()].filter(({ desk }) => !desk.isAlone).length
  }

  /**
   * Ends all sessions: detaches from the targets at once, and gives connected clients time to fetch the recorded data.
   * @param by        reason for the end, as reported to the clients
   * @param withinMs  time that the clients have
   */
  async end(by: string, withinMs = HAND_OVER_TIMEOUT_MS): Promise<void> {
    this.#isEnding = true
    const desks = await Promise.all(
      [...this.#entries.values()].map(async ({ desk, hosted }) => {
        // `close` reports the defect.
        const isMore = await hosted.end(`the proxy was ended by ${by}`).catch(() => false)
        return isMore ? desk : null
      }),
    )
    await this.#gone(
      desks.filter((desk) => desk !== null),
      withinMs,
    )
    await Promise.all([...this.#entries.keys()].map((session) => this.#close(session)))
  }

  /** Waits until the clients of all these sessions have disconnected. */
  #gone(desks: readonly Desk[], withinMs: number): Promise<void> {
    return new Promise((resolve) => {
      const late = setTimeout(resolve, withinMs)
      this.#onGone = () => {
        if (!desks.every(({ isAlone }) => isAlone)) return
        clearTimeout(late)
        resolve()
      }
      this.#onGone()
    })
  }
}
