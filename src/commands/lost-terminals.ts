// Every operation fails on a terminal that has disappeared (after a lost connection, or a closed window). At exit, Node.js restores the
// modes of its terminals. If that fails, Node.js aborts with a core dump and a wrong exit status. Node.js ignores closed descriptors, so
// this module closes lost terminals first.

import { closeSync, fstatSync, openSync, statSync } from 'node:fs'
import { isatty } from 'node:tty'
import { ifVisible } from '../base/visible.ts'

const STREAMS = [0, 1, 2]
const NOTHING = '/dev/null'
/** Device number of /dev/null. Undefined if the device does not exist, as in some chroot environments. */
const NOTHING_DEVICE = statSync(NOTHING, { throwIfNoEntry: false })?.rdev

/** Closes the terminals that have disappeared. Call this function when nothing more is read or written. */
export function closeLostTerminals(streams = STREAMS): void {
  for (const stream of streams) {
    if (!isLost(stream)) continue
    closeSync(stream)
    // Opens /dev/null at once, which reuses the descriptor's number. If a file of another thread got this number, Node.js would abort when
    // that file is closed (uv__close in core.c). A small window between close and open remains.
    if (NOTHING_DEVICE !== undefined) openSync(NOTHING, 'r+')
  }
}

/** Whether the stream is a device that is no longer a terminal. */
function isLost(stream: number): boolean {
  const it = ifVisible(() => fstatSync(stream)) // undefined: the descriptor is closed
  return it?.isCharacterDevice() === true && it.rdev !== NOTHING_DEVICE && !isatty(stream)
}
