// Terminals that nobody reads: Ctrl-S was pressed, or the connection hangs behind which they are.
//
// Node.js writes to terminals synchronously. Until somebody reads again that would stop this thread, and with it the answers
// that threads of the target wait for, the time at which a recording ends, and signals. Here what the terminal does not take
// stays with the stream, and is tried again; who draws what the next picture replaces looks at `writableLength` first.
//
// What is written is written at once where the terminal takes it, as before: nothing is lost that is said in the moment of the exit.

import { writeSync } from 'node:fs'
import type { Writable } from 'node:stream'
import { errorCode } from '../profile/errors.ts'
import { openedAgain } from './opened-again.ts'

const AGAIN_MS = 1
const LONGEST_AGAIN_MS = 50

type Done = (error?: Error | null) => void

/**
 * From now on nobody waits for this terminal. Does nothing for what is none.
 *
 * A terminal of another user's, as after `su`, cannot be opened once more: writing to it waits, as everybody's does.
 */
export function neverWaitFor(stream: Writable & { readonly isTTY?: boolean; readonly fd: number }): void {
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

/** @param done  told once the terminal has taken all, or why it does not */
function writeAll(terminal: number, bytes: Uint8Array, done: Done, againMs = AGAIN_MS): void {
  let at = 0
  let pauseMs = againMs
  try {
    while (at < bytes.length) {
      at += writeSync(terminal, bytes, at)
      pauseMs = AGAIN_MS
    }
  } catch (problem) {
    if (errorCode(problem) !== 'EAGAIN') {
      done(problem as Error)
      return
    }
    const left = bytes.subarray(at)
    setTimeout(() => writeAll(terminal, left, done, Math.min(2 * pauseMs, LONGEST_AGAIN_MS)), pauseMs)
    return
  }
  done()
}
