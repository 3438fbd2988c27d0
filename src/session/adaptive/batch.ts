// Chooses the methods that one redefinition instruments: methods with many samples, up to a maximum number of classes and bytes.

import type { MethodTarget } from '../../reveal/method-ids.ts'
import type { RootPattern } from '../../reveal/patterns.ts'
import type { OpenDoor } from '../doors/door.ts'
import { MAX_METASPACE_BYTES, METASPACE_PER_CLASS_BYTE, MIN_FREE_METASPACE_BYTES } from '../limits.ts'
import { sourceName } from '../target-classes.ts'
import { type Arming, type ArmLimits, exactly } from './arming.ts'
import { chooseMethods, type Seen, sharesOf, USUAL_LIMITS } from './choose.ts'

/**
 * Minimum bytecode size. Shorter methods are usually inlined, and probes would prevent that. A method with more than MUCH of the time is
 * exempt: it calls expensive code, so a call that is not inlined does not matter.
 */
const MIN_CODE_BYTES = 36
const MUCH = 0.03
const MAX_CLASS_BYTES = 1 << 20

export interface Batch {
  readonly patterns: readonly RootPattern[]
  readonly limits: ArmLimits
  /** Predicted pause of the JVM, in ms. */
  readonly pauseMs: number | null
}

/** Result if no methods are instrumented, with the reason. */
export interface NoBatch {
  readonly why: string
}

/**
 * Chooses methods, and returns a pattern for each.
 * @param seen  sampled methods that may be chosen
 */
export function patternsOf(seen: readonly Seen[]): RootPattern[] {
  return [...chooseMethods(seen)].flatMap(([className, methods]) =>
    methods.map((it) => exactly(className, it)),
  )
}

/**
 * Returns the batch to instrument.
 * @param seen       sampled methods that may be chosen
 * @param longestMs  maximum pause of the JVM, ms
 * @param mostMetaspace  maximum metaspace of the batch, bytes
 * @param beside     number of other classes in the same redefinition
 * @returns null if no method of `seen` is worth instrumenting
 */
export async function batchOf(
  seen: readonly Seen[],
  longestMs: number,
  arming: Arming,
  door: OpenDoor,
  mostMetaspace = MAX_METASPACE_BYTES,
  beside = 0,
): Promise<Batch | NoBatch | null> {
  const chosen = chooseMethods(seen)
  if (chosen.size === 0) return null
  if (mostMetaspace <= 0)
    return { why: 'only the root is timed: earlier sessions have used the metaspace that jfluid may use' }
  const fitting = await arming.classesWithin(longestMs, USUAL_LIMITS.classes + beside)
  const classes = Math.max(0, fitting - beside)
  const most = Math.min(classes, chosen.size)
  const pauseMs = await arming.predict(Math.max(1, most))
  if (most === 0) {
    const howLong = pauseMs === null ? 'an unknown time' : `about ${Math.round(pauseMs)} ms`
    return {
      why: `only the root is timed: timing more methods would stop the JVM for ${howLong} (--time Foo.bar times it anyway)`,
    }
  }
  const left = await door.metaspaceLeft()
  const room = Math.min(mostMetaspace, left - MIN_FREE_METASPACE_BYTES)
  if (room <= 0)
    return {
      why: `only the root is timed: ${mib(left)} of the metaspace are left, and jfluid keeps ${mib(MIN_FREE_METASPACE_BYTES)} free`,
    }
  // The most valuable classes come first.
  const patterns = [...chosen]
    .slice(0, most)
    .flatMap(([className, methods]) => methods.map((it) => exactly(className, it)))
  const limits = {
    ...{
      classes,
      largestClass: MAX_CLASS_BYTES,
      classBytes: room / METASPACE_PER_CLASS_BYTE,
      leastCode: MIN_CODE_BYTES,
    },
    mayBeShort: ({ className, name }: MethodTarget) =>
      sharesOf(seen, sourceName(className), name).share >= MUCH,
  }
  return { patterns, limits, pauseMs }
}

export const mib = (bytes: number): string => `${(Math.max(0, bytes) / 2 ** 20).toFixed(0)} MiB`
