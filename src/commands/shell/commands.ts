// jfluid completion, jfluid man, and what completion scripts ask.

import type { Command } from 'commander'
import { listJvms } from '../../attach/jvms.ts'
import { clean } from '../../profile/text.ts'
import { complete, completionText, type Known } from './complete.ts'
import { manual } from './manual.ts'
import { SCRIPTS, type Shell } from './scripts.ts'
import { commandRows } from './table.ts'

type Out = (text: string) => void

export function completion(shell: Shell, out: Out): void {
  out(SCRIPTS[shell])
}

export function man(program: Command, version: string, out: Out): void {
  out(manual({ version, description: program.description(), commands: commandRows(program) }))
}

/** @param words  after "jfluid"; the last one is being typed */
export async function completeWords(program: Command, words: readonly string[], out: Out): Promise<void> {
  out(completionText(await complete(commandRows(program), words, KNOWN)))
}

const KNOWN: Known = {
  jvms: () =>
    listJvms()
      .filter(({ attachable }) => attachable === true)
      .map(({ pid, mainClass }) => ({ value: `${pid}`, says: clean(mainClass ?? '?') })),
  async formats() {
    const { formats } = await import('../../export/formats.ts')
    return formats.map(({ name, description }) => ({ value: name, says: description }))
  },
}
