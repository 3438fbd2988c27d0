import { describe, expect, it } from 'vitest'
import { InsideSamples } from '../../src/cct/inside-samples.ts'
import { inPreorder } from '../../src/cct/lay-out.ts'
import { SAMPLED, STATE_COLUMNS, TIMED, UNKNOWN_STATE, withSamples } from '../../src/cct/merge-samples.ts'
import type { Tree } from '../../src/cct/tree.ts'
import { UNSEEN, unseenByShare } from '../../src/cct/unseen.ts'
import { unseenPart } from '../../src/profile/sampled-rows.ts'

const OTHERS = 999
const SHORT = 998
const RUNNABLE = 1
const BLOCKED = 2

/** Ids of the methods `T.<letter>`. */
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

/** Returns samples of stacks such as "R f A", outermost frame first, with the number of samples. A thread state follows a colon. */
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
    number: number
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
    const as = {
      thread: 7,
      number: 7,
      stack,
      state: state === 'lock' ? BLOCKED : RUNNABLE,
      ticks: 0,
      weight: 1e6,
    }
    for (let i = 0; i < times; i++) batch.push({ ...as, call: ++call })
  }
  const frames = names.map((method) => ({ className: 'T', method, line: 0 }))
  samples.add({ frames, stacks: Int32Array.from(stacks), samples: batch })
  return samples
}

interface Probes {
  /** Methods whose probes see every call. Default: none. */
  readonly seen?: readonly string[]
  /** Overloads of a name. Default: the method itself. */
  readonly overloads?: Readonly<Record<string, readonly string[]>>
  /** Methods with short calls. Default: none. */
  readonly short?: readonly string[]
  /** Whether samples inside loops are delayed, as with the serial collector. */
  readonly isBent?: boolean
}

function made(
  tree: Tree,
  samples: InsideSamples,
  timed: readonly string[],
  { seen = [], overloads = {}, isBent = false, short = [] }: Probes = {},
): Tree {
  return withSamples(tree, {
    samples,
    timed: (_, method) =>
      timed.includes(method) ? (overloads[method] ?? [method]).map((it) => ID[it]!) : undefined,
    isSeen: (_, method) => seen.includes(method),
    isBent,
    methodOf: (_, method) => ID[method]!,
    others: OTHERS,
    short: { id: SHORT, has: (_, method) => short.includes(method) },
  })
}

function picture(timedRows: Tree, samples: InsideSamples, timed: readonly string[], probes?: Probes) {
  const tree = made(timedRows, samples, timed, probes)
  const pathOf = (node: number): string => {
    const name = tree.method[node] === SHORT ? 'short' : (NAME.get(tree.method[node]!) ?? '…')
    return tree.parent[node]! < 0 ? name : `${pathOf(tree.parent[node]!)} ${name}`
  }
  const rows = Array.from({ length: tree.count }, (_, node) => [pathOf(node), node] as const)
  const of = (column: string) =>
    Object.fromEntries(rows.map(([path, node]) => [path, tree.metrics[column]![node]!] as const))
  return { tree, paths: rows.map(([path]) => path), of }
}

const sumOf = (values: ArrayLike<number>) => Array.from(values).reduce((sum, it) => sum + it, 0)

describe('a tree of one timed root', () => {
  it("a timed root's time is divided in proportion to its samples, and the sum is unchanged", () => {
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

  it('a timed root without samples is unchanged, and its thread states are unknown', () => {
    const { of } = picture(timedTree(['R', -1, 500]), new InsideSamples(), ['R'])
    expect(of('selfNs')).toEqual({ R: 500 })
    expect(of(UNKNOWN_STATE)).toEqual({ R: 500 })
  })

  it('sampled frames with fewer than three samples are combined in one row per parent', () => {
    const { of } = picture(
      timedTree(['R', -1, 1_000]),
      sampled({ 'R g': 6, 'R f': 2, 'R B': 1, 'R h A': 1 }),
      ['R'],
    )
    expect(of('selfNs')).toEqual({ R: 0, 'R g': 600, 'R …': 400 })
  })
})

describe('methods with short calls', () => {
  it('consecutive frames of short methods are one row, with the rows of their other callees below it', () => {
    const { of, tree } = picture(
      timedTree(['R', -1, 1_024]),
      sampled({ R: 16, 'R f': 16, 'R f g': 32, 'R g': 32, 'R f g h': 16, 'R h f': 16 }),
      ['R'],
      { short: ['f', 'g'] },
    )
    expect(of('selfNs')).toEqual({ R: 128, 'R short': 640, 'R short h': 128, 'R h': 0, 'R h short': 128 })
    expect(of('samples')).toMatchObject({ R: 128, 'R short': 96, 'R h short': 16 })
    expect(sumOf(tree.metrics.selfNs!)).toBe(1_024)
  })

  it('a timed method keeps its row, also below a short method', () => {
    const { of } = picture(
      timedTree(['R', -1, 512], ['A', 0, 256]),
      sampled({ 'R f': 16, 'R f A': 16, 'R f A f': 16 }),
      ['R', 'A'],
      { short: ['f', 'A'] },
    )
    expect(of('totalNs')).toEqual({ R: 768, 'R short': 768, 'R short A': 256, 'R short A short': 128 })
  })
})

describe('rows of values below a root', () => {
  it('samples are below the row of their value, and samples of root calls without a value are in no row', () => {
    const tree = withSamples(timedTree(['R', -1, 0], ['A', 0, 600], ['B', 0, 300]), {
      samples: sampled({ 'R A f': 10, 'R A g': 5, 'R B f': 10, 'R f': 100, R: 100 }),
      timed: (_, method) => (['R', 'A', 'B'].includes(method) ? [ID[method]!] : undefined),
      methodOf: (_, method) => ID[method]!,
      others: OTHERS,
      valueRows: { first: ID.A!, last: ID.B! },
    })
    const rows = Array.from(
      tree.method,
      (id, node) => `${NAME.get(id)} ${Math.round(tree.metrics.totalNs![node]!)}`,
    )
    expect(rows.sort()).toEqual(['A 600', 'B 300', 'R 900', 'f 300', 'f 400', 'g 200'])
  })
})

describe('a timed callee below sampled frames', () => {
  it('a timed callee keeps its time, and is placed below the sampled frames that lead to the callee', () => {
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

  it('the time of a timed callee is divided in proportion to the samples of that callee', () => {
    const { of } = picture(
      timedTree(['R', -1, 100], ['A', 0, 900]),
      sampled({ R: 50, 'R A': 10, 'R A h': 30 }),
      ['R', 'A'],
    )
    expect(of('selfNs')).toEqual({ R: 100, 'R A': 225, 'R A h': 675 })
  })

  it.each([
    ['two paths', { 'R f': 5, 'R g': 5, 'R f A': 9, 'R g A': 10 }],
    ['one path, but mostly by direct calls', { 'R f': 3, 'R A': 90, 'R f A': 10 }],
  ])(
    'a timed callee reached by %s stays directly below its timed caller, since no single path has all time of the callee',
    (_, seen) => {
      const { paths, of } = picture(timedTree(['R', -1, 100], ['A', 0, 900]), sampled(seen), ['R', 'A'])
      expect(paths).toContain('R A')
      expect(of('totalNs')['R f']).toBeLessThanOrEqual(100)
    },
  )

  it('if samples show an overload or bridge method twice in a row, the timed callee is placed below that method', () => {
    const { of } = picture(
      timedTree(['R', -1, 100], ['A', 0, 900]),
      sampled({ 'R R A A': 60, 'R R A A h': 30 }),
      ['R', 'A'],
    )
    expect(of('selfNs')).toEqual({ R: 100, 'R A': 600, 'R A h': 300 })
  })

  it('a method that is timed but has no timed call is shown as a sampled row', () => {
    const { of } = picture(timedTree(['R', -1, 100]), sampled({ 'R A': 10 }), ['R', 'A'])
    expect(of('known')).toEqual({ R: TIMED, 'R A': SAMPLED })
  })

  it('rows between a timed method and its timed callee have no self time if no sample was taken in the timed method itself', () => {
    const { of } = picture(timedTree(['R', -1, 100], ['A', 0, 900]), sampled({ 'R f g A': 10 }), ['R', 'A'])
    expect(of('selfNs')).toEqual({ R: 100, 'R f': 0, 'R f g': 0, 'R f g A': 900 })
    expect(of('totalNs')).toMatchObject({ R: 1_000, 'R f': 900 })
  })

  it('rows on the path to a timed callee are kept even with few samples', () => {
    const { paths } = picture(timedTree(['R', -1, 100], ['A', 0, 900]), sampled({ R: 9, 'R f A': 1 }), [
      'R',
      'A',
    ])
    expect(paths).toEqual(['R', 'R f', 'R f A'])
  })
})

describe('calls that probes missed', () => {
  const ALL = ['R', 'A', 'B']
  const unseen = (tree: Tree, seen: Readonly<Record<string, number>>, probes: Probes = { seen: ALL }) => {
    const made = picture(tree, sampled(seen), ALL, probes)
    const marked = Object.entries(made.of(UNSEEN)).filter(([, samples]) => samples > 0)
    return { marked: Object.fromEntries(marked), part: unseenPart(made.tree) }
  }
  const tree = () => timedTree(['R', -1, 500], ['A', 0, 500])

  it('a timed method that is in samples but has no call in the tree is reported as a missed call', () => {
    expect(unseen(tree(), { R: 45, 'R A': 50, 'R g B': 3, 'R g B h': 2 })).toEqual({
      marked: { 'R g B': 5 },
      part: 0.05,
    })
  })

  it('samples of nested missed calls count once, and include samples of timed calls below a missed call', () => {
    const { marked, part } = unseen(timedTree(['R', -1, 500], ['A', 0, 500]), {
      R: 40,
      'R B A': 30,
      'R B g B': 30,
    })
    expect(marked).toEqual({ 'R B': 60, 'R B g B': 30 })
    expect(part).toBeCloseTo(0.6, 9)
  })

  it('missed calls are not reported for only one or two samples', () => {
    expect(unseen(tree(), { R: 48, 'R A': 50, 'R g B': 2 })).toEqual({ marked: {}, part: 0 })
  })

  it.each([
    ['is not timed', { R: 45, 'R A': 50, 'R B': 5 }, { seen: ['R', 'A'] }],
    ['calls itself', { R: 50, 'R A A A': 50 }, undefined],
    ['calls itself through other methods', { R: 50, 'R A': 40, 'R A A g': 10 }, undefined],
    ['is below a method that may be another overload', { R: 50, 'R A B': 50 }, { seen: ['R', 'B'] }],
  ])('no missed call is reported for a sampled method that %s', (_, seen, probes) => {
    expect(unseen(tree(), seen, probes)).toEqual({ marked: {}, part: 0 })
  })

  it('no missed call is reported below a method with two timed overloads, since a sample does not show which overload was called', () => {
    const both = timedTree(['R', -1, 100], ['A', 0, 600], ['B', 0, 300], ['f', 2, 100])
    const probes = { seen: ['R', 'A', 'f'], overloads: { A: ['A', 'B'] } }
    const { tree } = picture(both, sampled({ R: 10, 'R A': 80, 'R A f': 10 }), ['R', 'A', 'f'], probes)
    expect(unseenPart(tree)).toBe(0)
  })

  it('no missed call is reported in stacks truncated by HotSpot', () => {
    const deep = (frames: number) => ({ R: 45, 'R A': 50, [`R${' g'.repeat(frames)} B`]: 5 })
    expect(unseen(tree(), deep(990)).part).toBe(0.05)
    expect(unseen(tree(), deep(1_000)).part).toBe(0)
  })

  it('no missed call is reported where contexts were collapsed', () => {
    const none = { method: new Int32Array(), calls: new Float64Array(), self: new Float64Array() }
    const collapsed = { ...tree(), collapsed: { ...none, total: new Float64Array() } }
    expect(unseen(collapsed, { R: 45, 'R A': 50, 'R g B': 5 })).toEqual({ marked: {}, part: 0 })
  })

  it('missed calls are reported for a row if its share of samples is clearly larger than its share of measured time', () => {
    const rows = timedTree(['R', -1, 800], ['A', 0, 200])
    expect(unseen(rows, { R: 400, 'R A': 400, 'R A h': 200 })).toEqual({
      marked: { 'R A': 400 },
      part: 0.4,
    })
    // If samples inside loops are delayed, shares of samples are less precise than times. A stack with an unrecorded call still proves a
    // missed call.
    expect(unseen(rows, { R: 400, 'R A': 600 }, { seen: ['R', 'A'], isBent: true }).marked).toEqual({})
    expect(unseen(rows, { R: 400, 'R B': 600 }, { seen: ['R', 'A', 'B'], isBent: true }).marked).toEqual({
      'R B': 600,
    })
    // The samples of the method include calls of an overload without probes.
    expect(unseen(rows, { R: 400, 'R A': 600 }, { seen: ['R'] }).marked).toEqual({})
  })

  it('no missed call is reported for a row whose share of samples is smaller, or only slightly larger, than its share of measured time', () => {
    expect(unseen(timedTree(['R', -1, 500], ['A', 0, 500]), { R: 600, 'R A': 400 }).marked).toEqual({})
    expect(unseen(timedTree(['R', -1, 700], ['A', 0, 300]), { R: 600, 'R A': 400 }).marked).toEqual({})
  })

  it('samples of few root calls do not cause a report of missed calls', () => {
    const shares = { clock: 0.2, samples: 0.6 }
    for (const calls of [0, 1, 10]) expect(unseenByShare({ ...shares, calls })).toBe(0)
    expect(unseenByShare({ ...shares, calls: 1_000 })).toBeCloseTo(0.4, 9)
  })

  it('random variation of samples does not cause a report of missed calls', () => {
    let random = 1
    const next = () => {
      random = (random * 48_271) % 2_147_483_647
      return random / 2_147_483_647
    }
    for (let session = 0; session < 500; session++) {
      const share = next()
      let inA = 0
      const samples = 20 + Math.floor(next() * 400)
      for (let i = 0; i < samples; i++) if (next() < share) inA++
      const rows = timedTree(['R', -1, 1_000 * (1 - share)], ['A', 0, 1_000 * share])
      expect(unseen(rows, { R: samples - inA, 'R A': inA }).marked).toEqual({})
    }
  })
})

describe('sums and precision of a tree of measured times and samples', () => {
  it("the times of a row's thread states sum to the time of the row, and self and children sum to the parent", () => {
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

  it('the estimated share of a method is more precise if samples of more root calls exist', () => {
    const few = picture(timedTree(['R', -1, 1_000]), sampled({ R: 5, 'R g': 5 }), ['R'])
    const many = picture(timedTree(['R', -1, 1_000]), sampled({ R: 500, 'R g': 500 }), ['R'])
    expect(few.of('sdNs')['R g']).toBeGreaterThan(100)
    expect(many.of('sdNs')['R g']).toBeLessThan(20)
  })

  it('the estimated share of a method is not more precise with more samples of the same root calls', () => {
    const samples = sampled({})
    const frames = Object.keys(ID).map((method) => ({ className: 'T', method, line: 0 }))
    const one = { thread: 1, number: 1, state: RUNNABLE, ticks: 0, weight: 1 }
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

  it('a tree of times and samples can have 100,000 nested frames', () => {
    const samples = new InsideSamples()
    const deep = 100_000
    const stacks = Int32Array.from({ length: 2 * deep }, (_, at) =>
      at % 2 === 0 ? at / 2 : at === 1 ? 0 : 4,
    )
    const frames = Object.keys(ID).map((method) => ({ className: 'T', method, line: 0 }))
    const one = { thread: 1, number: 1, stack: deep, state: RUNNABLE, ticks: 0, weight: 1 }
    samples.add({ frames, stacks, samples: [1, 2, 3].map((call) => ({ ...one, call })) })
    const tree = made(timedTree(['R', -1, 9]), samples, ['R'])
    expect(tree.count).toBe(deep)
    expect(tree.metrics.selfNs![deep - 1]).toBe(9)
  })
})
