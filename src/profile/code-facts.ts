// What has been done to the target's code, for whoever looks while it is done.

import type { MethodName } from '../cct/tree.ts'

/** One redefinition. */
export interface SwapRow {
  /** From when recording began; negative before that. */
  readonly atMs: number
  readonly classes: number
  readonly methods: number
  readonly ms: number
  /** How long the target stood still; null where it does not tell. */
  readonly pauseMs: number | null
}

export interface InstrumentationFacts {
  /** Methods with an id, from this one on without a gap. */
  readonly firstMethod: number
  readonly methods: number
  nameOf(method: number): MethodName
  /** The method of a row's id. */
  methodOf(id: number): number
  /** It has no probes, since the user wants it so, or the JVM. */
  stateOf(method: number): 'probes' | 'left out' | 'refused'
  /** When it was called for the first time, in ms from when recording began; undefined if it was not. */
  firstCallMs(method: number): number | undefined
  /** Reasons by method, as it is written in profiles. Grows while it is looked at. */
  readonly skipped: ReadonlyMap<string, string>
  /** Oldest first. */
  readonly swaps: readonly SwapRow[]
  /** Those before `swaps`, which are too many to keep. */
  readonly swapsBefore: number
}
