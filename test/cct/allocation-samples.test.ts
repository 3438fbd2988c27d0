// Rows of sampled allocations by methods without probes.

import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { ALLOCATION, isNotAttributed, NOT_ATTRIBUTED_NAME } from '../../src/cct/allocation.ts'
import {
  type AllocationSamples,
  methodKeyOf,
  withAllocationSamples,
} from '../../src/cct/allocation-samples.ts'
import { inPreorder } from '../../src/cct/lay-out.ts'
import type { MethodName, Tree } from '../../src/cct/tree.ts'
import { FIRST_METHOD_BESIDE_CLASSES, NOT_ATTRIBUTED } from '../../src/events/event-layout.ts'

const method = (name: string): MethodName => {
  const dot = name.lastIndexOf('.')
  return { class: name.slice(0, dot), method: name.slice(dot + 1), descriptor: '()V', loader: 'app' }
}
const ofClass = (name: string): MethodName => ({
  ...{ class: name, method: ALLOCATION, descriptor: '', loader: 'bootstrap' },
})

const INTS = 1
const [ROOT, OWN, LIST, OTHERS] = [0, 1, 2, 3].map((it) => FIRST_METHOD_BESIDE_CLASSES + it) as [
  number,
  number,
  number,
  number,
]
const NAMES: readonly (readonly [id: number, name: MethodName])[] = [
  [INTS, ofClass('int[]')],
  [ROOT, method('App.root')],
  [OWN, method('App.own')],
  [LIST, method('App.list')],
  [NOT_ATTRIBUTED, NOT_ATTRIBUTED_NAME],
]

/** root calls own, which allocates `exact` bytes, and list, which calls the JDK; `rest` bytes are not attributed. */
function tree(rest: number, exact = 1000): Tree {
  const method = [ROOT, OWN, INTS, LIST, NOT_ATTRIBUTED]
  const calls = [1, 1, 10, 1, 0]
  const bytes = [0, exact, exact, 0, rest]
  const totalBytes = [exact + rest, exact, exact, 0, rest]
  return inPreorder(method, [-1, 0, 1, 0, 0], { calls, bytes, totalBytes })
}

function samples(weights: readonly number[], allocated: string, ...path: string[]): AllocationSamples {
  return {
    path: path.map((it) => ({ name: method(it), key: methodKeyOf(method(it)) })),
    allocated: ofClass(allocated),
    count: weights.length,
    weight: weights.reduce((sum, it) => sum + it, 0),
    squares: weights.reduce((sum, it) => sum + it * it, 0),
  }
}

const LISTED = ['App.root', 'App.list', 'java.util.ArrayList.add', 'java.util.ArrayList.grow'] as const

/** Returns the rows as text, indented by depth: name, self and total bytes; with samples their number and the standard deviation. */
function rowsOf(base: Tree, ...of: AllocationSamples[]): string[] {
  const names = new Map(NAMES)
  let next = OTHERS
  const { count, method, metrics, parent } = withAllocationSamples(base, of, {
    nameOf: (id) => names.get(id)!,
    idOf: (name) => {
      const [known] = [...names].find(([, it]) => methodKeyOf(it) === methodKeyOf(name)) ?? []
      if (known === undefined) names.set(next, name)
      return known ?? next++
    },
  })
  const depth: number[] = []
  const rows: string[] = []
  for (let node = 0; node < count; node++) {
    depth[node] = parent[node]! < 0 ? 0 : depth[parent[node]!]! + 1
    const name = names.get(method[node]!)!
    const text = isNotAttributed(name) ? 'rest' : name.method === ALLOCATION ? name.class : name.method
    const sampled = (metrics.samples?.[node] ?? 0) > 0
    const numbers = [metrics.bytes![node]!, metrics.totalBytes![node]!]
    if (sampled) numbers.push(metrics.samples![node]!, Math.round(metrics.sdNs![node]!))
    rows.push(`${'  '.repeat(depth[node]!)}${text} ${numbers.join(' ')}`)
  }
  return rows
}

describe('sampled allocations of methods without probes', () => {
  it('the called method gets the bytes of its samples, and the sum of the rows stays the same', () => {
    assert.deepEqual(rowsOf(tree(1000), samples([100, 100, 100, 100], 'java.lang.Object[]', ...LISTED)), [
      'root 0 2000',
      '  own 1000 1000',
      '    int[] 1000 1000',
      '  list 0 400',
      '    add 400 400 4 200',
      '      java.lang.Object[] 400 400 4 200',
      '  rest 600 600',
    ])
  })

  it('samples with more bytes than are left are reduced in proportion', () => {
    const rows = rowsOf(
      tree(300),
      samples([100, 100, 100], 'byte[]', 'App.root', 'App.list', 'java.lang.StringBuilder.append'),
      samples([200, 100, 300], 'java.lang.Object[]', ...LISTED),
    )
    const bytes = (name: string) =>
      rows.filter((it) => it.trim().startsWith(`${name} `)).map((it) => Number(it.trim().split(' ')[2]))
    assert.deepEqual(
      [bytes('append'), bytes('add'), bytes('rest'), bytes('list')],
      [[100], [200], [0], [300]],
    )
  })

  it('bytes of fewer than three samples, of unknown stacks, and of several rows stay unattributed', () => {
    const base = tree(1000)
    assert.deepEqual(rowsOf(base, samples([100, 100], 'byte[]', ...LISTED)), rowsOf(base))
    assert.deepEqual(
      rowsOf(base, samples([9, 9, 9], 'byte[]', 'App.other', 'java.util.List.of')),
      rowsOf(base),
    )
    const twice = inPreorder([ROOT, LIST, LIST, NOT_ATTRIBUTED], [-1, 0, 0, 0], {
      ...{ calls: [1, 1, 1, 0], bytes: [0, 0, 0, 50], totalBytes: [50, 0, 0, 50] },
    })
    assert.deepEqual(rowsOf(twice, samples([9, 9, 9], 'byte[]', ...LISTED)), rowsOf(twice))
  })

  it('an object that an allocation site has reported gets no sampled row', () => {
    const base = tree(1000)
    const boxes = samples([9, 9, 9], 'java.lang.Integer', 'App.root', 'App.own', 'java.lang.Integer.valueOf')
    const texts = samples([9, 9, 9], 'byte[]', 'App.root', 'App.own', 'java.lang.StringConcatHelper.newArray')
    const own = samples([9, 9, 9], 'int[]', 'App.root', 'App.own')
    assert.deepEqual(rowsOf(base, boxes, texts, own), rowsOf(base))
  })

  it('methods whose exact bytes agree with their samples leave the standard deviation at that of independent samples', () => {
    const own = samples(new Array<number>(10).fill(100), 'int[]', 'App.root', 'App.own')
    const listed = samples(new Array<number>(10).fill(100), 'byte[]', ...LISTED)
    const of = (exact: readonly AllocationSamples[]) =>
      rowsOf(tree(1000), listed, ...exact).find((it) => it.includes(' add '))
    assert.equal(of([own]), '    add 1000 1000 10 316')
    // own has no sample. Five samples are expected, and the variance is five times that of independent samples.
    assert.equal(of([]), '    add 1000 1000 10 707')
  })
})
