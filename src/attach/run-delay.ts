// Reads two times of each thread of a process: the time that it ran, and the time that it was ready to run but had no processor
// (/proc/<pid>/task/<tid>/schedstat, the kernel's Documentation/scheduler/sched-stats.rst).

import { readdirSync } from 'node:fs'
import { textOf } from '../base/visible.ts'

export interface RunTimes {
  readonly ranMs: number
  readonly delayedMs: number
}

/** Totals of each living thread, keyed by thread id. */
export type ThreadTimes = ReadonlyMap<string, RunTimes>

/** @returns an empty map if the process has ended or the kernel has no such counters */
export function readRunTimes(pid: number): ThreadTimes {
  const times = new Map<string, RunTimes>()
  for (const thread of threadsOf(pid)) {
    const [ran, delayed] = (textOf(`/proc/${pid}/task/${thread}/schedstat`) ?? '').split(' ').map(Number)
    if (ran !== undefined && delayed !== undefined)
      times.set(thread, { ranMs: ran / 1e6, delayedMs: delayed / 1e6 })
  }
  return times
}

/** Returns the times between two readings, summed over the threads that are in both readings. */
export function runTimesBetween(before: ThreadTimes, after: ThreadTimes): RunTimes {
  let ranMs = 0
  let delayedMs = 0
  for (const [thread, now] of after) {
    const old = before.get(thread)
    if (old === undefined) continue
    ranMs += now.ranMs - old.ranMs
    delayedMs += now.delayedMs - old.delayedMs
  }
  return { ranMs, delayedMs }
}

function threadsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`)
  } catch {
    return [] // the process has ended
  }
}
