// What stops all threads of a JVM besides its safepoints as such: garbage collections, by the JVM's own counters, and the kernel, which
// throttles a control group that has used up its share of the processors (Documentation/scheduler/sched-bwc.rst).

import { textOf } from '../base/visible.ts'
import { controlGroups } from './control-groups.ts'
import { collectionTime, findPerfData, loopsHaveNoSafepoints, MAXIMUM_BYTES } from './hsperfdata.ts'
import { readRegular } from './regular-file.ts'
import { readTargetProcess } from './target-process.ts'

/** Totals that only grow: the difference of two readings is what there was between them. Null where the system does not have them. */
export interface StopTimes {
  /** In collections that stop all threads. Counted when a collection ends. */
  readonly collectionNs: number | null
  /** Of each processor apart, so it may be more than the time that has passed. */
  readonly throttledNs: number | null
}

export class StopCounters {
  readonly #perf: { readonly path: string; readonly owner: number } | null
  /** `cpu.stat` of the groups that tell for how long they were throttled. */
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
      collectionNs: this.#collectionNs(),
      throttledNs: throttled.length === 0 ? null : throttled.reduce((sum, ns) => sum + ns, 0),
    }
  }

  /** False where the JVM does not tell, too. */
  loopsHaveNoSafepoints(): boolean {
    return this.#told(loopsHaveNoSafepoints) ?? false
  }

  #collectionNs(): number | null {
    return this.#told(collectionTime) ?? null
  }

  /** By the JVM's counters. */
  #told<T>(of: (bytes: Uint8Array) => T): T | undefined {
    if (this.#perf === null) return undefined
    const { path, owner } = this.#perf
    try {
      const bytes = readRegular(path, { owner, mostBytes: MAXIMUM_BYTES })
      return bytes === undefined ? undefined : of(bytes)
    } catch {
      return undefined // gone, or not ours to read
    }
  }
}

/** @param stat  the text of a group's `cpu.stat` */
export function throttledNs(stat: string): number | null {
  const [, us] = /^throttled_usec (\d+)$/m.exec(stat) ?? [] // version 2
  const [, ns] = /^throttled_time (\d+)$/m.exec(stat) ?? [] // version 1
  if (us !== undefined) return Number(us) * 1e3
  return ns === undefined ? null : Number(ns)
}
