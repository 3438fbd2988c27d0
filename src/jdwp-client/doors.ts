// Both ways to a connection: we connect to a JVM that waits (`server=y`), or wait for one that connects to us (`server=n`).

import { connect as connectSocket, createServer, type Server, type Socket } from 'node:net'
import { messageOf } from '../base/errors.ts'
import { alarm } from './alarm.ts'
import {
  type ConnectionOptions,
  HANDSHAKE_MS,
  JdwpConnection,
  type Shaken,
  shakeHands,
} from './connection.ts'
import { CannotListen, NoDebuggerPort, NoJvmCame } from './errors.ts'

const LOOPBACK = '127.0.0.1'
/** Callers that nobody has accepted yet; more are hung up on. */
const MOST_CALLERS = 16
/** A JVM that is started now connects within that. */
const ACCEPT_MS = 30_000

/**
 * Connects and shakes hands. A JVM takes one debugger at a time; its port is closed or silent meanwhile.
 *
 * @throws NoDebuggerPort
 */
export async function connect(
  port: number,
  { host = LOOPBACK, ...options }: ConnectionOptions & { readonly host?: string } = {},
): Promise<JdwpConnection> {
  try {
    const socket = connectSocket({ port, host, noDelay: true })
    return await JdwpConnection.over(socket, options)
  } catch (error) {
    throw new NoDebuggerPort(host, port, messageOf(error))
  }
}

/** A port where JVMs that are told `server=n` find us. */
export class JdwpPort implements AsyncDisposable {
  /** They have shaken hands; nobody has accepted them yet. */
  readonly #ready: Shaken[] = []
  readonly #callers = new Set<Socket>()
  readonly #waiting = new Set<() => void>()
  #closed: string | null = null
  /** Why the last caller was none. */
  #problem = 'nobody has called'

  private constructor(
    private readonly server: Server,
    readonly host: string,
    readonly port: number,
    handshakeMs: number,
  ) {
    server.on('connection', (socket) => {
      socket.setNoDelay(true)
      if (this.#callers.size >= MOST_CALLERS) {
        socket.destroy()
        return
      }
      this.#callers.add(socket)
      socket.once('close', () => this.#callers.delete(socket))
      shakeHands(socket, handshakeMs).then(
        (shaken) => {
          this.#ready.push(shaken)
          this.#wake()
        },
        (error: Error) => {
          this.#problem = `a caller was no JVM (${error.message})`
        },
      )
    })
    server.on('error', (error) => this.#end(error.message))
  }

  /**
   * Begins to listen. Whoever calls and does not shake hands is hung up on.
   *
   * @param port  0: one that is free, which `port` of the answer says
   * @param host  of this machine; others reach only what is not the loopback, and JDWP has no authentication
   * @param handshakeMs  for each caller
   * @throws CannotListen
   */
  static async open({
    port = 0,
    host = LOOPBACK,
    handshakeMs = HANDSHAKE_MS,
  }: {
    readonly port?: number
    readonly host?: string
    readonly handshakeMs?: number
  } = {}): Promise<JdwpPort> {
    const server = createServer()
    try {
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject)
        server.listen(port, host, () => {
          server.off('error', reject)
          resolve()
        })
      })
    } catch (error) {
      throw new CannotListen(host, port, messageOf(error))
    }
    const address = server.address()
    if (address === null || typeof address === 'string') throw new Error('a TCP server without a port')
    return new JdwpPort(server, host, address.port, handshakeMs)
  }

  /** For the JVM's command line: `-agentlib:jdwp=transport=dt_socket,server=n,address=…`. */
  get address(): string {
    return `${this.host}:${this.port}`
  }

  /**
   * Waits for a JVM; those that have come before are taken first.
   *
   * @throws NoJvmCame
   */
  async accept({
    timeoutMs = ACCEPT_MS,
    ...options
  }: ConnectionOptions & { readonly timeoutMs?: number } = {}): Promise<JdwpConnection> {
    const until = performance.now() + timeoutMs
    for (;;) {
      const shaken = this.#ready.shift()
      if (shaken !== undefined) {
        if (shaken.stream.destroyed) continue
        this.#callers.delete(shaken.stream as Socket)
        return JdwpConnection.after(shaken, options)
      }
      if (this.#closed !== null) throw new NoJvmCame(this.host, this.port, this.#closed)
      const leftMs = Math.ceil(until - performance.now())
      if (leftMs <= 0) throw new NoJvmCame(this.host, this.port, `${this.#problem}, in ${timeoutMs} ms`)
      await this.#change(leftMs)
    }
  }

  /** Stops to listen. Connections that have been accepted stay. */
  async close(): Promise<void> {
    this.#end('the port was closed')
    for (const socket of this.#callers) socket.destroy()
    this.server.close() // its callback would wait for the accepted ones; the port is free at once
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #end(why: string): void {
    this.#closed ??= why
    this.#wake()
  }

  #wake(): void {
    for (const wake of this.#waiting) wake()
  }

  #change(withinMs: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        disarm()
        this.#waiting.delete(done)
        resolve()
      }
      const disarm = alarm(withinMs, done)
      this.#waiting.add(done)
    })
  }
}
