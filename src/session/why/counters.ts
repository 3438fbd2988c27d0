// Reads counters of the JVM and of the system while a JVM is sampled.

import { startProcessors } from '../../attach/processors.ts'
import { readRunTimes, runTimesBetween } from '../../attach/run-delay.ts'
import { StopCounters } from '../../attach/stops.ts'
import type { Counted } from './answer.ts'

/** Reads the counters at the start. @returns a function that returns the differences since the start */
export function startCounters(pid: number): () => Counted {
  const stops = new StopCounters(pid)
  const before = stops.read()
  const threads = readRunTimes(pid)
  const processors = startProcessors(pid)
  const begun = performance.now()
  return () => {
    const after = stops.read()
    const run = runTimesBetween(threads, readRunTimes(pid))
    const between = (from: number | null, to: number | null): number | null =>
      from === null || to === null ? null : (to - from) / 1e6
    return {
      durationMs: performance.now() - begun,
      collectionMs: between(before.collectionNs, after.collectionNs),
      throttledShare: throttledShare(before.periods, after.periods),
      processors: processors() ?? null,
      ...(run.ranMs > 0 ? run : { ranMs: null, delayedMs: null }),
    }
  }
}

type Periods = ReturnType<StopCounters['read']>['periods']

function throttledShare(before: Periods, after: Periods): number | null {
  if (before === null || after === null) return null
  const all = after.all - before.all
  return all <= 0 ? 0 : Math.min(1, Math.max(0, (after.throttled - before.throttled) / all))
}
