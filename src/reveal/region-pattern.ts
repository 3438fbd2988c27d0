// Syntax of --region: a method in the syntax of --root, optionally with a range of lines.

import { BadPattern } from './errors.ts'
import { parseMethod, type RootPattern } from './patterns.ts'

export interface RegionPattern {
  /** Text as written by the user. */
  readonly text: string
  /** Pattern of the methods, without the lines. */
  readonly method: RootPattern
  /** First and last line of the region, both inclusive; null for the whole method. */
  readonly lines: { readonly from: number; readonly to: number } | null
}

const HINT = "Write it as 'Class.method', 'Class.method:120-140' or 'Class.method(int, String):120'."
/** Maximum line number in a class file. */
const LAST_LINE = 65535

/** @throws BadPattern */
export function parseRegion(text: string): RegionPattern {
  const bad = (reason: string) => new BadPattern('region', text, reason, HINT)
  // Other tools print `Class::method`.
  const plain = text.trim().replaceAll('::', '.')
  const colon = plain.indexOf(':')
  const method: RootPattern = {
    ...parseMethod(colon < 0 ? plain : plain.slice(0, colon), bad),
    option: 'region',
  }
  if (colon < 0) return { text, method, lines: null }
  const written = plain.slice(colon + 1).trim()
  const parts = /^(\d{1,9})(?:\s*-\s*(\d{1,9}))?$/.exec(written)
  if (parts === null) throw bad(`'${written}' is neither a line nor a range of lines such as 120-140`)
  const from = Number(parts[1])
  const to = parts[2] === undefined ? from : Number(parts[2])
  if (from > to) throw bad(`line ${from} comes after line ${to}`)
  if (from === 0 || to > LAST_LINE) throw bad(`lines are numbered from 1 to ${LAST_LINE}`)
  return { text, method, lines: { from, to } }
}
