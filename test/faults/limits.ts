// Takes things from a JVM that runs, and gives them back: the soft limits of its process.

import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { softLimit } from '../../src/attach/room.ts'

/** `nobody`, by the number it has on every Linux: unlike root's, its threads are limited. */
export const NOBODY = { uid: 65534, gid: 65534 }

export interface Limit {
  /** In a moment: without waiting for a program to be started. */
  lower(): Promise<void>
  raise(): Promise<void>
}

/**
 * @param name  of `prlimit`; and that of the line in /proc/<pid>/limits
 * @param low   so many in all, not so many more
 */
export function limitOf(
  pid: number,
  [name, line]: ['nproc', 'Max processes'] | ['nofile', 'Max open files'],
  low: number,
): Limit {
  const before = softLimit(readFileSync(`/proc/${pid}/limits`, 'utf8'), line)
  const soft = before === Number.POSITIVE_INFINITY ? 'unlimited' : String(before)
  // To change another user's takes a privilege that root of a container may not have.
  const owner = Number(/^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
  const asOwner = owner === process.getuid?.() ? {} : { uid: owner, gid: owner }
  const set = async (to: string): Promise<void> => {
    await promisify(execFile)('prlimit', ['--pid', String(pid), `--${name}=${to}:`], { ...asOwner, cwd: '/' })
  }
  return { lower: () => set(String(low)), raise: () => set(soft) }
}
