// jfluid attaches on Linux only. On other systems, the commands print one line that names the alternatives.

import { EX_UNAVAILABLE, JfluidError } from '../base/errors.ts'
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

const NAMES: Readonly<Record<string, string>> = { darwin: 'macOS', win32: 'Windows' }

/** These commands read /proc, or use features of Linux to talk to a JVM. `gate` calls `run`. */
const NEED_LINUX: readonly string[] = ['ps', 'doctor', 'roots', 'attach', 'record', 'run', 'proxy', 'detach']
const REACH_OTHERS: readonly string[] = ['attach', 'record']

/**
 * Checks the platform.
 *
 * @param target  target of the command; a target on another machine is allowed on any platform
 * @throws NotLinux
 */
export function checkPlatform(command: CommandName, target: string | undefined, platform: string): void {
  if (platform === 'linux' || !NEED_LINUX.includes(command)) return
  if (REACH_OTHERS.includes(command) && target !== undefined && isRemote(target)) return
  throw new NotLinux(platform)
}
