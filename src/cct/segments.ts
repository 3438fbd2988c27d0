// Segments: the calls and self times of each part of a recording, so that a tree of any time range can be made later.
//
// A segment holds the difference between two moments, per context that changed. The sum of all segments is the tree of the whole
// recording. Probe costs are subtracted when a segment is recorded, since they depend on the callees of a context, and a later collapse
// merges these callees. Self times are therefore fractions, and the sums are exact up to the rounding of doubles; calls are exact.
//
// A segment ends at a multiple of `widthMs`, and where counting restarts because the set of timed methods changes: the segments between two
// restarts are an epoch, and rows of two epochs cannot be added. If there are too many segments or rows, the width is doubled, and
// neighbours between the same two multiples of the width are merged. A pause that is reported late is subtracted from the rows of the
// segment in which it is reported, and from the durations of the segment in which the root call ended.

import { exactTime, pairTicks } from '../base/compensation.ts'
import { type Buckets, bucketOf } from '../regions/histogram.ts'
import type { CctBuilder } from './builder.ts'
import { Growing } from './forest.ts'
import { inPreorder } from './lay-out.ts'
import { ALIVE_NODES, handedOverFrom, NODE } from './nodes.ts'
import type { CorrectedCall, RootCallsState } from './root-calls.ts'
import type { SampleTimes } from './sample-times.ts'
import type { SnapshotOptions } from './snapshot.ts'
import { isValueRow } from './value-rows.ts'

// Local constants for speed, as in thread-stack.ts.
const { INTS, FLOATS, METHOD, PARENT, CALLS, TICKS } = NODE

/** Maximum number of segments; above it, neighbours are merged. */
export const MAX_SEGMENTS = 64
/** Length of a segment before any merge. */
export const FIRST_WIDTH_MS = 5000
/** A segment that ends at most this much later than planned is assumed to end as planned, so that ranges have round bounds. */
const MAX_LATE_MS = 200
/** Maximum number of changed contexts in all segments: 40 MiB. */
const MAX_ROWS = 2 ** 21

const NO_PROBES = { innerTicks: 0, outerTicks: 0 }

/** Changed contexts, in any order. */
interface Rows {
  readonly node: Int32Array
  readonly calls: Float64Array
  readonly self: Float64Array
}

/** Durations of the root calls that ended in a segment. */
export interface SegmentCalls extends Buckets {
  readonly sum: number
}

export interface Segment {
  readonly beginMs: number
  readonly endMs: number
  /** Number of restarts of the counts before the segment. */
  readonly epoch: number
  readonly rows: Rows
  readonly rootCalls: SegmentCalls | null
  /** Number of root calls that ended before the end of the segment. */
  readonly callsEnded: number
  /** Part of the segment that its rows cover. Absent if they cover all of it. */
  readonly rowsMs?: readonly [begin: number, end: number]
}

export interface SegmentOptions extends Pick<SnapshotOptions, 'calibration' | 'firstMethod' | 'valueRows'> {
  /** Whether a cost is a time, so that probe costs are subtracted. */
  readonly isTime: boolean
  /** Whether each call costs 1. */
  readonly countsCalls: boolean
}

/** Limits, for tests. */
export interface SegmentBounds {
  readonly segments?: number
  readonly rows?: number
}

/** A segment whose rows are indices of the common tree (`SegmentsState`). */
export interface SegmentState extends Pick<Segment, 'beginMs' | 'endMs' | 'epoch' | 'rowsMs'> {
  readonly row: Int32Array
  readonly calls: Float64Array
  /** Self costs: ticks, or the unit of the mode. */
  readonly self: Float64Array
  readonly rootCalls: SegmentCalls | null
}

/** All segments, with one tree in preorder that contains all their contexts, merged over all threads. */
export interface SegmentsState {
  readonly widthMs: number
  readonly method: Int32Array
  readonly parent: Int32Array
  readonly size: Int32Array
  /** Whether rows were discarded, because a single segment had too many, or because there were too many epochs. */
  readonly isCut: boolean
  readonly segments: readonly SegmentState[]
}

const NO_BUCKETS: Buckets = { bucket: new Int32Array(0), count: new Float64Array(0) }
const NO_ROWS: Rows = { node: new Int32Array(0), calls: new Float64Array(0), self: new Float64Array(0) }

export class Segments {
  readonly #options: SegmentOptions
  readonly #builder: CctBuilder
  readonly #alive: () => void
  readonly #bounds: Required<SegmentBounds>
  #ended: Segment[] = []
  #widthMs = FIRST_WIDTH_MS
  #epoch = 0
  #beginMs = 0
  #isCut = false
  /** Rows of the current segment that were recorded before a collapse or a request. */
  #pending: Rows = NO_ROWS
  #changed = new Float64Array(0)
  // Counts at the latest scan, per node; `#halves`: probe halves.
  #calls = new Float64Array(0)
  #ticks = new Float64Array(0)
  #halves: ReadonlyMap<number, number> = new Map()
  /** Ticks of open frames that were charged at the latest scan, per node. */
  #charged: ReadonlyMap<number, number> = new Map()
  #buckets = NO_BUCKETS
  #sum = 0
  /** Number of root calls that ended before the current segment. */
  #callsEnded = 0

  constructor(
    builder: CctBuilder,
    options: SegmentOptions,
    alive: () => void = () => {},
    bounds: SegmentBounds = {},
  ) {
    this.#builder = builder
    this.#options = options
    this.#alive = alive
    this.#bounds = { segments: MAX_SEGMENTS, rows: MAX_ROWS, ...bounds }
  }

  /** Returns whether the current segment ends at or before this time. */
  isDue(elapsedMs: number): boolean {
    return Math.floor(elapsedMs / this.#widthMs) > Math.floor(this.#beginMs / this.#widthMs)
  }

  /**
   * Ends the current segment.
   * @param nowTicks  time up to which open frames are charged; undefined if a cost is not a time
   */
  end(elapsedMs: number, nowTicks: number | undefined): void {
    const planned = Math.floor(elapsedMs / this.#widthMs) * this.#widthMs
    const isOnTime = planned > this.#beginMs && elapsedMs - planned < MAX_LATE_MS
    this.#endAt(isOnTime ? planned : elapsedMs, nowTicks)
  }

  #endAt(endMs: number, nowTicks: number | undefined): void {
    this.take(nowTicks)
    this.#close(endMs)
    this.#bound()
  }

  /** Ends the segment and the epoch. Call it before the counts of the builder restart, and `restarted` after it. */
  endEpoch(elapsedMs: number, nowTicks: number | undefined): void {
    this.#endAt(elapsedMs, nowTicks)
    this.#epoch++
  }

  restarted(): void {
    this.#calls.fill(0)
    this.#ticks.fill(0)
    this.#halves = new Map()
    this.#charged = new Map()
  }

  /** Discards all segments. The first segment begins now, and contains everything that the builder has counted so far. */
  reset(): void {
    this.#ended = []
    this.#widthMs = FIRST_WIDTH_MS
    this.#epoch = this.#beginMs = this.#sum = this.#callsEnded = 0
    this.#isCut = false
    this.#pending = NO_ROWS
    this.#buckets = NO_BUCKETS
    this.restarted()
  }

  /** Adds the changes since the latest scan to the current segment. Call it before a collapse, and `moved` after it. */
  take(nowTicks?: number): void {
    const { calibration, isTime, countsCalls, firstMethod = 1, valueRows } = this.#options
    const probes = isTime ? calibration : NO_PROBES
    const { ints, floats, count } = this.#builder
    const { calls, ticks } = this.#latest(count)
    const self = this.#scratch(count)
    const hasWaits = isTime && firstMethod > 1
    /** Per node: 1 if the node is a wait or inside a wait. Calls inside a wait are not counted. */
    const waits = new Uint8Array(hasWaits ? count : 0)
    /** Per node: 1 if its calls have changed. */
    const isCalled = new Uint8Array(count)
    this.#alive()
    for (let node = 1; node < count; node++) {
      if ((node & ALIVE_NODES) === ALIVE_NODES) this.#alive()
      const nowCalls = floats[node * FLOATS + CALLS]
      const now = countsCalls ? nowCalls : floats[node * FLOATS + TICKS]
      // Most nodes are unchanged in most segments.
      if (!hasWaits && nowCalls === calls[node] && now === ticks[node]) continue
      const parent = ints[node * INTS + PARENT]
      if (parent < 0) continue
      const method = ints[node * INTS + METHOD]
      if (hasWaits && (waits[parent] === 1 || (method > 0 && method < firstMethod))) waits[node] = 1
      const newCalls = nowCalls - calls[node]
      self[node] += exactTime(now - ticks[node], newCalls, 0, probes)
      ticks[node] = now
      if (newCalls === 0) continue
      isCalled[node] = 1
      // A row of a value has no probe: the probe of the root is in the row instead of in the root.
      if (isValueRow(method, valueRows)) self[parent] -= exactTime(0, newCalls, 0, probes)
      else self[parent] += exactTime(0, 0, newCalls, probes)
    }
    const open = this.#open(nowTicks)
    for (const [node, more] of open) self[node] += more
    for (const [node, before] of this.#charged) self[node] -= before
    this.#charged = open
    const { probeHalves } = this.#builder
    if (isTime) {
      for (const [node, halves] of probeHalves) {
        const more = halves - (this.#halves.get(node) ?? 0)
        if (more !== 0) self[node] -= pairTicks(more / 2, probes)
      }
      this.#halves = new Map(probeHalves)
    }
    let changes = 0
    for (let node = 1; node < count; node++) {
      if ((node & ALIVE_NODES) === ALIVE_NODES) this.#alive()
      if (self[node] !== 0 || isCalled[node] === 1) changes++
    }
    const rows: Rows = {
      node: new Int32Array(changes),
      calls: new Float64Array(changes),
      self: new Float64Array(changes),
    }
    this.#alive()
    let at = 0
    for (let node = 1; node < count; node++) {
      if ((node & ALIVE_NODES) === ALIVE_NODES) this.#alive()
      if (self[node] === 0 && isCalled[node] === 0) continue
      const nowCalls = floats[node * FLOATS + CALLS]
      const parent = ints[node * INTS + PARENT]
      rows.node[at] = node
      rows.calls[at] = hasWaits && parent >= 0 && waits[parent] === 1 ? 0 : nowCalls - calls[node]
      rows.self[at] = self[node]
      at++
      if (parent >= 0) calls[node] = nowCalls
    }
    this.#pending = this.#pending === NO_ROWS ? rows : this.#merged([this.#pending, rows])
  }

  /** Subtracts a late pause from the durations of the segment in which the call ended. */
  corrected({ call, before, after, ticks }: CorrectedCall): void {
    // The current segment is the difference to the histogram, which has the new duration.
    if (call >= this.#callsEnded) return
    const moved = (of: Buckets): Buckets =>
      bucketSum([
        [of, 1],
        [oneCall(before), -1],
        [oneCall(after), 1],
      ])
    this.#buckets = moved(this.#buckets)
    this.#sum -= ticks
    const at = this.#ended.findIndex((it) => call < it.callsEnded)
    const segment = this.#ended[at]
    if (segment?.rootCalls)
      this.#ended[at] = {
        ...segment,
        rootCalls: { ...moved(segment.rootCalls), sum: segment.rootCalls.sum - ticks },
      }
  }

  /** Changes the node indices after a collapse. */
  moved(moved: Int32Array): void {
    const rename = ({ node }: Rows) => {
      for (let i = 0; i < node.length; i++) node[i] = moved[node[i]]
    }
    for (const { rows } of this.#ended) rename(rows)
    rename(this.#pending)
    const { floats, count, probeHalves } = this.#builder
    const { calls, ticks } = this.#latest(count)
    calls.fill(0, count)
    ticks.fill(0, count)
    for (let node = 1; node < count; node++) {
      calls[node] = floats[node * FLOATS + CALLS]
      ticks[node] = this.#options.countsCalls ? calls[node] : floats[node * FLOATS + TICKS]
    }
    const charged = new Map<number, number>()
    for (const [node, more] of this.#charged) charged.set(moved[node], (charged.get(moved[node]) ?? 0) + more)
    this.#charged = charged
    this.#halves = new Map(probeHalves)
    this.#ended = this.#ended.map((it) => ({ ...it, rows: this.#merged([it.rows]) }))
  }

  /**
   * Returns all segments. The current segment ends at `elapsedMs` in the answer, and continues afterwards.
   * @param nowTicks  as in `end`
   */
  state(elapsedMs: number, nowTicks: number | undefined): SegmentsState {
    this.take(nowTicks)
    const { isTime, firstMethod = 1 } = this.#options
    const { count, ints } = this.#builder
    const isWait = (method: number) => isTime && method > 0 && method < firstMethod
    const current = this.#current(elapsedMs)
    const segments =
      elapsedMs > this.#beginMs || current.rows.node.length > 0 ? [...this.#ended, current] : this.#ended
    const isUsed = new Uint8Array(count)
    this.#alive()
    for (const { rows } of segments) {
      for (let i = 0; i < rows.node.length; i++) {
        if ((i & ALIVE_NODES) === ALIVE_NODES) this.#alive()
        isUsed[rows.node[i]] = 1
      }
    }
    let used = 0
    for (let node = count - 1; node > 0; node--) {
      if ((node & ALIVE_NODES) === ALIVE_NODES) this.#alive()
      used += isUsed[node]
      const parent = ints[node * INTS + PARENT]
      if (isUsed[node] === 0 || parent < 0) continue
      isUsed[parent] = 1
      const submitter = handedOverFrom(ints[node * INTS + METHOD])
      if (submitter >= 0) isUsed[submitter] = 1
    }
    // A tree with enough room does not grow: during a growth, `alive` would not be called.
    const tree = new Growing(used)
    this.#alive()
    /** Row of each node; -1 for tops and unused nodes. */
    const rowOf = new Int32Array(count).fill(-1)
    /** Per node: 1 if the node is a wait or inside a wait. Calls inside a wait belong to the row of the wait. */
    const waits = new Uint8Array(count)
    this.#alive()
    for (let node = 1; node < count; node++) {
      if ((node & ALIVE_NODES) === ALIVE_NODES) this.#alive()
      const parent = ints[node * INTS + PARENT]
      if (isUsed[node] === 0 || parent < 0) continue
      const method = ints[node * INTS + METHOD]
      const submitter = handedOverFrom(method)
      waits[node] = waits[parent] === 1 || isWait(method) ? 1 : 0
      // A submitter has a lower index than its submitted work.
      if (submitter >= 0) rowOf[node] = rowOf[submitter]
      else rowOf[node] = waits[parent] === 1 ? rowOf[parent] : tree.child(rowOf[parent], method)
    }
    this.#alive()
    const order = new Float64Array(tree.count)
    for (let node = 0; node < tree.count; node++) order[node] = node
    this.#alive()
    const { method, parent, size, metrics } = inPreorder(
      tree.method.subarray(0, tree.count),
      tree.parent.subarray(0, tree.count),
      { order },
      this.#alive,
    )
    this.#alive()
    const place = new Int32Array(tree.count)
    for (let at = 0; at < tree.count; at++) {
      if ((at & ALIVE_NODES) === ALIVE_NODES) this.#alive()
      place[metrics.order[at]] = at
    }
    const states = segments.map(({ rows, callsEnded: _, ...rest }) => {
      this.#alive()
      const row = new Int32Array(rows.node.length)
      for (let i = 0; i < row.length; i++) {
        if ((i & ALIVE_NODES) === ALIVE_NODES) this.#alive()
        const node = rows.node[i]
        const isShown = rowOf[node] >= 0 && handedOverFrom(ints[node * INTS + METHOD]) < 0
        row[i] = isShown ? place[rowOf[node]] : -1
      }
      const { node, ...sums } = summed(row, [rows], tree.count, this.#alive)
      return { ...rest, ...sums, row: node }
    })
    return { widthMs: this.#widthMs, isCut: this.#isCut, method, parent, size, segments: states }
  }

  #current(endMs: number): Segment {
    const { bucket, count } = this.#buckets
    const { rootCalls } = this.#builder
    const state = rootCalls?.state() ?? null
    const beginMs = this.#beginMs
    return {
      ...{ beginMs, endMs: Math.max(endMs, beginMs), epoch: this.#epoch, rows: this.#pending },
      rootCalls: state && { ...bucketsBetween({ bucket, count }, state.buckets), sum: state.sum - this.#sum },
      callsEnded: rootCalls?.ended ?? 0,
    }
  }

  #close(endMs: number): void {
    const state: RootCallsState | null = this.#builder.rootCalls?.state() ?? null
    const segment = this.#current(endMs)
    const isEmpty = segment.rows.node.length === 0 && (segment.rootCalls?.bucket.length ?? 0) === 0
    // Two restarts may follow each other at once. The empty segment between them has no length.
    if (!isEmpty || segment.endMs > segment.beginMs) this.#ended.push(segment)
    this.#pending = NO_ROWS
    this.#beginMs = segment.endMs
    if (state === null) return
    this.#buckets = state.buckets
    this.#sum = state.sum
    this.#callsEnded = segment.callsEnded
  }

  /** Merges segments until the limits are met. */
  #bound(): void {
    while (this.#ended.length > this.#bounds.segments || this.#rows() > this.#bounds.rows) {
      const before = this.#ended.length
      this.#widthMs *= 2
      this.#mergeCells()
      if (this.#ended.length < before) continue
      if (this.#ended.length > this.#bounds.segments) {
        // A larger width would only make the later segments longer.
        this.#widthMs /= 2
        this.#mergeShortest()
      } else if (!this.#ended.slice(0, -1).some((it) => this.#hasNeighbour(it))) {
        this.#ended = this.#ended.map((it) => ({ ...it, rows: NO_ROWS }))
        this.#isCut = true
      }
    }
  }

  #rows(): number {
    let rows = 0
    for (const it of this.#ended) rows += it.rows.node.length
    return rows
  }

  #hasNeighbour(segment: Segment): boolean {
    return this.#ended[this.#ended.indexOf(segment) + 1]?.epoch === segment.epoch
  }

  /** Merges neighbours of one epoch that began between the same two multiples of the width. */
  #mergeCells(): void {
    const cellOf = ({ beginMs }: Segment) => Math.floor(beginMs / this.#widthMs)
    const merged: Segment[] = []
    for (const it of this.#ended) {
      const last = merged.at(-1)
      if (last !== undefined && last.epoch === it.epoch && cellOf(last) === cellOf(it))
        merged[merged.length - 1] = this.#join(last, it)
      else merged.push(it)
    }
    this.#ended = merged
  }

  /**
   * Merges the two neighbours with the shortest sum of lengths, of one epoch if possible. Of two epochs, the rows of the shorter segment are
   * lost.
   */
  #mergeShortest(): void {
    const length = (at: number) => this.#ended[at + 1].endMs - this.#ended[at].beginMs
    const pairs = Array.from({ length: this.#ended.length - 1 }, (_, at) => at)
    const ofOne = pairs.filter((at) => this.#ended[at].epoch === this.#ended[at + 1].epoch)
    const best = (ofOne.length > 0 ? ofOne : pairs).reduce((a, b) => (length(b) < length(a) ? b : a))
    this.#ended.splice(best, 2, this.#join(this.#ended[best], this.#ended[best + 1]))
  }

  #join(a: Segment, b: Segment): Segment {
    const [long, short] = b.endMs - b.beginMs > a.endMs - a.beginMs ? [b, a] : [a, b]
    const isOne = a.epoch === b.epoch
    if (!isOne && short.rows.node.length > 0) this.#isCut = true
    const rowsMs = isOne ? ([rowsOf(a)[0], rowsOf(b)[1]] as const) : rowsOf(long)
    const isPart = rowsMs[0] !== a.beginMs || rowsMs[1] !== b.endMs
    return {
      beginMs: a.beginMs,
      endMs: b.endMs,
      epoch: long.epoch,
      rows: isOne ? this.#merged([long.rows, short.rows]) : long.rows,
      rootCalls: a.rootCalls && b.rootCalls && joinedCalls([a.rootCalls, b.rootCalls]),
      callsEnded: b.callsEnded,
      ...(isPart && { rowsMs }),
    }
  }

  #merged(parts: readonly Rows[]): Rows {
    const node = new Int32Array(parts.reduce((sum, it) => sum + it.node.length, 0))
    let at = 0
    for (const it of parts) {
      node.set(it.node, at)
      at += it.node.length
    }
    this.#alive()
    return summed(node, parts, this.#builder.count, this.#alive)
  }

  #latest(count: number): { calls: Float64Array; ticks: Float64Array } {
    if (this.#calls.length < count) {
      this.#calls = longer(this.#calls, count)
      this.#ticks = longer(this.#ticks, count)
    }
    return { calls: this.#calls, ticks: this.#ticks }
  }

  #scratch(count: number): Float64Array {
    if (this.#changed.length < count) this.#changed = new Float64Array(Math.ceil(count * 1.25))
    else this.#changed.fill(0, 0, count)
    return this.#changed
  }

  #open(nowTicks: number | undefined): ReadonlyMap<number, number> {
    const open = new Map<number, number>()
    if (nowTicks !== undefined && !this.#options.countsCalls)
      this.#builder.forEachOpen(nowTicks, (node, ticks) => open.set(node, (open.get(node) ?? 0) + ticks))
    return open
  }
}

/** Returns the part of a segment that its rows cover, in ms since the start of the recording. */
export function rowsOf({
  beginMs,
  endMs,
  rowsMs = [beginMs, endMs],
}: Pick<Segment, 'beginMs' | 'endMs' | 'rowsMs'>): readonly [begin: number, end: number] {
  return rowsMs
}

function longer(old: Float64Array, count: number): Float64Array<ArrayBuffer> {
  const array = new Float64Array(Math.ceil(count * 1.25))
  array.set(old)
  return array
}

/**
 * Adds up the values of equal nodes. The result is in the order of the nodes.
 * @param node   node of each value, for the values of all parts one after the other; -1 for a value that is left out
 * @param count  upper bound of the nodes
 */
function summed(node: Int32Array, parts: readonly Rows[], count: number, alive: () => void): Rows {
  const isUsed = new Uint8Array(count)
  let used = 0
  for (let i = 0; i < node.length; i++) {
    if ((i & ALIVE_NODES) === ALIVE_NODES) alive()
    if (node[i] < 0) continue
    if (isUsed[node[i]] === 0) used++
    isUsed[node[i]] = 1
  }
  alive()
  const nodes = new Int32Array(used)
  const index = new Int32Array(count)
  let at = 0
  alive()
  for (let it = 0; it < count; it++) {
    if ((it & ALIVE_NODES) === ALIVE_NODES) alive()
    if (isUsed[it] === 0) continue
    nodes[at] = it
    index[it] = at++
  }
  alive()
  const [calls, self] = [new Float64Array(used), new Float64Array(used)]
  alive()
  let from = 0
  for (const part of parts) {
    for (let i = 0; i < part.calls.length; i++, from++) {
      if ((i & ALIVE_NODES) === ALIVE_NODES) alive()
      if (node[from] < 0) continue
      calls[index[node[from]]] += part.calls[i]
      self[index[node[from]]] += part.self[i]
    }
  }
  return { node: nodes, calls, self }
}

/** Returns the differences of two histograms of the same calls, without the buckets that are equal. */
function bucketsBetween(before: Buckets, after: Buckets): Buckets {
  return bucketSum([
    [before, -1],
    [after, 1],
  ])
}

function bucketSum(parts: readonly (readonly [Buckets, factor: 1 | -1])[]): Buckets {
  const sums = new Map<number, number>()
  for (const [{ bucket, count }, factor] of parts)
    for (let i = 0; i < bucket.length; i++)
      sums.set(bucket[i], (sums.get(bucket[i]) ?? 0) + factor * count[i])
  const found = [...sums].filter(([, calls]) => calls !== 0).sort(([a], [b]) => a - b)
  return {
    bucket: Int32Array.from(found, ([it]) => it),
    count: Float64Array.from(found, ([, it]) => it),
  }
}

function oneCall(ticks: number): Buckets {
  return { bucket: Int32Array.of(bucketOf(ticks)), count: Float64Array.of(1) }
}

/** Returns the sum of the calls of several segments. */
export function joinedCalls(parts: readonly SegmentCalls[]): SegmentCalls {
  return { ...bucketSum(parts.map((it) => [it, 1])), sum: parts.reduce((all, it) => all + it.sum, 0) }
}

/** Segments in a profile. Self costs are in the unit of the mode. */
export interface SegmentTimes extends SegmentsState {
  /** Length of a tick of `rootCalls` in the unit of root calls. */
  readonly perTick: number
  /** Samples of threads inside roots, which divide the self times of the rows of a range; absent except with scheme adaptive. */
  readonly samples?: SampleTimes
}

/** @param nsPerTick  ns per tick, for costs that are times; otherwise 1 */
export function segmentTimes(state: SegmentsState, nsPerTick: number): SegmentTimes {
  const segments = state.segments.map((it) => ({ ...it, self: it.self.map((ticks) => ticks * nsPerTick) }))
  return { ...state, segments, perTick: nsPerTick }
}
