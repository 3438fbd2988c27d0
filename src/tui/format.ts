// How the live view writes numbers and names: those of the reports (profile/text.ts), and what only a
// screen of cells needs.

import { cellsOf, width } from '../profile/text.ts'

export * from '../profile/text.ts'

/** Signs as UTF-8 has them, and what a terminal without it shows instead. */
const SIGNS = {
  open: ['▾', '-'],
  closed: ['▸', '+'],
  down: ['▾', 'v'],
  up: ['▴', '^'],
  ellipsis: ['…', '..'],
  cursor: ['▏', '_'],
  times: ['×', 'x'],
  /** Left edge of a box. */
  edge: ['▏', '|'],
  /** Boxes too narrow for an edge. */
  narrow: ['░', ':'],
  /** A tenth of a bar. */
  bar: ['▇', '#'],
  /** Before the name of what is at work just now. */
  active: ['●', '*'],
} as const

export type Glyphs = Readonly<Record<keyof typeof SIGNS, string>>

const glyphs = (which: 0 | 1): Glyphs =>
  Object.fromEntries(Object.entries(SIGNS).map(([name, signs]) => [name, signs[which]])) as Glyphs
export const UNICODE = glyphs(0)
export const ASCII = glyphs(1)

/** From the largest on: ns of one, and how it is written. */
const TIME_UNITS = [
  [1e9, 's'],
  [1e6, 'ms'],
  [1e3, 'µs'],
  [1, 'ns'],
] as const

/**
 * A time in the unit that it reads best in, with four digits that count: "64ns", "29.02µs", "107.3ms", "1.968s ". At most
 * nine cells, of which the last two are the unit's, so that right-aligned times stand digit below digit.
 *
 * Negative time (a method shorter than the calibration error) is "~0": a zero we are not sure of.
 */
export function time(ns: number, unicode = true): string {
  if (!Number.isFinite(ns)) return '-  '
  if (ns < 0.5) return ns === 0 ? '0  ' : '~0  '
  const [size, unit] = TIME_UNITS.find(([each]) => ns >= 0.99995 * each) ?? [1, 'ns']
  const value = ns / size
  const digits = size === 1 || value >= 999.95 ? 0 : value >= 99.995 ? 1 : value >= 9.9995 ? 2 : 3
  const text = value >= 1e7 ? value.toExponential(1).replace('e+', 'e') : value.toFixed(digits)
  return text + (unicode ? unit : unit.replace('µ', 'u')).padEnd(2)
}

/** The end of a cleaned text that is too long: so what is typed is seen. */
export function tail(text: string, cells: number, ellipsis: string): string {
  if (width(text) <= cells) return text
  const characters = [...text]
  let first = characters.length
  for (let room = cells - width(ellipsis); first > 0; first--) {
    room -= cellsOf(characters[first - 1]!)
    if (room < 0) break
  }
  return ellipsis + characters.slice(first).join('')
}

/**
 * What stands before a row's name: two cells a level while that leaves room for the name, then the
 * depth as a number, so that a recursion 1,000 deep stays readable.
 */
export function indent(depth: number, most: number): string {
  if (2 * depth <= most) return '  '.repeat(depth)
  const label = `[${depth}] `
  return ' '.repeat(Math.max(0, most - label.length)) + label
}
