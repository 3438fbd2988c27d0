// What of a profile is the same in every run of a deterministic program. Bytecodes and calls are; when and where it ran,
// how long that took, and in which order methods were met are not.
//
// Methods are numbered by name, and children and threads ordered by it, so that the same trees are the same bytes.

import type { ThreadTree, Tree } from '../cct/tree.ts'
import { nameOf, type Profile, type SkippedMethod } from './profile.ts'

/** Facts of the run are set to nothing; warnings, gaps and what was skipped stay: they change how far to trust it. */
export function reproducible(profile: Profile): Profile {
  const { target, instrumentation, events } = profile
  const { order, methodNames } = namesInOrder(profile)
  const tree = (of: Tree): Tree => ordered(of, order)
  const { longestPauseMs: _, ...facts } = instrumentation
  const { kept: __, ...rest } = profile
  return {
    ...rest,
    target: { ...target, pid: 0 },
    startedAt: new Date(0).toISOString(),
    durationMs: 0,
    calibration: { ...profile.calibration, innerNs: 0, outerNs: 0 },
    instrumentation: {
      ...facts,
      // More or fewer methods are taken in vain, as questions happen to be answered.
      instrumentedMethods: instrumentation.calledMethods,
      redefinitions: 0,
      redefinedClasses: 0,
      hotSwapMs: 0,
      analysisMs: 0,
      skipped: [...instrumentation.skipped].sort(bySkipped),
    },
    warmupMs: 0,
    warnings: [...profile.warnings].sort(),
    events: { count: events.count, waitMs: 0 },
    methodNames,
    merged: tree(profile.merged),
    threads: profile.threads
      .map(({ name, tree: own }): ThreadTree => ({ id: 0, name, tree: tree(own) }))
      .sort((a, b) => compare(a.name, b.name) || compareTrees(a.tree, b.tree))
      .map((thread, i) => ({ ...thread, id: i + 1 })),
  }
}

/** New ids of the methods that were called, from 1 on, by name. */
function namesInOrder(profile: Profile): Pick<Profile, 'methodNames'> & { order: Int32Array } {
  const called = new Set<number>()
  for (const tree of [profile.merged, ...profile.threads.map((it) => it.tree)])
    for (const id of tree.method) called.add(id)
  const key = (id: number): string => {
    const { class: owner, method, descriptor, loader } = nameOf(profile.methodNames, id)
    return `${owner}\n${method}\n${descriptor}\n${loader}`
  }
  const keys = new Map([...called].map((id) => [id, key(id)]))
  const ids = [...called].sort((a, b) => compare(keys.get(a)!, keys.get(b)!) || a - b)
  const order = new Int32Array(Math.max(0, ...called) + 1)
  for (const [i, id] of ids.entries()) order[id] = i + 1
  return {
    order,
    methodNames: [profile.methodNames[0]!, ...ids.map((id) => nameOf(profile.methodNames, id))],
  }
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
    pending.push(...children)
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

function bySkipped(a: SkippedMethod, b: SkippedMethod): number {
  return compare(a.method, b.method) || compare(a.reason, b.reason)
}

/** Of code units: the same everywhere. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
