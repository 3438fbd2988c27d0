// Lines to a pipe that somebody may read slowly, or not at all, without waiting for them.
//
// `process.stdout` writes to pipes synchronously: a reader that sleeps would stop this thread, and with it the answers
// that threads of the target wait for. Here a write is one of the thread pool, and whoever has something that can be left out
// asks first whether the last one has gone.

import { write } from 'node:fs'
import { errorCode } from '../../profile/errors.ts'

/** A pipe that is full and does not block is tried again after so long. */
const AGAIN_MS = 20

export class LineWriter {
  /** Resolves with an error's code, EPIPE when the reader has gone: nothing more is written. */
  readonly gone: Promise<string>
  readonly #descriptor: number
  readonly #lines: string[] = []
  #bytes: Buffer = Buffer.alloc(0)
  #isBusy = false
  #isGone = false
  #goneWith: (code: string) => void = () => {}
  #onIdle: () => void = () => {}
  #onProgress: () => void = () => {}

  constructor(descriptor: number) {
    this.#descriptor = descriptor
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

  #next(): void {
    if (this.#bytes.length === 0) {
      if (this.#lines.length === 0 || this.#isGone) {
        this.#isBusy = false
        this.#onIdle()
        return
      }
      this.#bytes = Buffer.from(`${this.#lines.splice(0).join('\n')}\n`)
    }
    this.#isBusy = true
    write(this.#descriptor, this.#bytes, (error, written) => {
      if (error !== null) {
        const code = errorCode(error)
        if (code === 'EAGAIN') {
          setTimeout(() => this.#next(), AGAIN_MS).unref()
          return
        }
        this.#isGone = true
        this.#lines.length = 0
        this.#bytes = Buffer.alloc(0)
        this.#goneWith(code)
      } else {
        this.#bytes = this.#bytes.subarray(written)
        this.#onProgress()
      }
      this.#next()
    })
  }
}
