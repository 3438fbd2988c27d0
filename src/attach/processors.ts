// How busy a process keeps the processors that it may use, seen from outside.

import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { minOf } from '../base/arrays.ts'
import { controlGroups } from './control-groups.ts'
import { readCpuMs } from './target-process.ts'

export interface Processors {
  /** In use: 0.5 is half of one. */
  readonly used: number
  /** That it may use. */
  readonly most: number
  /** Of the machine; infinite where that is not told. */
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

/** What it could have had besides. */
function spareOf({ used, most, idle }: Processors): number {
  return Math.min(most - used, idle)
}

/** Whether it has no processors to spare: by itself, or because others use them. */
export function isBusy(processors: Processors): boolean {
  return spareOf(processors) < Math.min(SPARE * processors.most, SPARE_MOST)
}

/** @returns undefined where it has gone, or is not ours to see */
export async function readProcessors(pid: number, ms: number): Promise<Processors | undefined> {
  const read = processorsFromNow(pid)
  await sleep(ms)
  return read()
}

/** @returns tells what has been in use since; undefined where the process has gone, or is not ours to see */
export function processorsFromNow(pid: number): () => Processors | undefined {
  const [before, idle, ours, begun] = [readCpuMs(pid), idleMs(), process.cpuUsage(), performance.now()]
  return () => {
    const [after, ms] = [readCpuMs(pid), performance.now() - begun]
    if (before === undefined || after === undefined) return undefined
    const { user, system } = process.cpuUsage(ours)
    const now = idleMs()
    return {
      used: Math.max(0, after - before) / ms,
      most: processorsOf(pid),
      idle: Number.isNaN(now) ? Number.POSITIVE_INFINITY : (now - idle) / ms,
      ours: (user + system) / 1_000 / ms,
    }
  }
}

/** For how long processors of the machine have been idle, all together; NaN where it does not tell. `man 5 proc`, /proc/stat, in USER_HZ. */
function idleMs(): number {
  const [, idle, waiting] = /^cpu +\d+ \d+ \d+ (\d+) (\d+)/.exec(textOf('/proc/stat')) ?? []
  return (Number(idle) + Number(waiting)) * MS_A_TICK
}

/** That a process may use. */
function processorsOf(pid: number): number {
  const groups = controlGroups(textOf(`/proc/${pid}/cgroup`), 'cpu').map(processorsOfGroup)
  const allowed = listed(/^Cpus_allowed_list:\s*(\S+)/m.exec(textOf(`/proc/${pid}/status`))?.[1] ?? '')
  return Math.min(allowed || availableParallelism(), minOf(groups))
}

/** By its quota; infinite without one. */
function processorsOfGroup(group: string): number {
  const [quota, period] = textOf(`${group}/cpu.max`).split(' ') // version 2: "150000 100000", or "max 100000"
  const old = ['cpu.cfs_quota_us', 'cpu.cfs_period_us'].map((name) => textOf(`${group}/${name}`))
  const part = Number(quota || old[0]) / Number(period || old[1])
  return part > 0 ? part : Number.POSITIVE_INFINITY
}

/** How many numbers are in "0-3,8". */
export function listed(ranges: string): number {
  return ranges
    .split(',')
    .filter(Boolean)
    .map((it) => it.split('-').map(Number))
    .reduce((sum, [first = 0, last = first]) => sum + last - first + 1, 0)
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return '' // none there, or not ours to read
  }
}
