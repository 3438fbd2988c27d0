// Predicts what an attach with default options costs a JVM, from facts that are read without any action of the JVM. `ps` prints the
// prediction in one cell, and `doctor` in findings.

import { featureOf, type TargetFacts } from '../../attach/admission.ts'
import { discardsMuch, lacksProcessors } from '../../attach/first-redefinition.ts'
import type { PerfFacts } from '../../attach/hsperfdata.ts'
import { METASPACE_NEEDED, metaspaceLimit } from '../../attach/memory-room.ts'
import { memorySlowness } from '../adaptive/memory-latency.ts'
import { predictedPauseMs } from '../adaptive/pause.ts'

/** Maximum number of classes redefined for a root: its class, and the JDK class of method handles if the root is short. */
const CLASSES_OF_ROOT = 2

/** Bounds of the predicted pause of one redefinition, in whole ms. */
export interface PauseBounds {
  readonly min: number
  /** Null if the number of compilations is unknown. */
  readonly max: number | null
}

export interface AttachCost {
  /** Undefined if the JVM has no counters (hsperfdata), or they are unreadable. */
  readonly pauseMs: PauseBounds | undefined
  readonly loadedClasses: number | undefined
  /** Whether the first redefinition discards so much compiled code that requests slow down (JDK 22 and older). */
  readonly discardsCode: boolean
  /** Bytes of metaspace that are left; undefined if the JVM's options set no limit, or are unreadable. */
  readonly metaspaceLeftBytes: number | undefined
  /** Whether the metaspace that is left is too small for an attach. */
  readonly lacksMetaspace: boolean
  /** Whether requests would lack processors after the first redefinition, so that `attach` and `record` only sample without --yes. */
  readonly lacksProcessors: boolean
}

/** Measures the processor use of a JVM for at most two seconds if its first redefinition discards much compiled code. */
export async function attachCost({ process, perf, javaVersion }: TargetFacts): Promise<AttachCost> {
  const metaspaceLeft = perf === undefined ? undefined : metaspaceLeftOf(perf)
  const discardsCode =
    process.hasJavaAgent === false && discardsMuch(featureOf(javaVersion), perf?.compilations ?? null)
  return {
    pauseMs: perf === undefined ? undefined : pauseBounds(perf, memorySlowness()),
    loadedClasses: perf === undefined ? undefined : classesNow(perf),
    discardsCode,
    metaspaceLeftBytes: metaspaceLeft,
    lacksMetaspace: metaspaceLeft !== undefined && metaspaceLeft < METASPACE_NEEDED,
    lacksProcessors: discardsCode && (await lacksProcessors(process.pid)) !== null,
  }
}

function classesNow({ loadedClasses, unloadedClasses = 0 }: PerfFacts): number | undefined {
  return loadedClasses === undefined ? undefined : loadedClasses - unloadedClasses
}

/**
 * Returns the bounds of the predicted pause. It is not known from outside how many compiled methods still exist: the lower bound assumes
 * none, and the upper bound assumes one for each compilation.
 *
 * @param slowness  factor by which pauses are longer on this machine; 1 for a typical machine
 * @returns undefined if the number of classes is unknown
 */
export function pauseBounds(perf: PerfFacts, slowness: number): PauseBounds | undefined {
  const loadedClasses = classesNow(perf)
  if (loadedClasses === undefined) return undefined
  const pause = (compiledMethods: number): number =>
    Math.ceil(predictedPauseMs({ loadedClasses, compiledMethods }, CLASSES_OF_ROOT, slowness) ?? 0)
  return { min: pause(0), max: perf.compilations === undefined ? null : pause(perf.compilations) }
}

/**
 * Returns the bytes of metaspace that could still be committed after the last garbage collection, which sets the counter; undefined
 * without a limit in the JVM's options.
 */
export function metaspaceLeftOf({ metaspaceCommitted, vmArguments = '' }: PerfFacts): number | undefined {
  const limit = metaspaceLimit(vmArguments)
  if (metaspaceCommitted === undefined || limit === Number.POSITIVE_INFINITY) return undefined
  return limit - metaspaceCommitted
}

/** Describes the cost in one cell of a table. */
export function attachCostText(it: AttachCost): string {
  if (it.lacksMetaspace) return 'no: no metaspace left'
  if (it.lacksProcessors) return 'samples only: busy'
  const { pauseMs } = it
  const pause = pauseMs === undefined ? [] : [boundsText(pauseMs)]
  return ['yes', ...pause, ...(it.discardsCode ? ['discards code'] : [])].join(', ')
}

function boundsText({ min, max }: PauseBounds): string {
  if (max === null) return `${min} ms or more`
  return min === max ? `${min} ms` : `${min}-${max} ms`
}
