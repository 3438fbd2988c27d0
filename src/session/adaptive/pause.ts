// How long a JVM stands still for a redefinition: one thread of it walks all compiled methods and all classes.
//
// Measured on servers (97 pauses on Keycloak and Kafka, JDK 17 and 25): the number of redefinitions costs, hardly that of their classes.
// Machines differ by how long they wait for memory (memory-latency.ts).

import type { PauseFact } from '../../profile/stack-facts.ts'

/** Code that a redefinition has discarded is taken to be compiled again after so long. */
export const COLD_MS = 10_000

/** What a redefinition has to walk. */
export interface JvmSize {
  /** Null where the JVM does not tell. */
  readonly compiledMethods: number | null
  readonly loadedClasses: number
}

/**
 * Compiled methods that a redefinition walks after one that has discarded all compiled code. HotSpot counts what was discarded until it has
 * freed it, so these are fewer than it counts, and more than were compiled since: half way, as factors go. (Of pauses on 17, what was
 * expected by the count was 1.0 to 1.9 of what was measured, by what was compiled since 0.5 to 1.04.) Before that redefinition it is all
 * that are counted.
 *
 * @param it.counted  by `Compiler.codecache`
 * @param it.before   compilations when that redefinition was to begin; null where that is not known
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
/** A single pause tells so much at most: it may have been short or long by chance. */
const LEAST_SLOWNESS = 0.5
const MOST_SLOWNESS = 8

/**
 * @param slowness  of this machine and JVM, where those that were measured have 1
 * @returns ms; null where it cannot be told
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

/** How many classes, of so many, one redefinition may have: as many as it will stop the JVM for no longer than that, in ms. */
export function classesWithin(ms: number, jvm: JvmSize, classes: number, slowness: number): number {
  const least = predictedPauseMs(jvm, 0, slowness)
  if (least === null) return 0
  const fitting = Math.floor((ms - least) / (slowness * MS_A_REDEFINED_CLASS))
  return Math.max(0, Math.min(fitting, classes))
}

/**
 * By which this JVM's next pause is predicted, after one that has been measured: half way, as factors go. Single pauses vary by 1.5
 * either way, and of 15 second pauses on servers 12 were nearer to that than to all of the way.
 */
export function refittedSlowness(slowness: number, predictedMs: number, measuredMs: number): number {
  const fitted = slowness * Math.sqrt(measuredMs / predictedMs)
  return Math.min(Math.max(fitted, LEAST_SLOWNESS), MOST_SLOWNESS)
}

/** After one that took so many times what was expected, the next cannot be expected either. */
const FAR_OFF = 3

/**
 * Whether the first redefinition stopped the JVM for so much longer than was said that no batch may follow.
 *
 * @param unaskedMs  what may be done in any case
 */
export function tookTooLong({ predictedMs, measuredMs }: PauseFact, unaskedMs: number): boolean {
  if (predictedMs === null || measuredMs === null) return false
  return measuredMs > Math.max(unaskedMs, FAR_OFF * predictedMs)
}

/** A redefinition of 40 classes takes at most a fifth longer than one of the root's. */
const OF_A_BATCH = 1.2
/** @returns what a batch may be expected to take at most, in ms, however long the roots' redefinition took */
export const longestBatchMs = (unaskedMs: number): number => 2 * unaskedMs

/**
 * How long a pause may be expected of a batch that the user has not asked for, in ms. The last redefinition, which gives the code back,
 * takes about as long as the batch.
 *
 * @param unaskedMs  what may be done in any case
 * @param roots      the roots' redefinition; undefined where none was measured. If it was not announced, a batch may not take longer
 */
export function batchPauseMs(unaskedMs: number, roots: PauseFact | undefined): number {
  if (roots === undefined || roots.predictedMs === null) return unaskedMs
  const longMs = OF_A_BATCH * Math.max(roots.predictedMs, roots.measuredMs ?? 0)
  return Math.min(longestBatchMs(unaskedMs), Math.max(unaskedMs, longMs))
}

/** The same of a batch and the roots together, which stop the JVM anyway: however long that is, the batch may make it a fifth longer. */
export function withRootsMs(unaskedMs: number, rootsMs: number | null): number {
  return Math.max(unaskedMs, OF_A_BATCH * (rootsMs ?? 0))
}
