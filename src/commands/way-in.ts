// How a command gets into its JVM: by its process id, or by the port where it takes a debugger.

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
    super(`--jdwp says which JVM it is, and so does ${pid}`)
  }
}

/** All else goes by attach. */
export class JdwpNeedsRoot extends UsageError {
  static sample = () => new JdwpNeedsRoot('choosing a root on the screen')
  readonly hint = 'Name a root (--root) or a region (--region); --mode sample goes with --every 10000bc.'
  constructor(what: string) {
    super(`--jdwp brings in the agent, which has probes below a root: ${what} goes by the attach mechanism`)
  }
}

export interface WayIn {
  /** For messages. */
  readonly name: string
  /** For names of files: its process, or its port. */
  readonly number: number
  /** @throws BusyBeforeFlush, where the request is to be asked about */
  open(onPhase: (phase: string) => void, request: SessionRequest): Promise<OpenDoor>
}

/**
 * What --jdwp goes with; to be asked before anything is looked at.
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

/** @throws as `jvmFor` */
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
