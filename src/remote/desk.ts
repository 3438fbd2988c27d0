// The proxy's end of one session: each request is done once, whatever becomes of the connection that it came by.

import type { Duplex } from 'node:stream'
import { encodeFrame, type FrameReader } from '../wire/frame.ts'
import { Malformed } from '../wire/unpack.ts'
import { errorFrame } from './errors.ts'
import { MOST_REQUEST_BYTES, SILENCE_MS } from './protocol.ts'

/** What MessagePack has here. */
export type Value = null | boolean | number | string | Uint8Array | readonly Value[]

/** @throws JfluidError, which the client gets as it is */
export type Operations = Readonly<Record<string, (args: unknown) => Promise<Value>>>

/** Requests at a time. */
const MOST_OPEN = 64

export class Desk {
  readonly #operations: Operations
  readonly #onAlone: () => void
  readonly #answers = new Map<number, Promise<Buffer>>()
  #connection: Duplex | null = null

  /** @param onAlone  told when the client's connection has gone, and no other has come */
  constructor(operations: Operations, onAlone: () => void) {
    this.#operations = operations
    this.#onAlone = onAlone
  }

  get isAlone(): boolean {
    return this.#connection === null
  }

  /** The client is here now; the connection before is of no use any more. What has come behind the hello is in `reader`. */
  join(connection: Duplex, reader: FrameReader, messages: readonly unknown[][]): void {
    this.#connection?.destroy()
    this.#connection = connection
    let heard = performance.now()
    const watch = setInterval(() => {
      if (performance.now() - heard > SILENCE_MS) connection.destroy()
    }, SILENCE_MS / 5)
    watch.unref()
    reader.most = MOST_REQUEST_BYTES
    const take = (all: readonly unknown[][]): void => {
      for (const message of all) this.#take(message, connection)
    }
    connection.on('data', (bytes: Buffer) => {
      heard = performance.now()
      try {
        take(reader.push(bytes))
      } catch (error) {
        if (!(error instanceof Malformed)) throw error
        connection.destroy()
      }
    })
    connection.on('error', () => connection.destroy())
    connection.on('close', () => {
      clearInterval(watch)
      if (this.#connection !== connection) return
      this.#connection = null
      this.#onAlone()
    })
    try {
      take(messages)
    } catch (error) {
      if (!(error instanceof Malformed)) throw error
      connection.destroy()
    }
  }

  leave(): void {
    this.#connection?.end()
  }

  #take(message: readonly unknown[], connection: Duplex): void {
    const [id, open, operation, args] = message
    if (id === 0 && message.length === 1) {
      connection.write(encodeFrame([0]))
      return
    }
    if (!isNumber(id) || !Array.isArray(open) || typeof operation !== 'string' || typeof args !== 'string')
      throw new Malformed('no request')
    for (const answered of this.#answers.keys()) if (!open.includes(answered)) this.#answers.delete(answered)
    if (!open.includes(id) || open.length > MOST_OPEN) throw new Malformed('a request that is not open')
    const known = this.#answers.get(id)
    const answer = known ?? this.#answer(id, operation, args)
    this.#answers.set(id, answer)
    void answer.then((frame) => {
      // It may have gone; the client asks again by the next.
      if (this.#connection === connection) connection.write(frame)
    })
  }

  async #answer(id: number, operation: string, args: string): Promise<Buffer> {
    try {
      const run = Object.hasOwn(this.#operations, operation) ? this.#operations[operation] : undefined
      if (run === undefined) throw new Malformed(`an operation ${operation}`)
      return encodeFrame([id, true, await run(JSON.parse(args))])
    } catch (error) {
      return encodeFrame([id, false, ...errorFrame(error)])
    }
  }
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0
}
