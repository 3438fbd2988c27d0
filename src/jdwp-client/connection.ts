// A connection to a JVM's debugger port: the handshake, and commands that find their replies.
//
// A reply with an error is an answer like any other and comes back as a value: whoever asks about a
// class that has been unloaded wants to go on. Only a connection that fails is thrown.

import { connect, type Socket } from 'node:net'
import { EX_PROTOCOL, EX_UNAVAILABLE, JfluidError } from '../base/errors.ts'
import { encodeCommand, HANDSHAKE, PacketReader } from './packet.ts'

const HANDSHAKE_MS = 5000

/** Nobody answers at the address, or it answers with something else than the handshake. */
export class NoDebuggerPort extends JfluidError {
  readonly exitCode = EX_UNAVAILABLE
  readonly hint =
    'Start the JVM with -agentlib:jdwp=transport=dt_socket,server=y,suspend=n and let no other debugger connect.'
  constructor(host: string, port: number, problem: string) {
    super(`no debugger connection at ${host}:${port}: ${problem}`)
  }
}

/** The connection ended while a reply was still expected. */
export class JdwpLost extends JfluidError {
  readonly exitCode = EX_PROTOCOL
  readonly hint = 'The JVM has probably ended.'
  constructor(problem: string) {
    super(`the debugger connection was lost: ${problem}`)
  }
}

/** What a command came to. `error` is a number of the specification; `jdwpErrorName` has its name. */
export type Result<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: number }

const ERROR_NAMES: Readonly<Record<number, string>> = {
  20: 'INVALID_OBJECT',
  21: 'INVALID_CLASS',
  22: 'CLASS_NOT_PREPARED',
  23: 'INVALID_METHODID',
  99: 'NOT_IMPLEMENTED',
  101: 'ABSENT_INFORMATION',
  112: 'VM_DEAD',
  113: 'INTERNAL',
  511: 'NATIVE_METHOD',
}

/** `INVALID_CLASS`, or the number where we have never met it. */
export function jdwpErrorName(error: number): string {
  return ERROR_NAMES[error] ?? `JDWP error ${error}`
}

interface Waiting {
  resolve(result: Result<Buffer>): void
  reject(error: Error): void
}

export class JdwpConnection implements AsyncDisposable {
  readonly #waiting = new Map<number, Waiting>()
  #lastId = 0
  #lost: Error | undefined
  /** Resolves once the connection has ended, whoever ended it. */
  readonly closed: Promise<void>

  private constructor(
    private readonly socket: Socket,
    early: Buffer,
  ) {
    const reader = new PacketReader()
    const receive = (chunk: Buffer): void => {
      try {
        for (const packet of reader.push(chunk)) {
          // Commands of the JVM are events (its start and end). We asked for none.
          if (packet.kind === 'command') continue
          const waiting = this.#waiting.get(packet.id)
          this.#waiting.delete(packet.id)
          if (packet.error === 0) waiting?.resolve({ ok: true, value: packet.data })
          else waiting?.resolve({ ok: false, error: packet.error })
        }
      } catch (error) {
        this.#lose(error as Error)
      }
    }
    this.closed = new Promise((resolve) => socket.once('close', () => resolve()))
    socket.on('data', receive)
    socket.on('error', (error) => this.#lose(new JdwpLost(error.message)))
    socket.on('close', () => this.#lose(new JdwpLost('the JVM closed it')))
    if (early.length > 0) receive(early)
  }

  /**
   * Connects and shakes hands. A JVM takes one debugger at a time and lets the next wait.
   *
   * @throws NoDebuggerPort
   */
  static async open(port: number, host = '127.0.0.1', timeoutMs = HANDSHAKE_MS): Promise<JdwpConnection> {
    const socket = connect({ port, host })
    socket.setNoDelay(true)
    try {
      const rest = await shakeHands(socket, timeoutMs)
      return new JdwpConnection(socket, rest)
    } catch (error) {
      socket.destroy()
      throw new NoDebuggerPort(host, port, error instanceof Error ? error.message : String(error))
    }
  }

  /**
   * Sends a command and waits for its reply.
   *
   * @throws JdwpLost or MalformedJdwp if the connection ends first
   */
  command(set: number, command: number, ...data: readonly Uint8Array[]): Promise<Result<Buffer>> {
    if (this.#lost !== undefined) return Promise.reject(this.#lost)
    const id = ++this.#lastId
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject })
      this.socket.write(encodeCommand(id, set, command, Buffer.concat(data)))
    })
  }

  async close(): Promise<void> {
    this.#lose(new JdwpLost('closed'))
    await this.closed
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #lose(error: Error): void {
    this.#lost ??= error
    this.socket.destroy()
    for (const waiting of this.#waiting.values()) waiting.reject(this.#lost)
    this.#waiting.clear()
  }
}

/** @returns what came behind the handshake already */
function shakeHands(socket: Socket, timeoutMs: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let got = Buffer.alloc(0)
    const settle = (act: () => void): void => {
      clearTimeout(timer)
      socket.off('data', onData).off('error', onError).off('close', onClose)
      act()
    }
    const timer = setTimeout(
      () => settle(() => reject(new Error(`no handshake within ${timeoutMs} ms`))),
      timeoutMs,
    )
    const onData = (chunk: Buffer): void => {
      got = Buffer.concat([got, chunk])
      const seen = got.toString('latin1', 0, HANDSHAKE.length)
      if (!HANDSHAKE.startsWith(seen)) settle(() => reject(new Error('it does not speak JDWP')))
      else if (seen.length === HANDSHAKE.length) {
        settle(() => resolve(got.subarray(HANDSHAKE.length)))
      }
    }
    const onError = (error: Error): void => settle(() => reject(error))
    const onClose = (): void => settle(() => reject(new Error('it closed the connection')))
    socket.on('data', onData).on('error', onError).on('close', onClose)
    socket.once('connect', () => socket.write(HANDSHAKE))
  })
}
