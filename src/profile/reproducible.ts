// What of a profile is the same in every run of a deterministic program. Bytecodes and calls are; when and where it ran,
// how long that took, and in which order methods were met are not.
//
// Methods are numbered by name and children ordered by it; threads, whose names may come from a pool's counter, are ordered by
// their trees. So the same trees are the same bytes. Loaders are told by their kind: their numbers are in the order they were met.

import type { MethodName, ThreadTree, Tree } from '../cct/tree.ts'
import { type AllocationFacts, methodsByName, nameOf, type Profile } from './profile.ts'

/** Facts of the run are set to nothing; warnings and gaps stay: they change how far to trust it. */
export function reproducible(profile: Profile): Profile {
  const { target, instrumentation, events } = profile
  const { order, methodNames } = namesInOrder(profile)
  const methodOf = profile.callSites && methodsByName(methodNames)
  const tree = (of: Tree): Tree => ({ ...ordered(of, order), ...(methodOf !== undefined && { methodOf }) })
  const { longestPauseMs: _, ...facts } = instrumentation
  // The order of threads is another one, and with it that of JVMs.
  const { kept: __, course: ___, slowCalls: ____, detach: _____, jvms: ______, allocation, ...all } = profile
  const { bareCalls: _______, calibration, ...rest } = all
  return {
    ...rest,
    // What threads have really allocated depends on the compilers, which work at their own pace.
    ...(allocation !== undefined && { allocation: withoutReality(allocation) }),
    target: { ...target, pid: 0 },
    startedAt: new Date(0).toISOString(),
    durationMs: 0,
    calibration: { clock: calibration.clock, innerNs: 0, outerNs: 0 },
    instrumentation: {
      ...facts,
      // More or fewer methods are taken in vain, and looked at in vain, as questions happen to be answered.
      instrumentedMethods: instrumentation.calledMethods,
      redefinitions: 0,
      redefinedClasses: 0,
      hotSwapMs: 0,
      analysisMs: 0,
      skipped: [],
    },
    warmupMs: 0,
    warnings: [...profile.warnings].sort(),
    events: { count: events.count, waitMs: 0 },
    methodNames,
    merged: tree(profile.merged),
    threads: profile.threads
      .map(({ tree: own }) => tree(own))
      .sort(compareTrees)
      .map((own, i): ThreadTree => ({ id: i + 1, name: `thread ${i + 1}`, tree: own })),
  }
}

function withoutReality({ jvmBytes: _, ...sites }: AllocationFacts): AllocationFacts {
  return sites
}

/** New ids of the methods that were called, from 1 on, by name. */
function namesInOrder(profile: Profile): Pick<Profile, 'methodNames'> & { order: Int32Array } {
  const called = new Set<number>()
  for (const tree of [profile.merged, ...profile.threads.map((it) => it.tree)])
    for (const id of tree.method) called.add(id)
  const key = (id: number): string => {
    const name = withoutNumber(nameOf(profile.methodNames, id))
    const place = name.bci === undefined ? '' : String(name.bci).padStart(5, '0')
    return `${name.class}\n${name.method}\n${name.descriptor}\n${name.loader}\n${place}\n${name.line ?? ''}`
  }
  const keys = new Map([...called].map((id) => [id, key(id)]))
  const ids = [...called].sort((a, b) => compare(keys.get(a)!, keys.get(b)!) || a - b)
  let highest = 0
  for (const id of called) if (id > highest) highest = id
  const order = new Int32Array(highest + 1)
  for (const [i, id] of ids.entries()) order[id] = i + 1
  return {
    order,
    methodNames: [
      profile.methodNames[0]!,
      ...ids.map((id) => withoutNumber(nameOf(profile.methodNames, id))),
    ],
  }
}

/** "com.foo.Loader@7" is the seventh loader that was met. */
function withoutNumber(name: MethodName): MethodName {
  return { ...name, loader: name.loader.replace(/@\d+$/, '') }
}

/** The same tree with new method ids and children in their order. Does not recurse: trees may be deep. */
function ordered(tree: Tree, order: Int32Array): Tree {
  const { count, size } = tree
  const from = new Int32Array(count)
  const into = new Int32Array(count)
  const pending: number[] = []
  const push = (node: number): void => {
    const children: number[] = []
    const end = node < 0 ? count : node + size[node]!
    for (let child = node + 1; child < end; child += size[child]!) children.push(child)
    children.sort((a, b) => order[tree.method[b]!]! - order[tree.method[a]!]!)
    for (const child of children) pending.push(child)
  }
  push(-1)
  let at = 0
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    from[at] = node
    into[node] = at++
    push(node)
  }
  const metrics: Record<string, Float64Array> = {}
  for (const name of Object.keys(tree.metrics).sort())
    metrics[name] = Float64Array.from(from, (node) => tree.metrics[name]![node]!)
  return {
    count,
    method: Int32Array.from(from, (node) => order[tree.method[node]!]!),
    parent: Int32Array.from(from, (node) => (tree.parent[node]! < 0 ? -1 : into[tree.parent[node]!]!)),
    size: Int32Array.from(from, (node) => size[node]!),
    metrics,
  }
}

function compareTrees(a: Tree, b: Tree): number {
  if (a.count !== b.count) return a.count - b.count
  for (const [one, other] of [[a.method, b.method] as const, ...columnPairs(a, b)]) {
    for (let i = 0; i < one.length; i++) if (one[i] !== other[i]) return one[i]! - other[i]!
  }
  return 0
}

function columnPairs(a: Tree, b: Tree): (readonly [Float64Array, Float64Array])[] {
  return Object.keys(a.metrics).map((name) => [a.metrics[name]!, b.metrics[name]!] as const)
}

/** Of code units: the same everywhere. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
