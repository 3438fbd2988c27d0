// What of the system's limits a process has left: an attach takes threads and descriptors, and a JVM that gets none
// does not just refuse.
//
// Without a thread for its attach listener HotSpot ends the process (`AttachListener::init`, as if it could not start
// up). Without a descriptor for the client's connection the listener ends and its socket stays, so that nobody is let
// in any more (`AttachListener::dequeue`). So both are counted before anything is sent. They may be taken
// meanwhile: what an attach needs is asked for with some to spare.

import { minOf } from '../base/arrays.ts'
import { namesIn, textOf } from '../base/visible.ts'
import { controlGroups } from './control-groups.ts'
import type { TargetProcess } from './target-process.ts'

/** How many more a process may have; Infinity where nothing limits it, or we may not look. */
export interface Room {
  readonly threads: number
  readonly descriptors: number
}

/** The attach listener, the agent's thread, one for a redefinition, and some that the JVM may want meanwhile. */
export const THREADS_NEEDED = 8
/** The attach listener's socket and connection, the agent's jar, its link, the buffer, and some to spare. */
export const DESCRIPTORS_NEEDED = 24

export function readRoom({ pid, uid }: Pick<TargetProcess, 'pid' | 'uid'>): Room {
  const limits = textOf(`/proc/${pid}/limits`) ?? ''
  return {
    threads: Math.min(
      threadsOfUser(uid, softLimit(limits, 'Max processes')),
      threadsOfGroups(pid),
      threadsOfSystem(),
    ),
    descriptors: softLimit(limits, 'Max open files') - (namesIn(`/proc/${pid}/fd`)?.length ?? 0),
  }
}

/** The soft limit of a line of /proc/<pid>/limits; Infinity where there is none. */
export function softLimit(limits: string, name: string): number {
  const value = new RegExp(`^${name}\\s+(\\S+)`, 'm').exec(limits)?.[1]
  return value === undefined || value === 'unlimited' ? Number.POSITIVE_INFINITY : Number(value)
}

/** RLIMIT_NPROC is of all threads of a user, and root's are not limited by it. */
function threadsOfUser(uid: number, limit: number): number {
  if (uid === 0 || limit === Number.POSITIVE_INFINITY) return Number.POSITIVE_INFINITY
  if (limit - allThreads() >= THREADS_NEEDED) return limit - allThreads()
  let count = 0
  for (const name of namesIn('/proc') ?? []) {
    if (!/^\d+$/.test(name)) continue
    const status = textOf(`/proc/${name}/status`) ?? ''
    if (Number(/^Uid:\s+(\d+)/m.exec(status)?.[1]) === uid) {
      count += Number(/^Threads:\s+(\d+)/m.exec(status)?.[1] ?? 0)
    }
  }
  return limit - count
}

function threadsOfSystem(): number {
  const max = ['threads-max', 'pid_max'].map((name) =>
    Number(textOf(`/proc/sys/kernel/${name}`) ?? Number.NaN),
  )
  const known = max.filter((it) => it > 0)
  return minOf(known) - allThreads() // of nothing known, the least is Infinity
}

/** Of the machine, in whatever namespace: 431 where /proc/loadavg says "0.31 0.22 0.18 2/431 12345". */
function allThreads(): number {
  return Number(/\/(\d+)/.exec(textOf('/proc/loadavg') ?? '')?.[1] ?? 0)
}

/** Of the control groups that the process is in, one inside the other, the fullest. */
function threadsOfGroups(pid: number): number {
  let least = Number.POSITIVE_INFINITY
  for (const group of controlGroups(textOf(`/proc/${pid}/cgroup`) ?? '', 'pids')) {
    const max = textOf(`${group}/pids.max`)?.trim()
    if (max === undefined || max === 'max') continue
    const current = textOf(`${group}/pids.current`)
    if (current !== undefined) least = Math.min(least, Number(max) - Number(current))
  }
  return least
}
