// Receives the event buffer of a target on another machine. The client requests one round after the other and passes each complete round to
// the mirror. This code runs in the recording thread, so each request shows the agent that the recording thread is alive.

import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { EX_IOERR, JfluidError } from '../../base/errors.ts'
import { ANSWER_HEAD_BYTES, LAST, MalformedRound, MirrorRing, MORE } from '../../events/remote-ring.ts'
import { LinkServer, type Meeting } from '../../wire/link.ts'
import { CHUNK_BYTES, CHUNK_COUNT } from './buffer-size.ts'

/**
 * Timeout for data from the agent. It is longer than the timeout after which an agent that receives nothing detaches
 * (Feeder.SILENT_CLIENT_TIMEOUT_NANOS).
 */
const SILENT_TIMEOUT_MS = 15_000
/** Number of checks for received data within the timeout. Time in which this process is stopped does not count, since no check runs. */
const CHECKS_PER_TIMEOUT = 15

/** Thrown if the agent does not answer in time. A broken network connection causes no socket error. */
export class NothingComes extends JfluidError {
  static sample = () => new NothingComes(10_000)
  readonly exitCode = EX_IOERR
  readonly hint =
    'Check the network, and whether the JVM is stopped. Its agent restores the code of the JVM without jfluid.'
  constructor(ms: number) {
    super(`the JVM sent no events for ${ms / 1000} s`)
  }
}

/** Delay between two rounds. No delay follows a round of more than MUCH_BYTES. */
const ROUND_DELAY_MS = 2
const MUCH_BYTES = 64 << 10
/** Size of the agent's buffer (Feeder.java). */
const MAX_ROUND_BYTES = 1 << 20

/** Address where the recording thread waits for the agent, and the token that the agent must present. */
export interface MirrorOffer {
  readonly at: Meeting
  readonly token: string
}

export class MirrorFeed {
  readonly ring = new MirrorRing(CHUNK_BYTES, CHUNK_COUNT)
  readonly #server: LinkServer
  readonly #onProblem: (problem: unknown) => void
  #socket: Duplex | undefined
  #timer: NodeJS.Timeout | undefined
  #received: Buffer[] = []
  #receivedBytes = 0
  /** Received answers of the current round. */
  #answers: Buffer[] = []
  #roundBytes = 0
  #looks = 0
  #looking: NodeJS.Timeout | undefined

  private constructor(server: LinkServer, onProblem: (problem: unknown) => void) {
    this.#server = server
    this.#onProblem = onProblem
  }

  /** @param onProblem  receives the error if an agent sends malformed data; the connection is closed then */
  static async listen(
    { at, token }: MirrorOffer,
    onProblem: (problem: unknown) => void,
    silentMs = SILENT_TIMEOUT_MS,
  ): Promise<MirrorFeed> {
    const feed = new MirrorFeed(await LinkServer.listen(at, token), onProblem)
    void feed.#server.socket().then((socket) => feed.#begin(socket, silentMs))
    return feed
  }

  get port(): number {
    return this.#server.port
  }

  close(): void {
    clearTimeout(this.#timer)
    clearInterval(this.#looking)
    this.#server.close()
    this.#socket?.destroy()
  }

  #begin(socket: Duplex, silentMs: number): void {
    this.#socket = socket
    this.#looking = setInterval(() => {
      if (++this.#looks < CHECKS_PER_TIMEOUT) return
      socket.destroy()
      this.#onProblem(new NothingComes(silentMs))
    }, silentMs / CHECKS_PER_TIMEOUT)
    this.#server.close()
    if (socket instanceof Socket) socket.setNoDelay(true)
    socket.on('data', (bytes: Buffer) => {
      try {
        this.#receive(bytes)
      } catch (problem) {
        socket.destroy()
        this.#onProblem(problem)
      }
    })
    socket.on('error', () => {}) // a `close` event follows each error
    socket.on('close', () => {
      clearTimeout(this.#timer)
      clearInterval(this.#looking)
      this.ring.cut()
    })
    socket.resume()
    this.#ask(true)
  }

  #ask(begins: boolean): void {
    this.#socket?.write(this.ring.question(begins))
  }

  #receive(bytes: Buffer): void {
    this.#looks = 0
    this.#received.push(bytes)
    this.#receivedBytes += bytes.length
    if (this.#receivedBytes < ANSWER_HEAD_BYTES) return
    let all = this.#received.length === 1 ? bytes : this.#received[0]!
    if (all.length < ANSWER_HEAD_BYTES) {
      all = Buffer.concat(this.#received)
      this.#received = [all]
    }
    const length = ANSWER_HEAD_BYTES + all.readUInt32LE(4)
    if (length > MAX_ROUND_BYTES || this.#receivedBytes > length)
      throw new MalformedRound(`${Math.max(length, this.#receivedBytes)} bytes in answer to one question`)
    if (this.#receivedBytes < length) return
    this.#answer(this.#received.length === 1 ? all : Buffer.concat(this.#received))
  }

  #answer(answer: Buffer): void {
    this.#received = []
    this.#receivedBytes = 0
    this.#answers.push(answer)
    this.#roundBytes += answer.length
    if (this.#roundBytes > MAX_ROUND_BYTES + 2 * CHUNK_BYTES * CHUNK_COUNT)
      throw new MalformedRound('a round that has no end')
    const kind = answer.readUInt32LE(0)
    if (kind === MORE) {
      this.#ask(false)
      return
    }
    const much = this.#roundBytes > MUCH_BYTES
    this.ring.take(this.#answers)
    this.#answers = []
    this.#roundBytes = 0
    // The next request also confirms the last round, and the agent then disconnects.
    if (kind === LAST || much) this.#ask(true)
    else this.#timer = setTimeout(() => this.#ask(true), ROUND_DELAY_MS)
  }
}
