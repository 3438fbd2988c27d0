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
}

/** A process that keeps a larger part of its processors in use has none to spare. */
const BUSY = 0.7

/** "1.9 of 2" */
export function usedText({ used, most }: Processors): string {
  return `${used.toFixed(1)} of ${Number(most.toFixed(1))}`
}

export function isBusy({ used, most }: Processors): boolean {
  return used > BUSY * most
}

/** @returns undefined where it has gone, or is not ours to see */
export async function readProcessors(pid: number, ms: number): Promise<Processors | undefined> {
  const read = processorsFromNow(pid)
  await sleep(ms)
  return read()
}

/** @returns tells what has been in use since; undefined where the process has gone, or is not ours to see */
export function processorsFromNow(pid: number): () => Processors | undefined {
  const [before, begun] = [readCpuMs(pid), performance.now()]
  return () => {
    const [after, ended] = [readCpuMs(pid), performance.now()]
    if (before === undefined || after === undefined) return undefined
    return { used: Math.max(0, after - before) / (ended - begun), most: processorsOf(pid) }
  }
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
