// What has been done to the target's code, for whoever looks while it is done.

import type { MethodName } from '../../cct/tree.ts'
import type { Engine } from '../engine.ts'
import { firstPlacedOf } from '../session-options.ts'
import type { Span } from '../span.ts'
import { sourceName } from '../target-classes.ts'
import type { Swap } from './swaps.ts'

export interface Instrumentation {
  /** Methods have ids from this one on, without a gap. */
  readonly firstMethod: number
  readonly methods: number
  nameOf(method: number): MethodName
  /** The method of a node's id. */
  methodOf(id: number): number
  stateOf(method: number): 'probes' | 'left out' | 'refused'
  /** When it was called for the first time, in ms from when recording began; undefined if it was not. */
  firstCallMs(method: number): number | undefined
  /** Reasons by method, as it is written in profiles. Grows. */
  readonly skipped: ReadonlyMap<string, string>
  /** Oldest first; times from when recording began, negative before. */
  readonly swaps: readonly (Omit<Swap, 'at' | 'endTicks'> & { readonly atMs: number })[]
  /** Those before `swaps`. */
  readonly swapsBefore: number
}

export function instrumentationOf(engine: Engine, span: Span): Instrumentation {
  const { byHand, installation, names, options, recorder, revealer } = engine
  const { latest, before } = installation.swaps
  return {
    firstMethod: firstPlacedOf(options),
    methods: revealer.counters.instrumentedMethods,
    nameOf: (method) => names.ofMethod(method),
    methodOf: (id) => names.methodOf(id),
    stateOf: (method) => {
      if (byHand.ids.has(method)) return 'left out'
      const { className, name, descriptor } = revealer.methods.get(method)
      return installation.skipped.has(`${sourceName(className)}.${name}${descriptor}`) ? 'refused' : 'probes'
    },
    firstCallMs: (method) => {
      const at = recorder.firstCalls.get(method)
      return at === undefined ? undefined : at - performance.timeOrigin - span.begun
    },
    skipped: installation.skipped,
    swaps: latest.map(({ at, endTicks: _, ...swap }) => ({ ...swap, atMs: at - span.begun })),
    swapsBefore: before,
  }
}
