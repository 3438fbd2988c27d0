// What a JVM has left of its metaspace, where that is limited: classes of the agent, and of the JDK that it makes the JVM load,
// live there. A JVM that finds none collects all of its heap, twice, each time it is asked for more; and one that is to
// end when memory runs out (-XX:+ExitOnOutOfMemoryError) ends.

import { EX_TEMPFAIL } from '../base/errors.ts'
import { AttachError } from './admission.ts'
import { run } from './command.ts'
import type { AttachConnection } from './handshake.ts'

/** The first session in a JVM took 2.6 MiB of it, on 17 and on 25; bodies with probes come to that. */
export const METASPACE_NEEDED = 6 << 20
/** The part of classes themselves, where references to them are compressed. */
const CLASS_SPACE_NEEDED = 1 << 20

export class NoMetaspaceLeft extends AttachError {
  readonly exitCode = EX_TEMPFAIL
  readonly hint = 'Restart the program with a larger -XX:MaxMetaspaceSize.'
  constructor(pid: number, left: number) {
    super(
      pid,
      'no metaspace left',
      `cannot attach to JVM ${pid}: ${mib(left)} of its metaspace are left, and an attach takes up to ${mib(METASPACE_NEEDED)}`,
    )
  }
}

const mib = (bytes: number): string => `${(Math.max(0, bytes) / 2 ** 20).toFixed(1)} MiB`

/**
 * Asks the JVM, which answers without running any Java code: for its system properties it would load classes.
 *
 * @throws NoMetaspaceLeft
 */
export async function refuseWithoutMetaspace(connection: AttachConnection): Promise<void> {
  const left = await leftOfMetaspace(connection)
  if (left < METASPACE_NEEDED) throw new NoMetaspaceLeft(connection.pid, left)
}

/** Bytes; Infinity where there is no limit, or the JVM does not tell. */
export async function leftOfMetaspace(connection: AttachConnection): Promise<number> {
  const { code, text } = await run(connection, 'jcmd', ['VM.metaspace basic scale=KB'])
  return code === 0 ? metaspaceLeft(text) : Number.POSITIVE_INFINITY
}

const UNITS: { readonly [suffix: string]: number } = { '': 1, k: 2 ** 10, m: 2 ** 20, g: 2 ** 30, t: 2 ** 40 }

/**
 * Bytes that options of a JVM allow it; Infinity without such an option.
 *
 * @param options  as its performance data have them
 */
export function metaspaceLimit(options: string): number {
  const found = [...options.matchAll(/(?:^|\s)-XX:MaxMetaspaceSize=(\d+)([kmgt]?)(?=\s|$)/gi)].at(-1)
  return found === undefined ? Number.POSITIVE_INFINITY : Number(found[1]) * UNITS[found[2]!.toLowerCase()]!
}

/**
 * Bytes that may still be committed; Infinity where there is no limit, or another JVM says it in other words. What has been
 * committed and is free again is not counted: it is in pieces.
 *
 * @param report  of `VM.metaspace basic scale=KB`
 */
export function metaspaceLeft(report: string): number {
  const kib = (pattern: RegExp): number | undefined => {
    const found = pattern.exec(report)?.[1]
    return found === undefined ? undefined : Number(found) * 1024
  }
  const max = kib(/^MaxMetaspaceSize:\s+([\d.]+) KB/m)
  const committed = kib(/^\s+(?:Both|Non-class space):.*reserved,\s+([\d.]+) KB[^,\n]*committed\.\s*$/m)
  const ofClasses = kib(/^\s+Class space:\s+([\d.]+) KB reserved/m)
  const ofClassesCommitted = kib(/^\s+Class space:.*reserved,\s+([\d.]+) KB/m)
  if (ofClasses !== undefined && ofClassesCommitted !== undefined) {
    const left = ofClasses - ofClassesCommitted
    if (left < CLASS_SPACE_NEEDED) return left
  }
  return max === undefined || committed === undefined ? Number.POSITIVE_INFINITY : max - committed
}
