// View with charts over time, the latest second at the right: root calls per second, latency, events, stalls by jfluid. Each row is a
// chart. All charts have the same time axis.

import { append } from '../../base/arrays.ts'
import type { CourseTimes, RootCallTimes } from '../../cct/root-calls.ts'
import { boundsText } from '../../profile/range.ts'
import { ASCII_BARS, BARS, type BarGlyphs, perSecond } from '../../profile/region-text.ts'
import { callCost } from '../../profile/root-calls.ts'
import { count, pad, right, shortCount, span } from '../format.ts'
import { run } from '../frame-lines.ts'
import type { Scene } from '../lines.ts'
import type { Line } from '../screen.ts'
import { NOT_FOLDED, View } from './view.ts'

const LABEL_CELLS = 11
const NUMBER_CELLS = 22
/** Numbers of seconds per bar that the user can select. */
const STEPS = [1, 2, 5, 10, 30, 60] as const
const HIGHEST = 6

type Unit = 'rate' | 'cost' | 'percent'

/** Data of one chart, for the visible seconds. */
interface Chart {
  readonly label: string
  readonly unit: Unit
  /** One value per bar, oldest first. NaN for a bar without calls. */
  readonly values: readonly number[]
  readonly help: string
  /** Limit: values of at least this size are drawn as a warning. */
  readonly most?: number
}

export class TimelineView extends View {
  override readonly searched = 'row'
  override readonly whyUnfolded = NOT_FOLDED
  override readonly isFiltered = false
  #selected = 0
  #step = 0
  /** The last second of the selected bar, since the start of the recording; undefined for the newest bar. */
  #at: number | undefined
  /** Time of the bar where the user has begun to select a range. */
  #start: Seconds | undefined
  /** Charts of the last drawn frame. */
  #charts: readonly Chart[] = []

  override get count(): number {
    const { course } = this.model.snapshot
    return course === undefined ? 0 : chartCount(course)
  }

  override get index(): number {
    return Math.min(this.#selected, Math.max(0, this.count - 1))
  }

  protected override select(index: number): void {
    this.#selected = index
  }

  protected override rebuild(): void {}

  override find(): number {
    return 0
  }

  override goRight(): void {
    this.#moveBar(-1)
  }

  override goLeft(): void {
    this.#moveBar(1)
  }

  #moveBar(older: number): void {
    const { course } = this.model.snapshot
    if (course === undefined) return
    const each = STEPS[this.#step]!
    const bar = barAt(course, each, this.#at) + older
    const newest = secondsIn(course) - 1
    this.#at = bar <= 0 ? undefined : course.first + Math.max(0, newest - bar * each)
  }

  /** Changes the seconds per bar: with more seconds, the charts show a longer period. */
  override movePages(pages: number): void {
    this.#step = Math.max(0, Math.min(STEPS.length - 1, this.#step - pages))
  }

  /** Begins a range at the selected bar; the second call ends the range, and shows it. */
  override enter(): void {
    const { course } = this.model.snapshot
    const { ranges } = this.model.source
    if (course === undefined) return
    const why = ranges === undefined ? 'it contains several JVMs' : ranges.refusal()
    if (why !== null) {
      this.model.say(`this recording has no time ranges: ${why}`)
      return
    }
    const bar = selectedBar(course, STEPS[this.#step]!, this.#at)
    const start = this.#start
    if (start === undefined) {
      this.#start = bar
      this.model.say('Left and Right select the other end, Space shows the range; Esc cancels')
      return
    }
    this.#start = undefined
    const { from, to } = around(start, bar)
    this.model.showRange({ fromMs: from * 1000, toMs: to * 1000 })
  }

  override back(): boolean {
    const had = this.#start !== undefined
    this.#start = undefined
    return had
  }

  /** The first click on a bar selects the bar, a second click acts as Space. */
  override click({ columns }: Scene, _line: number, cell: number): void {
    const { course } = this.model.snapshot
    if (course === undefined) return
    const each = STEPS[this.#step]!
    const bars = barsOf(course, cellsOf(columns), each, this.#at)
    const bar = bars.seconds[cell - cellsOf(columns) - LABEL_CELLS + bars.seconds.length]
    if (bar === undefined) return
    const known = barAt(course, each, this.#at)
    this.#at = course.first + bar[1] - 1
    if (barAt(course, each, this.#at) === known) this.enter()
  }

  override detail(): string | undefined {
    const chart = this.#charts[this.index]
    return chart && `${chart.label}: ${chart.help}`
  }

  override nothing(): string {
    if (this.model.isSampledByJvm)
      return (
        'No timeline: it shows root calls per second and their latency, and samples of the JVM contain neither. ' +
        'Use --root <method> without --sampler. T shows the samples of each thread.'
      )
    return 'No timeline: no calls are recorded, or an older jfluid version wrote the file.'
  }

  override head({ columns }: Scene): Line {
    const each = STEPS[this.#step]!
    const title = each === 1 ? 'one bar: 1 s' : `one bar: ${span(each * 1000)}`
    const first = pad(` timeline, ${title} (PgUp, PgDn)`, columns - NUMBER_CELLS)
    const which = this.#at === undefined ? 'latest' : 'selected'
    return [run(pad(`${first} ${which}, min to max`, columns), 'header')]
  }

  override body(scene: Scene): Line[] {
    const { course, rootCalls } = this.model.snapshot
    if (course === undefined) return []
    const cells = cellsOf(scene.columns)
    const each = STEPS[this.#step]!
    const bars = barsOf(course, cells, each, this.#at)
    const { seconds } = bars
    const charts = chartsOf(course, seconds)
    this.#charts = charts
    const glyphs = scene.unicode ? BARS : ASCII_BARS
    const unit = rootCalls?.unit ?? 'ns'
    // The three lines below the charts contain pauses, the time axis and the selected range.
    const room = Math.max(1, Math.floor((this.model.bodyRows - 3) / charts.length))
    const height = Math.min(HIGHEST, room > 3 ? room - 1 : room)
    const lines: Line[] = []
    for (const [i, chart] of charts.entries()) {
      if (i > 0 && room > 3) lines.push([])
      append(
        lines,
        chartLines(chart, { height, cells, glyphs, unit, bar: bars.selected, isSelected: i === this.index }),
      )
    }
    if (room > 3) lines.push([])
    lines.push(pauseLine(course, seconds, cells, scene.unicode), axisLine(cells, each, bars.newer))
    lines.push(this.#rangeLine(course, bars, cells, scene))
    return lines
  }

  /** Returns the line that marks the selected bar, and the range that is selected or shown. */
  #rangeLine(course: CourseTimes, { seconds, selected }: Bars, cells: number, { unicode }: Scene): Line {
    const { range } = this.model
    const bar = selectedBar(course, STEPS[this.#step]!, this.#at)
    const shown = range && { from: range.fromMs / 1000, to: range.toMs / 1000 }
    const marked = this.#start === undefined ? shown : around(this.#start, bar)
    const [inside, cursor] = unicode ? ['━', '▲'] : ['=', '^']
    const marks = seconds.map(([from, to], i) => {
      if (i === selected) return cursor
      const isMarked =
        marked !== undefined && course.first + to > marked.from && course.first + from < marked.to
      return isMarked ? inside : ' '
    })
    const at = bar.from === 0 ? '0 s' : span(bar.from * 1000)
    const text =
      this.#start === undefined
        ? `Space: from ${at}`
        : boundsText({ fromMs: marked!.from * 1000, toMs: marked!.to * 1000 })
    return [
      run(pad(' range', LABEL_CELLS), this.#start === undefined ? 'dim' : 'title'),
      run(' '.repeat(cells - marks.length)),
      run(marks.join(''), 'title'),
      run(` ${right(text, NUMBER_CELLS)}`, 'dim'),
    ]
  }
}

function chartCount({ rootCalls }: CourseTimes): number {
  return rootCalls === undefined ? 2 : 6
}

/** A period of the recording, in seconds since its start. */
interface Seconds {
  readonly from: number
  readonly to: number
}

/** The visible bars. */
interface Bars {
  /** Ranges of indices of seconds, oldest first. */
  readonly seconds: readonly (readonly [from: number, to: number])[]
  /** Index of the selected bar in `seconds`. */
  readonly selected: number
  /** Number of bars that are newer than the visible bars. */
  readonly newer: number
}

/** Returns the number of cells for bars. */
function cellsOf(columns: number): number {
  return columns - LABEL_CELLS - NUMBER_CELLS - 1
}

/** Returns the number of shown seconds. The last second is incomplete and omitted. */
function secondsIn({ events }: CourseTimes): number {
  return Math.max(1, events.length - 1)
}

/** Returns the number of bars that are newer than the bar at this second. */
function barAt(course: CourseTimes, each: number, at: number | undefined): number {
  const newest = secondsIn(course) - 1
  const second = at === undefined ? newest : Math.max(0, Math.min(newest, at - course.first))
  return Math.floor((newest - second) / each)
}

function selectedBar(course: CourseTimes, each: number, at: number | undefined): Seconds {
  const to = secondsIn(course) - barAt(course, each, at) * each
  return { from: course.first + Math.max(0, to - each), to: course.first + to }
}

/** Returns the bars up to the newest, or, if the selected bar is older than those, the bars from the selected bar on. */
function barsOf(course: CourseTimes, cells: number, each: number, at: number | undefined): Bars {
  const bar = barAt(course, each, at)
  const newer = Math.max(0, bar - cells + 1)
  const seconds: [number, number][] = []
  for (let to = secondsIn(course) - newer * each; to > 0 && seconds.length < cells; to -= each)
    seconds.unshift([Math.max(0, to - each), to])
  return { seconds, selected: seconds.length - 1 - (bar - newer), newer }
}

/** Returns the period from the earlier start to the later end. */
function around(a: Seconds, b: Seconds): Seconds {
  return { from: Math.min(a.from, b.from), to: Math.max(a.to, b.to) }
}

function chartsOf(
  { rootCalls, events, waitNs }: CourseTimes,
  seconds: readonly (readonly [number, number])[],
): Chart[] {
  const rate = (values: Float64Array) => seconds.map(([from, to]) => sum(values, from, to) / (to - from))
  const charts: Chart[] = []
  if (rootCalls !== undefined) {
    const { calls, p50, p95, max } = rootCalls
    const some = (value: (from: number, to: number) => number) =>
      seconds.map(([from, to]) => (sum(calls, from, to) === 0 ? Number.NaN : value(from, to)))
    const highest = (values: Float64Array) =>
      some((from, to) => values.subarray(from, to).reduce((a, b) => Math.max(a, b), 0))
    const weighed = some((from, to) => {
      let all = 0
      for (let i = from; i < to; i++) all += p50[i]! * calls[i]!
      return all / sum(calls, from, to)
    })
    charts.push(
      {
        label: 'calls/s',
        unit: 'rate',
        values: rate(calls),
        help: 'root calls that ended, without nested root calls',
      },
      { label: 'p50', unit: 'cost', values: weighed, help: 'median latency of the root calls that ended' },
      {
        label: 'p95',
        unit: 'cost',
        values: highest(p95),
        help: '95th percentile of the latency of root calls that ended',
      },
      {
        label: 'max',
        unit: 'cost',
        values: highest(max),
        help: 'latency of the longest root call that ended',
      },
    )
  }
  charts.push(
    { label: 'events/s', unit: 'rate', values: rate(events), help: 'recorded method entries and exits' },
    {
      label: 'stalled %',
      unit: 'percent',
      most: 5,
      values: rate(waitNs).map((ns) => ns / 1e7),
      help: 'application threads stalled by jfluid, 100 % = one thread; not in any row',
    },
  )
  return charts
}

function sum(values: Float64Array, from: number, to: number): number {
  let all = 0
  for (let i = from; i < to; i++) all += values[i]!
  return all
}

interface ChartShape {
  readonly height: number
  readonly cells: number
  readonly glyphs: BarGlyphs
  readonly unit: RootCallTimes['unit']
  /** Index of the selected bar. */
  readonly bar: number
  readonly isSelected: boolean
}

function chartLines(
  chart: Chart,
  { height, cells, glyphs, unit, bar: selected, isSelected }: ChartShape,
): Line[] {
  const { label, values, most = Number.POSITIVE_INFINITY } = chart
  const known = values.filter((it) => !Number.isNaN(it))
  const largest = known.reduce((a, b) => Math.max(a, b), 0)
  const least = known.reduce((a, b) => Math.min(a, b), largest)
  const text = (value: number) => valueText(value, chart.unit, unit, glyphs)
  const now = values[selected] ?? Number.NaN
  const value = Number.isNaN(now) ? '-' : text(now)
  const range = known.length === 0 ? '' : `${text(least)} to ${text(largest)}`
  const bars = barLines(values, largest, height, glyphs)
  const texts = height === 1 ? [`${value}, ${range}`] : [value, range]
  return bars.map((bar, line): Line => {
    const head = pad(line === 0 ? ` ${label}` : '', LABEL_CELLS)
    const numbers = texts[line] ?? ''
    return [
      run(head, isSelected && line === 0 ? 'selected' : 'dim'),
      run(' '.repeat(cells - values.length)),
      run(bar, now >= most ? 'warning' : 'good'),
      run(` ${right(numbers, NUMBER_CELLS)}`, line === 0 ? 'plain' : 'dim'),
    ]
  })
}

/** Returns the lines of a bar chart, top line first. Heights are multiples of an eighth of a line; a positive value has at least one. */
export function barLines(
  values: readonly number[],
  largest: number,
  height: number,
  { levels }: BarGlyphs,
): string[] {
  const eighths = values.map((value) =>
    value > 0 && largest > 0 ? Math.max(1, Math.round((value / largest) * height * levels.length)) : 0,
  )
  return Array.from({ length: height }, (_, line) => {
    const below = (height - 1 - line) * levels.length
    return eighths
      .map((it) => (it <= below ? ' ' : levels[Math.min(levels.length, it - below) - 1]!))
      .join('')
  })
}

function valueText(value: number, unit: Unit, callUnit: RootCallTimes['unit'], glyphs: BarGlyphs): string {
  if (unit === 'cost') return callCost(value, callUnit, glyphs)
  if (unit === 'percent') return value.toFixed(1)
  return value < 1000 ? perSecond(value) : shortCount(value)
}

/** Returns the line that marks redefinitions that stopped the target. */
function pauseLine(
  { pauses, pauseNs }: CourseTimes,
  seconds: readonly (readonly [number, number])[],
  cells: number,
  unicode: boolean,
): Line {
  const marks = seconds.map(([from, to]) => (sum(pauses, from, to) > 0 ? (unicode ? '▴' : '^') : ' '))
  const [from, to] = [seconds[0]?.[0] ?? 0, seconds.at(-1)?.[1] ?? 0]
  const times = sum(pauses, from, to)
  const text = times === 0 ? 'none' : `${count(times)} in ${span(sum(pauseNs, from, to) / 1e6)}`
  return [
    run(pad(' pauses', LABEL_CELLS), 'dim'),
    run(' '.repeat(cells - marks.length)),
    run(marks.join(''), 'warning'),
    run(` ${right(text, NUMBER_CELLS)}`, 'dim'),
  ]
}

/** Returns the time axis, with a label every 20 bars. @param newer  number of bars that are newer than the visible bars */
function axisLine(cells: number, each: number, newer: number): Line {
  const label = (bars: number): string => {
    const ago = (bars + newer) * each
    return ago === 0 ? 'now' : ago < 60 ? `-${ago} s` : `-${span(ago * 1000)}`
  }
  let text = ''
  for (let bars = Math.floor(cells / 20) * 20; bars > 0; bars -= 20)
    text = pad(text, cells - bars) + label(bars)
  const last = label(0)
  return [run(' '.repeat(LABEL_CELLS)), run(`${pad(text, cells - last.length)}${last}`, 'dim')]
}
