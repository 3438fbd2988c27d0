// Colours of a page of text.

export type Paint = (style: 'bold' | 'dim' | 'heat' | 'warning', text: string) => string

const SGR = { bold: '1', dim: '2', heat: '1;33', warning: '33' } as const

const plain: Paint = (_, text) => text
const colored: Paint = (style, text) => (text === '' ? '' : `\x1b[${SGR[style]}m${text}\x1b[m`)

export function paintIf(color: boolean): Paint {
  return color ? colored : plain
}
