// How a command gets into its JVM: by its process id, or by its debugger port.

import { UsageError } from '../base/errors.ts'
import type { Flags, SessionFlags } from '../options/table.ts'
import { textOf } from '../session/doors/debugger-port.ts'
import { attachDoor, type OpenDoor } from '../session/doors/door.ts'
import { asksFirst, type SessionRequest } from '../session/session-options.ts'
import { jvmFor } from './wait-for.ts'
import { isSampledByJvm } from './whole-jvm-options.ts'

export class JdwpOrPid extends UsageError {
  static sample = () => new JdwpOrPid('4711')
  readonly hint = 'Leave one of the two out.'
  constructor(pid: string) {
    super(`--jdwp cannot be combined with '${pid}': both name a JVM`)
  }
}

/** The feature is not available over a debugger port. */
export class JdwpNeedsRoot extends UsageError {
  static sample = () => new JdwpNeedsRoot('choosing a root on the screen')
  readonly hint = 'Name a root (--root) or a region (--region); with --mode sample add --every 10000bc.'
  constructor(what: string) {
    super(`--jdwp needs a root: ${what} works only with a process id`)
  }
}

export interface WayIn {
  /** Name for messages. */
  readonly name: string
  /** Number for file names: the process id, or the port. */
  readonly number: number
  /** @throws BusyBeforeFlush if the user must consent to the request */
  open(onPhase: (phase: string) => void, request: SessionRequest): Promise<OpenDoor>
}

/**
 * Checks the options that conflict with --jdwp. Call it before any JVM is examined.
 *
 * @throws JdwpOrPid, JdwpNeedsRoot
 */
export function checkJdwp(
  pidText: string | undefined,
  flags: SessionFlags & Pick<Flags<'attach'>, 'jdwp'>,
): void {
  if (flags.jdwp === undefined) return
  if (pidText !== undefined) throw new JdwpOrPid(pidText)
  if (isSampledByJvm(flags)) throw new JdwpNeedsRoot('sampling by time')
  if ((flags.root ?? []).length === 0 && flags.region === undefined) throw new JdwpNeedsRoot('choosing one')
}

/** @throws errors of `jvmFor` */
export async function wayIn(
  pidText: string | undefined,
  flags: Pick<Flags<'attach'>, 'jdwp' | 'waitFor' | 'waitTimeout'>,
): Promise<WayIn> {
  const { jdwp } = flags
  if (jdwp !== undefined) {
    const open = async (onPhase: (phase: string) => void): Promise<OpenDoor> => {
      const { jdwpDoor } = await import('../session/doors/jdwp-door.ts')
      return await jdwpDoor(jdwp, undefined, onPhase)
    }
    return { name: textOf(jdwp), number: jdwp.port, open }
  }
  const pid = await jvmFor(pidText, flags)
  return { name: String(pid), number: pid, open: (_, request) => attachDoor(pid, asksFirst(request)) }
}
