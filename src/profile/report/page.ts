// A page of text: how wide it is, what it shows, and how its lists begin.

import { METRICS } from '../../measures/columns.ts'
import { type Paint, paintIf } from '../paint.ts'
import type { Profile } from '../profile.ts'

export interface ReportOptions {
  /** Cells in a line. */
  readonly width?: number
  readonly color?: boolean
  /** How many hot methods. */
  readonly top?: number
  /** Smallest share of its root that a node of the tree needs, in percent. */
  readonly minPercent?: number
  /** How many rows of the tree at most. */
  readonly maxRows?: number
  /** A tree per thread, too. */
  readonly threads?: boolean
  /** Methods whose callers are shown in place of the tree; ids as `methodsNamed` gives them. */
  readonly backTraces?: readonly TracedMethods[]
  /** Only this traced call, from 1 on. */
  readonly trace?: number
}

/** One or more methods that a user means. */
export interface TracedMethods {
  /** As the user wrote it. */
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

/** Before the name, in the tree and in the list of hot methods. */
export const NUMBER_CELLS = 50
/** These and 16 cells of a name. */
const NARROWEST = NUMBER_CELLS + 16

/** What `width` and `color` should be for a stream: a pipe has 80 columns and no colour. */
export function terminalOptions(
  out: { isTTY?: boolean; columns?: number; getColorDepth?: (env?: object) => number },
  env: { readonly [name: string]: string | undefined } = process.env,
): { width: number; color: boolean } {
  const width = out.isTTY && out.columns ? Math.max(NARROWEST, Math.min(out.columns, 200)) : 80
  const forced = env.FORCE_COLOR
  if (forced !== undefined) return { width, color: forced !== '0' && forced !== 'false' }
  if (env.NO_COLOR) return { width, color: false }
  return { width, color: out.isTTY === true && (out.getColorDepth?.(env) ?? 1) > 1 }
}

/** A blank line, the title, and the heads of the columns. */
export function* heading(page: Page, title: string, rest: string, columns: string): Generator<string> {
  const { paint } = page
  yield `\n${paint('bold', title)}${paint('dim', rest)}\n`
  yield `${paint('dim', columns)}\n`
}

/** ", 10 of 43". */
export const shownOf = (shown: number, all: number): string => `, ${shown} of ${all}`

/** What `cells` of numbers leave to a name. */
export const nameCells = ({ width }: Page, cells: number): number => Math.max(16, width - cells)

/** Nothing is instrumented, and all of the JVM's threads are looked at. */
export function isWholeJvm({ mode, roots }: Profile): boolean {
  return METRICS[mode].isSampled && roots.length === 0
}
