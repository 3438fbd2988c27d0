// Operands of a comparison. A side has one or more files, and at most one time range:
//
//   a.jfluid b.jfluid                            two files
//   --before a1.jfluid a2.jfluid --after b.jfluid    several files per side
//   a.jfluid --before 0s-30s --after 30s-60s     two ranges of one file
//   a.jfluid b.jfluid --before 10s- --after 10s-     a range of each file

import { parseDuration } from '../base/duration.ts'
import { UsageError } from '../base/errors.ts'
import type { Range } from './range.ts'

export interface SideOperands {
  readonly files: readonly string[]
  /** Empty: the whole recording. */
  readonly range: Range
}

/** The arguments of `jfluid compare` do not name two sides. */
export class NoTwoSides extends UsageError {
  static sample = () => new NoTwoSides()
  readonly hint =
    'Give two files; or files with --before and --after; or one file, with a time range for each: --before 0s-30s --after 30s-60s'
  constructor() {
    super('two sides are needed for a comparison')
  }
}

/** An operand of a side is no time range, although no file has this name. */
export class BadRange extends UsageError {
  static sample = () => [
    new BadRange('10x-20x', 'it is neither a time range nor a file'),
    new BadRange('10s-5s', 'it ends before it begins'),
    new BadRange('20s-30s', '0s-10s is another range of the same side'),
  ]
  readonly hint = 'Use one time range a side, such as 0s-30s, 30s- or 500ms-1.5m.'
  constructor(operand: string, why: string) {
    super(`the time range ${operand} cannot be used: ${why}`)
  }
}

/** Texts that are time ranges, or files: `30s-`, `10s-20s`, `-30s`, `0-30s`. */
const LIKE_RANGE = /^(\d+(?:\.\d+)?[a-z]*)?-(\d+(?:\.\d+)?[a-z]*)?$/

/** Returns a time range in ms; undefined if the operand is a file. @throws BadRange */
function rangeOf(operand: string, isFile: (path: string) => boolean): Range | undefined {
  const [found, from, to] = LIKE_RANGE.exec(operand) ?? []
  if (found === undefined || (from === undefined && to === undefined)) return undefined
  const [fromMs, toMs] = [
    from === undefined ? 0 : momentMs(from),
    to === undefined ? undefined : momentMs(to),
  ]
  if (fromMs === undefined || (to !== undefined && toMs === undefined)) {
    if (isFile(operand)) return undefined
    throw new BadRange(operand, 'it is neither a time range nor a file')
  }
  if (toMs !== undefined && toMs <= fromMs) throw new BadRange(operand, 'it ends before it begins')
  return { fromMs, toMs }
}

/** Returns undefined if the text is not a time. */
function momentMs(text: string): number | undefined {
  return /^0(?:ms|s|m|h)?$/.test(text) ? 0 : parseDuration(text)
}

/** @throws BadRange */
function operandsOf(values: readonly string[], isFile: (path: string) => boolean): SideOperands {
  const files: string[] = []
  const ranges: { operand: string; range: Range }[] = []
  for (const operand of values) {
    const range = rangeOf(operand, isFile)
    if (range === undefined) files.push(operand)
    else ranges.push({ operand, range })
  }
  const [first, second] = ranges
  if (second !== undefined)
    throw new BadRange(second.operand, `${first!.operand} is another range of the same side`)
  return { files, range: first?.range ?? {} }
}

/**
 * Returns the files and the time range of both sides.
 * @param args           arguments of the command
 * @param before, after  values of the options
 * @param isFile         whether a file of this name exists
 * @throws NoTwoSides, BadRange
 */
export function sidesOf(
  args: readonly string[],
  before: readonly string[] = [],
  after: readonly string[] = [],
  isFile: (path: string) => boolean = () => false,
): { readonly before: SideOperands; readonly after: SideOperands } {
  const [one, other] = [operandsOf(before, isFile), operandsOf(after, isFile)]
  const [first, second] = args
  const named = one.files.length + other.files.length
  if (first === undefined) {
    if (one.files.length === 0 || other.files.length === 0) throw new NoTwoSides()
    return { before: one, after: other }
  }
  const isOneFile = second === undefined
  // A file compared with itself: each side needs a range, so that the sides differ.
  const hasRanges = [one, other].every(({ range }) => range.fromMs !== undefined)
  if (named > 0 || (isOneFile && !hasRanges)) throw new NoTwoSides()
  return { before: { ...one, files: [first] }, after: { ...other, files: [second ?? first] } }
}
