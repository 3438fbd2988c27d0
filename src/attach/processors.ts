// How busy a process keeps the processors that it may use, seen from outside.

import { availableParallelism } from 'node:os'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { minOf } from '../base/arrays.ts'
import { textOf } from '../base/visible.ts'
import { controlGroups } from './control-groups.ts'
import { readCpuMs } from './target-process.ts'

export interface Processors {
  /** In use: 0.5 is half of one. */
  readonly used: number
  /** That it may use. */
  readonly most: number
  /** Of those that it may run on; infinite where that is not told. */
  readonly idle: number
  /** That this process used meanwhile. */
  readonly ours: number
}

const MS_A_TICK = 10
/** A process that can have no more than that part of the processors that it may use has none to spare, nor more than so many. */
const SPARE = 0.3
const SPARE_MOST = 2

/** "1.9 of 2, and 0.1 are idle" */
export function usedText({ used, most, idle }: Processors): string {
  const others = Number.isFinite(idle) ? `, and ${idle.toFixed(1)} are idle` : ''
  return `${used.toFixed(1)} of ${Number(most.toFixed(1))}${others}`
}

/** What it could have had besides. What we used is free again when it needs it. */
export function spareOf({ used, most, idle, ours }: Processors): number {
  return Math.min(most - used, idle + ours)
}

/** Whether it has no processors to spare: by itself, or because others use them. */
export function isBusy(processors: Processors): boolean {
  return spareOf(processors) < Math.min(SPARE * processors.most, SPARE_MOST)
}

/** @returns undefined where it has gone, or is not ours to see */
export async function readProcessors(pid: number, ms: number): Promise<Processors | undefined> {
  const allowed = allowedOf(pid)
  const idleNow = (): number => idleMs(textOf('/proc/stat') ?? '', allowed)
  const [before, idle, ours, begun] = [readCpuMs(pid), idleNow(), process.cpuUsage(), performance.now()]
  await sleep(ms)
  const [after, took] = [readCpuMs(pid), performance.now() - begun]
  if (before === undefined || after === undefined) return undefined
  const { user, system } = process.cpuUsage(ours)
  const now = idleNow()
  return {
    used: Math.max(0, after - before) / took,
    most: processorsOf(pid, allowed.size),
    idle: Number.isNaN(now) ? Number.POSITIVE_INFINITY : (now - idle) / took,
    ours: (user + system) / 1_000 / took,
  }
}

/**
 * For how long processors have been idle, all together. `man 5 proc`, /proc/stat, in USER_HZ.
 *
 * @param stat     its text
 * @param numbers  of the processors; all of the machine where it tells of none of them
 * @returns NaN where it does not tell
 */
export function idleMs(stat: string, numbers: ReadonlySet<number>): number {
  let all = Number.NaN
  let some = 0
  let isTold = false
  for (const [, number, idle, waiting] of stat.matchAll(/^cpu(\d*) +\d+ \d+ \d+ (\d+) (\d+)/gm)) {
    const ms = (Number(idle) + Number(waiting)) * MS_A_TICK
    if (number === '') all = ms
    else if (numbers.has(Number(number))) {
      some += ms
      isTold = true
    }
  }
  return isTold ? some : all
}

/** Numbers of those that a process may run on; none where that is not told. */
function allowedOf(pid: number): ReadonlySet<number> {
  return listed(/^Cpus_allowed_list:\s*(\S+)/m.exec(textOf(`/proc/${pid}/status`) ?? '')?.[1] ?? '')
}

/** As many as a process may use. */
function processorsOf(pid: number, allowed: number): number {
  const groups = controlGroups(textOf(`/proc/${pid}/cgroup`) ?? '', 'cpu').map(processorsOfGroup)
  return Math.min(allowed || availableParallelism(), minOf(groups))
}

/** By its quota; infinite without one. */
function processorsOfGroup(group: string): number {
  const [quota, period] = (textOf(`${group}/cpu.max`) ?? '').split(' ') // version 2: "150000 100000", or "max 100000"
  const old = ['cpu.cfs_quota_us', 'cpu.cfs_period_us'].map((name) => textOf(`${group}/${name}`))
  const part = Number(quota || old[0]) / Number(period || old[1])
  return part > 0 ? part : Number.POSITIVE_INFINITY
}

/** The numbers in "0-3,8". */
export function listed(ranges: string): Set<number> {
  const numbers = new Set<number>()
  for (const range of ranges.split(',').filter(Boolean)) {
    const [first = 0, last = first] = range.split('-').map(Number)
    for (let number = first; number <= last; number++) numbers.add(number)
  }
  return numbers
}
