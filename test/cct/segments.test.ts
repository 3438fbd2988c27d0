import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import type { Calibration } from '../../src/base/compensation.ts'
import { CctBuilder } from '../../src/cct/builder.ts'
import { Course } from '../../src/cct/course.ts'
import { type SegmentBounds, Segments, type SegmentsState } from '../../src/cct/segments.ts'
import { snapshotOf } from '../../src/cct/snapshot.ts'
import { FIRST_METHOD_BESIDE_WAITS } from '../../src/events/wait-ids.ts'
import { SINKS } from '../../src/measures/sinks.ts'
import { bucketOf } from '../../src/regions/histogram.ts'
import { enter, exit } from '../events/sinks.ts'
import { idOf, play } from './notation.ts'

const PROBES: Calibration = { innerTicks: 3, outerTicks: 2 }
const FREE: Calibration = { innerTicks: 0, outerTicks: 0 }
const WAIT = 7

interface Shape {
  readonly steps: number
  readonly mostContexts?: number
  readonly waits?: true
  readonly handsOver?: true
  readonly pauses?: true
  readonly restarts?: true
  readonly bounds?: SegmentBounds
}

/** Feeds random calls of three threads, with a boundary every 50 steps, and a request for the segments now and then. */
function recorded({ steps, mostContexts, bounds, ...shape }: Shape, seed: number) {
  let state = seed
  const random = (below: number): number => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff
    return Math.floor((state / 0x80000000) * below)
  }
  const first = shape.waits ? FIRST_METHOD_BESIDE_WAITS : 1
  const builder = new CctBuilder({ firstMethod: first, ...(mostContexts !== undefined && { mostContexts }) })
  builder.timeRoots(PROBES, new Course())
  const options = { calibration: PROBES, isTime: true, countsCalls: false, firstMethod: first }
  const segments = new Segments(builder, options, undefined, bounds)
  builder.segments = segments
  const stacks: number[][] = [[], [], []]
  const tasks: number[] = []
  let now = 1000
  let moves = 0
  for (let step = 0; step < steps; step++) {
    const thread = random(stacks.length)
    const stack = stacks[thread]!
    now += 10 + (random(40) === 0 ? 60_000 : random(30))
    builder.thread(thread + 1, -1)
    const kind = random(40)
    const top = stack.at(-1)
    if (top === WAIT || (stack.length > 0 && (kind < 17 || stack.length === 9)))
      exit(builder, stack.pop()!, now)
    else if (stack.length === 0 || kind < 35) {
      const task = stack.length === 0 && shape.handsOver && random(2) === 0 ? tasks.shift() : undefined
      if (task !== undefined) builder.begin(task)
      else if (stack.length === 0) builder.root()
      const isWait = shape.waits && stack.length > 0 && random(6) === 0
      stack.push(isWait ? WAIT : first + (stack.length === 0 ? 0 : random(6)))
      enter(builder, stack.at(-1)!, now)
    } else if (kind < 36) builder.adjust(3)
    else if (kind < 39 && shape.handsOver) {
      tasks.push(step + 1)
      builder.submit(step + 1)
    } else {
      stack.length = 1 + random(stack.length)
      builder.caught(stack.at(-1)!, now)
    }
    if (shape.pauses && random(500) === 0) builder.pause(now - 30_000, now + 5000)
    const ms = step * 100
    if (segments.isDue(ms)) segments.end(ms, now)
    if (random(700) === 0) segments.state(ms, now)
    if (shape.restarts && step === steps >> 1) {
      segments.endEpoch(ms, now)
      builder.reset(now, true)
      segments.restarted()
    }
    moves = builder.moves
  }
  const whole = snapshotOf(builder, {
    ...{ calibration: PROBES, nsPerTick: 1, firstMethod: first, nowTicks: now },
    sink: SINKS[shape.waits ? 'locks' : 'exact'],
  })
  return { builder, moves, whole: whole.merged, state: segments.state(steps * 100, now), now }
}

/** Sums of a tree's rows, keyed by the path of the row. Rows without counts are left out. */
function byPath(
  { method, parent }: { readonly method: Int32Array; readonly parent: Int32Array },
  { calls, self }: { readonly calls: Float64Array; readonly self: Float64Array },
): Map<string, readonly [calls: number, self: number]> {
  const paths: string[] = []
  const rows = new Map<string, readonly [number, number]>()
  for (let at = 0; at < method.length; at++) {
    paths[at] = `${parent[at]! < 0 ? '' : paths[parent[at]!]}/${method[at]}`
    if (calls[at] !== 0 || Math.abs(self[at]!) > 1e-3) rows.set(paths[at]!, [calls[at]!, self[at]!])
  }
  return rows
}

function sumOf({ method, segments }: SegmentsState, epoch: number) {
  const [calls, self] = [new Float64Array(method.length), new Float64Array(method.length)]
  for (const it of segments) {
    if (it.epoch !== epoch) continue
    for (const [i, row] of it.row.entries()) {
      calls[row]! += it.calls[i]!
      self[row]! += it.self[i]!
    }
  }
  return { calls, self }
}

function isWhole({ state, whole }: Pick<ReturnType<typeof recorded>, 'state' | 'whole'>, epoch = 0): void {
  const { calls, selfNs } = whole.metrics
  const expected = byPath(whole, { calls: calls!, self: selfNs! })
  const found = byPath(state, sumOf(state, epoch))
  assert.deepEqual([...found.keys()].sort(), [...expected.keys()].sort())
  for (const [path, [callsThere, self]] of expected) {
    const [callsHere, selfHere] = found.get(path)!
    assert.equal(callsHere, callsThere, `calls of ${path}`)
    assert.ok(Math.abs(selfHere - self) < 1e-6 * Math.max(1, Math.abs(self)), `${path}: ${selfHere}, ${self}`)
  }
}

describe('segments', () => {
  const shapes: Readonly<Record<string, Shape>> = {
    'of a tree': { steps: 3000 },
    'of a tree with waits': { steps: 3000, waits: true },
    'of a tree with submitted work': { steps: 3000, handsOver: true },
    'of a tree with late pauses': { steps: 3000, pauses: true },
    'of a tree above the limit of contexts': { steps: 6000, mostContexts: 400 },
    'of a tree above the limit of contexts, with waits': { steps: 6000, mostContexts: 400, waits: true },
    'of a tree above the limit of contexts, with submitted work': {
      ...{ steps: 6000, mostContexts: 400, handsOver: true },
    },
    'merged because there are more than 8': { steps: 3000, bounds: { segments: 8 } },
    'merged because they have too many rows': { steps: 3000, bounds: { rows: 5000 } },
    'after a restart of the counts': { steps: 3000, restarts: true, pauses: true },
  }
  for (const [what, shape] of Object.entries(shapes)) {
    it(`the sum of all segments ${what} is the whole tree`, () => {
      for (let seed = 1; seed <= 12; seed++) {
        const run = recorded(shape, seed)
        isWhole(run, shape.restarts ? 1 : 0)
        if (shape.mostContexts !== undefined) assert.ok(run.moves > 0)
        assert.ok(run.state.segments.length > 2)
        if (shape.bounds?.segments !== undefined) assert.ok(run.state.segments.length <= 9)
        for (const [i, it] of run.state.segments.entries())
          assert.equal(it.beginMs, run.state.segments[i - 1]?.endMs ?? 0)
      }
    })

    it(`the sum of the root calls ${what} is the histogram of all root calls`, () => {
      const { builder, state } = recorded(shape, 5)
      const { buckets, sum } = builder.rootCalls!.state()
      const counts = new Map<number, number>()
      let all = 0
      for (const { rootCalls } of state.segments) {
        all += rootCalls!.sum
        for (const [i, bucket] of rootCalls!.bucket.entries())
          counts.set(bucket, (counts.get(bucket) ?? 0) + rootCalls!.count[i]!)
      }
      const expected = Array.from(buckets.bucket, (it, i) => [it, buckets.count[i]!] as const)
      assert.deepEqual(
        [...counts].filter(([, it]) => it !== 0).sort(([a], [b]) => a - b),
        expected,
      )
      assert.ok(Math.abs(all - sum) < 1e-6 * Math.abs(sum))
    })
  }

  const small = (calls: string) => {
    const builder = new CctBuilder()
    const options = { calibration: FREE, isTime: true, countsCalls: false }
    const segments = new Segments(builder, options)
    play(builder, calls)
    return { builder, segments }
  }

  it('a segment contains the time of a running call up to its end, and the next segment the rest', () => {
    const { builder, segments } = small('root main> 0 work> 10')
    segments.end(5000, 100)
    play(builder, 'work< 150 main< 160')
    const { segments: found, method } = segments.state(10_000, 200)
    assert.deepEqual(Array.from(method), [idOf('main'), idOf('work')])
    assert.deepEqual(
      found.map((it) => [Array.from(it.row), Array.from(it.calls), Array.from(it.self)]),
      [
        [
          [0, 1],
          [1, 1],
          [10, 90],
        ],
        [
          [0, 1],
          [0, 0],
          [10, 50],
        ],
      ],
    )
  })

  it('a late pause changes the durations of the segment in which the call ended', () => {
    const builder = new CctBuilder()
    builder.timeRoots(FREE, new Course())
    const segments = new Segments(builder, { calibration: FREE, isTime: true, countsCalls: false })
    builder.segments = segments
    play(builder, 'root main> 100 main< 1100')
    segments.end(5000, 2000)
    play(builder, 'root main> 3000 main< 103000')
    segments.end(10_000, 110_000)
    builder.pause(10_000, 90_000)
    play(builder, 'root main> 120000 main< 121000')
    const calls = segments.state(15_000, 130_000).segments.map(({ rootCalls }) => rootCalls!)
    assert.deepEqual(
      calls.map(({ bucket, count, sum }) => [Array.from(bucket), Array.from(count), sum]),
      [1000, 20_000, 1000].map((ticks) => [[bucketOf(ticks)], [1], ticks]),
    )
  })

  it('segments end at multiples of 5 s, and of twice this length after a merge', () => {
    const { segments } = small('root')
    const ends: number[] = []
    for (let ms = 0; ms < 400_000; ms += 20) {
      if (!segments.isDue(ms)) continue
      segments.end(ms, ms)
      ends.push(ms)
    }
    assert.deepEqual(ends.slice(0, 3), [5000, 10_000, 15_000])
    const { widthMs, segments: found } = segments.state(400_000, 400_000)
    assert.equal(widthMs, 10_000)
    assert.deepEqual(found.map((it) => it.endMs).slice(-3), [380_000, 390_000, 400_000])
  })

  it('segments of two sets of timed methods are never merged while there are other pairs', () => {
    const { builder, segments } = small('root main> 0')
    const restart = (ms: number) => {
      segments.endEpoch(ms, ms)
      builder.reset(ms, true)
      segments.restarted()
    }
    for (let ms = 0; ms < 400_000; ms += 100) {
      if (ms === 3100 || ms === 47_300) restart(ms)
      else if (segments.isDue(ms)) segments.end(ms, ms)
    }
    const { segments: found } = segments.state(400_000, 400_000)
    assert.deepEqual(
      found.slice(0, 8).map(({ beginMs, endMs, epoch }) => [beginMs, endMs, epoch]),
      [
        [0, 3100, 0],
        [3100, 10_000, 1],
        [10_000, 20_000, 1],
        [20_000, 30_000, 1],
        [30_000, 40_000, 1],
        [40_000, 47_300, 1],
        [47_300, 50_000, 2],
        [50_000, 60_000, 2],
      ],
    )
  })

  it('a hundred restarts keep at most 64 segments', () => {
    const { builder, segments } = small('root main> 0')
    for (let ms = 1000; ms <= 100_000; ms += 1000) {
      segments.endEpoch(ms, ms)
      builder.reset(ms, true)
      segments.restarted()
    }
    const { isCut, segments: found, widthMs } = segments.state(100_000, 100_000)
    assert.ok(found.length <= 64)
    assert.deepEqual([found[0]!.beginMs, found.at(-1)!.endMs], [0, 100_000])
    assert.equal(widthMs, 5000, 'no two segments of one epoch could be merged')
    assert.equal(isCut, true)
    const parts = found.filter(({ rowsMs }) => rowsMs !== undefined)
    assert.ok(parts.length > 0)
    for (const { rowsMs } of parts) assert.equal(rowsMs![1] - rowsMs![0], 1000, 'the rows of one epoch')
  })

  it('rows are discarded, and this is reported, if one segment alone has too many', () => {
    const { isCut, segments } = recorded({ steps: 600, bounds: { rows: 3 } }, 1).state
    assert.equal(isCut, true)
    assert.ok(segments.slice(0, -1).every((it) => it.row.length === 0))
  })
})
