// How the live view writes numbers and names: those of the reports (profile/text.ts), and what only a
// screen of cells needs.

export {
  cellsOf,
  clean,
  count,
  cut,
  ms,
  msPerCall,
  pad,
  percent,
  plusMinus,
  right,
  shortCount,
  shortName,
  signature,
  span,
  width,
  wrap,
} from '../profile/text.ts'

/** Characters that a terminal without UTF-8 has another sign for. */
export interface Glyphs {
  readonly open: string
  readonly closed: string
  readonly down: string
  readonly up: string
  readonly ellipsis: string
  readonly cursor: string
  readonly warning: string
  readonly times: string
  /** Left edge of a box. */
  readonly edge: string
  /** Boxes too narrow for an edge. */
  readonly narrow: string
  /** A tenth of a bar. */
  readonly bar: string
}

export const UNICODE: Glyphs = {
  open: '▾',
  closed: '▸',
  down: '▾',
  up: '▴',
  ellipsis: '…',
  cursor: '▏',
  warning: '!',
  times: '×',
  edge: '▏',
  narrow: '░',
  bar: '▇',
}

export const ASCII: Glyphs = {
  open: '-',
  closed: '+',
  down: 'v',
  up: '^',
  ellipsis: '..',
  cursor: '_',
  warning: '!',
  times: 'x',
  edge: '|',
  narrow: ':',
  bar: '#',
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
