// Charts of values per second: one bar per second. All charts have the same time axis, and one second is selected in all of them. A range of
// seconds can be selected too, if the page has time ranges.

import { clockText } from './format.js'
import { unitText } from './lists.js'

/** @import { PageChart, PageTimeline } from '../page-data.ts' */

const SVG = 'http://www.w3.org/2000/svg'
/** Height of a chart in units of its drawing, which is as wide as the number of seconds. */
const CHART_HEIGHT = 100

export class Timeline {
  #data
  #selected = 0
  #place = document.createElement('div')
  /** @type {SVGElement[]} */
  #marks = []
  /** Marks of the range. @type {SVGElement[]} */
  #spans = []
  /** Second in which the selection of a range began; -1 if none has begun. */
  #begun = -1
  #told
  #ranged

  /**
   * @param {HTMLElement} place
   * @param {PageTimeline} data
   * @param {(text: string) => void} told  called with a description of the second that is selected or under the mouse
   * @param {((from: number, to: number) => void) | undefined} ranged  called with a selected range, in seconds since the start of the
   *   recording; undefined if ranges cannot be selected
   */
  constructor(place, data, told, ranged) {
    this.#data = data
    this.#told = told
    this.#ranged = ranged
    this.#place.className = 'timeline'
    this.#place.tabIndex = 0
    this.#place.setAttribute('role', 'slider')
    this.#place.setAttribute('aria-label', 'second of the recording')
    this.#place.setAttribute('aria-valuemin', String(data.first))
    this.#place.setAttribute('aria-valuemax', String(data.first + this.#count - 1))
    for (const chart of data.charts) this.#place.append(this.#chart(chart))
    this.#place.append(this.#axis())
    place.replaceChildren(this.#place)
    this.#place.addEventListener('keydown', (event) => this.#key(event))
    this.#place.addEventListener('mouseleave', () => told(this.#text(this.#selected)))
    this.select(this.#busiest())
  }

  get #count() {
    return this.#data.charts[0].series[0].values.length
  }

  /** The selected second, since the start of the recording. */
  get second() {
    return this.#data.first + this.#selected
  }

  /**
   * Selects a second since the start of the recording.
   *
   * @param {number} second
   * @returns {boolean}  false if the charts do not have the second
   */
  show(second) {
    const index = second - this.#data.first
    if (!(index >= 0 && index < this.#count)) return false
    this.select(index)
    return true
  }

  /** @param {number} index */
  select(index) {
    this.#selected = Math.max(0, Math.min(this.#count - 1, index))
    for (const mark of this.#marks) mark.setAttribute('x', String(this.#selected))
    const text = this.#text(this.#selected)
    this.#place.setAttribute('aria-valuenow', String(this.second))
    this.#place.setAttribute('aria-valuetext', text)
    this.#told(text)
  }

  /**
   * Marks a range.
   *
   * @param {number} from  in seconds since the start of the recording
   * @param {number} to    equal to `from` if there is no range
   */
  markRange(from, to) {
    const { first } = this.#data
    const begin = Math.max(0, Math.min(this.#count, from - first))
    const end = Math.max(begin, Math.min(this.#count, to - first))
    for (const span of this.#spans) {
      span.setAttribute('x', String(begin))
      span.setAttribute('width', String(end - begin))
    }
  }

  /** Marks a range, and ends a selection that has begun. @param {number} from @param {number} to */
  showRange(from, to) {
    this.#begun = -1
    this.markRange(from, to)
  }

  /** Selects the seconds from `a` to `b`, in any order. @param {number} a @param {number} b */
  #range(a, b) {
    this.#begun = -1
    const { first } = this.#data
    this.#ranged?.(first + Math.min(a, b), first + Math.max(a, b) + 1)
  }

  /** @param {number} a @param {number} b */
  #preview(a, b) {
    const { first } = this.#data
    this.markRange(first + Math.min(a, b), first + Math.max(a, b) + 1)
  }

  /** Returns the second with the highest value of the chart of latency, or of the first chart. */
  #busiest() {
    const { charts } = this.#data
    const { values } = (charts.find(({ unit }) => unit === 'cost') ?? charts[0]).series[0]
    return values.reduce((most, value, index) => (value > values[most] ? index : most), 0)
  }

  /** @param {number} index */
  #text(index) {
    const from = this.#data.first + index
    const parts = this.#data.charts.map(({ title, series, unit }) => {
      const values = series.map(
        ({ name, values: all }) => `${name === '' ? '' : `${name} `}${unitText(all[index], unit)}`,
      )
      return `${title} ${values.join(', ')}`
    })
    return `${clockText(from)} to ${clockText(from + 1)}: ${parts.join('; ')}`
  }

  /** @param {PageChart} chart */
  #chart({ title, hint, unit, series }) {
    const figure = document.createElement('figure')
    const caption = document.createElement('figcaption')
    const largest = series[0].values.reduce((most, it) => Math.max(most, it), 0)
    caption.append(title)
    caption.title = hint
    const quiet = document.createElement('span')
    quiet.className = 'quiet'
    quiet.textContent = ` per second, highest ${unitText(largest, unit)}`
    if (unit === 'cost') quiet.textContent = `, highest ${unitText(largest, unit)}`
    caption.append(quiet)
    for (const [index, { name }] of series.entries()) {
      if (name === '') continue
      const key = document.createElement('span')
      key.className = `key series-${index}`
      caption.append(key, name)
    }
    const drawing = drawn('svg', {
      viewBox: `0 0 ${this.#count} ${CHART_HEIGHT}`,
      preserveAspectRatio: 'none',
    })
    drawing.setAttribute('aria-hidden', 'true')
    const mark = drawn('rect', { class: 'second', x: '0', y: '0', width: '1', height: String(CHART_HEIGHT) })
    const span = drawn('rect', { class: 'range', x: '0', y: '0', width: '0', height: String(CHART_HEIGHT) })
    this.#marks.push(mark)
    this.#spans.push(span)
    for (const [index, { values }] of series.entries())
      drawing.append(drawn('path', { class: `series-${index}`, d: barsPath(values, largest) }))
    drawing.append(span, mark)
    const at = /** @param {MouseEvent} event */ (event) => {
      const { left, width } = drawing.getBoundingClientRect()
      return Math.max(
        0,
        Math.min(this.#count - 1, Math.floor(((event.clientX - left) / width) * this.#count)),
      )
    }
    let pressed = -1
    drawing.addEventListener('pointerdown', (event) => {
      pressed = at(event)
      drawing.setPointerCapture(event.pointerId)
    })
    drawing.addEventListener('pointermove', (event) => {
      this.#told(this.#text(at(event)))
      if (pressed >= 0 && at(event) !== pressed && this.#ranged !== undefined)
        this.#preview(pressed, at(event))
    })
    drawing.addEventListener('pointerup', (event) => {
      if (pressed >= 0 && at(event) !== pressed) this.#range(pressed, at(event))
      else this.select(at(event))
      pressed = -1
    })
    drawing.addEventListener('pointercancel', () => {
      pressed = -1
    })
    figure.append(caption, drawing)
    return figure
  }

  #axis() {
    const axis = document.createElement('div')
    axis.className = 'axis'
    const { first } = this.#data
    for (const part of [0, 0.25, 0.5, 0.75, 1]) {
      const label = document.createElement('span')
      label.textContent = clockText(first + part * this.#count)
      axis.append(label)
    }
    return axis
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    /** @type {{ [key: string]: number }} */
    const targets = {
      ...{ ArrowLeft: this.#selected - 1, ArrowRight: this.#selected + 1 },
      ...{ PageUp: this.#selected - 10, PageDown: this.#selected + 10 },
      ...{ Home: 0, End: this.#count - 1 },
    }
    if (event.key === ' ' && this.#ranged !== undefined) {
      event.preventDefault()
      if (this.#begun < 0) this.#begun = this.#selected
      else this.#range(this.#begun, this.#selected)
      return
    }
    const target = targets[event.key]
    if (target === undefined) return
    event.preventDefault()
    this.select(target)
    if (this.#begun >= 0) this.#preview(this.#begun, this.#selected)
  }
}

/**
 * @param {string} name
 * @param {{ [name: string]: string }} attributes
 */
function drawn(name, attributes) {
  const made = document.createElementNS(SVG, name)
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value)
  return /** @type {SVGElement} */ (made)
}

/**
 * Returns the outline of the bars. A second with the value 0 has no bar.
 *
 * @param {readonly number[]} values
 * @param {number} largest
 */
function barsPath(values, largest) {
  const bars = values.map((value, index) => {
    if (!(value > 0) || !(largest > 0)) return ''
    const top = CHART_HEIGHT * (1 - value / largest)
    return `M${index} ${CHART_HEIGHT}V${top.toFixed(1)}H${index + 1}V${CHART_HEIGHT}Z`
  })
  return bars.join('')
}
