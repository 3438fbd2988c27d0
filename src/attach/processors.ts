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

/** @returns undefined where it has gone, or is not ours to see */
export async function readProcessors(pid: number, ms: number): Promise<Processors | undefined> {
  const [before, begun] = [readCpuMs(pid), performance.now()]
  await sleep(ms)
  const [after, ended] = [readCpuMs(pid), performance.now()]
  if (before === undefined || after === undefined) return undefined
  const groups = controlGroups(textOf(`/proc/${pid}/cgroup`), 'cpu').map(processorsOfGroup)
  const allowed = listed(/^Cpus_allowed_list:\s*(\S+)/m.exec(textOf(`/proc/${pid}/status`))?.[1] ?? '')
  return {
    used: Math.max(0, after - before) / (ended - begun),
    most: Math.min(allowed || availableParallelism(), minOf(groups)),
  }
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
