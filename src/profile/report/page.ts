// Options of a text report, and helpers for its layout.

import { METRICS } from '../../measures/columns.ts'
import { type Paint, paintIf } from '../paint.ts'
import type { Profile } from '../profile.ts'

export interface ReportOptions {
  /** Width of a line in cells. */
  readonly width?: number
  readonly color?: boolean
  /** Maximum number of hot methods. */
  readonly top?: number
  /** Minimum share of a tree node in the cost of its root, in percent. */
  readonly minPercent?: number
  /** Maximum number of rows of the tree. */
  readonly maxRows?: number
  /** Whether to show a tree per thread, too. */
  readonly threads?: boolean
  /** If not empty, the callers of these methods are shown instead of the tree. Ids from `methodsNamed`. */
  readonly backTraces?: readonly TracedMethods[]
  /** If defined, only this traced call is shown. The first call has number 1. */
  readonly trace?: number
}

/** One or more methods matching a user's text. */
export interface TracedMethods {
  /** Text as written by the user. */
  readonly text: string
  readonly methods: readonly number[]
}

export const DEFAULTS = {
  ...{ width: 80, color: false, top: 10, minPercent: 1, maxRows: 60, threads: false },
  backTraces: [] as readonly TracedMethods[],
}

export type Page = typeof DEFAULTS &
  Pick<ReportOptions, 'trace'> & { readonly profile: Profile; readonly paint: Paint }

export function pageOf(profile: Profile, options: ReportOptions): Page {
  const all = { ...DEFAULTS, ...options }
  return { ...all, profile, paint: paintIf(all.color) }
}

/** Width in cells of the columns before the name, in the tree and in the list of hot methods. */
export const NUMBER_CELLS = 50
/** Minimum width in cells: the number columns and 16 cells for a name. */
const NARROWEST = NUMBER_CELLS + 16

/** Returns `width` and `color` for a stream: a pipe has unlimited width, and no color. */
export function terminalOptions(
  out: { isTTY?: boolean; columns?: number; getColorDepth?: (env?: object) => number },
  env: { readonly [name: string]: string | undefined } = process.env,
): { width: number; color: boolean } {
  const width = out.isTTY ? Math.max(NARROWEST, out.columns || 80) : Number.POSITIVE_INFINITY
  const forced = env.FORCE_COLOR
  if (forced !== undefined) return { width, color: forced !== '0' && forced !== 'false' }
  if (env.NO_COLOR) return { width, color: false }
  return { width, color: out.isTTY === true && (out.getColorDepth?.(env) ?? 1) > 1 }
}

/** Yields a blank line, the title, and the column headers. */
export function* heading(page: Page, title: string, rest: string, columns: string): Generator<string> {
  const { paint } = page
  yield `\n${paint('bold', title)}${paint('dim', rest)}\n`
  yield `${paint('dim', columns)}\n`
}

/** Returns ", 10 of 43". */
export const shownOf = (shown: number, all: number): string => `, ${shown} of ${all}`

/** Returns the number of cells left for a name after `cells` for numbers. */
export const nameCells = ({ width }: Page, cells: number): number => Math.max(16, width - cells)

/** Returns whether all threads of the JVM are sampled, without roots. */
export function isWholeJvm({ mode, roots }: Profile): boolean {
  return METRICS[mode].isSampled === true && roots.length === 0
}
