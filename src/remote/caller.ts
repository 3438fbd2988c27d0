// The client's end of one session. It sends requests, and sends unanswered requests again after it has reconnected.

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
  GRACE_DURATION_MS,
  MAX_ANSWER_BYTES,
  MAX_HELLO_BYTES,
  MAX_OPEN_REQUESTS,
  PROTOCOL,
  PULSE_INTERVAL_MS,
  SILENCE_TIMEOUT_MS,
} from './protocol.ts'

/** A way to connect to a proxy. */
export interface Way {
  /** Name of the proxy in messages. */
  readonly where: string
  /** Whether the first connection may prompt the user for a password. */
  readonly mayAsk?: boolean
  /**
   * Opens a connection.
   * @param isAgain  true for a reconnection: no password prompt is possible then, since the user may be absent
   * @throws CannotReach, WrongProxyKey
   */
  connect(isAgain: boolean): Promise<Duplex>
  /** Returns why a connection failed, for example the error output of ssh. Null if the reason is not known. */
  problem(connection: Duplex): Promise<JfluidError | null>
}

interface Asked {
  readonly id: number
  readonly operation: string
  readonly args: string
  /** Time of the request on the clock of `performance.now()`. */
  readonly askedMs: number
  resolve(value: unknown): void
  reject(error: unknown): void
}

/** Time without received data after which the view shows the connection as lost: two pulses then have no answer. */
const QUIET_TIMEOUT_MS = 2.5 * PULSE_INTERVAL_MS
/** Delay before the first attempt to reconnect. The delay doubles with each failed attempt, up to the maximum. */
const MIN_RETRY_DELAY_MS = 200
const MAX_RETRY_DELAY_MS = 3000
/** Time after which the client stops reconnecting. By this time the proxy has ended the session. */
const RECONNECT_TIMEOUT_MS = GRACE_DURATION_MS + 2 * SILENCE_TIMEOUT_MS
/** Time limit for the first answer of a proxy. A machine may accept the connection but send nothing. */
const HELLO_TIMEOUT_MS = 60_000
/** Time limit for the first answer if ssh may prompt for a password. ssh's own limit for the prompt is shorter. */
const PASSWORD_HELLO_TIMEOUT_MS = 300_000
/** Time limit for the last request of a session. Restoring the target's code normally takes less than a second. */
const LEAVE_TIMEOUT_MS = 10_000

export class Caller {
  readonly #session = randomBytes(16).toString('hex')
  readonly #asked = new Map<number, Asked>()
  /** Requests that are sent as soon as earlier requests have been answered. */
  readonly #waiting: Asked[] = []
  #next = 1
  #connection: Duplex | null = null
  /** Time at which the last connection that had delivered data was lost. Null once the current connection has delivered data. */
  #lostAt: number | null = null
  #pauseMs = MIN_RETRY_DELAY_MS
  #lastReceiptMs = performance.now()
  #over: JfluidError | null = null
  #bytes = 0
  /** Reason why the last reconnection failed. */
  #problem: string | null = null

  private constructor(
    private readonly way: Way,
    private readonly version: string,
    private readonly giveUpMs: number,
  ) {}

  /**
   * Connects to the proxy.
   * @param giveUpMs  time in ms after which reconnecting stops
   * @throws CannotReach, WrongProxyKey, NotAProxy, OtherProxyVersion, ProxySays
   */
  static async connect(way: Way, version: string, giveUpMs = RECONNECT_TIMEOUT_MS): Promise<Caller> {
    const caller = new Caller(way, version, giveUpMs)
    await caller.#connect(false)
    return caller
  }

  get where(): string {
    return this.way.where
  }

  /** Time without a connection, or without data on the connection, in ms. Null while data arrives. */
  get lostForMs(): number | null {
    const now = performance.now()
    if (this.#lostAt !== null) return now - this.#lostAt
    const silentMs = now - this.#lastReceiptMs
    return silentMs > QUIET_TIMEOUT_MS ? silentMs : null
  }

  /** Reason why the last reconnection failed. Null if the reason is not known, or if the client is connected. */
  get problem(): string | null {
    return this.#problem
  }

  /** Number of bytes received. */
  get bytesRead(): number {
    return this.#bytes
  }

  /**
   * Sends a request, which the proxy executes at most once.
   * @throws ProxySays if the request failed at the proxy; ProxyLost, SessionGone
   */
  ask(operation: string, args: unknown = null): Promise<unknown> {
    if (this.#over !== null) return Promise.reject(this.#over)
    const id = this.#next++
    return new Promise((resolve, reject) => {
      const askedMs = performance.now()
      const asked = { id, operation, args: JSON.stringify(args), askedMs, resolve, reject }
      if (this.#asked.size < MAX_OPEN_REQUESTS) this.#begin(asked)
      else this.#waiting.push(asked)
    })
  }

  #begin(asked: Asked): void {
    this.#asked.set(asked.id, asked)
    if (this.#connection !== null) this.#send(this.#connection, asked)
  }

  /**
   * Ends the session: the proxy detaches from the target. The call waits for a limited time.
   * @returns whether the proxy has confirmed the detach
   */
  async leave(): Promise<boolean> {
    if (this.#over !== null) return false
    const late = new AbortController()
    const hasLeft = await Promise.race([
      this.ask('bye').then(
        () => true,
        () => false, // the connection is already closed
      ),
      sleep(LEAVE_TIMEOUT_MS, false, { signal: late.signal }).catch(() => false),
    ])
    late.abort()
    this.close()
    return hasLeft
  }

  /** Closes the session. Pending and later requests are rejected. */
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
    const reader = new FrameReader(MAX_HELLO_BYTES)
    let messages: unknown[][]
    try {
      connection.write(encodeFrame(['hello', PROTOCOL, this.version, this.#session, isAgain]))
      const ms = this.way.mayAsk === true && !isAgain ? PASSWORD_HELLO_TIMEOUT_MS : HELLO_TIMEOUT_MS
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
    // This pulse gets an answer at once, even if all pending requests take long.
    connection.write(encodeFrame([0]))
  }

  /**
   * Waits for the greeting of the proxy.
   * @returns the messages that arrived after the greeting
   */
  async #hello(connection: Duplex, reader: FrameReader, ms: number): Promise<unknown[][]> {
    connection.on('error', () => {}) // `problem` reports the error
    const answered = new AbortController()
    const late = sleep(ms, 'late' as const, { signal: answered.signal }).catch(() => 'late' as const)
    const first = await Promise.race([firstOf(connection, reader), late])
    answered.abort()
    if (first === 'late') throw new NotAProxy(this.where, `it sent nothing for ${ms / 1000} s`)
    if (first === null)
      throw (await this.way.problem(connection)) ?? new NotAProxy(this.where, 'it ended without an answer')
    const { messages, bytes } = first
    this.#bytes += bytes.length
    if (messages === null)
      throw new NotAProxy(this.where, `it sent ${JSON.stringify(bytes.toString('latin1').slice(0, 80))}`)
    const [message, ...others] = messages
    const [word, ...rest] = message!
    if (word === 'refused') {
      const error = readErrorFrame(rest)
      if (error !== null) throw error[0] === SessionGone.name ? new SessionGone() : new ProxySays(error)
    }
    const [protocol, version] = rest
    if (word !== 'hello' || typeof protocol !== 'number' || typeof version !== 'string')
      throw new NotAProxy(this.where, 'it sent no greeting of a proxy')
    if (protocol !== PROTOCOL || version !== this.version)
      throw new OtherProxyVersion(described(version, protocol), described(this.version, PROTOCOL))
    return others
  }

  #listen(connection: Duplex, reader: FrameReader, messages: unknown[][]): void {
    this.#lastReceiptMs = performance.now()
    const pulse = setInterval(() => {
      if (performance.now() - this.#lastReceiptMs > SILENCE_TIMEOUT_MS) connection.destroy()
      else connection.write(encodeFrame([0]))
    }, PULSE_INTERVAL_MS)
    pulse.unref()
    reader.most = MAX_ANSWER_BYTES
    const take = (read: () => unknown[][]): void => {
      try {
        for (const message of read()) this.#take(message)
      } catch (error) {
        if (!(error instanceof Malformed)) throw error
        this.#end(new NotAProxy(this.where, error.message))
      }
    }
    connection.on('data', (bytes: Buffer) => {
      this.#lastReceiptMs = performance.now()
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
    this.#pauseMs = MIN_RETRY_DELAY_MS
    if (id === 0) return
    const asked = typeof id === 'number' ? this.#asked.get(id) : undefined
    if (typeof id !== 'number' || typeof isDone !== 'boolean') throw new Malformed('no answer')
    if (asked === undefined) return // the request was also sent by the previous connection, and has already been answered
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

  /**
   * Reconnects until there is a connection, or until the session is over. A connection that is lost before any data has arrived counts as a
   * failed attempt.
   */
  async #again(): Promise<void> {
    this.#lostAt ??= performance.now()
    const since = this.#lostAt
    if (performance.now() - since > this.giveUpMs)
      this.#end(new ProxyLost(this.where, 'the proxy closes each connection without an answer'))
    while (this.#over === null) {
      await sleep(this.#pauseMs)
      this.#pauseMs = Math.min(this.#pauseMs * 2, MAX_RETRY_DELAY_MS)
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
          this.#end(error) // a later attempt cannot succeed
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
