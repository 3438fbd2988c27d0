// Reads the total times of two kinds of pauses of a JVM: garbage collections, from the JVM's own counters, and throttling. The kernel
// throttles a control group that has used its processor quota (Documentation/scheduler/sched-bwc.rst).

import { textOf } from '../base/visible.ts'
import { controlGroups } from './control-groups.ts'
import {
  findPerfData,
  loopsHaveNoSafepoints,
  MAX_BYTES,
  type PerfFacts,
  parsePerfData,
  perfFacts,
} from './hsperfdata.ts'
import { readRegular } from './regular-file.ts'
import { readTargetProcess } from './target-process.ts'

/** Totals since the start; the difference of two readings is the time between them. A total is null if this system does not report it. */
export interface StopTimes {
  /** Time in stop-the-world collections. Counted when a collection ends. */
  readonly collectionNs: number | null
  /** Throttled time, summed over processors. May exceed the elapsed time. */
  readonly throttledNs: number | null
  /**
   * Number of quota periods in which the JVM ran, and number of these periods in which it was throttled. Both are those of the control
   * group with the most throttled periods.
   */
  readonly periods: { readonly all: number; readonly throttled: number } | null
}

export class StopCounters {
  readonly #perf: { readonly path: string; readonly owner: number } | null
  /** Paths of the groups' `cpu.stat` files that contain throttled times. */
  readonly #stats: readonly string[]

  constructor(pid: number) {
    const target = readTargetProcess(pid)
    const path = target === undefined ? undefined : findPerfData(target)?.path
    this.#perf = target === undefined || path === undefined ? null : { path, owner: target.euid }
    this.#stats = controlGroups(textOf(`/proc/${pid}/cgroup`) ?? '', 'cpu')
      .map((it) => `${it}/cpu.stat`)
      .filter((it) => throttledNs(textOf(it) ?? '') !== null)
  }

  read(): StopTimes {
    const throttled = this.#stats.map((it) => throttledNs(textOf(it) ?? '') ?? 0)
    return {
      collectionNs: this.#facts()?.collectionNs ?? null,
      throttledNs: throttled.length === 0 ? null : throttled.reduce((sum, ns) => sum + ns, 0),
      periods: mostThrottled(this.#stats.map((it) => textOf(it) ?? '')),
    }
  }

  /** Returns whether compiled counted loops lack safepoint polls; false if the JVM does not report its collector. */
  loopsHaveNoSafepoints(): boolean {
    return loopsHaveNoSafepoints(this.#facts() ?? {})
  }

  /** Reads the JVM's performance counters. */
  #facts(): PerfFacts | undefined {
    if (this.#perf === null) return undefined
    const { path, owner } = this.#perf
    try {
      const bytes = readRegular(path, { owner, mostBytes: MAX_BYTES })
      return bytes === undefined ? undefined : perfFacts(parsePerfData(bytes))
    } catch {
      return undefined // the JVM has ended, or the file is unreadable
    }
  }
}

/** @param stats  texts of the `cpu.stat` of nested groups */
export function mostThrottled(stats: readonly string[]): StopTimes['periods'] {
  let most: StopTimes['periods'] = null
  for (const stat of stats) {
    const number = (name: string): number => Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(stat)?.[1] ?? 0)
    const periods = { all: number('nr_periods'), throttled: number('nr_throttled') }
    if (most === null || periods.throttled > most.throttled) most = periods
  }
  return most
}

/** @param stat  text of a group's `cpu.stat` */
export function throttledNs(stat: string): number | null {
  const [, us] = /^throttled_usec (\d+)$/m.exec(stat) ?? [] // version 2
  const [, ns] = /^throttled_time (\d+)$/m.exec(stat) ?? [] // version 1
  if (us !== undefined) return Number(us) * 1e3
  return ns === undefined ? null : Number(ns)
}
