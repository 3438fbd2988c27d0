// Text in pieces to a stream, at the pace of whoever reads it.

import { once } from 'node:events'
import type { Writable } from 'node:stream'

/** Pieces are joined up to this many characters before they are written. */
const BATCH = 1 << 16

/**
 * Writes `pieces` to `out` and waits while it is full; does not end `out`.
 *
 * A reader that has gone away (`| head`, a closed terminal) is no error: writing stops and `false` comes back.
 *
 * @throws the stream's error otherwise (`ENOSPC`, …)
 */
export async function writePieces(out: Writable, pieces: Iterable<string>): Promise<boolean> {
  let failure: unknown
  const fail = (error: unknown): void => {
    failure ??= error
  }
  out.on('error', fail)
  try {
    let batch = ''
    for (const piece of pieces) {
      batch += piece
      if (batch.length >= BATCH) {
        await writeOne(out, batch)
        batch = ''
        if (failure) throw failure
      }
    }
    await writeOne(out, batch)
    if (failure) throw failure
    return true
  } catch (error) {
    if (isGone(error, out)) return false
    throw error
  } finally {
    // The error of a write may arrive later than its callback: keep one quiet listener for EPIPE.
    out.off('error', fail)
    out.on('error', (error) => {
      if (!isGone(error, out)) throw error
    })
  }
}

/** Resolves when `text` has left for the system, so that an error of it is known. */
async function writeOne(out: Writable, text: string): Promise<void> {
  if (out.destroyed || out.writableEnded) throw Object.assign(new Error('write after end'), { code: 'EPIPE' })
  await new Promise<void>((resolve, reject) => {
    out.write(text, (error) => (error ? reject(error) : resolve()))
  })
  if (out.writableNeedDrain) await once(out, 'drain')
}

function isGone(error: unknown, out: Writable): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  // A closed terminal answers EIO; from a file that is a failure of the disk.
  if (code === 'EIO') return 'isTTY' in out && out.isTTY === true
  return code === 'EPIPE' || code === 'ERR_STREAM_DESTROYED' || code === 'EOF'
}
