// Of the stacks that scheme adaptive takes of threads inside roots: how many, what that has cost in the target, and how long its
// threads may have stood still.

import type { CourseTimes, RootCallTimes } from '../cct/root-calls.ts'
import type { DetachFacts } from './detach-facts.ts'
import { callCost, callsApart } from './root-calls.ts'
import { list, number, orElse, orNull, type Read, count as readCount, shape } from './shape.ts'
import { classesText, count, percent, plural, span } from './text.ts'

/** How long the JVM stood still for a redefinition, as it was said before, and as it was. In ms, null where that is not known. */
export interface PauseFact {
  readonly predictedMs: number | null
  readonly measuredMs: number | null
  readonly classes: number
}

/**
 * `redefinition`: one of jfluid's. `collection`: the JVM stopped its threads for a garbage collection. `safepoint`: it stopped them for
 * something else; where its collections are not known, perhaps for one. `stacks`: jfluid took stacks of threads inside roots.
 * `throttled`: it did not, and its control group had used up its share of the processors. `suspended`: the process was seen to be
 * stopped. `processor`: none of these, so no processor was free.
 */
export const STALL_CAUSES = [
  'redefinition',
  'collection',
  'safepoint',
  'stacks',
  'throttled',
  'suspended',
  'processor',
] as const
export type StallCause = (typeof STALL_CAUSES)[number]

const CAUSE_TEXT: Readonly<Record<Exclude<StallCause, 'stacks'>, string>> = {
  redefinition: 'for a redefinition',
  collection: 'for a garbage collection',
  safepoint: 'for a safepoint of the JVM',
  throttled: 'as the cgroup of the JVM had used up its processor quota',
  suspended: 'as the process was suspended',
  processor: 'for want of a processor',
}

export interface StackFacts {
  readonly samples: number
  /**
   * Part of those in rows that show calls which probes did not see, 0 to 1; null where there are none in rows, and in files that do not
   * tell.
   */
  readonly unseenPart: number | null
  /** Threads that had left the root when their stack was taken, or that could not be looked at. */
  readonly missed: number
  /** For which there was no room. */
  readonly dropped: number
  /** What taking them has cost. */
  readonly costMs: number
  /** How late the sampler's thread woke at most, or for how long it took stacks if that was longer; and when, since recording began. */
  readonly longestStallMs: number
  readonly stallAtMs: number
  /** What it was for, most of it; null where that is not known. */
  readonly stallCause: StallCause | null
  /** For how long the process was suspended, in all: that time is in no row and in no call. */
  readonly suspendedMs: number
  /** Of each redefinition but the last, which gives classes their own code back: `DetachFacts` has it. */
  readonly pauses: readonly PauseFact[]
  /** Since when the rows of the trees count; how long calls of roots took is of all that was recorded. */
  readonly rowsFromMs: number
  /**
   * Until then code that redefinitions had discarded is taken to have been compiled again, from the start of recording; null in files
   * that do not tell.
   */
  readonly coldUntilMs: number | null
  /** Calls of roots that began, counted in the target, since recording began or was last reset. */
  readonly rootCalls: number
  /** Of so many calls of the root one is timed, at random: rows, times and rates are of these. */
  readonly timedOneOf: number
}

/** What else lines of stacks are made of. */
export interface AroundStacks {
  readonly durationMs: number
  /** What was seen at the end. */
  readonly detach?: DetachFacts
  readonly rootCalls?: RootCallTimes
  readonly course?: CourseTimes
}

/** Lines of a report, by their labels. */
export function stackLines(facts: StackFacts, around: AroundStacks): [string, string][] {
  const lines: [string, string | null][] = [
    ['samples', samplesText(facts, around)],
    ['rows', rowsText(facts)],
    ['warm-up', warmUpText(facts, around)],
    ['pauses', pausesText(facts, around.detach)],
    ['stalls', stallText(facts)],
    ['suspended', suspendedText(facts)],
  ]
  return lines.filter((line): line is [string, string] => line[1] !== null)
}

function samplesText(facts: StackFacts, { durationMs }: AroundStacks): string {
  const { samples, unseenPart, missed, dropped, costMs } = facts
  const lost = [
    ...(missed > 0 ? [`${count(missed)} missed`] : []),
    ...(dropped > 0 ? [`${count(dropped)} without room`] : []),
  ]
  const unseen =
    unseenPart === null
      ? ''
      : `; of those in rows ${percent(unseenPart, 1).trim()} % show calls that probes did not see`
  return `${[plural(samples, 'stack'), ...lost].join(', ')}; they took ${span(costMs)} (${percent(costMs, durationMs)} % of a processor)${unseen}`
}

function suspendedText({ suspendedMs }: StackFacts): string | null {
  if (suspendedMs <= 0) return null
  return `the process did not run for ${span(suspendedMs)} in all, which is left out of rows and of calls`
}

function stallText({ longestStallMs, stallAtMs, stallCause }: StackFacts): string {
  const at = `${span(stallAtMs)} after the start`
  if (stallCause === 'stacks')
    return `taking stacks took at most ${span(longestStallMs)}, ${at}, while threads may have stood still`
  const cause = stallCause === null ? '' : `, ${CAUSE_TEXT[stallCause]}`
  return `a thread of the JVM that sleeps woke at most ${span(longestStallMs)} late, ${at}${cause}`
}

function rowsText({ rowsFromMs, timedOneOf }: StackFacts): string | null {
  if (rowsFromMs === 0) return null
  return `of what came ${span(rowsFromMs)} after the start, ${timedOneOf > 1 ? `since when at most 1 of ${timedOneOf} calls of the root is timed` : 'when it was settled which methods are timed'}`
}

/** Calls of roots while code was compiled again, apart from the others. */
function warmUpText({ coldUntilMs, timedOneOf }: StackFacts, around: AroundStacks): string | null {
  const { rootCalls, course, durationMs } = around
  if (coldUntilMs === null || coldUntilMs === 0 || rootCalls === undefined || course === undefined)
    return null
  const seconds = Math.ceil(coldUntilMs / 1_000)
  const calls = callsApart(rootCalls, course, seconds)
  if (calls === null || calls.before.count === 0) return null
  const { before, later } = calls
  const mean = (ms: number): string => `${callCost(ms, rootCalls.unit)} on average`
  const until = seconds * 1_000 < durationMs ? `${span(seconds * 1_000)} after the start` : 'the end'
  return `until ${until}, while the JVM compiled again what redefinitions had discarded, ${count(before.count)} ${timedOneOf > 1 ? 'timed ' : ''}root calls ended, ${mean(before.mean)}; later ${later.count === 0 ? 'none' : `${count(later.count)}, ${mean(later.mean)}`}`
}

function pausesText({ pauses }: StackFacts, detach: DetachFacts | undefined): string | null {
  const texts = pauses.flatMap(({ predictedMs, measuredMs, classes }) =>
    measuredMs === null
      ? []
      : [
          `${span(measuredMs)} for ${classesText(classes)}${predictedMs === null ? '' : ` (${span(predictedMs)} expected)`}`,
        ],
  )
  if (typeof detach?.pauseMs === 'number' && detach.restoredClasses > 0)
    texts.push(
      `${span(detach.pauseMs)} at the end, to give ${classesText(detach.restoredClasses)} the code back`,
    )
  return texts.length === 0 ? null : texts.join(', ')
}

/** From a file: what only later versions tell may be absent. */
export const readStacks: Read<StackFacts> = shape({
  samples: readCount,
  unseenPart: orElse(orNull(number), null),
  ...{ missed: readCount, dropped: readCount, costMs: number, longestStallMs: number, stallAtMs: number },
  stallCause: (value) => STALL_CAUSES.find((it) => it === value) ?? null,
  suspendedMs: orElse(number, 0),
  pauses: list(shape({ predictedMs: orNull(number), measuredMs: orNull(number), classes: readCount })),
  rowsFromMs: number,
  coldUntilMs: orElse(orNull(number), null),
  rootCalls: orElse(readCount, 0),
  timedOneOf: orElse(readCount, 1),
})
