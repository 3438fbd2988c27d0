// Error text and exit code of a failed command.

import { CommanderError } from 'commander'
import { EX_SOFTWARE, EX_USAGE, JfluidError } from '../base/errors.ts'
import { cleanLines } from '../profile/text.ts'
import { noteOnFile } from './config.ts'

export interface Failure {
  /** Text for stderr; empty if it has been printed already. */
  readonly text: string
  /** Text for the debug log; empty if the command has not failed. */
  readonly log: string
  readonly exitCode: number
}

/** @param error  error that a command has thrown; commander also throws to end after a help text */
export function failureOf(error: unknown): Failure {
  if (error instanceof CommanderError) {
    return { text: '', log: '', exitCode: error.exitCode === 0 ? 0 : EX_USAGE }
  }
  if (error instanceof JfluidError) {
    const { name, message, hint, exitCode } = error
    const also = exitCode === EX_USAGE ? noteOnFile() : null
    const lines = [`jfluid: ${message}`, `  ${hint}`, ...(also === null ? [] : [`  ${also}`])]
    const text = lines.map((it) => `${cleanLines(it)}\n`).join('')
    return { text, log: `${name}: ${message}`, exitCode }
  }
  const log = String(error instanceof Error ? error.stack : error)
  return {
    text: `jfluid: internal error, please report it\n${cleanLines(log)}\n`,
    log,
    exitCode: EX_SOFTWARE,
  }
}
