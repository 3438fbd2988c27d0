// What commands say on the standard error besides progress and errors. Names and paths in it may hold anything: a terminal is
// given nothing to obey.

import { clean } from '../profile/text.ts'

/** A line. */
export function say(text: string): void {
  process.stderr.write(`${clean(text)}\n`)
}
