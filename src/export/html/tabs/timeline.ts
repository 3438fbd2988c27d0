// Values per second as charts.

import type { CourseTimes } from '../../../cct/root-calls.ts'
import type { PageChart, PageTimeline } from '../page-data.ts'

export function timelineOf(course: CourseTimes | undefined): PageTimeline | undefined {
  if (course === undefined) return undefined
  const { rootCalls, events, waitNs, pauseNs, first } = course
  // The last second is incomplete.
  const seconds = Math.max(1, events.length - 1)
  const rounded = (values: Float64Array) => Array.from(values.subarray(0, seconds), (it) => Math.round(it))
  const one = (values: Float64Array) => [{ name: '', values: rounded(values) }]
  const charts: PageChart[] = []
  if (rootCalls !== undefined) {
    const { calls, p50, p95, max } = rootCalls
    charts.push(
      {
        ...{ title: 'root calls', hint: 'root calls that ended in the second', unit: 'count' },
        series: one(calls),
      },
      {
        ...{ title: 'latency', hint: 'duration of the root calls that ended in the second', unit: 'cost' },
        series: [
          { name: 'maximum', values: rounded(max) },
          { name: 'p95', values: rounded(p95) },
          { name: 'median', values: rounded(p50) },
        ],
      },
    )
  }
  charts.push(
    {
      title: 'events',
      hint: 'recorded events, such as method entries and exits',
      unit: 'count',
      series: one(events),
    },
    {
      ...{ title: 'stalled', hint: 'application threads stalled by jfluid; not in any row', unit: 'ns' },
      series: one(waitNs),
    },
    { title: 'pauses', hint: 'pauses of the JVM for redefinitions', unit: 'ns', series: one(pauseNs) },
  )
  const hasValues = ({ series }: PageChart) => series.some(({ values }) => values.some((it) => it > 0))
  const shown = charts.filter(hasValues)
  return shown.length === 0 ? undefined : { first, charts: shown }
}
