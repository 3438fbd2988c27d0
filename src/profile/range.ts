// Time ranges of a recording: a profile of a range is made from the segments of the profile (cct/segments.ts). All reports, views and
// exports then treat it as any other profile.
//
// A range is rounded to segments. Rows of two epochs cannot be added, since they have different sets of timed methods: the rows of a range
// are those of its longest epoch. Root calls are those of the whole range.

import { maxOf, minOf } from '../base/arrays.ts'
import { owedTicks } from '../base/compensation.ts'
import { durationText } from '../base/duration.ts'
import { EX_DATAERR, JfluidError, UsageError } from '../base/errors.ts'
import { valueRowOf } from '../base/stack-sample.ts'
import { samplesBetween } from '../cct/inside-samples.ts'
import { OTHERS_NAME, SHORT_NAME, withSamples } from '../cct/merge-samples.ts'
import { type CourseTimes, type RootCallTimes, rootCallTimes } from '../cct/root-calls.ts'
import { joinedCalls, rowsOf, type SegmentState, type SegmentTimes } from '../cct/segments.ts'
import type { SlowTimes } from '../cct/slow-times.ts'
import type { Tree } from '../cct/tree.ts'
import { METRICS } from '../measures/columns.ts'
import { withWaits } from '../measures/locks/sink.ts'
import { bucketStart } from '../regions/histogram.ts'
import { methodsByName, type Profile } from './profile.ts'
import { namesOf } from './short-methods.ts'
import { span } from './text.ts'
import type { ValueFacts } from './values.ts'

/** Bounds of a time range in ms since the start of the recording. */
export interface Range {
  /** Default: the start of the recording. */
  readonly fromMs?: number | undefined
  /** Default: the end of the recording. */
  readonly toMs?: number | undefined
}

/** Facts about a range, rounded to segments. All times are in ms since the start of the recording. */
export interface RangeFacts {
  readonly fromMs: number
  readonly toMs: number
  /** Length of a segment. Segments at a change of the set of timed methods are shorter. */
  readonly segmentMs: number
  /** Part of the range that the rows cover. It differs if the set of timed methods changed in the range. */
  readonly rowsFromMs: number
  readonly rowsToMs: number
  /** Duration of the recording. */
  readonly ofMs: number
  /** Start of the recording, from which all times in ms count. */
  readonly recordingStartedAt: string
}

/** The file contains no segments. */
export class NoTimeRanges extends JfluidError {
  static sample = () => [
    new NoTimeRanges('/tmp/app.jfluid', 'it was recorded by an earlier jfluid'),
    new NoTimeRanges('/tmp/app.jfluid', 'it contains times of regions'),
  ]
  readonly exitCode = EX_DATAERR
  readonly hint =
    'Leave the range out, or record again: recordings of the modes exact, locks, bytecodes and count have time ranges.'
  constructor(path: string, why: string) {
    super(`${path} has no time ranges: ${why}`)
  }
}

/** The range is empty, or begins after the end of the recording. */
export class NoSuchRange extends UsageError {
  static sample = () => [
    new NoSuchRange('/tmp/app.jfluid', { fromMs: 20_000, toMs: 12_000 }, 60_000),
    new NoSuchRange('/tmp/app.jfluid', { fromMs: 70_000 }, 60_000),
  ]
  readonly hint: string
  constructor(path: string, { fromMs = 0, toMs }: Range, ofMs: number) {
    const isEmpty = toMs !== undefined && toMs <= fromMs
    super(
      isEmpty
        ? `the range from ${text(fromMs)} to ${text(toMs)} is empty`
        : `the range begins at ${text(fromMs)}, but ${path} ends at ${span(ofMs)}`,
    )
    this.hint = isEmpty
      ? 'Give an end that is later than the start, for example 12s and 20s.'
      : `Give a start before ${span(ofMs)}.`
  }
}

/** Data that only a whole recording has is requested of a time range. */
export class NotOfRange extends UsageError {
  static sample = () => [
    new NotOfRange('--trace', 'traced calls are'),
    new NotOfRange('--format trace-events', 'traced calls are'),
    new NotOfRange('--source', 'the cost of source lines is'),
  ]
  readonly hint = 'Leave --from and --to out.'
  constructor(option: string, what: string) {
    super(`${option} cannot be used with a time range: ${what} of the whole recording`)
  }
}

const text = (ms: number): string => (ms === 0 ? '0s' : durationText(ms))

/**
 * Returns the profile of a time range, which has the key `range`; the profile itself if no bound is given.
 * @param path  file name in error messages
 * @throws NoTimeRanges, NoSuchRange
 */
export function ofRange(profile: Profile, { fromMs, toMs }: Range, path: string): Profile {
  if (fromMs === undefined && toMs === undefined) return profile
  const { segments } = profile
  if (segments === undefined) throw new NoTimeRanges(path, whyNoSegments(profile) ?? BY_EARLIER)
  const [from, to] = [fromMs ?? 0, toMs ?? Number.POSITIVE_INFINITY]
  const ofMs = segments.segments.at(-1)?.endMs ?? 0
  const chosen = segmentsIn(segments, from, to)
  if (to <= from || chosen.length === 0) throw new NoSuchRange(path, { fromMs: from, toMs }, ofMs)
  const rows = longestEpoch(chosen)
  const facts: RangeFacts = {
    ...{ fromMs: chosen[0]!.beginMs, toMs: chosen.at(-1)!.endMs, segmentMs: segments.widthMs },
    ...{ rowsFromMs: rowsOf(rows[0]!)[0], rowsToMs: rowsOf(rows.at(-1)!)[1], ofMs },
    recordingStartedAt: profile.startedAt,
  }
  return rangeProfile(profile, segments, { chosen, rows, facts })
}

/** A segment of which a smaller part is in the range is left out, since segments end some ms after a multiple of their width. */
export const LEAST_PART = 0.1

function segmentsIn({ segments }: SegmentTimes, from: number, to: number): SegmentState[] {
  const touched = segments.filter((it) => it.endMs > from && it.beginMs < to)
  const inside = touched.filter(({ beginMs, endMs }) => {
    const part = Math.min(endMs, to) - Math.max(beginMs, from)
    return part >= LEAST_PART * (endMs - beginMs)
  })
  return inside.length > 0 ? inside : touched
}

const BY_EARLIER = 'it was recorded by an earlier jfluid, or with --reproducible'

/** Returns the reason why recordings of this kind have no segments; null if recordings of this kind have segments. */
export function whyNoSegments({
  jvms,
  mode,
  range,
  regions,
}: Pick<Profile, 'jvms' | 'mode' | 'range' | 'regions'>): string | null {
  if (regions !== undefined) return 'it contains times of regions'
  if (jvms !== undefined) return 'it contains several JVMs'
  if (METRICS[mode].hasClasses || METRICS[mode].isSampled) return `it was recorded with --mode ${mode}`
  return range === undefined ? null : 'it is already a time range'
}

/** Returns the segments of the epoch that covers most of the range. */
function longestEpoch(chosen: readonly SegmentState[]): readonly SegmentState[] {
  const lengths = new Map<number, number>()
  for (const { epoch, beginMs, endMs } of chosen)
    lengths.set(epoch, (lengths.get(epoch) ?? 0) + endMs - beginMs)
  const [longest] = [...lengths].sort(([, a], [, b]) => b - a)[0]!
  return chosen.filter((it) => it.epoch === longest)
}

function rangeProfile(
  profile: Profile,
  segments: SegmentTimes,
  part: {
    readonly chosen: readonly SegmentState[]
    readonly rows: readonly SegmentState[]
    readonly facts: RangeFacts
  },
): Profile {
  const { facts } = part
  const { course, rootCalls, slowCalls, values } = profile
  // These describe the whole recording.
  const {
    bareCalls: _,
    lines: __,
    stacks: ___,
    trace: ____,
    segments: _____,
    openCalls: ______,
    ...rest
  } = profile
  const ofCourse = course && courseOf(course, facts)
  return {
    ...rest,
    startedAt: new Date(Date.parse(profile.startedAt) + facts.fromMs).toISOString(),
    durationMs: facts.toMs - facts.fromMs,
    warmupMs: 0,
    warnings: segments.isCut ? [...profile.warnings, TOO_MANY_ROWS] : profile.warnings,
    ...(ofCourse !== undefined && {
      course: ofCourse,
      events: { count: sum(ofCourse.events), waitMs: sum(ofCourse.waitNs) / 1e6 },
    }),
    ...(rootCalls !== undefined && { rootCalls: rootCallsOf(rootCalls, segments, part.chosen) }),
    ...(slowCalls !== undefined && { slowCalls: slowOf(slowCalls, facts) }),
    ...(values !== undefined && { values: valuesOf(values) }),
    range: facts,
    ...withSampledRows(treeOf(profile, segments, part.rows), profile, segments, facts),
    threads: [],
  }
}

/**
 * Adds rows for the samples in the range, as in the tree of the whole recording. The names of methods that occur only in samples are added.
 */
function withSampledRows(
  tree: Tree,
  { methodNames: known, shortMethods = [] }: Profile,
  { samples }: SegmentTimes,
  { rowsFromMs, rowsToMs }: RangeFacts,
): Pick<Profile, 'merged' | 'methodNames'> {
  if (samples === undefined) return { merged: tree, methodNames: known }
  const methodNames = [...known]
  const idsOf = new Map<string, number[]>()
  for (const [id, { class: className, method }] of known.entries()) {
    const key = `${className}.${method}`
    const ids = idsOf.get(key)
    if (ids === undefined) idsOf.set(key, [id])
    else ids.push(id)
  }
  const idOf = (className: string, method: string): number => {
    const key = `${className}.${method}`
    // A method that occurs only in samples has a name without a descriptor.
    const own = idsOf.get(key)?.find((id) => methodNames[id]!.descriptor === '')
    if (own !== undefined) return own
    const id = methodNames.push({ class: className, method, descriptor: '', loader: '' }) - 1
    idsOf.set(key, [...(idsOf.get(key) ?? []), id])
    return id
  }
  const rows = samples.frames.flatMap(({ className, method }) => valueRowOf(className, method) ?? [])
  const merged = withSamples(tree, {
    samples: samplesBetween(samples, rowsFromMs, rowsToMs),
    timed: (className, method) => {
      const row = valueRowOf(className, method)
      return row === null ? idsOf.get(`${className}.${method}`) : [row]
    },
    methodOf: (className, method) => valueRowOf(className, method) ?? idOf(className, method),
    ...(rows.length > 0 && { valueRows: { first: minOf(rows), last: maxOf(rows) } }),
    others: idOf('', OTHERS_NAME.method),
    ...(shortMethods.length > 0 && {
      short: { id: idOf('', SHORT_NAME.method), has: namesOf(shortMethods) },
    }),
  })
  return { merged, methodNames }
}

const TOO_MANY_ROWS =
  'some parts of the recording have no rows: too many contexts changed there, or the set of timed methods changed too often, and only the durations of root calls are kept'

function sum(values: Float64Array): number {
  return values.reduce((all, it) => all + it, 0)
}

function courseOf(course: CourseTimes, { fromMs, toMs }: RangeFacts): CourseTimes {
  const first = Math.max(course.first, Math.floor(fromMs / 1000))
  const cut = (values: Float64Array) =>
    values.slice(first - course.first, Math.ceil(toMs / 1000) - course.first)
  const { rootCalls, events, waitNs, pauses, pauseNs } = course
  return {
    first,
    ...(rootCalls !== undefined && {
      rootCalls: {
        ...{ calls: cut(rootCalls.calls), p50: cut(rootCalls.p50), p95: cut(rootCalls.p95) },
        ...(rootCalls.mean !== undefined && { mean: cut(rootCalls.mean) }),
        max: cut(rootCalls.max),
      },
    }),
    ...{ events: cut(events), waitNs: cut(waitNs), pauses: cut(pauses), pauseNs: cut(pauseNs) },
  }
}

/** Returns the durations of the root calls that ended in the range. The shortest and the longest duration are bounds of buckets. */
function rootCallsOf(
  { unit }: RootCallTimes,
  { perTick }: SegmentTimes,
  chosen: readonly SegmentState[],
): RootCallTimes {
  const parts = chosen.flatMap(({ rootCalls }) => (rootCalls === null ? [] : [rootCalls]))
  const { bucket, count, sum: ticks } = joinedCalls(parts)
  const state = {
    count: sum(count),
    sum: ticks,
    min: bucketStart(bucket[0] ?? 0),
    max: bucketStart((bucket.at(-1) ?? 0) + 1) - 1,
    buckets: { bucket, count },
    threw: [], // segments do not contain exceptions
  }
  return rootCallTimes(state, unit, perTick)
}

/**
 * Returns the kept slow calls that ended in the range, without their common tree, which covers the whole recording. How many slow calls
 * ended in the range is unknown, since only some are kept.
 */
function slowOf(
  { tree: _, treeFromMs: _from, treeCount: _count, ...slow }: SlowTimes,
  { fromMs, toMs }: RangeFacts,
): SlowTimes {
  const isInside = ({ atMs }: { readonly atMs: number }) => atMs >= fromMs && atMs < toMs
  const slowest = slow.slowest.filter(isInside)
  const threw = slow.threw?.latest.filter(isInside)
  return {
    ...slow,
    ...{ count: slowest.length, dropped: 0, slowest },
    ofRecording: {
      count: slow.count,
      ...(slow.threw !== undefined && { threwCount: slow.threw.count }),
    },
    ...(threw !== undefined && { threw: { count: threw.length, latest: threw } }),
    latest: slow.latest !== null && isInside(slow.latest) ? slow.latest : null,
  }
}

/** Returns the paths of values, without the numbers of calls, which are of the whole recording. */
function valuesOf({ getters: _, ...values }: ValueFacts): ValueFacts {
  return { ...values, dropped: 0 }
}

function treeOf(profile: Profile, segments: SegmentTimes, chosen: readonly SegmentState[]): Tree {
  const { mode, calibration, callSites, methodNames } = profile
  const { method, parent, size } = segments
  const [calls, self] = [new Float64Array(method.length), new Float64Array(method.length)]
  for (const it of chosen) {
    for (let i = 0; i < it.row.length; i++) {
      calls[it.row[i]!]! += it.calls[i]!
      self[it.row[i]!]! += it.self[i]!
    }
  }
  const isShown = new Uint8Array(method.length)
  let count = 0
  for (let row = method.length - 1; row >= 0; row--) {
    if (calls[row] !== 0 || self[row] !== 0) isShown[row] = 1
    if (isShown[row] === 0) continue
    count++
    if (parent[row]! >= 0) isShown[parent[row]!] = 1
  }
  const place = new Int32Array(method.length)
  const tree = {
    count,
    method: new Int32Array(count),
    parent: new Int32Array(count),
    size: new Int32Array(count).fill(1),
  }
  const own = new Float64Array(count)
  const times = new Float64Array(count)
  let at = 0
  for (let row = 0; row < size.length; row++) {
    if (isShown[row] === 0) continue
    place[row] = at
    tree.method[at] = method[row]!
    tree.parent[at] = parent[row]! < 0 ? -1 : place[parent[row]!]!
    own[at] = self[row]!
    times[at++] = calls[row]!
  }
  const total = own.slice()
  const callsOut = new Float64Array(count)
  for (let node = count - 1; node >= 0; node--) {
    const above = tree.parent[node]!
    if (above < 0) continue
    tree.size[above]! += tree.size[node]!
    total[above]! += total[node]!
    callsOut[above]! += times[node]!
  }
  const metric = METRICS[mode]
  const probes = { innerTicks: calibration.innerNs, outerTicks: calibration.outerNs }
  const metrics = metric.isTime
    ? {
        ...{ calls: times, selfNs: own, totalNs: total },
        measuredNs: own.map((ns, node) => ns + owedTicks(times[node]!, callsOut[node]!, probes)),
      }
    : { calls: times, [metric.self]: own, [metric.total]: total }
  const plain = { ...tree, metrics, ...(callSites && { methodOf: methodsByName(methodNames) }) }
  return mode === 'locks' ? withWaits(plain) : plain
}

/** Returns the bounds of a range: "10.0 s to 20.0 s". */
export function boundsText({ fromMs, toMs }: Pick<RangeFacts, 'fromMs' | 'toMs'>): string {
  return `${fromMs === 0 ? '0 s' : span(fromMs)} to ${span(toMs)}`
}

/** Describes a range: "10.0 s to 20.0 s of 60.0 s (rounded to segments of 5.00 s)". */
export function rangeText(range: RangeFacts): string {
  const { fromMs, toMs, segmentMs, rowsFromMs, rowsToMs, ofMs } = range
  const rounded = `${boundsText(range)} of ${span(ofMs)} (rounded to segments of ${span(segmentMs)})`
  if (rowsFromMs === fromMs && rowsToMs === toMs) return `${rounded}, all threads together`
  return `${rounded}, all threads together; the set of timed methods changed: rows are of ${span(rowsFromMs)} to ${span(rowsToMs)}, latency is of the whole range`
}
