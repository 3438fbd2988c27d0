// A region for tests.

import type { RegionTimes } from '../../src/profile/profile.ts'

export const REGION: RegionTimes = {
  region: 'App.main:3-4',
  method: 1,
  lines: { from: 3, to: 4 },
  ...{ count: 4, totalNs: 61_000, minNs: 1000, meanNs: 15_250, maxNs: 50_000, firstMs: 2, lastMs: 900 },
  percentilesNs: { '50': 5000, '90': 50_000, '95': 50_000, '99': 50_000, '99.9': 50_000, '99.99': 50_000 },
  buckets: [
    [998, 1002, 1],
    [4990, 5010, 2],
    [49_900, 50_100, 1],
  ],
  lastNs: [1000, 5000, 5000, 50_000],
  intervalMs: 500,
  intervals: [
    { count: 3, totalNs: 11_000, maxNs: 5000 },
    { count: 1, totalNs: 50_000, maxNs: 50_000 },
  ],
}
