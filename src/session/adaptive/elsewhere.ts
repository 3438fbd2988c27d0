// A root that returns at once, while its work goes on in other threads: where that is, by stacks of all threads.

import { CPU, stateOf } from '../../cct/sample-states.ts'
import type { StackRow } from '../../wire/messages.ts'
import { mayBeTimed } from './choose.ts'

/** In Thread.State. A stack that is taken so comes without its thread's state. */
const RUNNABLE = 1

/** Of all roots. */
export interface RootTimes {
  readonly calls: number
  readonly ns: number
  /** Of recording. */
  readonly overMs: number
}

const LEAST_CALLS = 10
/** Since recording began. */
const LOOK_AFTER_MS = 5_000
/** Of the time, in which threads are inside a root: where it is more, samples tell what they do there. */
const MOST_INSIDE = 0.01

/** Whether its calls are so short that hardly a sample is inside of one. */
export function returnsAtOnce({ calls, ns, overMs }: RootTimes): boolean {
  return overMs >= LOOK_AFTER_MS && calls >= LEAST_CALLS && ns / 1e6 < MOST_INSIDE * overMs
}

/**
 * The user's own methods in which threads outside the roots compute, innermost, each as often as a thread does. Threads that wait may be
 * at rest, and are left out.
 *
 * @param roots  class with dots, and method
 * @param isOwn  whether a class is of the packages of the roots
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

/** @param where  as `workElsewhere` has seen it, in several looks together; not empty */
export function elsewhereText({ calls, ns }: RootTimes, where: readonly string[]): string {
  const seen = new Map<string, number>()
  for (const it of where) seen.set(it, (seen.get(it) ?? 0) + 1)
  const [most] = [...seen].sort(([, a], [, b]) => b - a).map(([name]) => name)
  return `the root returns at once (${(ns / calls / 1e6).toPrecision(2)} ms a call), and other threads are in ${most}: if that is its work, a root there tells of it, or --follow-threads, which takes scheme b`
}
