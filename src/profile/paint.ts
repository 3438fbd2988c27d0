// What pages of text have in common: colours, and labels in front of what is told.

import { clean, pad, wrap } from './text.ts'

export type Paint = (style: 'bold' | 'dim' | 'heat' | 'warning', text: string) => string

const SGR = { bold: '1', dim: '2', heat: '1;33', warning: '33' } as const

const plain: Paint = (_, text) => text
const colored: Paint = (style, text) => (text === '' ? '' : `\x1b[${SGR[style]}m${text}\x1b[m`)

export function paintIf(color: boolean): Paint {
  return color ? colored : plain
}

/** Of a label and the blanks behind it. */
export const LABEL_CELLS = 10

/** Lines in `cells`, the label before the first of them: as wide as LABEL_CELLS, whatever its colour. */
export function labelled(label: string, text: string, cells: number): string {
  return `${label}${wrap(text, cells - LABEL_CELLS).join(`\n${' '.repeat(LABEL_CELLS)}`)}\n`
}

/** What a page begins with: facts, and what changes how far to trust it. */
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
