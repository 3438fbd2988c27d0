// The connection over which a buffer of another machine comes: this end asks, round by round, and hands each whole one to the mirror.
// It lives in the recording thread, so that each question is a sign of that thread's life.

import type { Socket } from 'node:net'
import { ANSWER_HEAD_BYTES, LAST, MalformedRound, MirrorRing, MORE } from '../events/mirror.ts'
import { LinkServer, type Meeting } from '../wire/link.ts'
import { CHUNK_BYTES, CHUNK_COUNT } from './buffer-size.ts'

/** Between two rounds, unless there is much. */
const REST_MS = 2
const MUCH_BYTES = 64 << 10
/** What an agent has room for (Feeder.java). */
const MOST_BYTES = 1 << 20

/** Where the recording thread waits for the agent, and what that has to show. */
export interface MirrorOffer {
  readonly at: Meeting
  readonly token: string
}

export class MirrorFeed {
  readonly ring = new MirrorRing(CHUNK_BYTES, CHUNK_COUNT)
  readonly #server: LinkServer
  readonly #onProblem: (problem: unknown) => void
  #socket: Socket | undefined
  #timer: NodeJS.Timeout | undefined
  #heard: Buffer[] = []
  #heardBytes = 0
  /** Of the round that goes on. */
  #answers: Buffer[] = []
  #roundBytes = 0

  private constructor(server: LinkServer, onProblem: (problem: unknown) => void) {
    this.#server = server
    this.#onProblem = onProblem
  }

  /** @param onProblem  told of an agent that cannot be understood; the connection is closed then */
  static async listen(
    { at, token }: MirrorOffer,
    onProblem: (problem: unknown) => void,
  ): Promise<MirrorFeed> {
    const feed = new MirrorFeed(await LinkServer.listen(at, token), onProblem)
    void feed.#server.socket().then((socket) => feed.#begin(socket))
    return feed
  }

  get port(): number {
    return this.#server.port
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#server.close()
    this.#socket?.destroy()
  }

  #begin(socket: Socket): void {
    this.#socket = socket
    this.#server.close()
    socket.setNoDelay(true)
    socket.on('data', (bytes: Buffer) => {
      try {
        this.#hear(bytes)
      } catch (problem) {
        socket.destroy()
        this.#onProblem(problem)
      }
    })
    socket.on('error', () => {}) // `close` follows
    socket.on('close', () => {
      clearTimeout(this.#timer)
      this.ring.cut()
    })
    socket.resume()
    this.#ask(true)
  }

  #ask(begins: boolean): void {
    this.#socket?.write(this.ring.question(begins))
  }

  #hear(bytes: Buffer): void {
    this.#heard.push(bytes)
    this.#heardBytes += bytes.length
    if (this.#heardBytes < ANSWER_HEAD_BYTES) return
    let all = this.#heard.length === 1 ? bytes : this.#heard[0]!
    if (all.length < ANSWER_HEAD_BYTES) {
      all = Buffer.concat(this.#heard)
      this.#heard = [all]
    }
    const length = ANSWER_HEAD_BYTES + all.readUInt32LE(4)
    if (length > MOST_BYTES || this.#heardBytes > length)
      throw new MalformedRound(`${Math.max(length, this.#heardBytes)} bytes in answer to one question`)
    if (this.#heardBytes < length) return
    this.#answer(this.#heard.length === 1 ? all : Buffer.concat(this.#heard))
  }

  #answer(answer: Buffer): void {
    this.#heard = []
    this.#heardBytes = 0
    this.#answers.push(answer)
    this.#roundBytes += answer.length
    if (this.#roundBytes > MOST_BYTES + 2 * CHUNK_BYTES * CHUNK_COUNT)
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
    // The last one is confirmed, too: then the agent goes.
    if (kind === LAST || much) this.#ask(true)
    else this.#timer = setTimeout(() => this.#ask(true), REST_MS)
  }
}
