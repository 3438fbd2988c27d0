// Predicts how long a redefinition stops a JVM: one thread walks all compiled methods and all classes.
// Measured on servers (97 pauses on Keycloak and Kafka, JDK 17 and 25): the total cost depends on the number of redefinitions, and hardly
// on the number of classes in each. Machines differ in memory latency (memory-latency.ts).

import type { PauseFact } from '../../profile/stack-facts.ts'

/** Time after which code discarded by a redefinition is assumed to be compiled again. */
export const COLD_DURATION_MS = 10_000

/** Number of methods and classes that a redefinition walks. */
export interface JvmSize {
  /** Number of compiled methods. Null if the JVM does not report it. */
  readonly compiledMethods: number | null
  readonly loadedClasses: number
}

/**
 * Estimates the number of compiled methods that a redefinition walks, after an earlier redefinition has discarded all compiled code.
 * HotSpot counts discarded methods until they are freed, so its count is an upper bound. The number of compilations since the earlier
 * redefinition is a lower bound. The estimate is the geometric mean of both bounds. (On JDK 17, the pause predicted from the upper bound
 * was 1.0 to 1.9 times the measured pause; from the lower bound, 0.5 to 1.04 times.) Before the first redefinition, the count is exact.
 * @param it.counted  number of compiled methods according to `Compiler.codecache`
 * @param it.before   number of compilations before the earlier redefinition; null if it is not known
 */
export function compiledSince(it: {
  readonly counted: number | null
  readonly compilations: number | null
  readonly before: number | null
}): number | null {
  const { counted, compilations, before } = it
  if (counted === null || compilations === null || before === null || compilations <= before) return counted
  return Math.sqrt(counted * Math.min(counted, compilations - before))
}

const MS_A_COMPILED_METHOD = 2.8e-3
const MS_A_LOADED_CLASS = 0.8e-3
const MS_A_REDEFINED_CLASS = 0.2
/** Bounds of the factor between measured and predicted pauses. They are needed since a single pause may be short or long by chance. */
const MIN_SLOWNESS = 0.5
const MAX_SLOWNESS = 8

/**
 * Predicts a pause.
 * @param slowness  factor of this machine and JVM; 1 for the reference machine
 * @returns ms; null if no prediction is possible
 */
export function predictedPauseMs(
  { compiledMethods, loadedClasses }: JvmSize,
  classes: number,
  slowness: number,
): number | null {
  if (compiledMethods === null) return null
  return (
    slowness *
    (compiledMethods * MS_A_COMPILED_METHOD +
      loadedClasses * MS_A_LOADED_CLASS +
      classes * MS_A_REDEFINED_CLASS)
  )
}

/** Returns how many of these classes one redefinition may contain without stopping the JVM for longer than `ms`. */
export function classesWithin(ms: number, jvm: JvmSize, classes: number, slowness: number): number {
  const least = predictedPauseMs(jvm, 0, slowness)
  if (least === null) return 0
  const fitting = Math.floor((ms - least) / (slowness * MS_A_REDEFINED_CLASS))
  return Math.max(0, Math.min(fitting, classes))
}

/**
 * Returns the new factor after a measured pause: the geometric mean of the old and the measured factor. Single pauses vary by a factor of
 * 1.5 in both directions. In 12 of 15 sessions on servers, the factor of the second pause was nearer to this mean than to the measured
 * factor of the first pause.
 */
export function refittedSlowness(slowness: number, predictedMs: number, measuredMs: number): number {
  const fitted = slowness * Math.sqrt(measuredMs / predictedMs)
  return Math.min(Math.max(fitted, MIN_SLOWNESS), MAX_SLOWNESS)
}

/** If a pause was longer than predicted by this factor, the next prediction is not reliable. */
const FAR_OFF = 3

/**
 * Returns whether the first redefinition took so much longer than predicted that no batch may follow.
 * @param unaskedMs  pause that is always allowed, in ms
 */
export function tookTooLong({ predictedMs, measuredMs }: PauseFact, unaskedMs: number): boolean {
  if (predictedMs === null || measuredMs === null) return false
  return measuredMs > Math.max(unaskedMs, FAR_OFF * predictedMs)
}

/** A redefinition of 40 classes takes at most 20 % longer than a redefinition of the root's class. */
const OF_A_BATCH = 1.2
/** Returns the upper limit, in ms, for the predicted pause of a batch, whatever the pause for the roots was. */
export const longestBatchMs = (unaskedMs: number): number => 2 * unaskedMs

/**
 * Returns the maximum predicted pause of a batch that the user has not requested, in ms. The final redefinition, which restores the code,
 * stops the JVM for about as long as the batch.
 * @param unaskedMs  pause that is always allowed, in ms
 * @param roots      redefinition of the roots; undefined if it was not measured. If it had no prediction, the batch is limited to
 * `unaskedMs`
 */
export function batchPauseMs(unaskedMs: number, roots: PauseFact | undefined): number {
  if (roots === undefined || roots.predictedMs === null) return unaskedMs
  const longMs = OF_A_BATCH * Math.max(roots.predictedMs, roots.measuredMs ?? 0)
  return Math.min(longestBatchMs(unaskedMs), Math.max(unaskedMs, longMs))
}

/**
 * Like `batchPauseMs`, for a batch that is instrumented together with the roots. The roots stop the JVM anyway, and the batch may make that
 * pause 20 % longer.
 */
export function withRootsMs(unaskedMs: number, rootsMs: number | null): number {
  return Math.max(unaskedMs, OF_A_BATCH * (rootsMs ?? 0))
}
