// Which methods of a JVM that was sampled would do as roots, best first.
//
// A root is profiled from its next call on, so a method that never returns (an event loop, the body of a worker) is no
// use, however much of the time it explains. Samples tell such methods by what they do not show: a method that has come or
// gone between two looks at a thread is called again; one that was on the thread's stack every time may never return.
// Dumps of all threads also show a worker that waits, outside of its task.

import type { DumpedThread } from '../../attach/thread-dump.ts'
import { costsOf } from '../../cct/metric.ts'
import type { MethodName, Snapshot, Tree } from '../../cct/tree.ts'
import { narrowestRoot } from './narrowest.ts'
import { isOfJdk, isUsableRoot, rootText } from './root-names.ts'

export interface RootCandidate {
  /** As `--root` takes it, without quotes: every overload of the method. */
  readonly root: string
  /** Of all samples, 0 to 1: recursive calls count once. */
  readonly share: number
  readonly samples: number
  /** How often it was seen to begin: a lower bound of its calls. */
  readonly seen: number
  /** Names of its threads, the one with the most samples first. */
  readonly threads: readonly string[]
  /** Frames between the thread's start and it, where it has the most samples. */
  readonly depth: number
  /** Candidates among these frames. */
  readonly below: number
}

export interface Candidates {
  /** The narrowest that holds the time of requests, and then the best first. */
  readonly roots: readonly RootCandidate[]
  /** Methods that explain much, and were on the stack of their threads every time. Largest share first. */
  readonly stays: readonly RootCandidate[]
  /** All that were taken. */
  readonly samples: number
}

/** A share below, of the samples of threads that were not all the time in one place, is not worth a root. */
const LEAST_SHARE = 0.01
const LEAST_SAMPLES = 2
/** What each candidate above a method takes from its worth: whoever looks for a task wants the whole of it. */
const NESTED = 0.8

interface Found {
  readonly name: MethodName
  samples: number
  seen: number
  readonly threads: Map<string, number>
  depth: number
  /** Samples of the largest context so far, to which `depth` and `node` belong. */
  largest: number
  above: readonly string[]
  comesAndGoes: boolean
}

/**
 * @param looks  at all threads at some moments while it was sampled; the last at the end
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
      const known = found.get(root) ?? newFound(it.name)
      found.set(root, known)
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
    ([, it]) => it.samples >= Math.max(LEAST_SAMPLES, moving * LEAST_SHARE) && isUsable(it.name),
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
    root === narrowest ? Number.POSITIVE_INFINITY : share * NESTED ** below
  return {
    roots: roots.sort((a, b) => worthOf(b) - worthOf(a) || a.depth - b.depth || order(a.root, b.root)),
    stays: of(false).sort((a, b) => b.share - a.share || b.depth - a.depth || order(a.root, b.root)),
    samples,
  }
}

/** A candidate: a method of the application. */
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

/** Sums of one thread, by root text. A method that is called by itself counts where it is outermost. */
function sumsOf(
  tree: Tree,
  nameOf: (id: number) => MethodName,
): { samples: number; methods: Map<string, Found> } {
  const { total } = costsOf(tree)
  const calls = tree.metrics.calls ?? new Float64Array(tree.count)
  const texts = new Map<number, string>()
  const methods = new Map<string, Found>()
  /** By root text, where the subtree ends of the outermost call that is open. */
  const openUntil = new Map<string, number>()
  /** By root text, the node that has its largest context. */
  const largest = new Map<string, number>()
  const depth = new Int32Array(tree.count)
  let samples = 0
  for (let node = 0; node < tree.count; node++) {
    const parent = tree.parent[node]!
    depth[node] = parent < 0 ? 0 : depth[parent]! + 1
    if (parent < 0) samples += total[node]!
    const id = tree.method[node]!
    const text = texts.get(id) ?? rootText(nameOf(id))
    texts.set(id, text)
    const until = openUntil.get(text)
    if (until !== undefined && node < until) continue
    openUntil.set(text, node + tree.size[node]!)
    const it = methods.get(text) ?? newFound(nameOf(id))
    methods.set(text, it)
    it.samples += total[node]!
    it.seen += calls[node]!
    if (total[node]! > it.largest) {
      it.largest = total[node]!
      it.depth = depth[node]!
      largest.set(text, node)
    }
  }
  for (const [text, it] of methods)
    if (it.samples >= LEAST_SAMPLES) it.above = waysAbove(tree, largest.get(text) ?? -1, texts)
  return { samples, methods }
}

/** Further up is of no interest: a stack may be as deep as the JVM allows. */
const MOST_ABOVE = 512

/** Root texts of what a node's callers are, each once. */
function waysAbove(tree: Tree, node: number, texts: ReadonlyMap<number, string>): string[] {
  const above = new Set<string>()
  const own = texts.get(tree.method[node] ?? -1)
  for (let at = tree.parent[node] ?? -1; at >= 0 && above.size < MOST_ABOVE; at = tree.parent[at]!) {
    const text = texts.get(tree.method[at]!)
    if (text !== undefined && text !== own) above.add(text)
  }
  return [...above]
}

/** Looks at all threads, asked for one thing: was a thread without a method? */
export class Looks {
  /** By thread: the outermost frames that it had each time, outermost first. */
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

  /** Also true of a thread that has ended: what was on its stack has returned. Of virtual threads dumps say nothing. */
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
