// Messages of commands on stderr besides progress and errors. Names and paths in messages are untrusted, so control characters are removed.

import { clean } from '../profile/text.ts'

/** Prints a line. */
export function say(text: string): void {
  process.stderr.write(`${clean(text)}\n`)
}
