// How long calls of roots took, and the course of the recording: in the file, in JSON, and as a line of the report.

import { type CallBucket, type CourseTimes, ROOT_PERCENTILES, type RootCallTimes } from '../cct/root-calls.ts'
import type { Checks } from './checks.ts'
import { BARS, type BarGlyphs, time } from './region-text.ts'
import { count } from './text.ts'

/** As the file keeps it: columns of f64 as `bin`. */
export function packCourse({ rootCalls, first, ...columns }: CourseTimes): object {
  const packed = (of: { readonly [name: string]: Float64Array }) =>
    Object.fromEntries(Object.entries(of).map(([name, values]) => [name, bytesOf(values)]))
  return { first, ...packed(columns), ...(rootCalls !== undefined && { rootCalls: packed(rootCalls) }) }
}

function bytesOf(values: Float64Array): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength)
}

export function readCourse(value: unknown, checks: Checks): CourseTimes {
  const all = checks.fields(value, 'course')
  const calls = all.rootCalls === undefined ? undefined : checks.fields(all.rootCalls, 'course.rootCalls')
  const seconds = all.events instanceof Uint8Array ? Math.floor(all.events.byteLength / 8) : 0
  const column = (of: typeof all, name: string) => checks.column(of[name], seconds, `${name} of the course`)
  return {
    first: checks.count(all.first, 'course.first'),
    ...(calls !== undefined && {
      rootCalls: {
        ...{ calls: column(calls, 'calls'), p50: column(calls, 'p50') },
        ...(calls.mean !== undefined && { mean: column(calls, 'mean') }),
        ...{ p95: column(calls, 'p95'), max: column(calls, 'max') },
      },
    }),
    ...{ events: column(all, 'events'), waitNs: column(all, 'waitNs') },
    ...{ pauses: column(all, 'pauses'), pauseNs: column(all, 'pauseNs') },
  }
}

export function readRootCalls(value: unknown, checks: Checks): RootCallTimes {
  const all = checks.fields(value, 'rootCalls')
  const percentiles = checks.fields(all.percentiles, 'rootCalls.percentiles')
  const number = (name: string) => checks.number(all[name], `rootCalls.${name}`)
  return {
    unit: checks.oneOf(all.unit, ['ns', 'bytecodes'], 'rootCalls.unit'),
    count: checks.count(all.count, 'rootCalls.count'),
    ...{ total: number('total'), min: number('min'), mean: number('mean'), max: number('max') },
    percentiles: Object.fromEntries(
      ROOT_PERCENTILES.map((it) => [it, checks.number(percentiles[it], `percentile ${it} of rootCalls`)]),
    ) as RootCallTimes['percentiles'],
    buckets: checks.array(all.buckets, 'rootCalls.buckets').map((each) => {
      const parts = checks.array(each, 'a bucket').map((it) => checks.number(it, 'a part of a bucket'))
      if (parts.length !== 3) throw checks.bad('a bucket of rootCalls does not have three parts')
      return parts as unknown as CallBucket
    }),
  }
}

/** The histogram is left to the file: hundreds of numbers that the percentiles stand for. */
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

/** A time, or a number of bytecodes. */
export function callCost(value: number, unit: RootCallTimes['unit'], glyphs: BarGlyphs = BARS): string {
  return unit === 'ns' ? time(Math.max(0, value), glyphs) : `${count(Math.round(value), 9)} bc`
}

/** Root calls that ended before a second, and the others: how many, and what one of them took on average; 0 without any. */
export interface CallsApart {
  readonly before: { readonly count: number; readonly mean: number }
  readonly later: { readonly count: number; readonly mean: number }
}

/**
 * @param seconds  from the start of recording
 * @returns null where the course does not tell: it keeps the latest hour, and in old files no averages
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

/** "p50 1.20 ms, p95 3.40 ms, p99 12.0 ms, max 180 ms a call; 4,252 ended". */
export function rootCallsText({ unit, count: calls, percentiles, max }: RootCallTimes): string {
  const parts = [
    ...(['50', '95', '99'] as const).map((it) => `p${it} ${callCost(percentiles[it], unit)}`),
    `max ${callCost(max, unit)}`,
  ]
  return `${parts.join(', ')} a call; ${count(calls)} ended`
}
