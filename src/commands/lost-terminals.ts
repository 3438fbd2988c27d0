// A terminal that has gone (a connection that was cut, a window that was closed) fails whatever is asked of it. Node.js puts the modes of
// its terminals back when it ends, and where one fails it aborts: with a core dump, and another status than ours. What is
// closed it leaves alone.

import { closeSync, fstatSync } from 'node:fs'
import { isatty } from 'node:tty'

const STREAMS = [0, 1, 2]

/** To be called when nothing more is read or written. */
export function closeLostTerminals(): void {
  for (const stream of STREAMS) if (isLost(stream)) closeSync(stream)
}

/** A device that is no terminal any more, or was none: nobody misses /dev/null either. */
function isLost(stream: number): boolean {
  try {
    return fstatSync(stream).isCharacterDevice() && !isatty(stream)
  } catch {
    return false // it is closed
  }
}
