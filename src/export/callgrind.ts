// Writes Callgrind's format (valgrind.org/docs/manual/cl-format.html) for KCachegrind, QCachegrind and callgrind_annotate. For each method,
// it contains the self cost, and the calls of other methods with their inclusive cost.
// The format has methods and calls between methods, but no contexts. A recursive call has the inclusive cost 0, so that the calls of a
// method sum up to its total. A pseudo method `[all threads]` calls the top nodes; with `threads`, there is one pseudo method per thread.
// Negative costs are written as 0: the format has no sign.

import { Numbers } from '../base/numbers.ts'
import { isAllocation } from '../cct/allocation.ts'
import { metricOf } from '../cct/metric.ts'
import type { MethodName, Tree } from '../cct/tree.ts'
import type { Value } from '../measures/columns.ts'
import { allWarnings, column, nameOf, type Profile } from '../profile/profile.ts'
import { signature } from '../profile/text.ts'
import type { ExportFormat } from './format.ts'
import { printable, threadTitle, treesOf } from './frames.ts'

export const callgrind: ExportFormat = {
  name: 'callgrind',
  extension: '.callgrind',
  description: 'KCachegrind, QCachegrind, callgrind_annotate: methods and their callers',
  *pieces(profile, options) {
    const events = metricOf(profile.merged).values
    yield* header(profile, events)
    const functions = new Functions(profile)
    const totals = events.map(() => 0)
    for (const { tree, thread } of treesOf(profile, options.threads)) {
      const top = functions.top(thread === undefined ? 'all threads' : threadTitle(thread))
      yield* body(new CallGraph(tree, functions, top, events), functions, totals)
    }
    yield `totals: ${totals.join(' ')}\n`
  },
}

function* header(profile: Profile, events: readonly Value[]): Generator<string> {
  const { target, mode, roots } = profile
  const lines = [
    '# callgrind format',
    'version: 1',
    'creator: jfluid',
    `pid: ${target.pid}`,
    `cmd: ${target.mainClass}`,
    `desc: Mode: ${mode}, JDK ${target.jdk}`,
    ...(roots.length === 0 ? [] : [`desc: Roots: ${roots.join(', ')}`]),
    ...allWarnings(profile).map((warning) => `desc: Warning: ${warning}`),
    'positions: line',
    `events: ${events.map(({ event }) => event).join(' ')}`,
  ]
  for (const line of lines) yield `${printable(line)}\n`
  yield '\n'
}

/** Writes the functions, and adds their costs to `totals`. */
function* body(graph: CallGraph, functions: Functions, totals: number[]): Generator<string> {
  for (const caller of graph.callers()) {
    const self = graph.self.map((costs) => whole(costs[caller]!))
    for (const [at, cost] of self.entries()) totals[at]! += cost
    yield `${functions.opening('fl', 'fn', caller)}0 ${self.join(' ')}\n`
    for (const { callee, line, calls, costs } of graph.callsOf(caller)) {
      // Writes at least one call, even for a sample without an observed call: after `calls=0`, readers take the next line for self cost.
      yield `${functions.opening('cfi', 'cfn', callee)}calls=${Math.max(1, whole(calls))} 0\n`
      yield `${line} ${costs.map(whole).join(' ')}\n`
    }
    yield '\n'
  }
}

function whole(cost: number): number {
  return Math.max(0, Math.round(cost))
}

interface Call {
  readonly callee: number
  /** Line of the call in the caller; 0 if unknown. */
  readonly line: number
  calls: number
  /** Inclusive costs, one per event. */
  readonly costs: number[]
}

/** Graph of the calls between a tree's methods. */
class CallGraph {
  /** Self costs, indexed by event, then by function. */
  readonly self: readonly Float64Array[]
  readonly #total: readonly Float64Array[]
  /** Nodes grouped by the function of their parent: the group of function f is [starts[f], starts[f + 1]). */
  readonly #nodes: Int32Array
  readonly #starts: Int32Array
  /** Per node: whether a caller in its context has the same function. */
  readonly #isRecursive: Uint8Array
  /** Per function: whether it has nodes. */
  readonly #isThere: Uint8Array

  constructor(
    private readonly tree: Tree,
    private readonly functions: Functions,
    private readonly top: number,
    events: readonly Value[],
  ) {
    const ofNode = Int32Array.from({ length: tree.count }, (_, node) => functions.of(tree.method[node]!))
    const { count } = functions
    const callerOf = (node: number) => (tree.parent[node]! < 0 ? top : ofNode[tree.parent[node]!]!)

    this.#starts = new Int32Array(count + 1)
    for (let node = 0; node < tree.count; node++) this.#starts[callerOf(node) + 1]!++
    for (let f = 0; f < count; f++) this.#starts[f + 1]! += this.#starts[f]!
    const next = this.#starts.slice()
    this.#nodes = new Int32Array(tree.count)
    for (let node = 0; node < tree.count; node++) this.#nodes[next[callerOf(node)]!++] = node

    this.#isRecursive = new Uint8Array(tree.count)
    this.#isThere = new Uint8Array(count)
    const active = new Int32Array(count)
    const path: number[] = []
    for (let node = 0; node < tree.count; node++) {
      while (path.length > 0 && node >= path[path.length - 1]! + tree.size[path[path.length - 1]!]!)
        active[ofNode[path.pop()!]!]!--
      path.push(node)
      const f = ofNode[node]!
      this.#isRecursive[node] = active[f]!++ > 0 ? 1 : 0
      this.#isThere[f] = 1
    }

    const isBytes = metricOf(tree).hasClasses
    this.self = events.map((event) => {
      const costs = new Float64Array(count)
      const self = column(tree, event.self)
      for (let node = 0; node < tree.count; node++) {
        // The class rows below a method contain the method's own allocations.
        if (!isBytes || functions.isAllocation(tree.method[node]!)) costs[ofNode[node]!]! += self[node]!
      }
      return costs
    })
    this.#total = events.map((event) => column(tree, event.total))
  }

  *callers(): Generator<number> {
    if (this.tree.count === 0) return
    yield this.top
    for (let f = 0; f < this.#isThere.length; f++) if (this.#isThere[f] === 1) yield f
  }

  callsOf(caller: number): Iterable<Call> {
    const calls = new Map<number, Call>()
    const { method, metrics } = this.tree
    for (let at = this.#starts[caller]!; at < this.#starts[caller + 1]!; at++) {
      const node = this.#nodes[at]!
      const callee = this.functions.of(method[node]!)
      const line = this.functions.lineOf(method[node]!)
      const key = callee * LINES + line
      const call = calls.get(key) ?? { callee, line, calls: 0, costs: this.#total.map(() => 0) }
      calls.set(key, call)
      call.calls += metrics.calls?.[node] ?? 0
      if (this.#isRecursive[node] === 1) continue
      for (const [event, total] of this.#total.entries()) call.costs[event]! += total[node]!
    }
    return calls.values()
  }
}

/** Larger than any line number in a class file. */
const LINES = 65_536

/** Functions of the file: methods with class and signature, and the pseudo methods that call top nodes. */
class Functions {
  readonly #numbers = new Numbers<string>()
  readonly #known: { readonly file: string; readonly name: string }[] = []
  readonly #ofMethod: (number | undefined)[] = []
  readonly #files = new Numbers<string>()
  /** Names already written. A name is written once, and later referred to by its number. */
  readonly #written = new Set<string>()

  constructor(private readonly profile: Profile) {}

  get count(): number {
    return this.#known.length
  }

  of(method: number): number {
    this.#ofMethod[method] ??= this.#named(nameOf(this.profile.methodNames, method))
    return this.#ofMethod[method]
  }

  top(name: string): number {
    return this.#add(UNKNOWN, `[${name}]`)
  }

  isAllocation(method: number): boolean {
    return isAllocation(nameOf(this.profile.methodNames, method))
  }

  /** Returns the line at which a node's method is called; 0 if unknown. */
  lineOf(method: number): number {
    return nameOf(this.profile.methodNames, method).line ?? 0
  }

  /** Returns the two lines that name the function for the following lines. */
  opening(fileKey: string, nameKey: string, number: number): string {
    const { file, name } = this.#known[number]!
    const fileNumber = this.#files.of(file) + 1
    return `${fileKey}=${this.#reference('file', fileNumber, file)}\n${nameKey}=${this.#reference('name', number + 1, name)}\n`
  }

  #named(name: MethodName): number {
    return this.#add(name.class === '' ? UNKNOWN : printable(name.class), printable(signature(name)))
  }

  #reference(kind: string, number: number, text: string): string {
    const key = `${kind} ${number}`
    if (this.#written.has(key)) return `(${number})`
    this.#written.add(key)
    return `(${number}) ${text}`
  }

  #add(file: string, name: string): number {
    this.#files.of(file)
    const number = this.#numbers.of(`${file}\n${name}`)
    this.#known[number] ??= { file, name }
    return number
  }
}

/** Valgrind's name for an unknown file. */
const UNKNOWN = '???'
