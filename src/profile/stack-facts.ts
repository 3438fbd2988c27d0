// Facts about the stacks that scheme adaptive samples inside roots: the number of stacks, the cost in the target, and stalls of the
// target's threads.

import type { CourseTimes, RootCallTimes } from '../cct/root-calls.ts'
import type { DetachFacts } from './detach-facts.ts'
import { callCost, callsApart } from './root-calls.ts'
import { list, number, orElse, orNull, type Read, count as readCount, shape } from './shape.ts'
import { classesText, count, percent, plural, span } from './text.ts'

/** Expected and actual duration of a redefinition's pause, in ms; null if unknown. */
export interface PauseFact {
  readonly predictedMs: number | null
  readonly measuredMs: number | null
  readonly classes: number
}

/**
 * Causes of a stall. `redefinition`: a redefinition by jfluid. `dump`: a thread dump of the live view. `collection`: the JVM stopped its
 * threads for a garbage collection. `safepoint`: the JVM stopped its threads for another reason, or for a garbage collection if collections
 * are not reported. `stacks`: jfluid sampled stacks inside roots. `throttled`: the JVM's control group had used up its CPU quota.
 * `suspended`: the process was stopped. `processor`: no other cause was found, so no processor was free.
 */
export const STALL_CAUSES = [
  'redefinition',
  'dump',
  'collection',
  'safepoint',
  'stacks',
  'throttled',
  'suspended',
  'processor',
] as const
export type StallCause = (typeof STALL_CAUSES)[number]

const CAUSE_TEXT: Readonly<Record<Exclude<StallCause, 'stacks'>, string>> = {
  redefinition: 'a redefinition',
  dump: 'a thread dump of the live view',
  collection: 'a garbage collection',
  safepoint: 'a safepoint of the JVM',
  throttled: 'the CPU quota of the control group was used up',
  suspended: 'the process was suspended',
  processor: 'no processor was free',
}

export interface StackFacts {
  readonly samples: number
  /** Share of samples that contain calls missed by probes, 0 to 1; null without samples in rows, and in files without this fact. */
  readonly unseenPart: number | null
  /** Number of threads that had left the root before their stack was sampled, or could not be sampled. */
  readonly missed: number
  /** Number of samples dropped because the buffer was full. */
  readonly dropped: number
  /** Time that sampling took in the target. */
  readonly costMs: number
  /** Maximum delay of the sampler thread's wakeup, or maximum duration of a sampling if longer; and when it occurred. */
  readonly longestStallMs: number
  readonly stallAtMs: number
  /** Main cause of the longest stall; null if unknown. */
  readonly stallCause: StallCause | null
  /** Total time of suspensions of the process. Excluded from all rows and calls. */
  readonly suspendedMs: number
  /** One entry per redefinition. `DetachFacts` describes the last redefinition, which restores the original code. */
  readonly pauses: readonly PauseFact[]
  /** Start of the interval covered by the trees. Durations of root calls cover the whole recording. */
  readonly rowsFromMs: number
  /**
   * Estimated time, since the start of the recording, when all code discarded by redefinitions had been compiled again; null in files
   * without this fact.
   */
  readonly coldUntilMs: number | null
  /** Number of root calls that began since the start of the recording or the last reset, counted in the target. */
  readonly rootCalls: number
  /** One of `timedOneOf` root calls, chosen at random, is timed. Rows, times and rates cover only the timed calls. */
  readonly timedOneOf: number
}

/** Facts from other parts of the profile for `stackLines`. */
export interface AroundStacks {
  readonly durationMs: number
  /** Results of the checks after the detach. */
  readonly detach?: DetachFacts
  readonly rootCalls?: RootCallTimes
  readonly course?: CourseTimes
}

/** Returns the report lines about stacks, with their labels. */
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
    ...(dropped > 0 ? [`${count(dropped)} dropped for lack of buffer space`] : []),
  ]
  const unseen =
    unseenPart === null
      ? ''
      : `; ${percent(unseenPart, 1).trim()} % of those in rows contain calls that probes did not record`
  return `${[plural(samples, 'stack'), ...lost].join(', ')}; cost ${span(costMs)} (${percent(costMs, durationMs)} % of one processor)${unseen}`
}

function suspendedText({ suspendedMs }: StackFacts): string | null {
  if (suspendedMs <= 0) return null
  return `the process was suspended for ${span(suspendedMs)} in total; rows and calls do not contain this time`
}

function stallText({ longestStallMs, stallAtMs, stallCause }: StackFacts): string {
  const at = `${span(stallAtMs)} after the start`
  if (stallCause === 'stacks')
    return `longest ${span(longestStallMs)}, ${at}; cause: jfluid took stacks, which may stop threads`
  const cause = stallCause === null ? '' : `; cause: ${CAUSE_TEXT[stallCause]}`
  return `longest ${span(longestStallMs)}, ${at}${cause} (measured as the late wake-up of a sleeping thread)`
}

function rowsText({ rowsFromMs, timedOneOf }: StackFacts): string | null {
  if (rowsFromMs === 0) return null
  return `recorded from ${span(rowsFromMs)} after the start on: ${timedOneOf > 1 ? `from then on at most 1 of ${timedOneOf} calls of the root is timed` : 'the timed methods were chosen by then'}`
}

/** Compares the root calls during recompilation with the later root calls. */
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
  return `the JVM recompiled discarded code until ${until}: ${plural(before.count, `${timedOneOf > 1 ? 'timed ' : ''}root call`)} until then, ${mean(before.mean)}; ${later.count === 0 ? 'no later calls' : `${plural(later.count, 'later call')}, ${mean(later.mean)}`}`
}

function pausesText({ pauses }: StackFacts, detach: DetachFacts | undefined): string | null {
  const texts = pauses.flatMap(({ predictedMs, measuredMs, classes }) =>
    measuredMs === null
      ? []
      : [
          `${span(measuredMs)} to redefine ${classesText(classes)}${predictedMs === null ? '' : ` (${span(predictedMs)} expected)`}`,
        ],
  )
  if (typeof detach?.pauseMs === 'number' && detach.restoredClasses > 0)
    texts.push(`${span(detach.pauseMs)} to restore ${classesText(detach.restoredClasses)} at the end`)
  return texts.length === 0 ? null : texts.join(', ')
}

/** Reads the facts from a file. Facts added by later versions may be absent. */
export const readStacks: Read<StackFacts> = shape({
  samples: readCount,
  unseenPart: orElse(orNull(number), null),
  missed: readCount,
  dropped: readCount,
  costMs: number,
  longestStallMs: number,
  stallAtMs: number,
  stallCause: (value) => STALL_CAUSES.find((it) => it === value) ?? null,
  suspendedMs: orElse(number, 0),
  pauses: list(shape({ predictedMs: orNull(number), measuredMs: orNull(number), classes: readCount })),
  rowsFromMs: number,
  coldUntilMs: orElse(orNull(number), null),
  rootCalls: orElse(readCount, 0),
  timedOneOf: orElse(readCount, 1),
})
