// What can be asked of a JVM on another machine, by the table of options.

import { argumentOf, attributeOf, longOf, type Row } from '../options/option.ts'
import { optionsOf, type SessionFlags } from '../options/table.ts'
import { NotFromAfar } from '../remote/errors.ts'
import { Malformed } from '../wire/unpack.ts'
import { isSampledByJvm } from './whole-jvm-options.ts'

/** Patterns and roots that one session takes from another machine. */
const MOST_TEXTS = 10_000

/** @throws NotFromAfar */
export function checkRemoteFlags(flags: SessionFlags): void {
  if (isSampledByJvm(flags)) throw new NotFromAfar('sampling by time')
  const given: Readonly<Record<string, unknown>> = flags
  for (const row of optionsOf('session')) {
    const value = given[attributeOf(row)]
    // Files of one machine mean nothing on the other, and are code.
    if (row.reaches !== 'runs code' || value === undefined || row.harmless?.includes(`${value}`)) continue
    throw new NotFromAfar(row.harmless === undefined ? longOf(row) : `${longOf(row)} with a file`)
  }
}

/**
 * What a client has sent, as its own command line would have taken it: whoever has the key of a proxy may speak without
 * one. Options that are none of a session do not matter here.
 *
 * @throws Malformed
 */
export function flagsFromAfar(sent: Readonly<Record<string, unknown>>): SessionFlags {
  const flags: Record<string, unknown> = {}
  for (const row of optionsOf('session')) {
    const name = attributeOf(row)
    const value = Object.hasOwn(sent, name) ? sent[name] : undefined
    if (value !== undefined && value !== null) {
      if (!isRight(row, value)) throw new Malformed(`an option ${name} that is none`)
      flags[name] = value
    } else if (row.default !== undefined) throw new Malformed(`options without ${name}`)
  }
  return flags as unknown as SessionFlags
}

function isRight(row: Row, value: unknown): boolean {
  if (argumentOf(row) === undefined) return typeof value === 'boolean'
  const holds = row.value?.holds ?? ((one: unknown) => typeof one === 'string')
  if (!row.isRepeatable) return holds(value)
  return Array.isArray(value) && value.length <= MOST_TEXTS && value.every((it) => holds(it))
}
