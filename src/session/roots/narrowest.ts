// Recommends a root: the narrowest method that contains the time of requests. Pure functions.
//
// The search begins at the candidate with the most samples, which is called the entry. The entry contains all work of one kind of task. In
// a server the entry is usually framework code, such as SocketProcessorBase.run of Tomcat. The result is the deepest candidate below the
// entry that meets three conditions:
// - It has most of the entry's samples, and nearly all of the entry's samples with application code on the stack. An example is the method
//   that calls all controllers. This condition excludes the work of a container before and after a request. If no sample contains
//   application code, the candidate must have nearly all samples of the entry.
// - It begins about as often as the entry. A method that is called in a loop does not handle a request.
// - It calls other methods. As a root, a method that only waits or computes itself would show no details.

import { getOrAdd } from '../../base/maps.ts'
import { costsOf } from '../../cct/metric.ts'
import type { MethodName, Snapshot, Tree } from '../../cct/tree.ts'
import type { RootCandidate } from './root-candidates.ts'
import { isOfApplication, isOfJdk, rootText } from './root-names.ts'

/** Minimum share of a method in the entry's samples, counting only samples with application code on the stack. */
const MIN_APPLICATION_SHARE = 0.9
/** Minimum share of a method in the entry's samples; and minimum share of the method's samples that are in its callees. */
const MIN_SHARE = 0.5
/** Maximum number of observed begins of a method per observed begin of the entry. */
const MAX_BEGINS_PER_ENTRY = 1.5

/** Samples of one method below the entry. Nested activations of a recursive method count once, at the outermost call. */
interface Inside {
  samples: number
  seen: number
  /** Sum of the method's stack depths in all its samples. */
  depths: number
  /** Number of samples with application code in the method or its callees; and with any non-JDK method below the method. */
  inApplication: number
  inMethods: number
}

/**
 * Returns the recommended root.
 *
 * @param candidates  methods that were seen to begin or end
 * @returns the root text of one of the candidates; null if there are no candidates
 */
export function narrowestRoot(
  snapshot: Snapshot,
  nameOf: (id: number) => MethodName,
  candidates: readonly Pick<RootCandidate, 'root' | 'samples' | 'depth'>[],
): string | null {
  const [entry] = [...candidates].sort((a, b) => b.samples - a.samples || a.depth - b.depth)
  if (entry === undefined) return null
  const kinds = kindsOf(nameOf)
  const inside = new Map<string, Inside>()
  for (const { tree } of snapshot.threads) addInside(inside, tree, entry.root, kinds)
  const whole = inside.get(entry.root)
  if (whole === undefined) return entry.root
  let best: [string, Inside] = [entry.root, whole]
  const names = new Set(candidates.map(({ root }) => root))
  for (const found of inside) {
    const [root, it] = found
    if (
      !names.has(root) ||
      it.seen > MAX_BEGINS_PER_ENTRY * whole.seen ||
      it.inMethods < MIN_SHARE * it.samples
    )
      continue
    const holds =
      whole.inApplication === 0
        ? it.samples >= MIN_APPLICATION_SHARE * whole.samples
        : it.samples >= MIN_SHARE * whole.samples &&
          it.inApplication >= MIN_APPLICATION_SHARE * whole.inApplication
    if (holds && it.depths / it.samples > best[1].depths / best[1].samples) best = found
  }
  return best[0]
}

interface Kind {
  readonly root: string
  readonly isOwn: boolean
  readonly isOfJdk: boolean
}

function kindsOf(nameOf: (id: number) => MethodName): (id: number) => Kind {
  const kinds = new Map<number, Kind>()
  return (id) => {
    return getOrAdd(kinds, id, () => {
      const name = nameOf(id)
      const isJdk = name.class === '' || isOfJdk(name)
      return { root: rootText(name), isOwn: isOfApplication(name), isOfJdk: isJdk }
    })
  }
}

function addInside(
  inside: Map<string, Inside>,
  tree: Tree,
  entry: string,
  kindOf: (id: number) => Kind,
): void {
  const { count, method, parent, size } = tree
  const { total } = costsOf(tree)
  const calls = tree.metrics.calls ?? new Float64Array(count)
  // Arrays of sample counts per node: samples with an application method below the node, and samples with any non-JDK method below it.
  const ownBelow = new Float64Array(count)
  const methodsBelow = new Float64Array(count)
  for (let node = count - 1; node >= 0; node--) {
    const above = parent[node]!
    if (above < 0) continue
    const { isOwn, isOfJdk } = kindOf(method[node]!)
    ownBelow[above]! += isOwn ? total[node]! : ownBelow[node]!
    methodsBelow[above]! += isOfJdk ? methodsBelow[node]! : total[node]!
  }
  const depth = new Int32Array(count)
  const openUntil = new Map<string, number>()
  let entryEnd = 0
  for (let node = 0; node < count; node++) {
    depth[node] = parent[node]! < 0 ? 0 : depth[parent[node]!]! + 1
    const { root, isOwn } = kindOf(method[node]!)
    if (node >= entryEnd) {
      if (root !== entry) continue
      entryEnd = node + size[node]!
    }
    if (node < (openUntil.get(root) ?? 0)) continue
    openUntil.set(root, node + size[node]!)
    const it = getOrAdd(inside, root, newInside)
    it.samples += total[node]!
    it.seen += calls[node]!
    it.depths += total[node]! * depth[node]!
    it.inApplication += isOwn ? total[node]! : ownBelow[node]!
    it.inMethods += methodsBelow[node]!
  }
}

function newInside(): Inside {
  return { samples: 0, seen: 0, depths: 0, inApplication: 0, inMethods: 0 }
}
