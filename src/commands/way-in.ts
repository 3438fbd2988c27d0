// How a command connects to its JVM: by process id, or over the debugger's port.

import { UsageError } from '../base/errors.ts'
import type { Flags } from '../options/table.ts'
import { textOf } from '../session/doors/debugger-port.ts'
import { attachDoor, type OpenDoor } from '../session/doors/door.ts'
import { asksFirst, type SessionRequest } from '../session/session-options.ts'
import { jvmFor } from './wait-for.ts'

export class JdwpOrPid extends UsageError {
  static sample = () => new JdwpOrPid('4711')
  readonly hint = 'Leave one of the two out.'
  constructor(pid: string) {
    super(`--jdwp cannot be combined with '${pid}': both name a JVM`)
  }
}

export interface WayIn {
  /** Name for messages. */
  readonly name: string
  /** Number for file names: the process id, or the port. */
  readonly number: number
  /**
   * @param signal  ends the wait for a JVM that loads the agent
   * @throws BusyBeforeFlush if the user must consent to the request; the reason of `signal`
   */
  open(onPhase: (phase: string) => void, request: SessionRequest, signal?: AbortSignal): Promise<OpenDoor>
}

/** Must be called before any JVM is examined. @throws JdwpOrPid */
export function checkJdwp(pidText: string | undefined, { jdwp }: Pick<Flags<'attach'>, 'jdwp'>): void {
  if (jdwp !== undefined && pidText !== undefined) throw new JdwpOrPid(pidText)
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
  return {
    name: String(pid),
    number: pid,
    open: (onPhase, request, signal) =>
      attachDoor(pid, { asks: asksFirst(request), onPhase, ...(signal && { signal }) }),
  }
}
