// Writes text or bytes to a stream in pieces, with backpressure.

import { once } from 'node:events'
import type { Writable } from 'node:stream'

/** Pieces of text are joined up to this number of characters before they are written. */
const BATCH = 1 << 16

/**
 * Writes `pieces` to `out` and waits while the buffer of `out` is full. Does not end `out`.
 * A closed reader (`| head`, a closed terminal) is not an error: writing stops, and the result is `false`.
 * @throws other errors of the stream (`ENOSPC`, …)
 */
export async function writePieces(out: Writable, pieces: Iterable<string | Uint8Array>): Promise<boolean> {
  let failure: unknown
  const fail = (error: unknown): void => {
    failure ??= error
  }
  out.on('error', fail)
  try {
    await writeOne(out, '') // detects a closed reader even if there is nothing to write
    for (const batch of inBatches(pieces)) {
      await writeOne(out, batch)
      if (failure) throw failure
    }
    return true
  } catch (error) {
    if (isGone(error, out)) return false
    throw error
  } finally {
    // The error event of a write may follow its callback, so a listener for EPIPE stays installed.
    out.off('error', fail)
    out.on('error', (error) => {
      if (!isGone(error, out)) throw error
    })
  }
}

/** Joins small pieces of text. Passes pieces of bytes on unchanged. */
export function* inBatches(pieces: Iterable<string | Uint8Array>): Generator<string | Uint8Array> {
  let batch = ''
  for (const piece of pieces) {
    if (typeof piece === 'string') {
      batch += piece
      if (batch.length < BATCH) continue
    }
    if (batch !== '') yield batch
    batch = ''
    if (typeof piece !== 'string') yield piece
  }
  if (batch !== '') yield batch
}

/** Resolves when the system has accepted `piece`. Rejects if the write failed. */
async function writeOne(out: Writable, piece: string | Uint8Array): Promise<void> {
  if (out.destroyed || out.writableEnded) throw Object.assign(new Error('write after end'), { code: 'EPIPE' })
  await new Promise<void>((resolve, reject) => {
    out.write(piece, (error) => (error ? reject(error) : resolve()))
  })
  if (out.writableNeedDrain) await once(out, 'drain')
}

function isGone(error: unknown, out: Writable): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  // A closed terminal causes EIO; for a file, EIO is a disk failure.
  if (code === 'EIO') return 'isTTY' in out && out.isTTY === true
  return code === 'EPIPE' || code === 'ERR_STREAM_DESTROYED' || code === 'EOF'
}
