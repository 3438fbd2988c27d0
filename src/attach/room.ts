// Counts the threads and descriptors that a process may still create. An attach needs both.
// Without a thread for its attach listener HotSpot ends the process (`AttachListener::init`, as in a failed startup). Without a descriptor
// for the client's connection the listener ends and its socket stays, so later clients get no answer (`AttachListener::dequeue`). So jfluid
// counts threads and descriptors before it sends anything. The check includes a reserve for the program's own new threads and files.

import { minOf } from '../base/arrays.ts'
import { namesIn, textOf } from '../base/visible.ts'
import { controlGroups } from './control-groups.ts'
import type { TargetProcess } from './target-process.ts'

/** Threads and descriptors that a process may still create; Infinity if unlimited or unreadable. */
export interface Room {
  readonly threads: number
  readonly descriptors: number
}

/** Threads needed for the attach listener, the agent's thread, a redefinition, and a reserve for the JVM. */
export const THREADS_NEEDED = 8
/** Descriptors needed for the attach listener's socket and connection, the agent's jar, its link, the buffer, and a reserve. */
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

/** Returns the soft limit in a line of /proc/<pid>/limits; Infinity without a limit. */
export function softLimit(limits: string, name: string): number {
  const value = new RegExp(`^${name}\\s+(\\S+)`, 'm').exec(limits)?.[1]
  return value === undefined || value === 'unlimited' ? Number.POSITIVE_INFINITY : Number(value)
}

/** Returns the number of threads that a user may still create. RLIMIT_NPROC counts all threads of a user, and does not limit root. */
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
  return minOf(known) - allThreads() // Infinity if no limit is known
}

/** Returns the number of threads on the machine; 0 if unreadable. */
function allThreads(): number {
  return Number(/\/(\d+)/.exec(textOf('/proc/loadavg') ?? '')?.[1] ?? 0)
}

/** Returns the number of threads that the process's control groups still permit: the minimum over the nested groups. */
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
