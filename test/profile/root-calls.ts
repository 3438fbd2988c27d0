// Root calls and their course as in a profile: three seconds, with a stall in the second one.

import type { CourseTimes, RootCallTimes } from '../../src/cct/root-calls.ts'
import type { SlowTimes } from '../../src/cct/slow-times.ts'
import type { Tree } from '../../src/cct/tree.ts'

const column = (...values: number[]) => Float64Array.from(values)

export const TIMED: { rootCalls: RootCallTimes; course: CourseTimes } = {
  rootCalls: {
    ...{ unit: 'ns', count: 4252, total: 8_504e6, min: 9e5, mean: 2e6, max: 180e6 },
    percentiles: { '50': 1.2e6, '90': 2e6, '95': 3.4e6, '99': 12e6, '99.9': 90e6 },
    buckets: [
      [9e5, 2e6, 4000],
      [1e7, 2e8, 252],
    ],
  },
  course: {
    first: 7,
    rootCalls: {
      ...{ calls: column(2000, 52, 2200), mean: column(1.5e6, 6e6, 2e6), p50: column(1e6, 5e6, 1.2e6) },
      ...{ p95: column(3e6, 20e6, 3.4e6), max: column(9e6, 180e6, 8e6) },
    },
    ...{ events: column(40_000, 1000, 44_000), waitNs: column(0, 1e6, 0) },
    ...{ pauses: column(0, 2, 0), pauseNs: column(0, 30e6, 0) },
  },
}

/** Returns slow calls with the merged tree `tree`. The latest slow call has the tree `one`. */
export function slowCallsOf(tree: Tree, one: Tree = tree): SlowTimes {
  const call = { thread: { id: 21, name: 'worker-1' }, method: 1, atMs: 1500 }
  return {
    ...{ unit: 'ns', threshold: 'p99', thresholdNow: 12e6, count: 1, dropped: 0, tree },
    slowest: [
      { ...call, number: 2, time: 45e6, tree: one },
      { ...call, number: 1, time: 2e6 },
    ],
    latest: { ...call, number: 2, time: 45e6, tree: one },
  }
}
