// The proxy's end of one session. Each request is executed once, even if the connection that delivered it is lost.

import type { Duplex } from 'node:stream'
import { debug, msText } from '../base/debug.ts'
import { encodeFrame, type FrameReader } from '../wire/frame.ts'
import { Malformed } from '../wire/unpack.ts'
import { errorFrame } from './errors.ts'
import { MAX_ANSWER_BYTES, MAX_OPEN_REQUESTS, MAX_REQUEST_BYTES, SILENCE_TIMEOUT_MS } from './protocol.ts'

/** Values that this MessagePack encoder supports. */
export type Value = null | boolean | number | string | Uint8Array | readonly Value[]

/** Operations of a session, keyed by name. An operation rejects with a JfluidError, which is passed to the client unchanged. */
export type Operations = Readonly<Record<string, (args: unknown) => Promise<Value>>>

export class Desk {
  readonly #answers = new Map<number, Promise<Buffer>>()
  /** Number of unfinished operations. Operations count even if their answer is no longer needed. */
  #running = 0
  #connection: Duplex | null = null

  /** @param onAlone  called when the client's connection is lost and no newer connection has replaced it */
  constructor(
    private readonly operations: Operations,
    private readonly onAlone: () => void,
  ) {}

  get isAlone(): boolean {
    return this.#connection === null
  }

  /** Adopts a new connection of the client and closes the previous connection. `reader` holds the bytes that arrived after the hello. */
  join(connection: Duplex, reader: FrameReader, messages: readonly unknown[][]): void {
    debug.remote?.(
      `a client has joined the session${this.#connection === null ? '' : ', by another connection'}`,
    )
    this.#connection?.destroy()
    this.#connection = connection
    let heard = performance.now()
    const watch = setInterval(() => {
      if (performance.now() - heard > SILENCE_TIMEOUT_MS) connection.destroy()
    }, SILENCE_TIMEOUT_MS / 5)
    watch.unref()
    reader.most = MAX_REQUEST_BYTES
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
      // The connection may be lost. The client then sends the request again on its next connection.
      if (this.#connection === connection) write(connection, frame)
    })
  }

  /** Rejects a request above the limit, but keeps the connection: a client that reconnects would only send the same request again. */
  #begun(id: number, operation: string, args: string): Promise<Buffer> {
    if (this.#running >= MAX_OPEN_REQUESTS || this.#answers.size >= MAX_OPEN_REQUESTS)
      return Promise.resolve(refused(id, new Malformed(`more than ${MAX_OPEN_REQUESTS} requests at a time`)))
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

/** Writes a frame. Closes the connection of a client that does not read its answers, since unread answers would fill the memory. */
function write(connection: Duplex, frame: Buffer): void {
  if (connection.writableLength > MAX_ANSWER_BYTES) connection.destroy()
  else connection.write(frame)
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0
}
