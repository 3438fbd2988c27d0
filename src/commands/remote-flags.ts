// Checks which options are supported for a JVM on another machine, according to the table of options.

import { argumentOf, attributeOf, type CommandName, longOf, type Row } from '../options/option.ts'
import { type Given, isGiven } from '../options/refusals.ts'
import { optionsOf, type SessionFlags } from '../options/table.ts'
import { NotFromAfar } from '../remote/errors.ts'
import { Malformed } from '../wire/unpack.ts'
import { isSampledByJvm } from './whole-jvm-options.ts'

/** Maximum number of patterns and roots that one session accepts from another machine. */
const MAX_TEXTS = 10_000

/**
 * Checks the options.
 *
 * @param command  command that declares the options; `session` in the proxy
 * @throws NotFromAfar
 */
export function checkRemoteFlags(command: CommandName, flags: SessionFlags): void {
  if (isSampledByJvm(flags)) throw new NotFromAfar('sampling by time')
  const given: Given = flags
  for (const row of optionsOf(command)) {
    const { isOfThisMachine } = row
    if (isOfThisMachine === undefined || !isGiven(row, given)) continue
    if (isOfThisMachine !== true) {
      if (isOfThisMachine.includes(command)) throw new NotFromAfar(`${command} ${longOf(row)}`)
      continue
    }
    if (row.harmless === undefined) throw new NotFromAfar(longOf(row))
    if (!row.harmless.includes(`${given[attributeOf(row)]}`))
      throw new NotFromAfar(`${longOf(row)} with a file`)
  }
}

/** Returns the options that are sent to another machine: the session options. */
export function flagsForAfar(flags: SessionFlags): SessionFlags {
  const given: Given = flags
  return Object.fromEntries(optionsOf('session').map((it) => [attributeOf(it), given[attributeOf(it)]]))
}

/**
 * Parses the options sent by a client as if they came from a command line. A client with the key of a proxy may be another program, so the
 * data of a client are untrusted. Options that do not concern a session are ignored.
 *
 * @throws Malformed
 */
export function flagsFromAfar(sent: Readonly<Record<string, unknown>>): SessionFlags {
  const flags: Record<string, unknown> = {}
  for (const row of optionsOf('session')) {
    const name = attributeOf(row)
    const value = Object.hasOwn(sent, name) ? sent[name] : undefined
    if (value === undefined || value === null) continue
    if (!isRight(row, value)) throw new Malformed(`an option ${name} that is none`)
    flags[name] = value
  }
  if (flags.scheme === undefined) throw new Malformed('options without a scheme')
  return flags as unknown as SessionFlags
}

function isRight(row: Row, value: unknown): boolean {
  if (argumentOf(row) === undefined) return typeof value === 'boolean'
  const holds = row.value?.holds ?? ((one: unknown) => typeof one === 'string')
  if (!row.isRepeatable) return holds(value)
  return Array.isArray(value) && value.length <= MAX_TEXTS && value.every((it) => holds(it))
}
