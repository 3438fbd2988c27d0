// Facts about the instrumentation of the target, for the views during a session.

import type { InstrumentationFacts } from '../../profile/code-facts.ts'
import type { Engine } from '../engine.ts'
import { firstPlacedOf, valueRowsOf } from '../session-options.ts'
import type { Span } from '../span.ts'
import { sourceName } from '../target-classes.ts'

export function instrumentationOf(engine: Engine, span: Span): InstrumentationFacts {
  const { byHand, installation, names, options, recorder, revealer } = engine
  const { latest, before } = installation.swaps
  return {
    firstMethod: (valueRowsOf(options)?.last ?? firstPlacedOf(options) - 1) + 1,
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
