// Sampled shares of methods below a root that is selected in the picker. Stacks are listed outermost frame first.

import { describe, expect, it } from 'vitest'
import { parseRoot } from '../../../src/reveal/patterns.ts'
import { chooseMethods, type Seen } from '../../../src/session/adaptive/choose.ts'
import { seenBelow } from '../../../src/session/roots/seen-below.ts'
import { SampledTree } from '../../../src/session/sampling/sampled-tree.ts'

const LOOP = 'java.lang.Thread.run lib.Pool.work'
const ROOT = `${LOOP} com.acme.Shop.order`
const LONG_MS = 10_000

/** @param stacks  pairs of a stack and its number of samples; each stack is a separate call */
function below(stacks: readonly (readonly [stack: string, times: number])[], root: string, ms = LONG_MS) {
  const tree = new SampledTree()
  const pathOf = (stack: string): Int32Array =>
    Int32Array.from(stack.split(/\s+/), (frame) => {
      const dot = frame.lastIndexOf('.')
      const [className, method] = [frame.slice(0, dot), frame.slice(dot + 1)]
      return tree.idOf({ class: className, method, descriptor: '', loader: '' })
    })
  const thread = { id: 1, name: 'worker', virtual: false }
  for (const [stack, times] of stacks) {
    for (let i = 0; i < times; i++) {
      tree.sample(thread, pathOf(stack))
      tree.away(thread, pathOf(LOOP))
    }
  }
  return seenBelow(tree.snapshot(false), (id) => tree.methodNames[id]!, parseRoot(root), ms)
}

const of = (seen: readonly Seen[], className: string) => seen.find((it) => it.className === className)

describe('methods below a selected root', () => {
  const stacks = [
    [`${ROOT} com.acme.Prices.sum`, 30],
    [`${ROOT} com.acme.Prices.sum com.acme.Tax.of`, 10],
    [`${ROOT} lib.Driver.query java.net.Socket.read`, 50],
    [`${ROOT} lib.Hash.fill`, 10],
    [`${LOOP} com.acme.Report.print com.acme.Prices.sum`, 100],
  ] as const

  it('shares of methods below a selected root exclude samples of other callers', () => {
    const seen = below(stacks, 'com.acme.Shop.order')
    expect(seen.map((it) => [it.className, it.share])).toEqual([
      ['lib.Driver', 0.5],
      ['com.acme.Prices', 0.4],
      ['com.acme.Tax', 0.1],
      ['lib.Hash', 0.1],
    ])
    expect(of(seen, 'com.acme.Prices')).toMatchObject({
      self: 0.3,
      owner: 'user',
      sd: Math.sqrt(0.4 * 0.6) / 10,
    })
    expect(of(seen, 'lib.Driver')).toMatchObject({ self: 0, owner: 'library', computing: 0 })
  })

  it('methods below a selected root are chosen as in a session: libraries that only compute and JDK methods that wait are excluded', () => {
    expect([...chooseMethods(below(stacks, 'com.acme.Shop.order')).keys()]).toEqual([
      'com.acme.Prices',
      'com.acme.Tax',
    ])
    expect(of(below(stacks, 'com.acme.Shop.order'), 'lib.Hash')?.computing).toBe(0.1)
  })

  it('methods below a selected root are counted once if the root is recursive', () => {
    const again = `${ROOT} com.acme.Prices.sum com.acme.Shop.order com.acme.Prices.sum`
    const seen = below([[again, 40]], 'com.acme.Shop.order')
    expect(seen.map((it) => [it.className, it.share])).toEqual([['com.acme.Prices', 1]])
  })

  it('methods below a selected root are found for an abbreviated root name', () => {
    expect(below(stacks, 'Shop.order')).toEqual(below(stacks, 'com.acme.Shop.order'))
  })

  it('methods below a selected root are not determined if the root has too few samples', () => {
    const few = [[`${ROOT} com.acme.Prices.sum`, 39]] as const
    expect(below(few, 'com.acme.Shop.order')).toEqual([])
    expect(below(few, 'com.acme.Shop.order', 15_000)).toHaveLength(1)
    const enough = [[`${ROOT} com.acme.Prices.sum`, 40]] as const
    expect(below(enough, 'com.acme.Shop.order')).toHaveLength(1)
    expect(below(enough, 'com.acme.Shop.order', 3_000)).toEqual([])
  })

  it('methods below a selected root are not determined if the root has no samples', () => {
    expect(below(stacks, 'com.acme.Shop.close')).toEqual([])
  })
})

it('samples of a single long call are not used as shares of other calls', () => {
  const tree = new SampledTree()
  const ids = ['com.acme.Shop.order', 'com.acme.Prices.sum'].map((frame) => {
    const dot = frame.lastIndexOf('.')
    return tree.idOf({ class: frame.slice(0, dot), method: frame.slice(dot + 1), descriptor: '', loader: '' })
  })
  for (let i = 0; i < 200; i++) tree.sample({ id: 1, name: 'worker', virtual: false }, Int32Array.from(ids))
  const root = parseRoot('com.acme.Shop.order')
  expect(seenBelow(tree.snapshot(false), (id) => tree.methodNames[id]!, root, LONG_MS)).toEqual([])
})
