// Reads whether a process gets the processor time that it needs: how long its threads waited for a processor, and how long the quota of its
// control group was used up. The process is not affected.

import { readRunTimes, runTimesBetween } from './run-delay.ts'
import { StopCounters } from './stops.ts'

/** Use of the processors by a process between two readings. */
export interface Pressure {
  readonly elapsedMs: number
  /** Time that threads of the process ran, and time that they were ready to run but had no processor. */
  readonly ranMs: number
  readonly delayedMs: number
  /** Time in which the quota of the control group was used up, summed over processors; null if there is no quota. */
  readonly throttledMs: number | null
}

/** Starts to measure. @returns a function that returns the pressure since the start */
export function startPressure(pid: number): () => Pressure {
  const counters = new StopCounters(pid)
  const [begun, threads, { throttledNs }] = [performance.now(), readRunTimes(pid), counters.read()]
  return () => {
    const { ranMs, delayedMs } = runTimesBetween(threads, readRunTimes(pid))
    const now = counters.read().throttledNs
    return {
      ...{ elapsedMs: performance.now() - begun, ranMs, delayedMs },
      throttledMs: now === null || throttledNs === null ? null : (now - throttledNs) / 1e6,
    }
  }
}
