// The sessions of a proxy, and who comes for which.

import type { Duplex } from 'node:stream'
import { encodeFrame, FrameReader } from '../wire/frame.ts'
import { Malformed } from '../wire/unpack.ts'
import { Desk, type Operations } from './desk.ts'
import { errorFrame, SessionGone } from './errors.ts'
import { type Hello, MOST_HELLO_BYTES, PROTOCOL, readHello, refusal } from './protocol.ts'

/** Whoever connects says by then what it wants. */
const HELLO_MS = 10_000

/** What a session can do, and how it is ended. */
export interface Hosted {
  readonly operations: Operations
  /** Its target is left; once for all. */
  close(): Promise<void>
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
  readonly #options: HostOptions
  readonly #entries = new Map<string, Entry>()

  constructor(options: HostOptions) {
    this.#options = options
  }

  /** Somebody has connected, who may be let in. */
  welcome(connection: Duplex): void {
    const reader = new FrameReader(MOST_HELLO_BYTES)
    const timer = setTimeout(() => connection.destroy(), HELLO_MS)
    const onData = (bytes: Buffer): void => {
      let messages: unknown[][]
      try {
        messages = reader.push(bytes)
      } catch (error) {
        if (!(error instanceof Malformed)) throw error
        connection.destroy()
        return
      }
      const [first, ...others] = messages
      if (first === undefined) return
      clearTimeout(timer)
      connection.off('data', onData)
      this.#admit(connection, reader, first, others)
    }
    connection.on('data', onData)
    connection.on('error', () => connection.destroy())
    connection.once('close', () => clearTimeout(timer))
  }

  #admit(connection: Duplex, reader: FrameReader, first: unknown[], others: unknown[][]): void {
    const hello = readHello(first)
    if (hello === null) {
      connection.destroy()
      return
    }
    const { version } = this.#options
    const wrong = refusal(hello, version) ?? (this.#isGone(hello) ? errorFrame(new SessionGone()) : null)
    if (wrong !== null) {
      connection.end(encodeFrame(['refused', ...wrong]))
      return
    }
    connection.write(encodeFrame(['hello', PROTOCOL, version]))
    const entry = this.#entries.get(hello.session) ?? this.#open(hello.session)
    clearTimeout(entry.grace)
    entry.desk.join(connection, reader, others)
  }

  #isGone({ session, again }: Hello): boolean {
    return again && !this.#entries.has(session)
  }

  #open(session: string): Entry {
    const hosted = this.#options.open()
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
          entry.grace = setTimeout(() => void this.#close(session), this.#options.graceMs)
        else this.#perhapsEmpty()
      },
    )
    const entry: Entry = { desk, hosted, grace: undefined }
    this.#entries.set(session, entry)
    this.#options.onOpen?.()
    return entry
  }

  async #close(session: string): Promise<void> {
    const entry = this.#entries.get(session)
    if (entry === undefined) return
    this.#entries.delete(session)
    clearTimeout(entry.grace)
    try {
      await entry.hosted.close()
    } catch (error) {
      this.#options.onProblem?.(error)
    }
    // Where the client is still there, it hears of it before it goes.
    if (entry.desk.isAlone) this.#perhapsEmpty()
  }

  #perhapsEmpty(): void {
    if (this.#entries.size === 0) this.#options.onEmpty?.()
  }

  /** Ends all of them. */
  async close(): Promise<void> {
    await Promise.all([...this.#entries.keys()].map((session) => this.#close(session)))
  }
}
