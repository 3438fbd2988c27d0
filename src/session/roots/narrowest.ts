// Which root to recommend: the narrowest method that holds the time of requests. Pure.
//
// The tree is entered at the candidate with the most samples, the whole of what one kind of task does: in a server that is
// mostly code of the framework, such as SocketProcessorBase.run of Tomcat. Below it, the deepest method is taken that
//   - holds most samples of the entry, and of those with the application on their stack nearly all, as what calls all controllers
//     does (of all, if the application is in none): what a container does before and after is no part of the request,
//   - begins about as often as the entry: what a request calls in a loop is no request,
//   - has methods below it: of one that itself waits, or computes, there is nothing to see.

import { costsOf } from '../../cct/metric.ts'
import type { MethodName, Snapshot, Tree } from '../../cct/tree.ts'
import type { RootCandidate } from './root-candidates.ts'
import { isOfApplication, isOfJdk, rootText } from './root-names.ts'

/** Of the entry's samples with the application on their stack. */
const NEARLY_ALL = 0.9
/** Of the entry's samples; of a method's samples, that are in another method below it. */
const MOST = 0.5
/** Times that a method was seen to begin for each time that the entry was. */
const ONCE = 1.5

/** Samples below the entry of one method, by its outermost activations there. */
interface Inside {
  samples: number
  seen: number
  /** Sum over samples of how deep it is. */
  depths: number
  /** Of its samples, those with a method of the application at or below it; with any but the JDK's below it. */
  inApplication: number
  inMethods: number
}

/**
 * @param candidates  methods that were seen to come and go
 * @returns the root text of one of them; null if there are none
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
    if (!names.has(root) || it.seen > ONCE * whole.seen || it.inMethods < MOST * it.samples) continue
    const holds =
      whole.inApplication === 0
        ? it.samples >= NEARLY_ALL * whole.samples
        : it.samples >= MOST * whole.samples && it.inApplication >= NEARLY_ALL * whole.inApplication
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
    let kind = kinds.get(id)
    if (kind === undefined) {
      const name = nameOf(id)
      const isJdk = name.class === '' || isOfJdk(name)
      kind = { root: rootText(name), isOwn: isOfApplication(name), isOfJdk: isJdk }
      kinds.set(id, kind)
    }
    return kind
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
  // Of a node's samples, those with a method below it: of the application, and of anything but the JDK.
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
    const it = inside.get(root) ?? newInside()
    inside.set(root, it)
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
