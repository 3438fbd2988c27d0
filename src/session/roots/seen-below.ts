// Uses the samples of the root search to choose methods below the root. If there are enough samples, one redefinition instruments the root
// and the timed methods below it. Pure.

import { inPreorder } from '../../cct/lay-out.ts'
import { SAMPLED, TIMED } from '../../cct/merge-samples.ts'
import type { MethodName, Snapshot, Tree } from '../../cct/tree.ts'
import type { RootPattern } from '../../reveal/patterns.ts'
import { ownerBy, type Seen, seenMethods } from '../adaptive/choose.ts'
import { samplesNeeded } from '../adaptive/probe-budget.ts'
import { isRoot } from '../sampling/sampled-tree.ts'

/** Minimum number of observed begins of the root. Samples alone are not enough, since all samples may come from one call. */
const MIN_CALLS = 10

/**
 * Returns the methods that were sampled below the root.
 *
 * @param snapshot    samples of all threads, by wall clock
 * @param durationMs  duration of the sampling
 * @returns methods below the root, the largest share first; empty if there are too few samples
 */
export function seenBelow(
  { merged }: Snapshot,
  nameOf: (id: number) => MethodName,
  root: RootPattern,
  durationMs: number,
): readonly Seen[] {
  const { count, method, size, metrics } = merged
  const { calls, totalSamples } = metrics
  if (calls === undefined || totalSamples === undefined) return []
  const roots: number[] = []
  const classes = new Set<string>()
  let samples = 0
  let began = 0
  for (let node = 0; node < count; ) {
    const name = nameOf(method[node]!)
    if (!isRoot(root, name)) {
      node++
      continue
    }
    roots.push(node)
    classes.add(name.class)
    samples += totalSamples[node]!
    began += calls[node]!
    node += size[node]! // only outermost activations count
  }
  if (samples < samplesNeeded(durationMs) || began < MIN_CALLS) return []
  const below = pictureBelow(merged, roots, (id) => isRoot(root, nameOf(id)), began)
  return seenMethods(below, nameOf, ownerBy([...classes]))
}

/**
 * Builds a snapshot in the format of scheme adaptive: each sample counts as a nanosecond. The samples are from computing and from waiting
 * threads.
 */
function pictureBelow(
  { method, parent, size, metrics }: Tree,
  roots: readonly number[],
  isTimed: (id: number) => boolean,
  calls: number,
): Tree {
  const nodes = roots.flatMap((root) => Array.from({ length: size[root]! }, (_, i) => root + i))
  const at = new Map(nodes.map((node, i) => [node, i]))
  const ids = nodes.map((node) => method[node]!)
  const total = nodes.map((node) => metrics.totalSamples![node]!)
  const whole = roots.reduce((sum, root) => sum + metrics.totalSamples![root]!, 0)
  const parents = nodes.map((node) => at.get(parent[node]!) ?? -1)
  return inPreorder(ids, parents, {
    totalNs: total,
    selfNs: nodes.map((node) => metrics.selfSamples?.[node] ?? 0),
    sdNs: total.map((it) => Math.sqrt((it * (whole - it)) / calls)),
    // Waiting counts as computing here. So a class that waits in its own native code is not instrumented.
    cpuNs: total,
    samples: total,
    known: ids.map((id) => (isTimed(id) ? TIMED : SAMPLED)),
  })
}
