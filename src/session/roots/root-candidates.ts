// Ranks methods of a sampled JVM as candidates for roots, best first.
//
// A root is profiled from its next call on. So a method that never returns (an event loop, the body of a worker) is not a useful root, even
// if most of the time is spent in it. Samples show which methods return: if a method appears or disappears between two samples of a thread,
// it is called repeatedly. A method in every sample of its thread may never return. Dumps of all threads also show workers that wait for a
// task, outside of the task's methods.

import type { DumpedThread } from '../../attach/thread-dump.ts'
import { getOrAdd } from '../../base/maps.ts'
import { costsOf } from '../../cct/metric.ts'
import type { MethodName, Snapshot, Tree } from '../../cct/tree.ts'
import { narrowestRoot } from './narrowest.ts'
import { isOfJdk, isUsableRoot, rootText } from './root-names.ts'

export interface RootCandidate {
  /** Root text in the syntax of `--root`, without quotes. It matches every overload of the method. */
  readonly root: string
  /** Share of all samples, 0 to 1. Nested activations of a recursive method count once. */
  readonly share: number
  readonly samples: number
  /** Number of observed begins of the method: a lower bound of the number of its calls. */
  readonly seen: number
  /** Names of the threads in which the method was sampled, the thread with the most samples first. */
  readonly threads: readonly string[]
  /** Number of callers of the method on the stack, in the context with the most samples. */
  readonly depth: number
  /** Number of candidates among these callers. */
  readonly below: number
}

export interface Candidates {
  /** The narrowest root for requests, followed by the other candidates, best first. */
  readonly roots: readonly RootCandidate[]
  /** Methods with a large share that were on the stack in every sample of their threads, so they may never return. Largest share first. */
  readonly stays: readonly RootCandidate[]
  /** Total number of samples. */
  readonly samples: number
}

/** Minimum share of a root in the samples. Threads whose stack never changed are not counted. */
const MIN_SHARE = 0.01
const MIN_SAMPLES = 2
/** Factor on a method's score for each candidate among its callers, since a user usually wants to profile the whole task. */
const NESTED_FACTOR = 0.8

interface Found {
  readonly name: MethodName
  samples: number
  seen: number
  readonly threads: Map<string, number>
  depth: number
  /** Number of samples of the largest context so far. `depth` and `above` refer to this context. */
  largest: number
  above: readonly string[]
  comesAndGoes: boolean
}

/**
 * Ranks the methods.
 *
 * @param looks  dumps of all threads that were taken during the sampling; the last dump was taken at its end
 */
export function rootCandidates(
  snapshot: Snapshot,
  nameOf: (id: number) => MethodName,
  looks: Looks,
): Candidates {
  const found = new Map<string, Found>()
  let samples = 0
  let moving = 0
  for (const { id, name, tree } of snapshot.threads) {
    const own = sumsOf(tree, nameOf)
    samples += own.samples
    let moves = false
    for (const [root, it] of own.methods) {
      const known = getOrAdd(found, root, () => newFound(it.name))
      known.samples += it.samples
      known.seen += it.seen
      known.threads.set(name, (known.threads.get(name) ?? 0) + it.samples)
      if (it.largest > known.largest) {
        known.largest = it.largest
        known.depth = it.depth
        known.above = it.above
      }
      const comesAndGoes = it.seen > 1 || it.samples < own.samples || looks.without(id, root)
      known.comesAndGoes ||= comesAndGoes
      moves ||= comesAndGoes
    }
    if (moves) moving += own.samples
  }
  const worth = [...found].filter(
    ([, it]) => it.samples >= Math.max(MIN_SAMPLES, moving * MIN_SHARE) && isUsable(it.name),
  )
  const taken = new Set(worth.filter(([, it]) => it.comesAndGoes).map(([root]) => root))
  const of = (comesAndGoes: boolean): RootCandidate[] =>
    worth
      .filter(([, it]) => it.comesAndGoes === comesAndGoes)
      .map(([root, it]) => ({
        root,
        share: it.samples / Math.max(1, samples),
        samples: it.samples,
        seen: it.seen,
        threads: [...it.threads].sort(([, a], [, b]) => b - a).map(([name]) => name),
        depth: it.depth,
        below: it.above.filter((name) => taken.has(name)).length,
      }))
  const roots = of(true)
  const narrowest = narrowestRoot(snapshot, nameOf, roots)
  const worthOf = ({ root, share, below }: RootCandidate): number =>
    root === narrowest ? Number.POSITIVE_INFINITY : share * NESTED_FACTOR ** below
  return {
    roots: roots.sort((a, b) => worthOf(b) - worthOf(a) || a.depth - b.depth || order(a.root, b.root)),
    stays: of(false).sort((a, b) => b.share - a.share || b.depth - a.depth || order(a.root, b.root)),
    samples,
  }
}

/** Returns whether a method can be a candidate: it may be a root and does not belong to the JDK. */
function isUsable(name: MethodName): boolean {
  return !isOfJdk(name) && isUsableRoot(name)
}

function newFound(name: MethodName): Found {
  return {
    name,
    ...{ samples: 0, seen: 0, depth: 0, largest: -1, above: [], comesAndGoes: false },
    threads: new Map(),
  }
}

/** Sums the samples of one thread per root text. Nested activations of a recursive method count once, at the outermost call. */
function sumsOf(
  tree: Tree,
  nameOf: (id: number) => MethodName,
): { samples: number; methods: Map<string, Found> } {
  const { total } = costsOf(tree)
  const calls = tree.metrics.calls ?? new Float64Array(tree.count)
  const texts = new Map<number, string>()
  const methods = new Map<string, Found>()
  /** End of the subtree of the outermost open call, keyed by root text. */
  const openUntil = new Map<string, number>()
  /** Node of the largest context, keyed by root text. */
  const largest = new Map<string, number>()
  const depth = new Int32Array(tree.count)
  let samples = 0
  for (let node = 0; node < tree.count; node++) {
    const parent = tree.parent[node]!
    depth[node] = parent < 0 ? 0 : depth[parent]! + 1
    if (parent < 0) samples += total[node]!
    const id = tree.method[node]!
    const text = getOrAdd(texts, id, () => rootText(nameOf(id)))
    const until = openUntil.get(text)
    if (until !== undefined && node < until) continue
    openUntil.set(text, node + tree.size[node]!)
    const it = getOrAdd(methods, text, () => newFound(nameOf(id)))
    it.samples += total[node]!
    it.seen += calls[node]!
    if (total[node]! > it.largest) {
      it.largest = total[node]!
      it.depth = depth[node]!
      largest.set(text, node)
    }
  }
  for (const [text, it] of methods)
    if (it.samples >= MIN_SAMPLES) it.above = waysAbove(tree, largest.get(text) ?? -1, texts)
  return { samples, methods }
}

/** Maximum number of callers that are collected. The limit is needed since a stack may be very deep. */
const MAX_CALLERS = 512

/** Returns the distinct root texts of a node's callers. */
function waysAbove(tree: Tree, node: number, texts: ReadonlyMap<number, string>): string[] {
  const above = new Set<string>()
  const own = texts.get(tree.method[node] ?? -1)
  for (let at = tree.parent[node] ?? -1; at >= 0 && above.size < MAX_CALLERS; at = tree.parent[at]!) {
    const text = texts.get(tree.method[at]!)
    if (text !== undefined && text !== own) above.add(text)
  }
  return [...above]
}

/** Collects dumps of all threads to find out whether a thread was ever seen without a given method. */
export class Looks {
  /** Frames that were on the thread's stack in each dump, outermost first, keyed by thread. */
  readonly #always = new Map<number, readonly string[]>()
  #last: ReadonlySet<number> | undefined
  count = 0

  add(dump: readonly Pick<DumpedThread, 'id' | 'frames'>[]): void {
    this.count++
    for (const { id, frames } of dump) {
      const always = this.#always.get(id)
      const least = Math.min(always?.length ?? frames.length, frames.length)
      let same = 0
      while (same < least && (always === undefined || always[same] === frames.at(-1 - same))) same++
      if (same !== always?.length) this.#always.set(id, frames.slice(frames.length - same).reverse())
    }
    this.#last = new Set(dump.map(({ id }) => id))
  }

  /** Returns whether a dump shows the thread without the method. True if the thread has ended, false for the tree of virtual threads. */
  without(thread: number, root: string): boolean {
    if (thread <= 0) return false
    if (this.#last?.has(thread) === false) return true
    const frame = root.endsWith('.new') ? `${root.slice(0, -'new'.length)}<init>` : root
    return this.#always.get(thread)?.includes(frame) === false
  }
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
