// Changes to the target's code, for live views.

import type { MethodName } from '../cct/tree.ts'

/** One redefinition. */
export interface SwapRow {
  /** Time since the start of the recording; negative before the start. */
  readonly atMs: number
  readonly classes: number
  readonly methods: number
  readonly ms: number
  /** Duration of the target's pause; null if the JVM does not report it. */
  readonly pauseMs: number | null
}

export interface InstrumentationFacts {
  /** Lowest method id; ids are consecutive from here. */
  readonly firstMethod: number
  readonly methods: number
  nameOf(method: number): MethodName
  /** Converts the id of a row to a method id. */
  methodOf(id: number): number
  /** `left out`: the user excluded the method. `refused`: the JVM rejected the instrumentation. */
  stateOf(method: number): 'probes' | 'left out' | 'refused'
  /** Returns the time of the first call in ms since the start of the recording; undefined if the method was not called. */
  firstCallMs(method: number): number | undefined
  /** Reasons why methods were not instrumented, keyed by method, as in profiles. Grows during the recording. */
  readonly skipped: ReadonlyMap<string, string>
  /** Redefinitions, oldest first. */
  readonly swaps: readonly SwapRow[]
  /** Number of older redefinitions that `swaps` no longer contains. */
  readonly swapsBefore: number
}
