// Reduces a profile to the parts that are equal in every run of a deterministic program. Bytecodes and calls are equal in every run.
// The time and machine of the run, durations, and the order of method discovery differ.
//
// Method ids and children are sorted by name. Threads are sorted by their trees, since the name of a thread may contain a pool's counter.
// Equal trees therefore give equal bytes. Class loaders are reduced to their kind, since their numbers depend on the order of discovery.

import type { MethodName, ThreadTree, Tree } from '../cct/tree.ts'
import { withSitesOnly } from './attribution.ts'
import { type AllocationFacts, methodsByName, nameOf, type Profile } from './profile.ts'

/** Returns the profile without facts that differ between runs. Keeps warnings and gaps, since they concern the accuracy. */
export function reproducible(recorded: Profile): Profile {
  const profile = recorded.allocation ? withoutJvmBytes(recorded, recorded.allocation) : recorded
  const { target, instrumentation, events } = profile
  const { order, methodNames } = namesInOrder(profile)
  const methodOf = profile.callSites && methodsByName(methodNames)
  const tree = (of: Tree): Tree => ({ ...ordered(of, order), ...(methodOf !== undefined && { methodOf }) })
  const { longestPauseMs: _, ...facts } = instrumentation
  // `threads` is sorted, so `jvms` would no longer have the same order as `threads`.
  const { kept: __, course: ___, slowCalls: ____, detach: _____, jvms: ______, allocation, ...all } = profile
  // Segments differ in their lengths from run to run.
  const { segments: __________, ...whole } = all
  // Line samples (`lines`) are removed, since they have the former method ids.
  const { bareCalls: _______, lines: ________, jvmStartedAt: _________, calibration, ...rest } = whole
  return {
    ...rest,
    ...(allocation !== undefined && { allocation }),
    target: { ...target, pid: 0 },
    startedAt: new Date(0).toISOString(),
    durationMs: 0,
    calibration: { clock: calibration.clock, innerNs: 0, outerNs: 0 },
    instrumentation: {
      ...facts,
      // The number of methods instrumented but never called depends on the timing of replies.
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

/** Removes the JVM's count of allocated bytes, which depends on the timing of the JIT compilers. */
function withoutJvmBytes(profile: Profile, { jvmBytes: _, ...allocation }: AllocationFacts): Profile {
  const { merged, methodNames, threads } = profile
  return {
    ...profile,
    allocation,
    merged: withSitesOnly(merged, methodNames),
    threads: threads.map((thread) => ({ ...thread, tree: withSitesOnly(thread.tree, methodNames) })),
  }
}

/** Returns new ids of the called methods, from 1, in the order of their names. */
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

/** Removes the number of a class loader: "com.foo.Loader@7" is the seventh loader found, and the number differs between runs. */
function withoutNumber(name: MethodName): MethodName {
  return { ...name, loader: name.loader.replace(/@\d+$/, '') }
}

/** Returns the tree with new method ids and sorted children. Not recursive, since trees may be deep. */
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

/** Compares by UTF-16 code units, so that the order does not depend on the locale. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
