// Formats numbers and names for the live view: the functions of profile/text.ts, and functions
// that only a screen of cells needs.

import { cellsOf, scaledTime, width } from '../profile/text.ts'

export * from '../profile/text.ts'

/** Symbols in UTF-8, and their replacements in ASCII. */
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
  /** Filling of a box that is too narrow for an edge. */
  narrow: ['░', ':'],
  /** Character of a bar. Ten characters are a full bar. */
  bar: ['▇', '#'],
  /** Mark of a thread that is inside a root. */
  active: ['●', '*'],
} as const

export type Glyphs = Readonly<Record<keyof typeof SIGNS, string>>

const glyphs = (which: 0 | 1): Glyphs =>
  Object.fromEntries(Object.entries(SIGNS).map(([name, signs]) => [name, signs[which]])) as Glyphs
export const UNICODE = glyphs(0)
export const ASCII = glyphs(1)

/**
 * Formats a time with four significant digits and the best unit: "64ns", "29.02µs", "107.3ms", "1.968s ". At most
 * nine cells. The unit takes the last two cells, so that the digits of right-aligned times line up.
 *
 * A negative time (a method shorter than the calibration error) is "~0".
 */
export function time(ns: number, unicode = true): string {
  if (!Number.isFinite(ns)) return '-  '
  if (ns < 0.5) return ns === 0 ? '0  ' : '~0  '
  const [text, unit] = scaledTime(ns, 1e7)
  return text + (unicode ? unit : unit.replace('µ', 'u')).padEnd(2)
}

/** Returns the end of a text that is too long, so that the last typed characters are visible. */
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
 * Returns the indentation of a row: two cells per level if they leave room for the name, else the depth as a number, so that a recursion
 * of 1,000 levels is readable.
 */
export function indent(depth: number, most: number): string {
  if (2 * depth <= most) return '  '.repeat(depth)
  const label = `[${depth}] `
  return ' '.repeat(Math.max(0, most - label.length)) + label
}
