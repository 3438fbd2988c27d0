// Converts durations of root calls, and values per second of the recording, for the file, for JSON, and for a line of the report.

import { type CourseTimes, ROOT_PERCENTILES, type RootCallTimes } from '../cct/root-calls.ts'
import { BARS, type BarGlyphs, time } from './region-text.ts'
import {
  byKey,
  bytesOf,
  column,
  fields,
  list,
  number,
  oneOf,
  optional,
  type Read,
  count as readCount,
  shape,
  string,
  tuple,
} from './shape.ts'
import { classesText, clean, count, plural } from './text.ts'

/** Returns values per second in their file format: f64 columns as `bin`. */
export function packCourse({ rootCalls, first, ...columns }: CourseTimes): object {
  const packed = (of: { readonly [name: string]: Float64Array }) =>
    Object.fromEntries(Object.entries(of).map(([name, values]) => [name, bytesOf(values)]))
  return { first, ...packed(columns), ...(rootCalls !== undefined && { rootCalls: packed(rootCalls) }) }
}

export const readCourse: Read<CourseTimes> = (value, what) => {
  const { events } = fields(value, what)
  const each = column(events instanceof Uint8Array ? Math.floor(events.byteLength / 8) : 0)
  return shape({
    first: readCount,
    rootCalls: optional(shape({ calls: each, p50: each, mean: optional(each), p95: each, max: each })),
    events: each,
    waitNs: each,
    pauses: each,
    pauseNs: each,
  })(value, what)
}

export const readRootCalls: Read<RootCallTimes> = shape({
  unit: oneOf(['ns', 'bytecodes']),
  count: readCount,
  total: number,
  min: number,
  mean: number,
  max: number,
  percentiles: byKey(ROOT_PERCENTILES, number),
  buckets: list(tuple(number, 3)),
  threw: optional(list(shape({ class: string, calls: readCount }))),
})

/** Returns the durations of root calls for JSON: with percentiles, but without the histogram. */
export function rootCallsJson({ buckets: _, ...facts }: RootCallTimes): object {
  return facts
}

export function courseJson({ first, rootCalls, events, waitNs, pauses, pauseNs }: CourseTimes): object {
  return {
    firstSecond: first,
    seconds: Array.from(events, (it, i) => ({
      ...(rootCalls !== undefined && {
        calls: rootCalls.calls[i],
        ...(rootCalls.mean !== undefined && { mean: rootCalls.mean[i] }),
        p50: rootCalls.p50[i],
        ...{ p95: rootCalls.p95[i], max: rootCalls.max[i] },
      }),
      ...{ events: it, waitNs: waitNs[i], pauses: pauses[i], pauseNs: pauseNs[i] },
    })),
  }
}

/** Formats a time or a number of bytecodes. */
export function callCost(value: number, unit: RootCallTimes['unit'], glyphs: BarGlyphs = BARS): string {
  return unit === 'ns' ? time(Math.max(0, value), glyphs) : `${count(Math.round(value), 9)} bc`
}

/** Number and average duration of the root calls that ended before a given second, and of the later root calls. 0 without calls. */
export interface CallsApart {
  readonly before: { readonly count: number; readonly mean: number }
  readonly later: { readonly count: number; readonly mean: number }
}

/**
 * Splits the root calls at a given second.
 * @param seconds  time since the start of the recording
 * @returns null if data are missing: the values per second cover only the last hour, and old files contain no averages
 */
export function callsApart(all: RootCallTimes, course: CourseTimes, seconds: number): CallsApart | null {
  const { first, rootCalls } = course
  if (rootCalls?.mean === undefined || seconds < first) return null
  let [count, total] = [0, 0]
  for (let i = seconds - first; i < rootCalls.calls.length; i++) {
    count += rootCalls.calls[i]!
    total += rootCalls.calls[i]! * rootCalls.mean[i]!
  }
  const part = (calls: number, sum: number) => ({
    count: calls,
    mean: calls > 0 ? Math.max(0, sum) / calls : 0,
  })
  return { before: part(Math.max(0, all.count - count), all.total - total), later: part(count, total) }
}

/** Number of classes of exceptions named by `threwText`. */
const MOST_THROWN = 3

/** Formats "12 of 4,252 root calls: java.sql.SQLTimeoutException 10, other 2 classes 2"; null if no exception has ended a root call. */
export function threwText({ count: calls, threw = [] }: RootCallTimes): string | null {
  if (threw.length === 0) return null
  const sum = (of: typeof threw) => of.reduce((all, it) => all + it.calls, 0)
  const others = threw.slice(MOST_THROWN)
  const texts = threw.slice(0, MOST_THROWN).map((it) => `${clean(it.class)} ${count(it.calls)}`)
  if (others.length > 0) texts.push(`other ${classesText(others.length)} ${count(sum(others))}`)
  return `${count(sum(threw))} of ${plural(calls, 'root call')}: ${texts.join(', ')}`
}

/** Formats percentiles: "of 4,252 calls: p50 1.20 ms, p95 3.40 ms, p99 12.0 ms, max 180 ms". */
export function rootCallsText({ unit, count: calls, percentiles, max }: RootCallTimes): string {
  const parts = [
    ...(['50', '95', '99'] as const).map((it) => `p${it} ${callCost(percentiles[it], unit)}`),
    `max ${callCost(max, unit)}`,
  ]
  return `of ${plural(calls, 'call')}: ${parts.join(', ')}`
}
