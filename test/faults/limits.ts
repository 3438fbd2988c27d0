// Lowers and restores the soft limits of a running JVM's process.

import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { softLimit } from '../../src/attach/room.ts'

/**
 * User id of the account `nobody` in most Linux distributions. A limit on threads applies to processes of this user, and not to processes
 * of root.
 */
export const NOBODY = { uid: 65534, gid: 65534 }

export interface Limit {
  /** Takes effect at once. No program is started. */
  lower(): Promise<void>
  raise(): Promise<void>
}

/**
 * @param name  option of `prlimit`, and line in /proc/<pid>/limits
 * @param low   the total number, not the remaining number
 */
export function limitOf(
  pid: number,
  [name, line]: ['nproc', 'Max processes'] | ['nofile', 'Max open files'],
  low: number,
): Limit {
  const before = softLimit(readFileSync(`/proc/${pid}/limits`, 'utf8'), line)
  const soft = before === Number.POSITIVE_INFINITY ? 'unlimited' : String(before)
  // Changing limits of another user's process needs a capability that root in a container may lack.
  const owner = Number(/^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
  const asOwner = owner === process.getuid?.() ? {} : { uid: owner, gid: owner }
  const set = async (to: string): Promise<void> => {
    await promisify(execFile)('prlimit', ['--pid', String(pid), `--${name}=${to}:`], { ...asOwner, cwd: '/' })
  }
  return { lower: () => set(String(low)), raise: () => set(soft) }
}
