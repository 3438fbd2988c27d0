// Writes lines to a pipe without blocking, even if its reader is slow or stalled.
//
// `process.stdout` writes to pipes synchronously. A stalled reader would block this thread, and with it the answers that threads of the
// target wait for. Here, the thread pool writes. A caller with optional data checks first whether the previous write has finished.
//
// A blocked write cannot be cancelled, and a process cannot end before its thread pool has finished, not even after SIGTERM. So a pipe or
// terminal is reopened in non-blocking mode. Changing the mode of the inherited descriptor would not work: all processes that inherited it
// share the mode, and a Node.js process restores the old mode at its end. A socket cannot be reopened.

import { closeSync, write } from 'node:fs'
import { errorCode } from '../../profile/errors.ts'
import { openedAgain } from '../opened-again.ts'

/** Delay before the retry of a write to a full pipe. The delay doubles with each retry, up to a limit. */
const RETRY_DELAY_MS = 1
const MAX_RETRY_DELAY_MS = 20

export class LineWriter {
  /** Resolves with an error code: EPIPE if the reader has closed the pipe. The writer discards further lines after this. */
  readonly gone: Promise<string>
  readonly #descriptor: number
  /** Whether this object has opened the descriptor. */
  readonly #isOwn: boolean
  readonly #lines: string[] = []
  #bytes: Buffer = Buffer.alloc(0)
  #isBusy = false
  #isWriting = false
  #againMs = RETRY_DELAY_MS
  /** Whether the reader has closed the pipe, or `close` was called. Further lines are then discarded. */
  #isGone = false
  #goneWith: (code: string) => void = () => {}
  #onIdle: () => void = () => {}
  #onProgress: () => void = () => {}

  /** @param descriptor  remains open; the caller owns it */
  constructor(descriptor: number) {
    const own = openedAgain(descriptor)
    this.#descriptor = own ?? descriptor
    this.#isOwn = own !== null
    this.gone = new Promise((resolve) => {
      this.#goneWith = resolve
    })
  }

  /** Whether some lines have not been written yet. */
  get isBusy(): boolean {
    return this.#isBusy
  }

  /** Appends a line without a line feed. Never blocks. */
  line(text: string): void {
    if (this.#isGone) return
    this.#lines.push(text)
    if (!this.#isBusy) this.#next()
  }

  /**
   * Resolves when everything has been written, when the reader has closed the pipe, or when nothing could be written for `mostMs`.
   *
   * @returns whether everything has been written
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

  /** Drops the lines that have not been written. */
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
        this.#againMs = RETRY_DELAY_MS
        this.#onProgress()
      } else {
        const code = errorCode(error)
        if (code === 'EAGAIN') {
          setTimeout(() => this.#again(), this.#againMs).unref()
          this.#againMs = Math.min(2 * this.#againMs, MAX_RETRY_DELAY_MS)
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
