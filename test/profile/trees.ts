// Trees and profiles for tests, in a notation like the paper's figures:
//
//   main 1x 10ns ( work 2x 54ns  other 1x -3ns )
//
// is a root `main`, called once, with 10 ns self time, which called `work` twice and `other` once. A name
// without a class belongs to `com.acme.App`; `Foo.bar` to `com.acme.Foo`; a name with more dots is
// used unchanged. Equal names are the same method.

import type { MethodName, ThreadTree, Tree } from '../../src/cct/tree.ts'
import type { Profile } from '../../src/profile/profile.ts'

export class Methods {
  readonly names: MethodName[] = [{ class: '', method: '', descriptor: '', loader: '' }]
  readonly #ids = new Map<string, number>()

  id(name: string): number {
    const known = this.#ids.get(name)
    if (known !== undefined) return known
    const dot = name.lastIndexOf('.')
    const given = dot < 0 ? 'App' : name.slice(0, dot)
    const id = this.names.length
    this.names.push({
      class: given.includes('.') ? given : `com.acme.${given}`,
      method: name.slice(dot + 1),
      descriptor: '(I)V',
      loader: 'app',
    })
    this.#ids.set(name, id)
    return id
  }
}

/** Returns the tree of a notation. Measured time is self time plus one ns per call. */
export function treeOf(notation: string, methods: Methods): Tree {
  const parent: number[] = []
  const method: number[] = []
  const calls: number[] = []
  const self: number[] = []
  let above = -1
  for (const [token, name, times, ns] of notation.matchAll(/[()]|(\S+)\s+(\d+)x\s+(-?[\d.]+)ns/g)) {
    if (token === '(') above = parent.length - 1
    else if (token === ')') above = parent[above]!
    else {
      parent.push(above)
      method.push(methods.id(name!))
      calls.push(Number(times))
      self.push(Number(ns))
    }
  }
  return build(parent, method, calls, self)
}

/** Returns the tree of some columns; nodes are in preorder. */
export function build(parent: number[], method: number[], calls: number[], self: number[]): Tree {
  const count = parent.length
  const size = new Int32Array(count).fill(1)
  const total = Float64Array.from(self)
  for (let i = count - 1; i >= 0; i--) {
    const p = parent[i]!
    if (p < 0) continue
    size[p]! += size[i]!
    total[p]! += total[i]!
  }
  return {
    count,
    method: Int32Array.from(method),
    parent: Int32Array.from(parent),
    size,
    metrics: {
      calls: Float64Array.from(calls),
      selfNs: Float64Array.from(self),
      totalNs: total,
      measuredNs: Float64Array.from(self, (ns, i) => ns + calls[i]!),
      warmupCalls: new Float64Array(count),
      warmupSelfNs: new Float64Array(count),
    },
  }
}

/** Returns a tree of `count` random nodes over `names` methods. Siblings have different methods. */
export function randomTree(count: number, names: number, random: () => number): Tree {
  const parent: number[] = [-1]
  const path = [0]
  const used: Set<number>[] = [new Set()]
  const method = [1]
  while (parent.length < count) {
    if (path.length > 1 && random() < 0.45) {
      path.pop()
      used.pop()
      continue
    }
    const top = used[used.length - 1]!
    if (top.size >= names - 1) {
      if (path.length === 1) break
      path.pop()
      used.pop()
      continue
    }
    let id = 1 + Math.floor(random() * names)
    while (top.has(id)) id = (id % names) + 1
    top.add(id)
    const node = parent.length
    parent.push(path[path.length - 1]!)
    method.push(id)
    if (path.length < 60) {
      path.push(node)
      used.push(new Set())
    }
  }
  const calls = parent.map(() => 1 + Math.floor(random() * 1000))
  const self = parent.map(() => Math.floor(random() * 1e6))
  return build(parent, method, calls, self)
}

/** Returns a chain of one recursive method, `depth` calls deep. */
export function chain(depth: number): Tree {
  const parent = Array.from({ length: depth }, (_, i) => i - 1)
  const ones = parent.map(() => 1)
  return build(parent, ones, ones, ones)
}

/** Returns numbers in [0, 1) that depend only on the seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

export function profileOf(notation: string, more: Partial<Profile> = {}): Profile {
  const methods = new Methods()
  const merged = treeOf(notation, methods)
  const threads: ThreadTree[] = merged.count > 0 ? [{ id: 21, name: 'worker-1', tree: merged }] : []
  return profileOfTree(merged, methods.names, { threads, ...more })
}

export function profileOfTree(
  merged: Tree,
  methodNames: readonly MethodName[],
  more: Partial<Profile> = {},
): Profile {
  return {
    target: { pid: 4711, jdk: '17.0.15', vm: 'OpenJDK 64-Bit Server VM', mainClass: 'com.acme.Main' },
    mode: 'exact',
    scheme: 'b',
    roots: ['com.acme.App.main'],
    startedAt: '2026-11-21T08:00:00.000Z',
    durationMs: 10_000,
    calibration: { innerNs: 11.5, outerNs: 13.25, clock: 'counterTime' },
    instrumentation: {
      instrumentedMethods: 12,
      calledMethods: 4,
      redefinitions: 2,
      redefinedClasses: 3,
      hotSwapMs: 7.5,
      longestPauseMs: 2.5,
      analysisMs: 3,
      skipped: [],
      gaps: 0,
      healed: 0,
    },
    warmupMs: 40,
    truncated: false,
    warnings: [],
    events: { count: 2000, waitMs: 1.5 },
    methodNames,
    merged,
    threads: [],
    ...more,
  }
}
