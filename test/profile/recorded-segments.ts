// A recording with segments.

import type { SegmentState, SegmentTimes } from '../../src/cct/segments.ts'
import type { Profile } from '../../src/profile/profile.ts'
import { bucketOf } from '../../src/regions/histogram.ts'
import { TIMED } from './root-calls.ts'
import { profileOf } from './trees.ts'

/** A segment with the calls and self times of the rows 0, 1 and 2, and one root call per duration. */
export function segment(
  [beginMs, endMs]: readonly [number, number],
  epoch: number,
  rows: readonly (readonly [row: number, calls: number, self: number])[],
  durations: readonly number[] = [],
): SegmentState {
  return {
    ...{ beginMs, endMs, epoch },
    row: Int32Array.from(rows, ([row]) => row),
    calls: Float64Array.from(rows, ([, calls]) => calls),
    self: Float64Array.from(rows, ([, , self]) => self),
    rootCalls: {
      sum: durations.reduce((all, it) => all + it, 0),
      bucket: Int32Array.from(durations, bucketOf),
      count: new Float64Array(durations.length).fill(1),
    },
  }
}

/** main calls early in the first 10 s, and late afterwards. */
export const SEGMENTS: SegmentTimes = {
  ...{ widthMs: 5000, isCut: false, perTick: 2 },
  method: Int32Array.of(1, 2, 3),
  parent: Int32Array.of(-1, 0, 0),
  size: Int32Array.of(3, 1, 1),
  segments: [
    segment(
      [0, 5000],
      0,
      [
        [0, 4, 10],
        [1, 4, 100],
      ],
      [20, 30],
    ),
    segment(
      [5000, 10_000],
      0,
      [
        [0, 2, 5],
        [1, 2, 60],
      ],
      [40],
    ),
    segment(
      [10_000, 15_000],
      0,
      [
        [0, 3, 7],
        [2, 3, 900],
      ],
      [300, 310],
    ),
    segment([15_000, 18_000], 0, [[0, 1, 1]], []),
  ],
}

export function recorded(segments: SegmentTimes = SEGMENTS): Profile {
  const whole = profileOf('main 10x 23ns ( early 6x 160ns late 3x 900ns )')
  return { ...whole, ...TIMED, durationMs: 18_000, segments }
}
