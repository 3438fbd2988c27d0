// Control groups that freeze their processes, like engines for paused containers. Created by root, if the system supports them.

import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

export interface Freezer {
  /** 1 or 2: the version of control groups. */
  readonly version: number
  /** Directory in which groups are created. */
  readonly parent: string
}

/** Returns the control groups that can be frozen on this machine. */
export function freezers(): readonly Freezer[] {
  if (process.geteuid?.() !== 0) return []
  const all = [
    { version: 1, parent: '/sys/fs/cgroup/freezer' },
    { version: 2, parent: '/sys/fs/cgroup/unified' },
    { version: 2, parent: '/sys/fs/cgroup' },
  ]
  return all.filter(({ version, parent }) => {
    const group = join(parent, `jfluid-try-${process.pid}`)
    if (!existsSync(join(parent, 'cgroup.procs'))) return false
    try {
      mkdirSync(group)
    } catch {
      return false // read-only
    }
    const can = existsSync(join(group, fileOf(version)))
    rmdirSync(group)
    return can
  })
}

const fileOf = (version: number): string => (version === 1 ? 'freezer.state' : 'cgroup.freeze')

/** Freezes a process until it is thawed. The group is removed when the process has ended and the test finishes. */
export async function freeze({ version, parent }: Freezer, pid: number): Promise<{ thaw(): void }> {
  const group = join(parent, `jfluid-test-${pid}`)
  mkdirSync(group)
  const set = (frozen: boolean): void =>
    writeFileSync(
      join(group, fileOf(version)),
      version === 1 ? (frozen ? 'FROZEN' : 'THAWED') : frozen ? '1' : '0',
    )
  onTestFinished(async () => {
    set(false)
    // Only a group without processes can be removed.
    for (const it of readFileSync(join(group, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean))
      writeFileSync(join(parent, 'cgroup.procs'), it)
    rmdirSync(group)
  })
  writeFileSync(join(group, 'cgroup.procs'), String(pid))
  set(true)
  const told = version === 1 ? 'freezer.state' : 'cgroup.events'
  while (!/^(?:FROZEN|frozen 1)$/m.test(readFileSync(join(group, told), 'utf8')))
    await new Promise((resolve) => setTimeout(resolve, 1))
  return { thaw: () => set(false) }
}
