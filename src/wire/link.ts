// Connection to the agent: listens for the agent, matches replies to requests, and handles the end of the connection.

import { randomBytes, timingSafeEqual } from 'node:crypto'
import { createServer, type Server, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { debug, msText } from '../base/debug.ts'
import { EX_IOERR, EX_PROTOCOL, EX_TEMPFAIL, EX_UNAVAILABLE, JfluidError } from '../base/errors.ts'
import { afterOwnTime } from '../base/own-time.ts'
import { encodeFrame, FrameReader, MAX_FRAME } from './frame.ts'
import { messageText } from './message-text.ts'
import { Malformed } from './unpack.ts'

/** Reason reported if the agent closed the link without a message. */
export const LINK_CLOSED = 'the agent closed it'
/** Reason as the agent sends it. */
const JVM_ENDING = 'the JVM is ending'
/** Reason reported if the client closed the link. */
export const CLOSED_BY_US = 'closed'

/** Thrown if the agent was loaded but did not connect to the client. */
export class AgentDidNotConnect extends JfluidError {
  static sample = () => [
    new AgentDidNotConnect(4711, 10_000, null),
    new AgentDidNotConnect(4711, 10_000, 'java.lang.OutOfMemoryError'),
  ]
  readonly exitCode = EX_UNAVAILABLE
  readonly hint: string
  /** @param pid  pid of the JVM, or port of its debugger */
  constructor(pid: number | string, ms: number, reason: string | null) {
    super(
      reason === null
        ? `the agent in JVM ${pid} did not connect within ${ms} ms`
        : `the agent in JVM ${pid} could not start: ${reason}`,
    )
    this.hint =
      reason === null
        ? 'Check that the JVM has free memory, is not stopped and shares /tmp with jfluid, then try again.'
        : 'Remove the cause, then try again. The program runs on unchanged.'
  }
}

/** Thrown if the connection ended before the agent's reply to a request arrived. */
export class LinkLost extends JfluidError {
  static sample = () => new LinkLost('closed by the JVM')
  readonly exitCode = EX_IOERR
  readonly hint = 'Check whether the JVM still runs, and attach again.'
  constructor(readonly reason: string) {
    super(`the connection to the JVM was lost: ${reason}`)
  }
}

/** Thrown if the agent answered a command with an error. */
export class AgentRefused extends JfluidError {
  static sample = () => new AgentRefused('redefine', 'java.lang.InternalError')
  readonly exitCode = EX_PROTOCOL
  readonly hint = 'Report this message: it is a defect of jfluid or of this JVM. The program runs on.'
  constructor(
    op: string,
    readonly reason: string,
  ) {
    super(`the agent could not execute ${op}: ${reason}`)
  }
}

/** Thrown if the target has run out of a resource that was still available when the client checked it. */
export class TargetRanOut extends JfluidError {
  static sample = () => new TargetRanOut('threads', 'unable to create native thread')
  readonly exitCode = EX_TEMPFAIL
  readonly hint =
    'Raise the limit of the JVM (ulimit -u and pids.max for threads, ulimit -n for files), or try again later. The program runs on unchanged.'
  constructor(what: string, reason: string) {
    super(`the JVM ran out of ${what} during the attach: ${reason}`)
  }
}

/** Patterns of the JVM's messages about an exhausted resource, and the name of the resource. */
const RAN_OUT: readonly (readonly [RegExp, string])[] = [
  [/Too many open files/, 'files'],
  [/unable to create native thread/, 'threads'],
  [/no memory for an event buffer/, 'memory'],
]

/** @returns a TargetRanOut error if `reason` says that the JVM has run out of a resource; otherwise null */
export function ranOut(reason: string): TargetRanOut | null {
  const what = RAN_OUT.find(([words]) => words.test(reason))?.[1]
  return what === undefined ? null : new TargetRanOut(what, reason)
}

function refusal(op: string, reason: string): JfluidError {
  if (reason.endsWith(JVM_ENDING)) return new LinkLost(JVM_ENDING)
  return ranOut(reason) ?? new AgentRefused(op, reason)
}

/** Thrown if the data on the link are invalid: the peer is not jfluid's agent, or the data are damaged. */
export class AgentNotUnderstood extends JfluidError {
  static sample = () => new AgentNotUnderstood('a text where a number was expected')
  readonly exitCode = EX_PROTOCOL
  readonly hint = 'Attach again. If the message comes again, report it with the version of the JVM.'
  constructor(what: string) {
    super(`the agent sent an unexpected message: ${what}`)
  }
}

/** Maximum number of events queued before a listener is set. An agent sends no events before the first request. */
const MAX_QUEUED_EVENTS = 1024

export type EventHandler = (event: string, args: readonly unknown[]) => void

interface Waiting {
  readonly op: string
  /** Value of `performance.now()` when the request was sent; 0 unless the debug log needs it. */
  readonly sentMs: number
  resolve(value: unknown): void
  reject(error: Error): void
}

/** Number of characters of the token. Only the token precedes the first frame. */
const TOKEN_BYTES = 32
/** Keep-alive interval of a network connection. Without keep-alive, a machine that was switched off would not be noticed. */
const KEEP_ALIVE_INTERVAL_MS = 30_000
/** Maximum number of unauthenticated connections. For a further connection, the oldest is closed. */
const MAX_UNAUTHENTICATED = 16

/** Returns a new token. The agent of one session sends the token when it connects; no other process knows the token. */
export function newToken(): string {
  return randomBytes(TOKEN_BYTES / 2).toString('hex')
}

/** A numeric address of this machine on which the client listens, and the only remote address that it accepts. */
export interface Meeting {
  readonly host: string
  readonly from: string
}

export class LinkServer {
  readonly #server: Server
  readonly #token: Buffer
  readonly #strangers = new Set<Duplex>()
  readonly #connection: Promise<Duplex>
  #admit: (agent: Duplex) => void = () => {}
  #isAdmitted = false
  #isTaken = false

  /** @param from  the only accepted remote address; null if no remote machine can connect */
  private constructor(token: string, from: string | null) {
    this.#token = Buffer.from(token)
    this.#connection = new Promise((resolve) => {
      this.#admit = resolve
    })
    this.#server = createServer((socket) => {
      if (from === null || plainAddress(socket.remoteAddress ?? '') === plainAddress(from)) this.#meet(socket)
      else socket.destroy()
    })
  }

  /** Also accepts the agent's token from this connection. */
  alsoBy(connection: Duplex): void {
    this.#meet(connection)
  }

  /** TCP port; 0 for a UNIX socket. */
  get port(): number {
    const at = this.#server.address()
    return at === null || typeof at === 'string' ? 0 : at.port
  }

  /**
   * Listens on a UNIX socket in a directory that only the owner can access, or on a TCP port. An agent that connects must send the token.
   *
   * @param at  path of the socket, or TCP address
   */
  static async listen(at: string | Meeting, token: string): Promise<LinkServer> {
    const server = new LinkServer(token, typeof at === 'string' ? null : at.from)
    await new Promise<void>((resolve, reject) => {
      server.#server.once('error', reject)
      if (typeof at === 'string') server.#server.listen(at, resolve)
      else server.#server.listen(0, at.host, resolve)
    })
    // If a connection cannot be accepted, for example because no file descriptor is free, it is closed. `accept` then times out.
    server.#server.on('error', () => {})
    return server
  }

  /**
   * Checks the token of a new connection. If the token is wrong, the connection is closed, and the wait for the agent continues. The token
   * is valid for one connection.
   */
  #meet(socket: Duplex): void {
    const [eldest] = this.#strangers
    if (eldest !== undefined && this.#strangers.size >= MAX_UNAUTHENTICATED) {
      this.#strangers.delete(eldest)
      eldest.destroy()
    }
    this.#strangers.add(socket)
    let said = Buffer.alloc(0)
    const hear = (chunk: Buffer): void => {
      said = Buffer.concat([said, chunk])
      if (said.length < TOKEN_BYTES) return
      if (this.#isAdmitted || !timingSafeEqual(said.subarray(0, TOKEN_BYTES), this.#token)) {
        socket.destroy()
        return
      }
      this.#isAdmitted = true
      this.#strangers.delete(socket)
      socket.off('data', hear)
      socket.pause()
      if (said.length > TOKEN_BYTES) socket.unshift(said.subarray(TOKEN_BYTES))
      this.#admit(socket)
    }
    socket.on('data', hear)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => this.#strangers.delete(socket))
  }

  /** @returns the link, once the agent has connected; null after `ms`, or when `signal` is aborted */
  async accept(ms: number, signal?: AbortSignal): Promise<Link | null> {
    let connected = (): void => {}
    const timeout = new Promise<null>((resolve) => {
      connected = afterOwnTime(ms, () => resolve(null))
      if (signal?.aborted) resolve(null)
      signal?.addEventListener('abort', () => resolve(null), { once: true })
    })
    const socket = await Promise.race([this.#connection, timeout])
    connected()
    this.#isTaken = socket !== null
    this.close()
    if (socket instanceof Socket) socket.setNoDelay(true).setKeepAlive(true, KEEP_ALIVE_INTERVAL_MS)
    return socket === null ? null : new Link(socket)
  }

  /** Returns the agent's connection, from which nothing but the token has been read. Never resolves if the agent does not connect. */
  async socket(): Promise<Duplex> {
    const socket = await this.#connection
    this.#isTaken = true
    return socket
  }

  /**
   * Stops listening. Also closes the agent's connection if `accept` has not returned it, even if it arrives later: it would keep this
   * process alive until the target ends.
   */
  close(): void {
    this.#server.close()
    for (const stranger of this.#strangers) stranger.destroy()
    if (!this.#isTaken) void this.#connection.then((agent) => agent.destroy())
  }
}

/** A dual-stack socket reports an IPv4 address in IPv6 form. */
const plainAddress = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/, '')

export class Link {
  private readonly waiting = new Map<number, Waiting>()
  private readonly reader = new FrameReader()
  private lastId = 0
  private reason: string | null = null
  /** Last message of the agent when it detaches. It explains the end of the connection better than the socket error. */
  private lastMessage: string | null = null
  private readonly early: [string, readonly unknown[]][] = []
  private earlyBytes = 0
  private onEvent: EventHandler = (event, args) => this.early.push([event, args])
  /** Resolves with the reason once either side has closed the connection. */
  readonly closed: Promise<string>

  constructor(private readonly socket: Duplex) {
    let finish: (reason: string) => void = () => {}
    this.closed = new Promise((resolve) => {
      finish = resolve
    })
    socket.on('data', (chunk: Buffer) => this.receive(chunk))
    socket.on('error', (error) => {
      this.reason ??= error.message
    })
    socket.on('close', () => {
      const reason = this.lastMessage ?? this.reason ?? LINK_CLOSED
      debug.wire?.(`closed: ${reason}; ${this.waiting.size} requests without a reply`)
      for (const w of this.waiting.values()) w.reject(new LinkLost(reason))
      this.waiting.clear()
      this.reason = reason
      finish(reason)
    })
    socket.resume() // the socket was paused until the listener was ready
  }

  /** Sets the listener for events. Events that arrived earlier were queued and are delivered first. */
  listen(handler: EventHandler): void {
    this.onEvent = handler
    for (const [event, args] of this.early.splice(0)) handler(event, args)
    this.earlyBytes = 0
  }

  /**
   * @throws AgentRefused if the agent answers with an error
   * @throws LinkLost if the connection ends first
   */
  request(op: string, ...args: unknown[]): Promise<unknown> {
    if (this.reason !== null) return Promise.reject(new LinkLost(this.reason))
    const id = ++this.lastId
    return new Promise((resolve, reject) => {
      const sentMs = debug.wire === undefined ? 0 : performance.now()
      this.waiting.set(id, { op, sentMs, resolve, reject })
      const frame = encodeFrame([id, op, ...args])
      debug.wire?.(`→ #${id} ${messageText(op, frame.length, args)}`)
      this.socket.write(frame)
    })
  }

  /** Sends a command without a reply. If the connection has ended, the command is lost without an error; `closed` reports the end. */
  send(op: string, ...args: unknown[]): void {
    if (this.reason !== null) return
    const frame = encodeFrame([0, op, ...args])
    debug.wire?.(`→ ${messageText(op, frame.length, args)}`)
    this.socket.write(frame)
  }

  close(): void {
    this.reason ??= CLOSED_BY_US
    this.socket.destroy()
  }

  private receive(chunk: Buffer): void {
    try {
      const sizes = debug.wire === undefined ? undefined : []
      for (const [i, message] of this.reader.push(chunk, sizes).entries()) this.take(message, sizes?.[i] ?? 0)
      if (this.early.length === 0) return
      this.earlyBytes += chunk.length
      if (this.early.length > MAX_QUEUED_EVENTS || this.earlyBytes > MAX_FRAME) {
        throw new Malformed('more events than were asked for')
      }
    } catch (error) {
      if (!(error instanceof Malformed || error instanceof AgentNotUnderstood)) throw error
      this.reason ??= error instanceof Malformed ? `the agent sent ${error.message}` : error.message
      this.socket.destroy()
    }
  }

  /** Handles a message. @param size  length of the message's frame; 0 unless the debug log needs it */
  private take([id, second, ...rest]: unknown[], size: number): void {
    if (id === 0) {
      debug.wire?.(`← ${messageText(String(second), size, rest)}`)
      if (second === 'ended') this.lastMessage = String(rest[0])
      this.onEvent(String(second), rest)
      return
    }
    const waiting = this.waiting.get(id as number)
    if (waiting === undefined) return
    this.waiting.delete(id as number)
    const { op, sentMs } = waiting
    debug.wire?.(
      `← #${id} after ${msText(performance.now() - sentMs)}: ${second === true ? messageText(op, size, rest) : `${op} refused: ${rest[0]}`}`,
    )
    if (second === true) waiting.resolve(rest[0])
    else waiting.reject(refusal(op, String(rest[0])))
  }
}
