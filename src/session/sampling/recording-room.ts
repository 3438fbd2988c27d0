// Disk space for a flight recording. If the disk is full, the flight recorder does not stop recording, but the JVM ends at once ("An
// irrecoverable error in Jfr. Shutting down VM", jfrStreamWriterHost.inline.hpp). So jfluid does not begin a recording with little free
// space, and stops a recording before the disk is full.

import { statfsSync } from 'node:fs'
import { EX_CANTCREAT, JfluidError } from '../../base/errors.ts'

const MIB = 1 << 20
/** Size limit of a recording in the JVM. The JVM may exceed the limit by the size of the file that it is writing, 12 MiB. */
export const KEPT_MIB = 32
/** Free space that is required to begin: twice the size limit, so that other processes still have free space. */
export const ROOM_TO_BEGIN = 64 * MIB
/** Free space required to continue. It is checked with each poll, several times a second. */
export const ROOM_TO_GO_ON = 32 * MIB

/** Thrown if a recording would endanger the target. */
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
 * Returns the number of free bytes at a path. Infinity if the file system has no size limit (a tmpfs of `size=0`), or if the path does
 * not exist, since the flight recorder then reports the error.
 * @param count  kind of free blocks: `bavail` counts the blocks available to all users, `bfree` also the blocks reserved for root
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
 * Checks the free space.
 * @param path  path as seen by jfluid
 * @param name  path as seen by the target, for the message
 * @throws NoRoomForRecording
 */
export function mustHaveRoom(path: string, name: string, bytes: number): void {
  const free = freeBytes(path)
  if (free < bytes) throw new NoRoomForRecording(name, free)
}
