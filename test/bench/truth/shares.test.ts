import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { kendall, overlap, selves, stacksBelow, stacksOf, thinned, totals } from './shares.mjs'

const COLLAPSED = `java/lang/Thread.run;a/B.main;a/B.root;a/B.work 30
java/lang/Thread.run;a/B.main;a/B.root_[j];a/B.work_[i];a/B.deep_[i] 50
java/lang/Thread.run;a/B.main;a/B.root;a/B.work;a/B.work;jbyte_arraycopy 20
java/lang/Thread.run;a/B.main;a/C.other 1000
`

describe('shares of methods in the time of a root', () => {
  const stacks = stacksBelow(COLLAPSED, 'a.B.root')

  it('shares are computed for methods below the root, and time in other code is charged to its caller', () => {
    assert.equal(stacks.length, 3)
    assert.deepEqual(Object.fromEntries(selves(stacks)), { 'a.B.work': 0.5, 'a.B.deep': 0.5 })
    assert.deepEqual(Object.fromEntries(totals(stacks)), { 'a.B.root': 1, 'a.B.work': 1, 'a.B.deep': 0.5 })
  })

  it('time is charged to the innermost method that is counted', () => {
    const own = selves(stacks, (it: string) => it !== 'a.B.deep')
    assert.deepEqual(Object.fromEntries(own), { 'a.B.work': 1 })
  })

  it('shares computed from a tree equal those computed from stacks with the same times', () => {
    const node = (method: string, selfNs: number, children: object[] = []) => ({
      ...{ class: 'a.B', method, selfNs, children },
    })
    const tree = [node('root', 0, [node('work', 300, [node('deep', 500), node('work', 200)])])]
    assert.equal(overlap(selves(stacksOf(tree)), selves(stacks)), 1)
    assert.equal(overlap(totals(stacksOf(tree)), totals(stacks)), 1)
  })
})

describe('agreement of the shares of two profiles', () => {
  const one = new Map([
    ['a', 0.5],
    ['b', 0.3],
    ['c', 0.2],
  ])
  const other = new Map([
    ['a', 0.4],
    ['c', 0.4],
    ['d', 0.2],
  ])

  it('the agreement of two profiles is measured by the overlap of their shares and by the order of their methods', () => {
    assert.ok(Math.abs(overlap(one, other) - 0.6) < 1e-9)
    assert.equal(overlap(one, one), 1)
    assert.equal(kendall(one, one), 1)
    assert.ok(kendall(one, other) < 0.5)
  })

  it('the overlap of two profiles of the same program is clearly below one if one profile has few samples', () => {
    let seed = 7
    const random = () => {
      seed = (seed * 16_807) % 2_147_483_647
      return seed / 2_147_483_647
    }
    const stacks = Array.from({ length: 40 }, (_, i) => ({ frames: [`m${i}`], count: 1000 }))
    const few = overlap(selves(thinned(stacks, 100, random)), selves(stacks))
    const many = overlap(selves(thinned(stacks, 100_000, random)), selves(stacks))
    assert.ok(few < 0.9 && many > 0.98, `${few}, ${many}`)
  })
})
