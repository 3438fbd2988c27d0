import { describe, expect, it } from 'vitest'
import type { FrameName } from '../../src/base/frame-name.ts'
import { InsideSamples } from '../../src/cct/inside-samples.ts'
import { inPreorder } from '../../src/cct/lay-out.ts'
import { SAMPLED, STATE_COLUMNS, TIMED, UNKNOWN_STATE, withSamples } from '../../src/cct/picture.ts'
import type { Tree } from '../../src/cct/tree.ts'

const OTHERS = 999
const RUNNABLE = 1
const BLOCKED = 2

/** Ids of methods `T.<letter>`: 1 for R, and so on. */
const ID: Readonly<Record<string, number>> = { R: 1, A: 2, B: 3, f: 4, g: 5, h: 6 }
const NAME = new Map(Object.entries(ID).map(([name, id]) => [id, name]))

function timedTree(...rows: readonly [name: string, parent: number, selfNs: number, calls?: number][]): Tree {
  const parent = rows.map(([, above]) => above)
  const selfNs = rows.map(([, , self]) => self)
  const totalNs = selfNs.slice()
  for (let at = rows.length - 1; at > 0; at--) if (parent[at]! >= 0) totalNs[parent[at]!]! += totalNs[at]!
  return inPreorder(
    rows.map(([name]) => ID[name]!),
    parent,
    { calls: rows.map(([, , , calls = 1]) => calls), selfNs, totalNs },
  )
}

/** Stacks as "R f A", outermost first, with how often each was seen; a state behind a colon. */
function sampled(seen: Readonly<Record<string, number>>): InsideSamples {
  const samples = new InsideSamples()
  const names = Object.keys(ID)
  const stacks: number[] = []
  const known = new Map<string, number>()
  let call = 0
  const batch: {
    thread: number
    stack: number
    state: number
    call: number
    ticks: number
    weight: number
  }[] = []
  for (const [text, times] of Object.entries(seen)) {
    const [path = '', state] = text.split(':')
    let stack = 0
    let key = ''
    for (const frame of path.split(' ')) {
      key += ` ${frame}`
      const found = known.get(key)
      if (found === undefined) {
        stacks.push(stack, names.indexOf(frame))
        known.set(key, stacks.length / 2)
      }
      stack = known.get(key)!
    }
    const as = { thread: 7, stack, state: state === 'lock' ? BLOCKED : RUNNABLE, ticks: 0, weight: 1e6 }
    for (let i = 0; i < times; i++) batch.push({ ...as, call: ++call })
  }
  const frames: FrameName[] = names.map((method) => ({ className: 'T', method }))
  samples.add({ frames, stacks: Int32Array.from(stacks), samples: batch })
  return samples
}

function made(tree: Tree, samples: InsideSamples, timed: readonly string[]): Tree {
  return withSamples(tree, {
    samples,
    timed: (_, method) => (timed.includes(method) ? [ID[method]!] : undefined),
    methodOf: (_, method) => ID[method]!,
    others: OTHERS,
  })
}

function picture(timedRows: Tree, samples: InsideSamples, timed: readonly string[]) {
  const tree = made(timedRows, samples, timed)
  const pathOf = (node: number): string => {
    const name = NAME.get(tree.method[node]!) ?? '…'
    return tree.parent[node]! < 0 ? name : `${pathOf(tree.parent[node]!)} ${name}`
  }
  const rows = Array.from({ length: tree.count }, (_, node) => [pathOf(node), node] as const)
  const of = (column: string) =>
    Object.fromEntries(rows.map(([path, node]) => [path, tree.metrics[column]![node]!] as const))
  return { tree, paths: rows.map(([path]) => path), of }
}

const sumOf = (values: ArrayLike<number>) => Array.from(values).reduce((sum, it) => sum + it, 0)

describe('a tree of one timed root', () => {
  it('is divided as its samples are, and the sum stays', () => {
    const { of, paths, tree } = picture(
      timedTree(['R', -1, 6_000, 1_000]),
      sampled({ R: 12, 'R f': 6, 'R B': 42, 'R g': 40, 'R g h:lock': 20 }),
      ['R'],
    )
    expect(paths).toEqual(['R', 'R f', 'R B', 'R g', 'R g h'])
    expect(of('selfNs')).toEqual({ R: 600, 'R f': 300, 'R B': 2_100, 'R g': 2_000, 'R g h': 1_000 })
    expect(of('totalNs')).toMatchObject({ R: 6_000, 'R g': 3_000 })
    expect(of('known')).toMatchObject({ R: TIMED, 'R g h': SAMPLED })
    expect(of('calls')).toMatchObject({ R: 1_000, 'R g': 0 })
    expect(of('samples')).toMatchObject({ R: 120, 'R g': 60, 'R g h': 20 })
    expect(of('lockNs')).toMatchObject({ R: 1_000, 'R g': 1_000, 'R g h': 1_000, 'R B': 0 })
    expect(sumOf(tree.metrics.selfNs!)).toBe(6_000)
  })

  it('without samples is as it was, and nothing is known of what it did', () => {
    const { of } = picture(timedTree(['R', -1, 500]), new InsideSamples(), ['R'])
    expect(of('selfNs')).toEqual({ R: 500 })
    expect(of(UNKNOWN_STATE)).toEqual({ R: 500 })
  })

  it('has one row for frames with fewer than three samples', () => {
    const { of } = picture(
      timedTree(['R', -1, 1_000]),
      sampled({ 'R g': 6, 'R f': 2, 'R B': 1, 'R h A': 1 }),
      ['R'],
    )
    expect(of('selfNs')).toEqual({ R: 0, 'R g': 600, 'R …': 400 })
  })
})

describe('a timed callee', () => {
  it('keeps its own time, and hangs below the frames that lead to it', () => {
    const { of, paths } = picture(
      timedTree(['R', -1, 6_000, 1_000], ['A', 0, 4_010, 5_000]),
      sampled({ R: 12, 'R f': 6, 'R g': 102, 'R f A': 80 }),
      ['R', 'A'],
    )
    expect(paths).toEqual(['R', 'R f', 'R f A', 'R g'])
    expect(of('selfNs')).toEqual({ R: 600, 'R f': 300, 'R f A': 4_010, 'R g': 5_100 })
    expect(of('totalNs')).toMatchObject({ R: 10_010, 'R f': 4_310, 'R f A': 4_010 })
    expect(of('calls')).toMatchObject({ 'R f A': 5_000 })
  })

  it('divides its own time by its own samples', () => {
    const { of } = picture(
      timedTree(['R', -1, 100], ['A', 0, 900]),
      sampled({ R: 50, 'R A': 10, 'R A h': 30 }),
      ['R', 'A'],
    )
    expect(of('selfNs')).toEqual({ R: 100, 'R A': 225, 'R A h': 675 })
  })

  it.each([
    ['two ways', { 'R f': 5, 'R g': 5, 'R f A': 9, 'R g A': 10 }],
    ['one way, and mostly without', { 'R f': 3, 'R A': 90, 'R f A': 10 }],
  ])('that is reached by %s stays below its owner: no way has all of it', (_, seen) => {
    const { paths, of } = picture(timedTree(['R', -1, 100], ['A', 0, 900]), sampled(seen), ['R', 'A'])
    expect(paths).toContain('R A')
    expect(of('totalNs')['R f']).toBeLessThanOrEqual(100)
  })

  it('has what an overload of it, or a bridge, is seen to call it by', () => {
    const { of } = picture(
      timedTree(['R', -1, 100], ['A', 0, 900]),
      sampled({ 'R R A A': 60, 'R R A A h': 30 }),
      ['R', 'A'],
    )
    expect(of('selfNs')).toEqual({ R: 100, 'R A': 600, 'R A h': 300 })
  })

  it('that has not been called since it is timed is a sampled row', () => {
    const { of } = picture(timedTree(['R', -1, 100]), sampled({ 'R A': 10 }), ['R', 'A'])
    expect(of('known')).toEqual({ R: TIMED, 'R A': SAMPLED })
  })

  it('has rows above it that have no time where its owner was never seen itself', () => {
    const { of } = picture(timedTree(['R', -1, 100], ['A', 0, 900]), sampled({ 'R f g A': 10 }), ['R', 'A'])
    expect(of('selfNs')).toEqual({ R: 100, 'R f': 0, 'R f g': 0, 'R f g A': 900 })
    expect(of('totalNs')).toMatchObject({ R: 1_000, 'R f': 900 })
  })

  it('keeps a way of few samples as rows', () => {
    const { paths } = picture(timedTree(['R', -1, 100], ['A', 0, 900]), sampled({ R: 9, 'R f A': 1 }), [
      'R',
      'A',
    ])
    expect(paths).toEqual(['R', 'R f', 'R f A'])
  })
})

describe('any picture', () => {
  it('has states that sum to the row, and children and self that make the parent', () => {
    const { tree } = picture(
      timedTree(['R', -1, 700, 3], ['A', 0, 200], ['B', 1, 100], ['A', 0, 0]),
      sampled({ R: 4, 'R f:lock': 3, 'R f A g': 7, 'R f A': 2, 'R f A B h:lock': 9, 'R g h R': 5 }),
      ['R', 'A', 'B'],
    )
    const { selfNs, totalNs } = tree.metrics as Record<string, Float64Array>
    const states = [...STATE_COLUMNS, UNKNOWN_STATE].map((name) => tree.metrics[name]!)
    for (let node = 0; node < tree.count; node++) {
      let below = selfNs![node]!
      for (let child = node + 1; child < node + tree.size[node]!; child += tree.size[child]!)
        below += totalNs![child]!
      expect(below).toBeCloseTo(totalNs![node]!, 9)
      expect(states.reduce((sum, it) => sum + it[node]!, 0)).toBeCloseTo(totalNs![node]!, 9)
    }
    expect(totalNs![0]).toBeCloseTo(1_000, 9)
  })

  it('knows a share better the more calls it was seen in', () => {
    const few = picture(timedTree(['R', -1, 1_000]), sampled({ R: 5, 'R g': 5 }), ['R'])
    const many = picture(timedTree(['R', -1, 1_000]), sampled({ R: 500, 'R g': 500 }), ['R'])
    expect(few.of('sdNs')['R g']).toBeGreaterThan(100)
    expect(many.of('sdNs')['R g']).toBeLessThan(20)
  })

  it('knows a share no better for many samples of the same calls', () => {
    const samples = sampled({})
    const frames = Object.keys(ID).map((method) => ({ className: 'T', method }))
    const one = { thread: 1, state: RUNNABLE, ticks: 0, weight: 1 }
    const slow = Array.from({ length: 300 }, (_, i) => ({
      ...one,
      stack: 1 + (i % 2),
      call: i < 150 ? 1 : 2,
    }))
    const quick = Array.from({ length: 400 }, (_, i) => ({ ...one, stack: 3, call: 3 + i }))
    samples.add({ frames, stacks: Int32Array.from([0, 0, 1, 4, 0, 3]), samples: [...slow, ...quick] })
    const { of } = picture(timedTree(['R', -1, 1_000]), samples, ['R'])
    expect(of('samples')['R g']).toBe(150)
    expect(of('sdNs')['R g']).toBeGreaterThan(250)
  })

  it('is made of 100,000 frames below each other', () => {
    const samples = new InsideSamples()
    const deep = 100_000
    const stacks = Int32Array.from({ length: 2 * deep }, (_, at) =>
      at % 2 === 0 ? at / 2 : at === 1 ? 0 : 4,
    )
    const frames = Object.keys(ID).map((method) => ({ className: 'T', method }))
    const one = { thread: 1, stack: deep, state: RUNNABLE, ticks: 0, weight: 1 }
    samples.add({ frames, stacks, samples: [1, 2, 3].map((call) => ({ ...one, call })) })
    const tree = made(timedTree(['R', -1, 9]), samples, ['R'])
    expect(tree.count).toBe(deep)
    expect(tree.metrics.selfNs![deep - 1]).toBe(9)
  })
})
