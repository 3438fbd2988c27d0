// Reopens a pipe or a terminal that other processes share. The new file description can be non-blocking. The other processes are not
// affected.

import { constants, fstatSync, openSync } from 'node:fs'
import { isatty } from 'node:tty'
import { ifVisible } from '../base/visible.ts'

/** Returns a new non-blocking descriptor; null if the descriptor is no pipe or terminal, or cannot be reopened. */
export function openedAgain(descriptor: number): number | null {
  if (!fstatSync(descriptor).isFIFO() && !isatty(descriptor)) return null
  const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants
  // Opening fails if another user owns the terminal or pipe, as after sudo, or if a pipe has no reader. A write to the given descriptor
  // then reports the error.
  return ifVisible(() => openSync(`/proc/self/fd/${descriptor}`, O_WRONLY | O_NONBLOCK | O_NOCTTY)) ?? null
}
