// Opens connections in both directions: to a JVM that listens (`server=y`), or from a JVM that connects to this process (`server=n`).

import { connect as connectSocket, createServer, type Server, type Socket } from 'node:net'
import { messageOf } from '../base/errors.ts'
import { alarm } from './alarm.ts'
import {
  type ConnectionOptions,
  HANDSHAKE_TIMEOUT_MS,
  JdwpConnection,
  type Shaken,
  shakeHands,
} from './connection.ts'
import { CannotListen, NoDebuggerPort, NoJvmCame } from './errors.ts'

const LOOPBACK = '127.0.0.1'
/** Maximum number of connections that wait for `accept`. Further connections are closed. */
const MAX_CALLERS = 16
/** Default timeout of `accept`: time for a JVM to start and connect. */
const ACCEPT_TIMEOUT_MS = 30_000

/**
 * Connects to a JVM and performs the handshake. A JVM accepts one debugger at a time: while another debugger is connected, the JVM's port
 * is closed or does not answer.
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

/** A port to which JVMs connect that are started with `server=n`. */
export class JdwpPort implements AsyncDisposable {
  /** Connections whose handshake is complete and that wait for `accept`. */
  readonly #ready: Shaken[] = []
  readonly #callers = new Set<Socket>()
  readonly #waiting = new Set<() => void>()
  #closed: string | null = null
  /** Reason why the last connection was refused. */
  #problem = 'no JVM has connected'

  private constructor(
    private readonly server: Server,
    readonly host: string,
    readonly port: number,
    handshakeMs: number,
  ) {
    server.on('connection', (socket) => {
      socket.setNoDelay(true)
      if (this.#callers.size >= MAX_CALLERS) {
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
   * Starts listening. A connection that does not complete the handshake is closed.
   *
   * @param port  0 for any free port; the field `port` of the result is the actual port
   * @param host  address of this machine. JDWP has no authentication; with the loopback address, other machines cannot connect.
   * @param handshakeMs  timeout of each handshake
   * @throws CannotListen
   */
  static async open({
    port = 0,
    host = LOOPBACK,
    handshakeMs = HANDSHAKE_TIMEOUT_MS,
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

  /** Address for the JVM's command line: `-agentlib:jdwp=transport=dt_socket,server=n,address=…`. */
  get address(): string {
    return `${this.host}:${this.port}`
  }

  /**
   * Waits for a JVM to connect. If several JVMs have connected, returns the oldest connection.
   *
   * @throws NoJvmCame
   */
  async accept({
    timeoutMs = ACCEPT_TIMEOUT_MS,
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

  /** Stops listening. Accepted connections stay open. */
  async close(): Promise<void> {
    this.#end('the port was closed')
    for (const socket of this.#callers) socket.destroy()
    this.server.close() // frees the port at once; a callback would be called only when all accepted connections have ended
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
