// jfluid attaches on Linux only, and needs the /proc of its own pid namespace. Otherwise the commands print one line that names the
// alternatives.

import { endianness } from 'node:os'
import { EX_UNAVAILABLE, JfluidError } from '../base/errors.ts'
import { linkOf } from '../base/visible.ts'
import type { CommandName } from '../options/option.ts'
import { isRemote } from '../remote/address.ts'

export class NotLinux extends JfluidError {
  static sample = () => new NotLinux('darwin')
  readonly exitCode = EX_UNAVAILABLE
  readonly hint =
    'Run jfluid on the machine of the JVM, or attach to it from here: jfluid attach ssh://host/<pid>'
  constructor(platform: string) {
    super(`jfluid can attach only to JVMs on Linux, and this machine runs ${NAMES[platform] ?? platform}`)
  }
}

/** The layouts of the event buffer, and of the data read from the JVM's memory, are little-endian. */
export class BigEndian extends JfluidError {
  static sample = () => new BigEndian('s390x')
  readonly exitCode = EX_UNAVAILABLE
  readonly hint = 'Use a machine with x86-64.'
  constructor(architecture: string) {
    super(
      `jfluid cannot attach on this machine: its architecture ${architecture} stores numbers with the most significant byte first`,
    )
  }
}

/**
 * /proc was mounted in another pid namespace. The process ids in /proc then are not the ids to which jfluid sends signals, so SIGQUIT would
 * reach another process.
 */
export class ProcOfOtherNamespace extends JfluidError {
  static sample = () => new ProcOfOtherNamespace('16852', 7)
  readonly exitCode = EX_UNAVAILABLE
  readonly hint =
    'Start jfluid where /proc belongs to its own pid namespace: mount -t proc proc /proc (unshare does it with --mount-proc).'
  constructor(inProc: string, pid: number) {
    super(
      `/proc shows the processes of another pid namespace: there jfluid is process ${inProc}, and in its own namespace ${pid}`,
    )
  }
}

const NAMES: Readonly<Record<string, string>> = { darwin: 'macOS', win32: 'Windows' }

/** These commands read /proc, or use features of Linux to talk to a JVM. `gate` calls `run`. */
const NEED_LINUX: readonly string[] = [
  'ps',
  'doctor',
  'why',
  'threads',
  'attach',
  'record',
  'run',
  'proxy',
  'detach',
]
const REACH_OTHERS: readonly string[] = ['attach', 'record']

/**
 * Checks the platform.
 *
 * @param target  target of the command; a target on another machine is allowed on any platform
 * @throws NotLinux, BigEndian, ProcOfOtherNamespace
 */
export function checkPlatform(
  command: CommandName,
  target: string | undefined,
  platform: string,
  byteOrder = endianness(),
): void {
  if (!NEED_LINUX.includes(command)) return
  if (REACH_OTHERS.includes(command) && target !== undefined && isRemote(target)) return
  if (platform !== 'linux') throw new NotLinux(platform)
  if (byteOrder !== 'LE') throw new BigEndian(process.arch)
  const inProc = linkOf('/proc/self')
  if (inProc !== undefined && inProc !== String(process.pid))
    throw new ProcOfOtherNamespace(inProc, process.pid)
}
