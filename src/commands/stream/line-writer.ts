// Lines to a pipe that somebody may read slowly, or not at all, without waiting for them.
//
// `process.stdout` writes to pipes synchronously: a reader that sleeps would stop this thread, and with it the answers
// that threads of the target wait for. Here a write is one of the thread pool, and whoever has something that can be left out
// asks first whether the last one has gone.
//
// A write that waits for a reader cannot be taken back, and no process ends before its thread pool has: not by SIGTERM, either.
// So a pipe or terminal is opened once more, not to block. That of the descriptor would not do: all who have inherited it share
// whether it blocks, and a program of Node.js that ends gives back what it found. A socket cannot be opened.

import { closeSync, write } from 'node:fs'
import { errorCode } from '../../profile/errors.ts'
import { openedAgain } from '../opened-again.ts'

/** A pipe that is full and does not block is tried again after so long, and each time after twice that, up to a bound. */
const AGAIN_MS = 1
const LONGEST_AGAIN_MS = 20

export class LineWriter {
  /** Resolves with an error's code, EPIPE when the reader has gone: nothing more is written. */
  readonly gone: Promise<string>
  readonly #descriptor: number
  /** Whether the descriptor is of our own making. */
  readonly #isOwn: boolean
  readonly #lines: string[] = []
  #bytes: Buffer = Buffer.alloc(0)
  #isBusy = false
  #isWriting = false
  #againMs = AGAIN_MS
  /** The reader has, or we have been closed: nothing more is written. */
  #isGone = false
  #goneWith: (code: string) => void = () => {}
  #onIdle: () => void = () => {}
  #onProgress: () => void = () => {}

  /** @param descriptor  stays the caller's */
  constructor(descriptor: number) {
    const own = openedAgain(descriptor)
    this.#descriptor = own ?? descriptor
    this.#isOwn = own !== null
    this.gone = new Promise((resolve) => {
      this.#goneWith = resolve
    })
  }

  /** Whether something that was given is still to be written. */
  get isBusy(): boolean {
    return this.#isBusy
  }

  /** Never waits. A line has no line feed. */
  line(text: string): void {
    if (this.#isGone) return
    this.#lines.push(text)
    if (!this.#isBusy) this.#next()
  }

  /**
   * Resolves when all has been written, the reader has gone, or has taken nothing for so long.
   *
   * @returns whether all has been written
   */
  async flush(mostMs: number): Promise<boolean> {
    if (this.#isBusy) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, mostMs)
        this.#onProgress = () => timer.refresh()
        this.#onIdle = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
    return !this.#isBusy && !this.#isGone
  }

  /** Nothing more is written: what the reader has not taken is dropped. */
  close(): void {
    if (this.#isGone) return
    this.#drop()
    if (!this.#isWriting) this.#next()
  }

  #drop(): void {
    this.#isGone = true
    this.#lines.length = 0
    this.#bytes = Buffer.alloc(0)
  }

  #next(): void {
    if (this.#bytes.length === 0) {
      if (this.#lines.length === 0) {
        this.#idle()
        return
      }
      this.#bytes = Buffer.from(`${this.#lines.splice(0).join('\n')}\n`)
    }
    this.#isBusy = true
    this.#isWriting = true
    write(this.#descriptor, this.#bytes, (error, written) => {
      this.#isWriting = false
      if (this.#isGone) {
        this.#idle()
        return
      }
      if (error === null) {
        this.#bytes = this.#bytes.subarray(written)
        this.#againMs = AGAIN_MS
        this.#onProgress()
      } else {
        const code = errorCode(error)
        if (code === 'EAGAIN') {
          setTimeout(() => this.#again(), this.#againMs).unref()
          this.#againMs = Math.min(2 * this.#againMs, LONGEST_AGAIN_MS)
          return
        }
        this.#drop()
        this.#goneWith(code)
      }
      this.#next()
    })
  }

  #again(): void {
    if (!this.#isGone) this.#next()
  }

  #idle(): void {
    this.#isBusy = false
    if (this.#isGone && this.#isOwn) closeSync(this.#descriptor)
    this.#onIdle()
  }
}
