// The sessions of a proxy, and who comes for which.

import type { Duplex } from 'node:stream'
import { debug } from '../base/debug.ts'
import { encodeFrame, FrameReader } from '../wire/frame.ts'
import { Desk, type Operations } from './desk.ts'
import { type ErrorFrame, errorFrame, ProxyTakesNoMore, SessionGone } from './errors.ts'
import { firstOf, type Hello, MOST_HELLO_BYTES, PROTOCOL, readHello, refusal } from './protocol.ts'

/** Whoever connects says by then what it wants. */
const HELLO_MS = 10_000
/** Sessions at a time, also those that wait for their client. */
const MOST_SESSIONS = 64
/** From the end of a session's recording to that of its client's taking it. Machines that are shut down wait for longer. */
const HAND_OVER_MS = 30_000

/** What a session can do, and how it is ended. */
export interface Hosted {
  readonly operations: Operations
  /** Its target is left; once for all. */
  close(): Promise<void>
  /**
   * The same, where its client is told why.
   *
   * @returns whether there is something that it should still have
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
  /** How long a session waits for its client. */
  readonly graceMs: number
  open(): Hosted
  /** Told when there is a session. */
  onOpen?(): void
  /** Told when there is none any more. */
  onEmpty?(): void
  /** Told what a session could not be closed for: a defect, which is no matter of the others. */
  onProblem?(error: unknown): void
}

export class Host {
  readonly #entries = new Map<string, Entry>()
  #isEnding = false
  /** Told when a client has gone. */
  #onGone: () => void = () => {}

  constructor(private readonly options: HostOptions) {}

  /** Somebody has connected, who may be let in. */
  welcome(connection: Duplex): void {
    const reader = new FrameReader(MOST_HELLO_BYTES)
    const timer = setTimeout(() => connection.destroy(), HELLO_MS)
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
      connection.resume() // what it says further is not kept, and its end is seen
      return
    }
    connection.write(encodeFrame(['hello', PROTOCOL, version]))
    const entry = this.#entries.get(hello.session) ?? this.#open(hello.session)
    clearTimeout(entry.grace)
    entry.desk.join(connection, reader, others)
  }

  /** Null if there is, or can be, such a session. */
  #notNow({ session, again }: Hello): ErrorFrame | null {
    if (this.#entries.has(session)) return null
    if (again) return errorFrame(new SessionGone())
    if (this.#isEnding) return errorFrame(new ProxyTakesNoMore('it is about to end'))
    const isFull = this.#entries.size >= MOST_SESSIONS
    return isFull ? errorFrame(new ProxyTakesNoMore(`it has ${MOST_SESSIONS}`)) : null
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
    // Where the client is still there, it hears of it before it goes.
    if (entry.desk.isAlone) this.#perhapsEmpty()
  }

  #perhapsEmpty(): void {
    if (this.#entries.size === 0) this.options.onEmpty?.()
  }

  /** Sessions whose client is there. */
  get clients(): number {
    return [...this.#entries.values()].filter(({ desk }) => !desk.isAlone).length
  }

  /**
   * Ends all of them: targets are left at once, and clients that are there may take what was recorded.
   *
   * @param by        what ends the proxy, as clients are told
   * @param withinMs  for those
   */
  async end(by: string, withinMs = HAND_OVER_MS): Promise<void> {
    this.#isEnding = true
    const desks = await Promise.all(
      [...this.#entries.values()].map(async ({ desk, hosted }) => {
        // `close` tells of a defect.
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

  /** Until the clients of all these have gone. */
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
