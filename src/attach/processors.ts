// Measures the processor use of a process, and the processors that are idle and that the process may use. The process is not affected.

import { availableParallelism } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { minOf } from '../base/arrays.ts'
import { textOf } from '../base/visible.ts'
import { controlGroups } from './control-groups.ts'
import { readCpuMs } from './target-process.ts'

export interface Processors {
  /** Processors in use: 0.5 is half a processor. */
  readonly used: number
  /** Number of processors that the process may use. */
  readonly most: number
  /** Idle processors among the processors that the process may run on; infinite if unknown. */
  readonly idle: number
  /** Processors that jfluid itself used in the same time. */
  readonly ours: number
}

const MS_PER_TICK = 10
/** A process is busy if its spare processors are fewer than this fraction of its processors and fewer than ENOUGH_SPARE. */
const SPARE_FRACTION = 0.3
const ENOUGH_SPARE = 2

/** Returns a text such as "1.9 of 2 processors; 0.1 are idle". */
export function usedText({ used, most, idle }: Processors): string {
  const others = Number.isFinite(idle) ? `; ${idle.toFixed(1)} are idle` : ''
  return `${used.toFixed(1)} of ${Number(most.toFixed(1))} processors${others}`
}

/** Returns the number of further processors that the process could have used. The processors that jfluid used count as free. */
export function spareOf({ used, most, idle, ours }: Processors): number {
  return Math.min(most - used, idle + ours)
}

/** Returns whether the process has too few spare processors, because of its own use or the use of other processes. */
export function isBusy(processors: Processors): boolean {
  return spareOf(processors) < Math.min(SPARE_FRACTION * processors.most, ENOUGH_SPARE)
}

/** A measurement that has begun and not ended. */
export interface Measurement {
  readonly pid: number
  /** Time of the beginning, as performance.now(). */
  readonly begun: number
  readonly end: () => Processors | undefined
}

/** A measurement that began longer ago also contains the wait for a user, or for an earlier session. */
const MAX_EARLY_MS = 1_000
let early: Measurement | undefined

/**
 * Begins to measure a process that a command names, if the name is a process id. A command calls this function before it loads its own code.
 */
export function measureEarly(name: string | undefined): void {
  const pid = /^\d+$/.test(name ?? '') ? Number(name) : Number.NaN
  early = readCpuMs(pid) === undefined ? undefined : beginMeasurement(pid)
}

/** Returns the measurement of `measureEarly` once; undefined if it is of another process, or too old. */
export function takeEarly(pid: number): Measurement | undefined {
  const taken = early
  early = undefined
  return taken?.pid === pid && performance.now() - taken.begun < MAX_EARLY_MS ? taken : undefined
}

export function beginMeasurement(pid: number): Measurement {
  return { pid, begun: performance.now(), end: startProcessors(pid) }
}

/**
 * Ends a measurement when it has taken this time.
 *
 * @returns undefined if the process has ended or is unreadable
 */
export async function endMeasurement(
  { begun, end }: Measurement,
  ms: number,
): Promise<Processors | undefined> {
  await sleep(Math.max(0, ms - (performance.now() - begun)))
  return end()
}

/** @returns undefined if the process has ended or is unreadable */
export function readProcessors(pid: number, ms: number): Promise<Processors | undefined> {
  return endMeasurement(beginMeasurement(pid), ms)
}

/** Starts to measure. @returns a function that returns the mean use since the start; undefined if the process has ended or is unreadable */
export function startProcessors(pid: number): () => Processors | undefined {
  const allowed = allowedOf(pid)
  const idleNow = (): number => idleMs(textOf('/proc/stat') ?? '', allowed)
  const [before, idle, ours, begun] = [readCpuMs(pid), idleNow(), process.cpuUsage(), performance.now()]
  return () => {
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
}

/**
 * Returns the total idle time of processors, from /proc/stat in USER_HZ (`man 5 proc`).
 *
 * @param stat     text of /proc/stat
 * @param numbers  processors to include. If /proc/stat lists none of these processors, all processors are included
 * @returns NaN if the text has no idle times
 */
export function idleMs(stat: string, numbers: ReadonlySet<number>): number {
  let all = Number.NaN
  let some = 0
  let isTold = false
  for (const [, number, idle, waiting] of stat.matchAll(/^cpu(\d*) +\d+ \d+ \d+ (\d+) (\d+)/gm)) {
    const ms = (Number(idle) + Number(waiting)) * MS_PER_TICK
    if (number === '') all = ms
    else if (numbers.has(Number(number))) {
      some += ms
      isTold = true
    }
  }
  return isTold ? some : all
}

/** Returns the numbers of the processors that a process may run on; empty if unknown. */
function allowedOf(pid: number): ReadonlySet<number> {
  return listed(/^Cpus_allowed_list:\s*(\S+)/m.exec(textOf(`/proc/${pid}/status`) ?? '')?.[1] ?? '')
}

/** Returns the number of processors that a process may use. */
function processorsOf(pid: number, allowed: number): number {
  const groups = controlGroups(textOf(`/proc/${pid}/cgroup`) ?? '', 'cpu').map(processorsOfGroup)
  return Math.min(allowed || availableParallelism(), minOf(groups))
}

/** Returns the processor quota of a control group; infinite without a quota. */
function processorsOfGroup(group: string): number {
  const [quota, period] = (textOf(`${group}/cpu.max`) ?? '').split(' ') // version 2: "150000 100000", or "max 100000"
  const old = ['cpu.cfs_quota_us', 'cpu.cfs_period_us'].map((name) => textOf(`${group}/${name}`))
  const part = Number(quota || old[0]) / Number(period || old[1])
  return part > 0 ? part : Number.POSITIVE_INFINITY
}

/** Returns the numbers in a list such as "0-3,8". */
export function listed(ranges: string): Set<number> {
  const numbers = new Set<number>()
  for (const range of ranges.split(',').filter(Boolean)) {
    const [first = 0, last = first] = range.split('-').map(Number)
    for (let number = first; number <= last; number++) numbers.add(number)
  }
  return numbers
}
