// Samples a JVM by thread dumps, and finds out why its requests take their time.

import type { Candidates } from '../roots/root-candidates.ts'
import { type FoundRoots, type RootSearchOptions, searchRoots } from '../roots/root-search.ts'
import { answerOf, type Counted } from './answer.ts'
import { startCounters } from './counters.ts'
import { Observed } from './observed.ts'
import type { Answered } from './text.ts'

/** Maximum share of the time for which thread dumps stop the JVM. Three times the usual share, since the sampling ends after some seconds. */
const MAX_COST = 0.03
/** Maximum time, in ms, for which one dump may stop the JVM. Users of the JVM notice a longer stop. */
const MOST_MS = 50

export interface Why {
  readonly found: FoundRoots
  /** Null if no thread of the JVM worked. */
  readonly answered: Answered | null
  /** Mean number of carriers whose virtual threads are missing in the dumps. */
  readonly carriers: number
}

/** @returns null if the search was stopped before sampling began; the JVM is then unchanged */
export async function searchWhy(pid: number, options: Omit<RootSearchOptions, 'dumps'>): Promise<Why | null> {
  const observed = new Observed()
  let counters: ReturnType<typeof startCounters> | undefined
  let counted: Counted | undefined
  let isOver = false
  let long = 0
  const found = await searchRoots(pid, {
    ...options,
    // Attaching and leaving take time, in which no samples are taken.
    onSampled: () => {
      counted = counters?.()
    },
    dumps: {
      onDump: (threads, stoppedMs, isLong) => {
        if (isOver) return
        counters ??= startCounters(pid)
        observed.add(threads, stoppedMs)
        if (isLong) long++
      },
      ...{ withDetails: true, maxCost: MAX_COST, mostMs: MOST_MS },
    },
  })
  isOver = true // sampling may continue, for another purpose
  if (found === null) return null
  const { dumps: taken, stoppedMs, worstMs, carriers } = observed
  if (observed.samples.length === 0 || counted === undefined) return { found, answered: null, carriers }
  const { candidates, target, durationMs } = found
  const answer = answerOf(
    observed,
    counted,
    candidates.roots.map(({ root }) => root),
  )
  const dumps = {
    ...{ count: taken, worstMs, meanMs: stoppedMs / taken, seconds: durationMs / 1e3 },
    ...{ long, mostMs: MOST_MS },
  }
  return {
    found: { ...found, candidates: withFirst(candidates, answer.root) },
    answered: { pid, target, answer, dumps },
    carriers,
  }
}

/** Moves the root of the answer to the start of the list. */
export function withFirst({ roots, stays, samples }: Candidates, first: string | null): Candidates {
  const found = [...roots, ...stays].find(({ root }) => root === first)
  if (found === undefined) return { roots, stays, samples }
  const isOther = ({ root }: { readonly root: string }): boolean => root !== first
  return { roots: [found, ...roots.filter(isOther)], stays: stays.filter(isOther), samples }
}
