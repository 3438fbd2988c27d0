// Clients that run on their own terminal.

import { join } from 'node:path'
import { readProfile } from '../../src/profile/file.ts'
import { temporaryDirectory } from '../support/java-process.ts'
import { Terminal } from '../support/terminal.ts'
import { ROOTS } from './lost-clients.ts'
import type { Outcome } from './trials.ts'
import type { Witness } from './witness.ts'

export function onTerminal(
  witness: Witness,
  command: string,
  ...args: string[]
): { terminal: Terminal; out: string } {
  const out = join(temporaryDirectory('jfluid-clients-'), 'p.jfluid')
  const terminal = Terminal.jfluid([command, `${witness.pid}`, '--out', out, ...ROOTS, ...args])
  return { terminal, out }
}

/** Returns whether the profile contains events. Throws if the file exists and is damaged. */
export async function keptIn(file: string): Promise<Outcome['profile']> {
  return (await readProfile(file)).events.count > 0 ? 'kept' : 'lost'
}
