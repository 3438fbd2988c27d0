// A connection to a JVM's debugger agent: the handshake, and matching of replies to commands. `asker.ts` interprets the
// data; `doors.ts` opens the stream.
//
// Limits exist for the size of a packet (`maxPacket`; a smaller limit for events), the time of the handshake, and the wait for each reply.
// There is no limit for the number of commands in progress and the size of unsent data, which the caller controls.

import type { Duplex } from 'node:stream'
import { alarm } from './alarm.ts'
import { JdwpLost, JdwpSilent, MalformedJdwp, type Refusal, type Result, refusal } from './errors.ts'
import {
  type CommandPacket,
  encodeCommand,
  HANDSHAKE,
  MAX_EVENTS,
  MAX_PACKET,
  PacketReader,
} from './packet.ts'

/** Timeout for connecting the socket, and for the handshake. */
export const HANDSHAKE_TIMEOUT_MS = 5000
/** Timeout of a reply. A JVM answers at once unless it is stopped, or walks a large heap. */
export const REPLY_TIMEOUT_MS = 30_000

export interface ConnectionOptions {
  readonly handshakeMs?: number
  /** Default timeout of a reply, ms; Infinity for none. */
  readonly replyMs?: number
  /** Maximum size of a packet, bytes. */
  readonly maxPacket?: number
  /**
   * Called for each command of the JVM, in order, before any later packet is read. If the function throws, the connection
   * ends with the thrown error.
   */
  readonly onCommand?: (packet: CommandPacket) => void
  /** Called once, when the connection ends, with the reason. */
  readonly onLost?: (reason: Error) => void
}

interface Waiting {
  resolve(reply: Buffer | Refusal): void
  reject(error: Error): void
}

export class JdwpConnection implements AsyncDisposable {
  readonly #stream: Duplex
  readonly #options: ConnectionOptions
  readonly #waiting = new Map<number, Waiting>()
  #lastId = 0
  #lost: Error | undefined
  #strays = 0
  /** Resolves when the connection has ended, whichever side ended it. */
  readonly closed: Promise<void>

  private constructor({ stream, early }: Shaken, options: ConnectionOptions) {
    this.#stream = stream
    this.#options = options
    const reader = new PacketReader(options.maxPacket ?? MAX_PACKET, MAX_EVENTS)
    const receive = (chunk: Buffer): void => {
      try {
        for (const packet of reader.push(chunk)) {
          if (packet.kind === 'command') options.onCommand?.(packet)
          else this.#reply(packet.id, packet.error, packet.data)
          if (this.#lost !== undefined) return
        }
      } catch (error) {
        this.#lose(error as Error) // all later commands then fail with this error
      }
    }
    this.closed = stream.closed ? Promise.resolve() : new Promise((go) => stream.once('close', () => go()))
    stream.on('data', receive)
    stream.on('error', (error) => this.#lose(new JdwpLost(error.message)))
    for (const ended of ['end', 'close'])
      stream.on(ended, () => this.#lose(new JdwpLost('the JVM closed it')))
    if (stream.destroyed) this.#lose(new JdwpLost('the JVM closed it'))
    if (early.length > 0) receive(early)
    stream.resume()
  }

  /**
   * Performs the handshake over a stream to a JVM. The debugger sends first, whichever side opened the stream.
   *
   * @throws Error with the data that was received instead of the handshake; the stream is then destroyed
   */
  static async over(stream: Duplex, options: ConnectionOptions = {}): Promise<JdwpConnection> {
    return JdwpConnection.after(
      await shakeHands(stream, options.handshakeMs ?? HANDSHAKE_TIMEOUT_MS),
      options,
    )
  }

  /** Creates a connection over a stream on which the handshake is complete. */
  static after(shaken: Shaken, options: ConnectionOptions = {}): JdwpConnection {
    return new JdwpConnection(shaken, options)
  }

  /** Reason why the connection has ended; undefined while it is open. */
  get lost(): Error | undefined {
    return this.#lost
  }

  /** Number of dropped replies: replies that arrived after the timeout, and replies that match no command. */
  get strayReplies(): number {
    return this.#strays
  }

  /**
   * Sends a command and waits for its reply.
   *
   * @param read  reads the data of the reply. It is called before the next packet is read, so that its effects are visible when
   *              an event that arrives with the reply is handled
   * @param timing  description of the command for JdwpSilent, timeout, and whether the connection ends at the timeout. The connection must
   *                end if the JVM may execute the command later with effects that the debugger would not notice.
   * @throws JdwpLost or MalformedJdwp if the connection ends before the reply
   * @throws JdwpSilent on a timeout, and errors of `read`
   */
  command<T>(
    [set, command]: readonly [set: number, command: number],
    data: Uint8Array,
    read: (data: Buffer) => T,
    timing: {
      readonly name?: string
      readonly timeoutMs?: number | undefined
      readonly endsIfSilent?: boolean
    } = {},
  ): Promise<Result<T>> {
    if (this.#lost !== undefined) return Promise.reject(this.#lost)
    const { name = `command ${set}/${command}`, timeoutMs = this.#options.replyMs ?? REPLY_TIMEOUT_MS } =
      timing
    const id = this.#nextId()
    return new Promise((resolve, reject) => {
      const expire = (): void => {
        this.#waiting.delete(id)
        const silent = new JdwpSilent(name, timeoutMs)
        reject(silent)
        if (timing.endsIfSilent) this.#lose(silent)
      }
      const disarm = alarm(timeoutMs, expire)
      this.#waiting.set(id, {
        resolve: (reply) => {
          disarm()
          try {
            resolve('ok' in reply ? reply : { ok: true, value: read(reply) })
          } catch (error) {
            reject(error instanceof MalformedJdwp ? new MalformedJdwp(`${name}: ${plain(error)}`) : error)
          }
        },
        reject: (error) => {
          disarm()
          reject(error)
        },
      })
      this.#stream.write(encodeCommand(id, set, command, data))
    })
  }

  async close(): Promise<void> {
    this.#lose(new JdwpLost('closed'))
    await this.closed
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** Returns the next 32-bit id. After 2^32 commands, ids are reused, except ids of commands still in progress. */
  #nextId(): number {
    do this.#lastId = (this.#lastId + 1) >>> 0
    while (this.#waiting.has(this.#lastId))
    return this.#lastId
  }

  #reply(id: number, error: number, data: Buffer): void {
    const waiting = this.#waiting.get(id)
    if (waiting === undefined) {
      this.#strays++
      return
    }
    this.#waiting.delete(id)
    waiting.resolve(error === 0 ? data : refusal(error))
  }

  #lose(error: Error): void {
    if (this.#lost !== undefined) return
    this.#lost = error
    this.#stream.destroy()
    for (const waiting of this.#waiting.values()) waiting.reject(error)
    this.#waiting.clear()
    this.#options.onLost?.(error)
  }
}

const plain = (error: MalformedJdwp): string => error.message.replace(/^malformed JDWP: /, '')

/** A stream on which the handshake is complete. The stream is paused, so that no data is lost before a reader is attached. */
export interface Shaken {
  readonly stream: Duplex
  /** Data that arrived together with the handshake. */
  readonly early: Buffer
}

/**
 * Performs the handshake. The debugger sends first, whichever side opened the stream.
 *
 * @throws Error with the data that was received instead of the handshake; the stream is then destroyed
 */
export function shakeHands(stream: Duplex, timeoutMs: number): Promise<Shaken> {
  // An error without a listener would end this process. Later users of the stream notice its end by the event `close`.
  stream.on('error', () => {})
  return new Promise((resolve, reject) => {
    let got: Buffer = Buffer.alloc(0)
    const settle = (): void => {
      disarm()
      stream.off('data', onData).off('error', fail).off('end', onEnd).off('close', onEnd)
    }
    const fail = (error: Error): void => {
      settle()
      stream.destroy()
      reject(error)
    }
    const disarm = alarm(timeoutMs, () => fail(new Error(`no handshake within ${timeoutMs} ms`)))
    const onData = (chunk: Buffer): void => {
      got = Buffer.concat([got, chunk])
      const seen = got.toString('latin1', 0, HANDSHAKE.length)
      if (!HANDSHAKE.startsWith(seen)) fail(new Error('it does not speak JDWP'))
      else if (seen.length === HANDSHAKE.length) {
        settle()
        stream.pause()
        resolve({ stream, early: got.subarray(HANDSHAKE.length) })
      }
    }
    const onEnd = (): void => fail(new Error('it closed the connection'))
    stream.on('data', onData).on('error', fail).on('end', onEnd).on('close', onEnd)
    stream.write(HANDSHAKE) // if the socket is not connected yet, the handshake is sent after connecting
  })
}
