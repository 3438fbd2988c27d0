// A terminal that has gone (a connection that was cut, a window that was closed) fails whatever is asked of it. Node.js puts the modes of
// its terminals back when it ends, and where one fails it aborts: with a core dump, and another status than ours. What is
// closed it leaves alone.

import { closeSync, fstatSync, openSync, statSync } from 'node:fs'
import { isatty } from 'node:tty'
import { ifVisible } from '../base/visible.ts'

const STREAMS = [0, 1, 2]
const NOTHING = '/dev/null'
/** Undefined where there is none, as in some changed roots. */
const NOTHING_DEVICE = statSync(NOTHING, { throwIfNoEntry: false })?.rdev

/** To be called when nothing more is read or written. */
export function closeLostTerminals(streams = STREAMS): void {
  for (const stream of streams) {
    if (!isLost(stream)) continue
    closeSync(stream)
    // The lowest free number, so that of the terminal: where a file of another thread gets it, Node.js aborts when that is closed
    // (uv__close in core.c). Between these two lines one still can.
    if (NOTHING_DEVICE !== undefined) openSync(NOTHING, 'r+')
  }
}

/** A device that is no terminal any more. */
function isLost(stream: number): boolean {
  const it = ifVisible(() => fstatSync(stream)) // undefined: it is closed
  return it?.isCharacterDevice() === true && it.rdev !== NOTHING_DEVICE && !isatty(stream)
}
