// Reads whether a process gets the processor time that it needs: how long its threads waited for a processor, and how long the quota of its
// control group was used up. The process is not affected.

import { readRunTimes, runTimesBetween } from './run-delay.ts'
import { StopCounters, type StopTimes } from './stops.ts'

/** Use of the processors by a process between two readings. */
export interface Pressure {
  readonly elapsedMs: number
  /** Time that threads of the process ran, and time that they were ready to run but had no processor. */
  readonly ranMs: number
  readonly delayedMs: number
  /** Number of quota periods in which the process ran, and number of these periods in which it was throttled; null if there is no quota. */
  readonly periods: StopTimes['periods']
}

/** Starts to measure. @returns a function that returns the pressure since the start */
export function startPressure(pid: number): () => Pressure {
  const counters = new StopCounters(pid)
  const [begun, threads, { periods }] = [performance.now(), readRunTimes(pid), counters.read()]
  return () => {
    const { ranMs, delayedMs } = runTimesBetween(threads, readRunTimes(pid))
    return {
      ...{ elapsedMs: performance.now() - begun, ranMs, delayedMs },
      periods: periodsBetween(periods, counters.read().periods),
    }
  }
}

/** Both readings are of the group that was throttled most. If another group is now this group, the difference is of no use. */
export function periodsBetween(from: StopTimes['periods'], to: StopTimes['periods']): StopTimes['periods'] {
  if (from === null || to === null) return null
  const [all, throttled] = [to.all - from.all, to.throttled - from.throttled]
  return throttled < 0 || all < throttled ? null : { all, throttled }
}
