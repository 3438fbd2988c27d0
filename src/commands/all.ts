// --all: selects the JVMs for a command that handles several JVMs at once, and rejects arguments that conflict with --all.

import { type Jvm, listJvms } from '../attach/jvms.ts'
import { EX_NOHOST, JfluidError, UsageError } from '../base/errors.ts'
import { checkTogether } from '../options/refusals.ts'
import type { Flags } from '../options/table.ts'
import { BadPattern } from '../reveal/errors.ts'
import { isContainerName } from './containers/name.ts'
import { checkHere, jvmsNamed, lookInside } from './target.ts'

/** Maximum number of JVMs. Each JVM needs an event buffer and a recording thread in this process. */
const MAX_JVMS = 16

export class PidWithAll extends UsageError {
  static sample = () => new PidWithAll('4711')
  readonly hint = 'Leave one of the two out.'
  constructor(pid: string) {
    super(`--all cannot be combined with '${pid}': both name a JVM`)
  }
}

export class NoJvmNamed extends JfluidError {
  static sample = () => new NoJvmNamed('com.acme.*')
  readonly exitCode = EX_NOHOST
  readonly hint = 'List the main classes of the running JVMs: jfluid ps'
  constructor(pattern: string) {
    super(`no running JVM has the main class '${pattern}'`)
  }
}

export class TooManyJvms extends UsageError {
  static sample = () =>
    new TooManyJvms('com.acme', Array(17).fill({ mainClass: 'com.acme.shop.OrderServer' }))
  readonly hint: string
  constructor(pattern: string, jvms: readonly Pick<Jvm, 'mainClass'>[]) {
    super(
      isContainerName(pattern)
        ? `'${pattern}' has ${jvms.length} JVMs, and --all profiles at most ${MAX_JVMS}`
        : `'${pattern}' is the main class of ${jvms.length} JVMs, and --all profiles at most ${MAX_JVMS}`,
    )
    this.hint = `Give a longer part of the name: ${[...new Set(jvms.map(({ mainClass }) => mainClass ?? '?'))].slice(0, 5).join(', ')}`
  }
}

/**
 * Checks the arguments. Call this function before any JVM is examined.
 *
 * @throws PidWithAll, OptionRefused, BadPattern
 */
export function checkAll(
  command: 'attach' | 'record',
  pidText: string | undefined,
  flags: Pick<Flags<'attach'>, 'all' | 'root'>,
): void {
  const { all } = flags
  if (all === undefined) return
  checkHere(all, '--all')
  if (pidText !== undefined) throw new PidWithAll(pidText)
  checkTogether(command, flags)
  if (all.trim() === '')
    throw new BadPattern('main class', all, 'it is empty', 'Write a main class, or a pattern.')
}

/**
 * Returns the matching JVMs that run now. The text may also name a container.
 *
 * @throws NoJvmNamed, TooManyJvms, and errors of `lookInside`
 */
export async function allMeant(text: string, all?: readonly Jvm[]): Promise<readonly Jvm[]> {
  const jvms = isContainerName(text) ? (await lookInside(text)).jvms : jvmsNamed(text, all ?? listJvms())
  if (jvms.length === 0) throw new NoJvmNamed(text)
  if (jvms.length > MAX_JVMS) throw new TooManyJvms(text, jvms)
  return jvms
}
