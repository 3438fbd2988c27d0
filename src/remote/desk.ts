// The proxy's end of one session: each request is done once, whatever becomes of the connection that it came by.

import type { Duplex } from 'node:stream'
import { debug, msText } from '../base/debug.ts'
import { encodeFrame, type FrameReader } from '../wire/frame.ts'
import { Malformed } from '../wire/unpack.ts'
import { errorFrame } from './errors.ts'
import { MOST_ANSWER_BYTES, MOST_OPEN, MOST_REQUEST_BYTES, SILENCE_MS } from './protocol.ts'

/** What MessagePack has here. */
export type Value = null | boolean | number | string | Uint8Array | readonly Value[]

/** @throws JfluidError, which the client gets as it is */
export type Operations = Readonly<Record<string, (args: unknown) => Promise<Value>>>

export class Desk {
  readonly #answers = new Map<number, Promise<Buffer>>()
  /** Operations that go on, also those whose answer nobody waits for any more. */
  #running = 0
  #connection: Duplex | null = null

  /** @param onAlone  told when the client's connection has gone, and no other has come */
  constructor(
    private readonly operations: Operations,
    private readonly onAlone: () => void,
  ) {}

  get isAlone(): boolean {
    return this.#connection === null
  }

  /** The client is here now; the connection before is of no use any more. What has come behind the hello is in `reader`. */
  join(connection: Duplex, reader: FrameReader, messages: readonly unknown[][]): void {
    debug.remote?.(
      `a client has joined the session${this.#connection === null ? '' : ', by another connection'}`,
    )
    this.#connection?.destroy()
    this.#connection = connection
    let heard = performance.now()
    const watch = setInterval(() => {
      if (performance.now() - heard > SILENCE_MS) connection.destroy()
    }, SILENCE_MS / 5)
    watch.unref()
    reader.most = MOST_REQUEST_BYTES
    const takeOf = (read: () => readonly unknown[][]): void => {
      try {
        for (const message of read()) this.#take(message, connection)
      } catch (error) {
        if (!(error instanceof Malformed)) throw error
        connection.destroy()
      }
    }
    connection.on('data', (bytes: Buffer) => {
      heard = performance.now()
      takeOf(() => reader.push(bytes))
    })
    connection.on('error', () => connection.destroy())
    connection.on('close', () => {
      clearInterval(watch)
      if (this.#connection !== connection) return
      debug.remote?.(`the client's connection is closed; ${this.#running} requests go on`)
      this.#connection = null
      this.onAlone()
    })
    takeOf(() => messages)
    connection.resume()
  }

  #take(message: readonly unknown[], connection: Duplex): void {
    const [id, open, operation, args] = message
    if (id === 0 && message.length === 1) {
      write(connection, encodeFrame([0]))
      return
    }
    if (!isNumber(id) || !Array.isArray(open) || typeof operation !== 'string' || typeof args !== 'string')
      throw new Malformed('no request')
    for (const answered of this.#answers.keys()) if (!open.includes(answered)) this.#answers.delete(answered)
    if (!open.includes(id)) throw new Malformed('a request that is not open')
    const answer = this.#answers.get(id) ?? this.#begun(id, operation, args)
    void answer.then((frame) => {
      // It may have gone; the client asks again by the next.
      if (this.#connection === connection) write(connection, frame)
    })
  }

  /** One request too many is refused, and not its connection: a client that comes back would make it again. */
  #begun(id: number, operation: string, args: string): Promise<Buffer> {
    if (this.#running >= MOST_OPEN || this.#answers.size >= MOST_OPEN)
      return Promise.resolve(refused(id, new Malformed(`more than ${MOST_OPEN} requests at a time`)))
    this.#running++
    const begun = performance.now()
    const answer = this.#answer(id, operation, args).finally(() => this.#running--)
    this.#answers.set(id, answer)
    void answer.then(({ length }) =>
      debug.remote?.(`#${id} ${operation}: ${length} bytes after ${msText(performance.now() - begun)}`),
    )
    return answer
  }

  async #answer(id: number, operation: string, args: string): Promise<Buffer> {
    try {
      const run = Object.hasOwn(this.operations, operation) ? this.operations[operation] : undefined
      if (run === undefined) throw new Malformed(`an operation ${operation}`)
      return encodeFrame([id, true, await run(JSON.parse(args))])
    } catch (error) {
      return refused(id, error)
    }
  }
}

function refused(id: number, error: unknown): Buffer {
  return encodeFrame([id, false, ...errorFrame(error)])
}

/** To a client that reads: one that only asks would have us keep all that it does not take. */
function write(connection: Duplex, frame: Buffer): void {
  if (connection.writableLength > MOST_ANSWER_BYTES) connection.destroy()
  else connection.write(frame)
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0
}
