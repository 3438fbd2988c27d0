// Room for a flight recording. A JVM whose recorder finds its disk full does not stop recording: it ends at once
// ("An irrecoverable error in Jfr. Shutting down VM", jfrStreamWriterHost.inline.hpp). So none is begun where there is
// little room, and one is ended while there is some left.

import { statfsSync } from 'node:fs'
import { EX_CANTCREAT, JfluidError } from '../../base/errors.ts'

const MIB = 1 << 20
/** What the JVM keeps of a recording of ours; the file that it writes, of 12 MiB, comes to that. */
export const KEPT_MIB = 32
/** Twice that, so that nobody is near the end because of us. */
export const ROOM_TO_BEGIN = 64 * MIB
/** Looked at with each poll, some times a second. */
export const ROOM_TO_GO_ON = 32 * MIB

/** Going on would put the target at risk. */
export class NoRoomForRecording extends JfluidError {
  static sample = () => new NoRoomForRecording('/tmp', 20 * MIB)
  readonly exitCode = EX_CANTCREAT
  readonly hint = 'Free some space in that directory.'
  constructor(directory: string, free: number) {
    super(
      `too little room for a flight recording in ${directory}: ${Math.floor(free / MIB)} MiB are free, and a full disk would end the JVM`,
    )
  }
}

/**
 * Bytes that are free where a file is; without an end where there is nothing, of which the recorder itself tells, and where the file
 * system has no size (a tmpfs of `size=0`).
 *
 * @param count  of blocks: those that anybody may have, or all, of which some may be kept back for root
 */
export function freeBytes(path: string, count: 'bavail' | 'bfree' = 'bavail'): number {
  try {
    const { blocks, bsize, [count]: free } = statfsSync(path)
    return blocks === 0 ? Number.POSITIVE_INFINITY : free * bsize
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return Number.POSITIVE_INFINITY
  }
}

/**
 * @param path  as we reach it
 * @param name  as the target calls it
 * @throws NoRoomForRecording
 */
export function mustHaveRoom(path: string, name: string, bytes: number): void {
  const free = freeBytes(path)
  if (free < bytes) throw new NoRoomForRecording(name, free)
}
