// The client's end of one session: asks, and asks again by another connection where one has gone.

import { randomBytes } from 'node:crypto'
import type { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { debug, msText } from '../base/debug.ts'
import { JfluidError } from '../base/errors.ts'
import { encodeFrame, FrameReader } from '../wire/frame.ts'
import { Malformed } from '../wire/unpack.ts'
import type { Value } from './desk.ts'
import {
  CannotReach,
  NotAProxy,
  OtherProxyVersion,
  ProxyLost,
  ProxySays,
  readErrorFrame,
  SessionGone,
  WrongProxyKey,
} from './errors.ts'
import {
  described,
  firstOf,
  GRACE_MS,
  MOST_ANSWER_BYTES,
  MOST_HELLO_BYTES,
  MOST_OPEN,
  PROTOCOL,
  PULSE_MS,
  SILENCE_MS,
} from './protocol.ts'

/** A way to a proxy. */
export interface Way {
  /** For messages. */
  readonly where: string
  /** The first connection may ask somebody for a password. */
  readonly mayAsk?: boolean
  /**
   * @param isAgain  a connection was there before, and there may be nobody to ask for a password
   * @throws CannotReach, WrongProxyKey
   */
  connect(isAgain: boolean): Promise<Duplex>
  /** Why a connection that has come to nothing did, where that is known: what ssh says, say. */
  problem(connection: Duplex): Promise<JfluidError | null>
}

interface Asked {
  readonly id: number
  readonly operation: string
  readonly args: string
  /** As `performance.now()` has it. */
  readonly askedMs: number
  resolve(value: unknown): void
  reject(error: unknown): void
}

/** Two pulses have had no answer. */
const QUIET_MS = 2.5 * PULSE_MS
const FIRST_PAUSE_MS = 200
const LONGEST_PAUSE_MS = 3000
/** By then the proxy has given up, too. */
const GIVE_UP_MS = GRACE_MS + 2 * SILENCE_MS
/** A machine that lets us in and then says nothing. */
const HELLO_MS = 60_000
/** Where somebody may be asked for a password before: ssh itself ends that earlier. */
const ASKED_HELLO_MS = 300_000
/** A target has its code back in a moment, unless something is wrong with it. */
const LEAVE_MS = 10_000

export class Caller {
  readonly #session = randomBytes(16).toString('hex')
  readonly #asked = new Map<number, Asked>()
  /** Asked as soon as others have been answered. */
  readonly #waiting: Asked[] = []
  #next = 1
  #connection: Duplex | null = null
  /** When the last connection by which something had come was lost; null while something has come by this one. */
  #lostAt: number | null = null
  #pauseMs = FIRST_PAUSE_MS
  #heardAt = performance.now()
  #over: JfluidError | null = null
  #bytes = 0
  /** Of the last try to connect again. */
  #problem: string | null = null

  private constructor(
    private readonly way: Way,
    private readonly version: string,
    private readonly giveUpMs: number,
  ) {}

  /**
   * @param giveUpMs  for how long it is tried to connect again
   * @throws CannotReach, WrongProxyKey, NotAProxy, OtherProxyVersion, ProxySays
   */
  static async connect(way: Way, version: string, giveUpMs = GIVE_UP_MS): Promise<Caller> {
    const caller = new Caller(way, version, giveUpMs)
    await caller.#connect(false)
    return caller
  }

  get where(): string {
    return this.way.where
  }

  /** For how long there has been no connection, or nothing has come by it, in ms; null while something does. */
  get lostForMs(): number | null {
    const now = performance.now()
    if (this.#lostAt !== null) return now - this.#lostAt
    const silentMs = now - this.#heardAt
    return silentMs > QUIET_MS ? silentMs : null
  }

  /** Why it has not come back so far; null if that is not known, or there is one. */
  get problem(): string | null {
    return this.#problem
  }

  /** Bytes that have come. */
  get bytesRead(): number {
    return this.#bytes
  }

  /**
   * Has the proxy do something, once.
   *
   * @throws ProxySays: what is wrong there; ProxyLost, SessionGone
   */
  ask(operation: string, args: unknown = null): Promise<unknown> {
    if (this.#over !== null) return Promise.reject(this.#over)
    const id = this.#next++
    return new Promise((resolve, reject) => {
      const askedMs = performance.now()
      const asked = { id, operation, args: JSON.stringify(args), askedMs, resolve, reject }
      if (this.#asked.size < MOST_OPEN) this.#begin(asked)
      else this.#waiting.push(asked)
    })
  }

  #begin(asked: Asked): void {
    this.#asked.set(asked.id, asked)
    if (this.#connection !== null) this.#send(this.#connection, asked)
  }

  /**
   * The session is over: its proxy leaves what it has not left yet. Not waited for for long.
   *
   * @returns whether the proxy says that it has
   */
  async leave(): Promise<boolean> {
    if (this.#over !== null) return false
    const late = new AbortController()
    const hasLeft = await Promise.race([
      this.ask('bye').then(
        () => true,
        () => false, // it has gone already
      ),
      sleep(LEAVE_MS, false, { signal: late.signal }).catch(() => false),
    ])
    late.abort()
    this.close()
    return hasLeft
  }

  /** No more will be asked; what has no answer gets none. */
  close(): void {
    this.#end(new ProxyLost(this.where, 'this side closed it'))
  }

  #send(connection: Duplex, { id, operation, args }: Asked): void {
    const frame = encodeFrame([id, [...this.#asked.keys()], operation, args] satisfies Value[])
    debug.remote?.(`→ #${id} ${operation}, ${frame.length} bytes`)
    connection.write(frame)
  }

  async #connect(isAgain: boolean): Promise<void> {
    debug.remote?.(`connecting to ${this.where}${isAgain ? ' again' : ''}`)
    const connection = await this.way.connect(isAgain)
    const reader = new FrameReader(MOST_HELLO_BYTES)
    let messages: unknown[][]
    try {
      connection.write(encodeFrame(['hello', PROTOCOL, this.version, this.#session, isAgain]))
      const ms = this.way.mayAsk === true && !isAgain ? ASKED_HELLO_MS : HELLO_MS
      messages = await this.#hello(connection, reader, ms)
    } catch (error) {
      connection.destroy()
      throw error
    }
    if (this.#over !== null) {
      connection.destroy()
      return
    }
    debug.remote?.(`the proxy has accepted the session; ${this.#asked.size} requests without an answer`)
    this.#connection = connection
    this.#listen(connection, reader, messages)
    for (const asked of this.#asked.values()) this.#send(connection, asked)
    // Something comes by it then, if anything does, though all that is asked may take long.
    connection.write(encodeFrame([0]))
  }

  /** @returns what has come behind it */
  async #hello(connection: Duplex, reader: FrameReader, ms: number): Promise<unknown[][]> {
    connection.on('error', () => {}) // `problem` tells
    const answered = new AbortController()
    const late = sleep(ms, 'late' as const, { signal: answered.signal }).catch(() => 'late' as const)
    const first = await Promise.race([firstOf(connection, reader), late])
    answered.abort()
    if (first === 'late') throw new NotAProxy(this.where, `it has said nothing for ${ms / 1000} s`)
    if (first === null)
      throw (await this.way.problem(connection)) ?? new NotAProxy(this.where, 'it has ended without a word')
    const { messages, bytes } = first
    this.#bytes += bytes.length
    if (messages === null)
      throw new NotAProxy(this.where, `it says ${JSON.stringify(bytes.toString('latin1').slice(0, 80))}`)
    const [message, ...others] = messages
    const [word, ...rest] = message!
    if (word === 'refused') {
      const error = readErrorFrame(rest)
      if (error !== null) throw error[0] === SessionGone.name ? new SessionGone() : new ProxySays(error)
    }
    const [protocol, version] = rest
    if (word !== 'hello' || typeof protocol !== 'number' || typeof version !== 'string')
      throw new NotAProxy(this.where, 'it does not greet as one')
    if (protocol !== PROTOCOL || version !== this.version)
      throw new OtherProxyVersion(described(version, protocol), described(this.version, PROTOCOL))
    return others
  }

  #listen(connection: Duplex, reader: FrameReader, messages: unknown[][]): void {
    this.#heardAt = performance.now()
    const pulse = setInterval(() => {
      if (performance.now() - this.#heardAt > SILENCE_MS) connection.destroy()
      else connection.write(encodeFrame([0]))
    }, PULSE_MS)
    pulse.unref()
    reader.most = MOST_ANSWER_BYTES
    const take = (read: () => unknown[][]): void => {
      try {
        for (const message of read()) this.#take(message)
      } catch (error) {
        if (!(error instanceof Malformed)) throw error
        this.#end(new NotAProxy(this.where, error.message))
      }
    }
    connection.on('data', (bytes: Buffer) => {
      this.#heardAt = performance.now()
      this.#bytes += bytes.length
      take(() => reader.push(bytes))
    })
    connection.once('close', () => {
      clearInterval(pulse)
      if (this.#connection !== connection) return
      debug.remote?.(`the connection is closed; ${this.#asked.size} requests without an answer`)
      this.#connection = null
      if (this.#over === null) void this.#again()
    })
    take(() => messages)
    if (connection.destroyed) connection.emit('close')
    connection.resume()
  }

  #take(message: readonly unknown[]): void {
    const [id, isDone, ...rest] = message
    this.#lostAt = null
    this.#problem = null
    this.#pauseMs = FIRST_PAUSE_MS
    if (id === 0) return
    const asked = typeof id === 'number' ? this.#asked.get(id) : undefined
    if (typeof id !== 'number' || typeof isDone !== 'boolean') throw new Malformed('no answer')
    if (asked === undefined) return // asked by the connection before as well
    const error = isDone ? null : readErrorFrame(rest)
    if (!isDone && error === null) throw new Malformed('no error')
    this.#asked.delete(id)
    debug.remote?.(
      `← #${id} ${asked.operation} after ${msText(performance.now() - asked.askedMs)}${error === null ? '' : `: refused, ${error[1]}`}`,
    )
    const next = this.#waiting.shift()
    if (next !== undefined) this.#begin(next)
    if (error === null) asked.resolve(rest[0])
    else asked.reject(new ProxySays(error))
  }

  /** Until there is a connection again, or there will be none. Those that go before anything has come by them are none. */
  async #again(): Promise<void> {
    this.#lostAt ??= performance.now()
    const since = this.#lostAt
    if (performance.now() - since > this.giveUpMs)
      this.#end(new ProxyLost(this.where, 'the proxy closes each connection without an answer'))
    while (this.#over === null) {
      await sleep(this.#pauseMs)
      this.#pauseMs = Math.min(this.#pauseMs * 2, LONGEST_PAUSE_MS)
      if (this.#over !== null) return
      try {
        await this.#connect(true)
        return
      } catch (error) {
        if (!(error instanceof JfluidError)) throw error
        this.#problem = error instanceof CannotReach ? error.reason : error.message
        debug.remote?.(`not connected: ${this.#problem}`)
        if (
          error instanceof SessionGone ||
          error instanceof OtherProxyVersion ||
          error instanceof WrongProxyKey
        )
          this.#end(error) // it is not the same proxy any more
        else if (performance.now() - since > this.giveUpMs)
          this.#end(new ProxyLost(this.where, error.message))
      }
    }
  }

  #end(error: JfluidError): void {
    if (this.#over !== null) return
    this.#over = error
    debug.remote?.(`the session with ${this.where} is over: ${error.message}`)
    for (const asked of [...this.#asked.values(), ...this.#waiting]) asked.reject(error)
    this.#asked.clear()
    this.#waiting.length = 0
    this.#connection?.destroy()
    this.#connection = null
  }
}
