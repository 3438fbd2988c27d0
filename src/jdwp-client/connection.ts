// A connection to a JVM's debugger agent: the handshake, and commands that find their replies. What the data
// means is `asker.ts`; how there comes to be a stream is `doors.ts`.
//
// What is bounded here: a packet (`maxPacket`, those of events more), the wait for the handshake and for each reply. What is not: commands
// that are under way and what has been written and the peer has not read, for both are the caller's own.

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

/** For the handshake and whatever comes before it, as the connection of the socket. */
export const HANDSHAKE_MS = 5000
/** For a reply. A JVM answers at once unless it is stopped, or walks through a large heap. */
export const REPLY_MS = 30_000

export interface ConnectionOptions {
  readonly handshakeMs?: number
  /** How long a command waits for its reply unless it says so itself; Infinity: as long as it takes. */
  readonly replyMs?: number
  /** Bytes of the largest packet that is taken. */
  readonly maxPacket?: number
  /**
   * Is given the commands of the JVM, in order, before any later packet is looked at. If it throws, the
   * connection ends with that error.
   */
  readonly onCommand?: (packet: CommandPacket) => void
  /** The connection has ended: nothing comes any more. */
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
  /** Resolves once the connection has ended, whoever ended it. */
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
        this.#lose(error as Error) // everything that is asked from now on is told
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
   * Shakes hands over a stream to a JVM. It is the debugger that speaks first, whoever has connected to whom.
   *
   * @throws Error that says what came instead; the stream is destroyed then
   */
  static async over(stream: Duplex, options: ConnectionOptions = {}): Promise<JdwpConnection> {
    return JdwpConnection.after(await shakeHands(stream, options.handshakeMs ?? HANDSHAKE_MS), options)
  }

  /** Where hands have been shaken already. */
  static after(shaken: Shaken, options: ConnectionOptions = {}): JdwpConnection {
    return new JdwpConnection(shaken, options)
  }

  /** Why it has ended, if it has. */
  get lost(): Error | undefined {
    return this.#lost
  }

  /** Replies that nobody waited for: such as came too late, or answer what was never asked. They are dropped. */
  get strayReplies(): number {
    return this.#strays
  }

  /**
   * Sends a command and waits for its reply.
   *
   * @param read  what to make of the reply's data; runs before the next packet is looked at, so that an event that
   *              comes with the reply finds what `read` has prepared
   * @param timing  for JdwpSilent: what is asked, and how long to wait; and whether the connection ends with it, as it has to
   *                where a JVM that does it after all leaves something that nobody would hear of
   * @throws JdwpLost or MalformedJdwp if the connection ends first, JdwpSilent if no reply comes in time, what `read` throws
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
    const { name = `command ${set}/${command}`, timeoutMs = this.#options.replyMs ?? REPLY_MS } = timing
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

  /** 32 bits; after four thousand million commands one that is still under way is passed over. */
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

/** A stream behind its handshake: paused, so that nothing is lost until somebody reads it. */
export interface Shaken {
  readonly stream: Duplex
  /** What came with the handshake already. */
  readonly early: Buffer
}

/**
 * Shakes hands. It is the debugger that speaks first, whoever has connected to whom.
 *
 * @throws Error that says what came instead; the stream is destroyed then
 */
export function shakeHands(stream: Duplex, timeoutMs: number): Promise<Shaken> {
  // Whoever has the stream afterwards hears of its end by `close`; an error that nobody listens to would end the process.
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
    stream.write(HANDSHAKE) // a socket that is connecting keeps it until it is
  })
}
