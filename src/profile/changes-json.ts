// Comparison of two profiles as JSON: docs/schema/compare.json.

import type { MethodName } from '../cct/tree.ts'
import { exceedsNoise } from './changed-root-calls.ts'
import { type Changes, type ContextChange, contextChanges, contextNames, selfChange } from './changes.ts'
import { type Compared, noiseSource, shownMethods, warningsOf } from './changes-text.ts'
import { envelopeOf } from './command-json.ts'
import type { MethodCosts } from './compare.ts'
import { relativeChange, type Verdict } from './condition.ts'
import { elements, jsonText } from './json-text.ts'
import { rootTotal } from './profile.ts'
import { fullName, placeText } from './text.ts'

/** Maximum number of frames in a path. The innermost frames are kept, since a context may be 100,000 calls deep. */
const PATH_FRAMES = 256

/** Yields the JSON text in pieces. @param top  maximum number of methods, and of contexts per direction of change; 0: no maximum */
export function* changesJsonPieces(
  before: Compared,
  after: Compared,
  changes: Changes,
  verdicts: readonly Verdict[],
  top: number,
): Generator<string> {
  const { metric, per, rootCalls, rootCost, agreement, lead } = changes
  const { overlap, hotEdges, correlation } = agreement
  const sides = { before: sideJson(before), after: sideJson(after) }
  const facts = {
    ...envelopeOf('compare'),
    metric: metric.kind,
    per: per === 'sample' ? 'sample' : 'rootCall',
    before: { ...sides.before, rootCalls: rootCalls.before, rootCost: rootCost.before },
    after: { ...sides.after, rootCalls: rootCalls.after, rootCost: rootCost.after },
    growth: finite(relativeChange(rootCost.before, rootCost.after)),
    lead: lead.map((it) => ({
      ...{ name: it.key, unit: UNITS[it.unit], before: it.before, after: it.after },
      ...{ change: finite(relativeChange(it.before, it.after)), noise: it.noise },
      withinNoise: it.noise !== null && !exceedsNoise(it),
    })),
    noiseKnown: changes.knowsNoise,
    noiseFrom: { before: noiseSource(before, changes), after: noiseSource(after, changes) },
    agreement: {
      overlap,
      hotEdges: hotEdges.count,
      hotEdgeCoverage: hotEdges.coverage,
      correlation: finite(correlation),
    },
    warnings: warningsOf(before, after),
    conditions: verdicts.map((it) => ({
      condition: it.condition.text,
      subject: it.subject,
      before: it.before,
      after: it.after,
      doubt: it.errorBound,
      failed: it.failed,
      change: finite(it.change),
      withinDoubt: it.isWithinErrorBound,
      belowDoubt: it.isBelowErrorBound,
    })),
  }
  yield `${jsonText(facts).slice(0, -1)},\n"methods":[`
  const { shown, significant, others } = shownMethods(changes, top)
  yield* elements(
    shown.map((it) => {
      const { class: owner, method, descriptor } = it.name
      const costs = { before: costsJson(it.before), after: costsJson(it.after) }
      const noise = { noise: it.noise.self, significant: it.isSignificant }
      return { class: owner, method, descriptor, ...costs, selfChange: selfChange(it), ...noise }
    }),
  )
  yield `],\n"methodsSignificant":${significant},"methodsOther":${others},\n"contexts":[`
  const names = contextNames(changes, before.profile, after.profile)
  const contexts = (['more', 'less'] as const).flatMap(
    (direction) =>
      contextChanges(changes, names, direction, top === 0 ? Number.POSITIVE_INFINITY : top).shown,
  )
  yield* elements(contexts.map((it) => contextJson(it, changes, names)))
  yield ']}\n'
}

const UNITS = { 'calls per second': 'perSecond', ns: 'ns', bytecodes: 'bytecodes', cost: 'cost' } as const

function sideJson({ path, profile, recordings }: Compared): object {
  const { target, mode, roots, startedAt, durationMs, merged } = profile
  return {
    file: path,
    ...(recordings !== undefined && { files: recordings.map((it) => it.path) }),
    target,
    mode,
    roots,
    startedAt,
    durationMs,
    contexts: merged.count,
    rootTotal: rootTotal(merged),
  }
}

function costsJson(costs: MethodCosts | undefined): object | null {
  return costs === undefined ? null : { calls: costs.calls, self: costs.self, total: costs.total }
}

function contextJson(
  { node, before, after }: ContextChange,
  { difference }: Changes,
  names: (node: number) => MethodName,
): object {
  const path: string[] = []
  for (let at = node; at >= 0 && path.length < PATH_FRAMES; at = difference.parent[at]!) {
    path.push(fullName(names(at)) + placeText(names(at)))
  }
  return {
    path: path.reverse(),
    before: difference.nodeBefore[node]! < 0 ? null : before,
    after: difference.nodeAfter[node]! < 0 ? null : after,
    selfChange: after - before,
  }
}

/** Returns null for NaN and infinity, which JSON cannot represent. */
function finite(value: number): number | null {
  return Number.isFinite(value) ? value : null
}
