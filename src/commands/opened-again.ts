// A pipe or a terminal that others have as well, by a description of our own: whether it blocks is then nobody's but ours.

import { constants, fstatSync, openSync } from 'node:fs'
import { isatty } from 'node:tty'
import { ifVisible } from '../base/visible.ts'

/** A descriptor of its own, which does not block; null for what is no pipe or terminal, or cannot be opened. */
export function openedAgain(descriptor: number): number | null {
  if (!fstatSync(descriptor).isFIFO() && !isatty(descriptor)) return null
  const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants
  // Not where it is another user's, as after sudo, or has no reader any more, which writing to what we were given will tell.
  return ifVisible(() => openSync(`/proc/self/fd/${descriptor}`, O_WRONLY | O_NONBLOCK | O_NOCTTY)) ?? null
}
