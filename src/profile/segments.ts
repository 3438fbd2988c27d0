// Segments in the file (file.ts), from which `range.ts` makes trees of time ranges.

import type { FrameName } from '../base/frame-name.ts'
import type { SampleTimes } from '../cct/sample-times.ts'
import { MAX_SEGMENTS, type SegmentCalls, type SegmentState, type SegmentTimes } from '../cct/segments.ts'
import type { Tree } from '../cct/tree.ts'
import {
  boolean,
  bytesOf,
  column,
  count,
  fields,
  integers,
  list,
  number,
  optional,
  orNull,
  type Read,
  shape,
  string,
  Unsound,
} from './shape.ts'

/** Returns segments in their file format. The tree has the form of `merged`, without columns. */
export function packSegments({ method, parent: _, size, segments, samples, ...facts }: SegmentTimes): object {
  return {
    ...facts,
    ...(samples !== undefined && { samples: packSamples(samples) }),
    tree: { count: method.length, method: bytesOf(method), size: bytesOf(size), metrics: {} },
    segments: segments.map(packSegment),
  }
}

function packSamples({ frames, stacks, ...columns }: SampleTimes): object {
  return {
    frames: frames.map(({ className, method }) => [className, method]),
    depths: stacks.length / 2,
    stacks: bytesOf(stacks),
    count: columns.ms.length,
    ...Object.fromEntries(Object.entries(columns).map(([name, values]) => [name, bytesOf(values)])),
  }
}

function packSegment({ row, calls, self, rootCalls, ...facts }: SegmentState): object {
  return {
    ...facts,
    count: row.length,
    ...{ row: bytesOf(row), calls: bytesOf(calls), self: bytesOf(self) },
    rootCalls: rootCalls && {
      sum: rootCalls.sum,
      count: rootCalls.bucket.length,
      ...{ bucket: bytesOf(rootCalls.bucket), calls: bytesOf(rootCalls.count) },
    },
  }
}

/** @param tree  reader of a tree without columns */
export function readSegments(tree: Read<Pick<Tree, 'method' | 'parent' | 'size'>>): Read<SegmentTimes> {
  return (value, what) => {
    const { method, parent, size } = tree(fields(value, what).tree, `${what}.tree`)
    const { segments, ...facts } = shape({
      widthMs: number,
      isCut: boolean,
      perTick: number,
      samples: optional(readSamples),
      segments: list(segmentOf(method.length)),
    })(value, what)
    // Two more than the limit of a recording: the segment that was running, and the merged one before it.
    if (segments.length > MAX_SEGMENTS + 1) throw new Unsound(`${what} has too many segments`)
    return { ...facts, method, parent, size, segments }
  }
}

function segmentOf(rows: number): Read<SegmentState> {
  return (value, what) => {
    const length = count(fields(value, what).count, `${what}.count`)
    const sums = column(length)
    const found = shape({
      beginMs: number,
      endMs: number,
      epoch: count,
      rowsMs: optional(readBounds),
      row: integers(length),
      calls: sums,
      self: sums,
      rootCalls: orNull(readCalls),
    })(value, what)
    if (found.row.some((row) => row < 0 || row >= rows))
      throw new Unsound(`${what} has a row without a context`)
    return found
  }
}

const readBounds: Read<readonly [begin: number, end: number]> = (value, what) => {
  const [begin, end, ...rest] = list(number)(value, what)
  if (begin === undefined || end === undefined || rest.length > 0)
    throw new Unsound(`${what} does not have 2 parts`)
  return [begin, end]
}

const readFrame: Read<FrameName> = (value, what) => {
  const [className, method, ...rest] = list(string)(value, what)
  if (className === undefined || method === undefined || rest.length > 0)
    throw new Unsound(`${what} does not have 2 parts`)
  return { className, method }
}

const readSamples: Read<SampleTimes> = (value, what) => {
  const given = fields(value, what)
  const frames = list(readFrame)(given.frames, `${what}.frames`)
  const stacks = count(given.depths, `${what}.depths`)
  const length = count(given.count, `${what}.count`)
  const [ids, sums] = [integers(length), column(length)]
  const found = shape({
    stacks: integers(2 * stacks),
    ...{ thread: ids, stack: ids, state: ids, call: sums, ms: sums, weight: sums },
  })(value, what)
  for (let stack = 1; stack <= stacks; stack++) {
    const [parent, frame] = [found.stacks[2 * stack - 2]!, found.stacks[2 * stack - 1]!]
    if (parent < 0 || parent >= stack || frame < 0 || frame >= frames.length)
      throw new Unsound(`${what} has an impossible stack`)
  }
  if (found.stack.some((it) => it < 1 || it > stacks))
    throw new Unsound(`${what} has a sample without a stack`)
  return { frames, ...found }
}

const readCalls: Read<SegmentCalls> = (value, what) => {
  const length = count(fields(value, what).count, `${what}.count`)
  const { sum, bucket, calls } = shape({ sum: number, bucket: integers(length), calls: column(length) })(
    value,
    what,
  )
  return { sum, bucket, count: calls }
}
