import assert from 'node:assert/strict'
import { afterEach, describe, it, vi } from 'vitest'
import type { Calibration } from '../../src/base/compensation.ts'
import { CctBuilder } from '../../src/cct/builder.ts'
import { COLLAPSED } from '../../src/cct/nodes.ts'
import { type HotMethod, hotMethods, type Sink, snapshotOf } from '../../src/cct/snapshot.ts'
import type { Tree } from '../../src/cct/tree.ts'
import { FIRST_METHOD_BESIDE_WAITS } from '../../src/events/wait-ids.ts'
import { SINKS } from '../../src/measures/sinks.ts'
import { enter, exit } from '../events/sinks.ts'
import { FULL } from '../support/lane.ts'
import { play } from './notation.ts'

const PROBES: Calibration = { innerTicks: 3, outerTicks: 2 }

interface Shape {
  readonly bound: number
  /** Maximum number of nodes. Default: `bound`. */
  readonly mostNodes?: number
  readonly steps: number
  readonly depth: number
  readonly methods: number
  readonly threads?: number
  readonly waits?: true
  readonly sites?: true
  readonly handsOver?: true
  readonly warmUp?: true
  readonly pauses?: true
  readonly reset?: true
}

const WAIT = 7

/** Feeds the same calls to a builder with a bound and to one without. */
function both(shape: Shape, seed: number) {
  const { bound, steps, depth, methods, threads = 3 } = shape
  let state = seed
  const random = (below: number): number => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff
    return Math.floor((state / 0x80000000) * below)
  }
  const first = shape.waits ? FIRST_METHOD_BESIDE_WAITS : 1
  const made = (contexts?: number) =>
    new CctBuilder({
      ...{ firstMethod: first, callSites: shape.sites === true },
      ...(contexts !== undefined && { mostContexts: contexts }),
    })
  const [bounded, free] = [made(bound), made()]
  const each = (tell: (builder: CctBuilder) => void) => [bounded, free].forEach(tell)
  const stacks: number[][] = Array.from({ length: threads }, () => [])
  const tasks: number[] = []
  let now = 1000
  let mostNodes = 0
  for (let step = 0; step < steps; step++) {
    const thread = random(threads)
    const stack = stacks[thread]!
    now += 10 + (random(40) === 0 ? 60_000 : random(30))
    each((it) => it.thread(thread + 1, -1))
    const kind = random(40)
    const top = stack.at(-1)
    if (top === WAIT || (stack.length > 0 && (kind < 16 || stack.length === depth))) {
      stack.pop()
      each((it) => exit(it, top!, now))
    } else if (stack.length === 0 || kind < 35) {
      if (stack.length === 0) {
        const task = shape.handsOver && random(2) === 0 ? tasks.shift() : undefined
        each((it) => (task === undefined ? it.root() : it.begin(task)))
      } else if (shape.sites) {
        const site = random(3) + 1
        each((it) => it.site(site))
      }
      const isWait = shape.waits && stack.length > 0 && random(6) === 0
      const id = isWait ? WAIT : first + (stack.length === 0 ? 0 : random(methods))
      stack.push(id)
      each((it) => enter(it, id, now))
    } else if (kind < 36) each((it) => it.adjust(3))
    else if (kind < 37) {
      each((it) => it.suspend(now))
      now += 10
      each((it) => it.resume(now))
    } else if (kind < 39 && shape.handsOver) {
      tasks.push(step + 1)
      each((it) => it.submit(step + 1))
    } else {
      stack.length = 1 + random(stack.length)
      each((it) => it.caught(stack.at(-1)!, now))
    }
    if (shape.warmUp && step === steps >> 1) each((it) => it.markWarmup())
    if (shape.pauses && random(500) === 0) each((it) => it.pause(now - 30_000, now + 5000))
    if (shape.reset && step === steps >> 1) each((it) => it.reset(now))
    mostNodes = Math.max(mostNodes, bounded.count)
  }
  for (const [thread, stack] of stacks.entries()) {
    while (stack.length > 0) {
      now += 10
      const id = stack.pop()!
      each((it) => {
        it.thread(thread + 1, -1)
        exit(it, id, now)
      })
    }
  }
  const picture = (it: CctBuilder) =>
    snapshotOf(it, {
      calibration: PROBES,
      nsPerTick: 1,
      firstMethod: first,
      sink: first === 1 ? SINKS.exact : WITH_WAITS,
    })
  return { bounded, free, mostNodes, after: picture(bounded), before: picture(free) }
}

function near(a: number, b: number, what: string): void {
  assert.ok(Math.abs(a - b) < 1e-6 * Math.max(1, Math.abs(a)), `${what}: ${a} and ${b}`)
}

function addsUp({ count, parent, metrics }: Tree, what: string): void {
  const { selfNs, totalNs } = metrics
  const sums = selfNs!.slice()
  for (let node = count - 1; node >= 0; node--) {
    near(sums[node]!, totalNs![node]!, `${what}, total of node ${node}`)
    if (parent[node]! >= 0) sums[parent[node]!]! += sums[node]!
  }
}

const sum = (values: Float64Array) => values.reduce((a, b) => a + b, 0)

/** Sums of each root with its subtree: calls, and time including probe costs. */
function sumsOfRoots({ count, size, metrics }: Tree): { calls: number; ticks: number }[] {
  const roots: { calls: number; ticks: number }[] = []
  for (let top = 0; top < count; top += size[top]!) {
    const [calls, ticks] = [metrics.calls!, metrics.measuredNs!].map((it) =>
      sum(it.subarray(top, top + size[top]!)),
    )
    roots.push({ calls: calls!, ticks: Math.round(ticks!) })
  }
  return roots
}

function sameMethods(after: Tree, before: Tree, columns: readonly (keyof HotMethod)[], what: string): void {
  const now = new Map(hotMethods(after).map((it) => [it.method, it]))
  const all = hotMethods(before)
  assert.equal(now.size, all.length, what)
  for (const it of all) {
    for (const column of columns)
      near(now.get(it.method)![column]!, it[column]!, `${what}, ${column} of ${it.method}`)
  }
}

/** Makes the `nth` allocation of a large array of this kind during a collapse fail. */
function withoutMemory(kind: 'Int32Array' | 'Float64Array' | 'Uint8Array', least: number, nth: number): void {
  let asked = 0
  const Kind = globalThis[kind] as new (...of: unknown[]) => object
  class Short extends Kind {
    constructor(...of: unknown[]) {
      const isLarge = typeof of[0] === 'number' && of[0] >= least
      if (isLarge && /src\/cct\/collapsed?\.ts/.test(new Error().stack!) && ++asked === nth)
        throw new RangeError('Array buffer allocation failed')
      super(...of)
    }
  }
  vi.stubGlobal(kind, Short)
}

/** Number of seeds. Each seed yields another sequence of events. */
const SEEDS = FULL ? 10 : 1
const WIDE = { bound: 2000, steps: 15_000, depth: 9, methods: 6 }

/** Times, with columns of waits. */
const WITH_WAITS: Sink = {
  ...SINKS.exact,
  columns(tree, known) {
    const { selfWaitNs: _, totalWaitNs: __, ...metrics } = SINKS.locks.columns!(tree, known).metrics
    return { ...tree, metrics }
  },
}

describe('a tree above the limit of contexts', () => {
  it.each<[string, Shape]>([
    ['a wide tree', WIDE],
    ['a deep tree', { bound: 1500, steps: 15_000, depth: 300, methods: 3 }],
    // The current contexts of 200 threads, at most eleven nodes each, cannot be collapsed. The maximum is therefore twice this number.
    [
      'a tree with more contexts on the stacks of 200 threads than the limit',
      { ...WIDE, bound: 1000, threads: 200, mostNodes: 4400 },
    ],
    ['a tree with a warm-up', { ...WIDE, warmUp: true }],
    ['a tree with a reset during the events', { ...WIDE, reset: true }],
    ['a tree with redefinition pauses', { ...WIDE, pauses: true }],
  ])('a collapsed tree has the sums of the same tree without a limit: %s', (_, shape) => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const { bounded, free, mostNodes, after, before } = both(shape, seed)
      const what = `seed ${seed}`
      assert.ok(bounded.collapsed!.contexts > 1000, `${what}: ${bounded.collapsed!.contexts}`)
      assert.ok(free.count > shape.bound * 1.5, `${what}: ${free.count}`)
      assert.ok(mostNodes <= (shape.mostNodes ?? shape.bound) + 1, `${what}: ${mostNodes}`)
      addsUp(after.merged, what)
      assert.equal(sum(after.merged.metrics.calls!), sum(before.merged.metrics.calls!))
      for (const column of ['selfNs', 'measuredNs', 'warmupCalls', 'warmupSelfNs'] as const)
        near(sum(after.merged.metrics[column]!), sum(before.merged.metrics[column]!), `${what}, ${column}`)
      // A pause that is reported late is subtracted from the collapsed row, not from the method that was merged into this row.
      sameMethods(after.merged, before.merged, shape.pauses ? ['calls'] : ['calls', 'self', 'total'], what)
      assert.deepEqual(
        after.threads.map(({ number, tree }) => [number, sum(tree.metrics.calls!)]),
        before.threads.map(({ number, tree }) => [number, sum(tree.metrics.calls!)]),
      )
      for (const { tree } of after.threads) addsUp(tree, what)
      assert.deepEqual(sumsOfRoots(after.merged), sumsOfRoots(before.merged))
    }
  })

  describe('a tree above the limit of contexts, without memory to collapse the tree', () => {
    afterEach(() => {
      vi.unstubAllGlobals()
    })

    it.each([
      ...[1, 2, 3, 4].map((nth) => ['Int32Array', nth] as const),
      ...[1, 2, 3, 4].map((nth) => ['Float64Array', nth] as const),
      ...[1, 2].map((nth) => ['Uint8Array', nth] as const),
    ])(
      'if the allocation of an array fails, a tree stays unchanged and is collapsed later (array %s, allocation number %i)',
      (kind, nth) => {
        const bound = 1000
        withoutMemory(kind, bound / 4, nth)
        const { bounded, mostNodes, after, before } = both({ ...WIDE, bound, steps: 9000 }, 1)
        assert.ok(mostNodes > bound + 1 && mostNodes <= 1.25 * bound + 2, `${mostNodes}`)
        assert.ok(bounded.collapsed!.contexts > 500, `${bounded.collapsed!.contexts}`)
        addsUp(after.merged, kind)
        assert.equal(sum(after.merged.metrics.calls!), sum(before.merged.metrics.calls!))
        sameMethods(after.merged, before.merged, ['calls', 'self', 'total'], kind)
      },
    )
  })

  it('waits below a collapsed row keep separate rows', () => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const { bounded, after, before } = both({ ...WIDE, waits: true }, seed)
      assert.ok(bounded.collapsed!.contexts > 1000)
      addsUp(after.merged, `seed ${seed}`)
      sameMethods(after.merged, before.merged, ['calls', 'self', 'total'], `seed ${seed}`)
      near(after.merged.metrics.totalBlockedNs![0]!, before.merged.metrics.totalBlockedNs![0]!, 'blocked')
      near(after.merged.metrics.totalWaitedNs![0]!, before.merged.metrics.totalWaitedNs![0]!, 'waited')
    }
  })

  it('a collapsed tree still separates call sites', () => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const { bounded, after, before } = both({ ...WIDE, sites: true, methods: 3 }, seed)
      assert.ok(bounded.collapsed!.contexts > 1000)
      addsUp(after.merged, `seed ${seed}`)
      sameMethods(after.merged, before.merged, ['calls', 'self', 'total'], `seed ${seed}`)
    }
  })

  it('a followed task is placed below a context that was not collapsed, or below a collapsed row', () => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const { bounded, free, after, before } = both({ ...WIDE, handsOver: true }, seed)
      assert.ok(bounded.collapsed!.contexts > 1000)
      assert.deepEqual([bounded.followed, bounded.orphans], [free.followed, free.orphans])
      assert.ok(free.followed > 100)
      addsUp(after.merged, `seed ${seed}`)
      sameMethods(after.merged, before.merged, ['calls', 'self'], `seed ${seed}`)
    }
  })

  it('a collapse keeps the most expensive contexts, and the current stack of each thread', () => {
    const builder = new CctBuilder({ mostContexts: 1000 })
    builder.thread(1, -1)
    enter(builder, 1, 1000)
    enter(builder, 2, 1001)
    for (let i = 0; i < 3000; i++) {
      enter(builder, 10 + i, 2000 + i * 10)
      exit(builder, 10 + i, 2000 + i * 10 + (i % 1000 === 0 ? 9 : 1))
    }
    const tree = snapshotOf(builder, { calibration: PROBES, nsPerTick: 1 }).merged
    const methods = [...tree.method]
    assert.deepEqual(methods.slice(0, 3), [1, 2, 10])
    for (const dear of [1010, 2010]) assert.ok(methods.includes(dear), String(dear))
    assert.equal(methods.at(-1), COLLAPSED)
    assert.equal(builder.contexts, tree.count - 1)
    exit(builder, 2, 100_000)
    exit(builder, 1, 100_001)
    assert.equal(builder.healed, 0)
  })

  it('the number of collapsed contexts is reported, and is absent before any context is collapsed', () => {
    const builder = new CctBuilder({ mostContexts: 1000 })
    play(builder, 'main> 0 work> 10 work< 20 main< 30')
    const { merged } = snapshotOf(builder, { calibration: PROBES, nsPerTick: 1 })
    assert.deepEqual([builder.collapsed!.contexts, merged.collapsed], [0, undefined])
  })
})
