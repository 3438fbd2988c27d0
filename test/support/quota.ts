// Control groups with a quota of processors, of version 1, created by root.

import { accessSync, constants, existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { onTestFinished } from 'vitest'
import type { JavaProcess } from './java-process.ts'

const CPU = '/sys/fs/cgroup/cpu'
export const NO_QUOTA = 'no control group with a quota of processors can be made (version 1, as root)'

export function quotasCanBeSet(): boolean {
  try {
    accessSync(CPU, constants.W_OK)
    return existsSync(`${CPU}/cpu.cfs_quota_us`)
  } catch {
    return false
  }
}

export interface Quota {
  /** Path of the file into which the id of a process is written to move it into the group. */
  readonly members: string
  /** @param us  time of processors in each period of 100,000 µs; -1: no limit */
  set(us: number): void
}

/**
 * Creates a group, which is removed when the test finishes.
 *
 * @param processes  processes of the group at the end of the test; they are killed
 */
export function createQuota(name: string, processes: () => readonly JavaProcess[]): Quota {
  const group = `${CPU}/jfluid-test-${name}`
  mkdirSync(group)
  onTestFinished(async () => {
    for (const java of processes()) await java.kill()
    rmdirSync(group)
  })
  return {
    members: `${group}/cgroup.procs`,
    set: (us) => writeFileSync(`${group}/cpu.cfs_quota_us`, `${us}`),
  }
}
