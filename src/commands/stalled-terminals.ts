// Writes to terminals without blocking. A terminal blocks after Ctrl-S, or when its connection hangs.
//
// Node.js writes to terminals synchronously. A blocked terminal would block this thread, and with it the answers that threads of the target
// wait for, the end of a recording, and signals. Here, data that the terminal does not accept stay in the stream, and the write is retried.
// Code that redraws the screen checks `writableLength` first.
//
// Data that the terminal accepts are still written synchronously, so a message just before the exit is not lost.

import { writeSync } from 'node:fs'
import type { Writable } from 'node:stream'
import { errorCode } from '../profile/errors.ts'
import { openedAgain } from './opened-again.ts'

const RETRY_DELAY_MS = 1
const MAX_RETRY_DELAY_MS = 50

type Done = (error?: Error | null) => void

/**
 * Makes writes to this terminal non-blocking. Does nothing for other streams.
 *
 * A terminal of another user, as after `su`, cannot be reopened: writes to it still block.
 */
export function makeNonBlocking(stream: Writable & { readonly isTTY?: boolean; readonly fd: number }): void {
  if (stream.isTTY !== true) return
  const terminal = openedAgain(stream.fd)
  if (terminal === null) return
  stream._write = (chunk: Uint8Array | string, encoding, done) => {
    writeAll(terminal, typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk, done)
  }
  stream._writev = (chunks, done) => {
    const all = chunks.map(({ chunk, encoding }: { chunk: Uint8Array | string; encoding: BufferEncoding }) =>
      typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk,
    )
    writeAll(terminal, Buffer.concat(all), done)
  }
}

/** @param done  called when the terminal has accepted all data, or with the error */
function writeAll(terminal: number, bytes: Uint8Array, done: Done, againMs = RETRY_DELAY_MS): void {
  let at = 0
  let pauseMs = againMs
  try {
    while (at < bytes.length) {
      at += writeSync(terminal, bytes, at)
      pauseMs = RETRY_DELAY_MS
    }
  } catch (problem) {
    if (errorCode(problem) !== 'EAGAIN') {
      done(problem as Error)
      return
    }
    const left = bytes.subarray(at)
    setTimeout(() => writeAll(terminal, left, done, Math.min(2 * pauseMs, MAX_RETRY_DELAY_MS)), pauseMs)
    return
  }
  done()
}
