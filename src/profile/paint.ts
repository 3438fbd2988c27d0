// Common parts of text reports: colors, and labels in front of facts.

import { clean, pad, wrap } from './text.ts'

export type Paint = (style: 'bold' | 'dim' | 'heat' | 'warning', text: string) => string

const SGR = { bold: '1', dim: '2', heat: '1;33', warning: '33' } as const

const plain: Paint = (_, text) => text
const colored: Paint = (style, text) => (text === '' ? '' : `\x1b[${SGR[style]}m${text}\x1b[m`)

export function paintIf(color: boolean): Paint {
  return color ? colored : plain
}

/** Width of a label with its trailing blanks, in cells. */
export const LABEL_CELLS = 10

/** Wraps `text` to `cells`, with the label before the first line. The caller pads the label to LABEL_CELLS cells. */
export function labelled(label: string, text: string, cells: number): string {
  return `${label}${wrap(text, cells - LABEL_CELLS).join(`\n${' '.repeat(LABEL_CELLS)}`)}\n`
}

/** Yields the start of a report: facts, and warnings about the accuracy. */
export function* labelledLines(
  facts: Iterable<readonly [label: string, text: string]>,
  warnings: Iterable<string>,
  cells: number,
  paint: Paint,
): Generator<string> {
  for (const [label, text] of facts) yield labelled(paint('dim', pad(label, LABEL_CELLS)), text, cells)
  const warning = paint('warning', pad('warning', LABEL_CELLS))
  for (const text of warnings) yield labelled(warning, clean(text), cells)
}
