// Detects a root that returns at once while other threads do its work. Stack dumps of all threads show the methods that do the work.

import { CPU, stateOf } from '../../cct/sample-states.ts'
import { timeText } from '../../profile/text.ts'
import type { StackRow } from '../../wire/messages.ts'
import { mayBeTimed } from './choose.ts'

/** Ordinal of RUNNABLE in Thread.State. It is used for all threads, since these stack dumps contain no thread states. */
const RUNNABLE = 1

/** Number and total duration of the calls of all roots. */
export interface RootTimes {
  readonly calls: number
  readonly ns: number
  /** Duration of the recording. */
  readonly overMs: number
}

const MIN_CALLS = 10
/** Minimum duration of the recording. */
const MIN_RECORDING_MS = 5_000
/** Maximum share of the recording that threads spend inside roots. Above this share, the usual samples show the methods inside. */
const MAX_INSIDE = 0.01

/** Returns whether root calls are so short that almost no sample falls into one. */
export function returnsAtOnce({ calls, ns, overMs }: RootTimes): boolean {
  return overMs >= MIN_RECORDING_MS && calls >= MIN_CALLS && ns / 1e6 < MAX_INSIDE * overMs
}

/**
 * Returns the user's methods in which threads outside the roots compute: the innermost method per thread, with repetitions. Waiting threads
 * may be idle and are skipped.
 * @param roots  class with dots, and method
 * @param isOwn  returns whether a class belongs to the packages of the roots
 */
export function workElsewhere(
  stacks: readonly StackRow[],
  roots: readonly { readonly class: string; readonly method: string }[],
  isOwn: (className: string) => boolean,
): string[] {
  return stacks.flatMap(({ frames }) => {
    const isInside = frames.some((it) => roots.some((r) => r.class === it.class && r.method === it.method))
    const frameAt = (at: number) => {
      const it = frames[at]
      return it === undefined ? undefined : { className: it.class, method: it.method }
    }
    if (isInside || stateOf(RUNNABLE, frameAt) !== CPU) return []
    const own = frames.find((it) => isOwn(it.class) && mayBeTimed(it))
    return own === undefined ? [] : [`${own.class}.${own.method}`]
  })
}

/** @param where  results of `workElsewhere` for several dumps, concatenated; not empty */
export function elsewhereText({ calls, ns }: RootTimes, where: readonly string[]): string {
  const seen = new Map<string, number>()
  for (const it of where) seen.set(it, (seen.get(it) ?? 0) + 1)
  const [most] = [...seen].sort(([, a], [, b]) => b - a).map(([name]) => name)
  return `the root returns quickly (${timeText(ns / calls)} per call), and other threads execute ${most}: if they execute its tasks, choose a root there, or use --follow-threads with --scheme b`
}
