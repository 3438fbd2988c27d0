// The updates of a tree on the wire, and the tree that the receiver builds from them.

import { describe, expect, it } from 'vitest'
import type { Tree } from '../../src/cct/tree.ts'
import { TreeMirror } from '../../src/remote/tree-mirror.ts'
import { TreeWriter } from '../../src/remote/tree-writer.ts'
import { Malformed } from '../../src/wire/unpack.ts'
import { type Context, context, linesOf, randomFrom, treeOf } from './trees.ts'

const ALL = 1 << 30

/** Returns a sender and a receiver. */
function pair() {
  const methods: number[] = []
  const writer = new TreeWriter((id) => methods.push(id))
  const mirror = new TreeMirror()
  let pending = 0
  return {
    methods,
    mirror,
    pending: () => pending,
    /** @returns number of bytes */
    send(tree: Tree, budget = ALL): number {
      const update = writer.update(tree, budget)
      mirror.apply(update)
      pending = update.pending
      return update.bytes.length
    },
  }
}

describe('a tree that is sent as updates', () => {
  it('a transferred tree is equal at the other end, for any order of children', () => {
    const { send, mirror } = pair()
    const a = context(2, 5, 50)
    const b = context(3, 7, 70, [context(2, 1, 10)])
    send(treeOf([context(1, 1, 100, [a, b])]))
    const later = treeOf([context(1, 2, 130, [b, { ...a, calls: 6 }, context(4, 1, -3)])])
    send(later)
    expect(linesOf(mirror.tree())).toEqual(linesOf(later))
  })

  it('an update takes a few bytes if the tree is unchanged, and about ten bytes per changed context', () => {
    const { send } = pair()
    const nodes = Array.from({ length: 1000 }, (_, i) => context(i + 2, 1, 1000))
    const top = context(1, 1, 0, nodes)
    send(treeOf([top]))
    expect(send(treeOf([top]))).toBe(4) // four empty lists
    nodes[500]!.calls += 3
    nodes[500]!.selfNs += 12_345
    nodes[500]!.measuredNs += 12_400
    // the number 502 takes 2 bytes, the mask 1, 6 takes 1, 24690 and 24800 take 3 each: 10
    expect(send(treeOf([top]))).toBe(14)
  })

  it('removed nodes are removed at the receiver with their subtrees', () => {
    const { send, mirror } = pair()
    send(treeOf([context(1, 1, 1, [context(2, 1, 1, [context(3, 1, 1)]), context(4, 1, 1)])]))
    const less = treeOf([context(1, 1, 1, [context(4, 2, 2)])])
    send(less)
    expect(linesOf(mirror.tree())).toEqual(linesOf(less))
    send(treeOf([]))
    expect(mirror.tree().count).toBe(0)
  })

  it("the name of a method is sent with the method's first node", () => {
    const { send, methods } = pair()
    send(treeOf([context(1, 1, 1, [context(2, 1, 1)])]))
    send(treeOf([context(1, 1, 1, [context(2, 1, 1), context(3, 1, 1)])]))
    expect(methods).toEqual([1, 2, 3])
  })

  it('after a change of columns the whole tree is sent again', () => {
    const { send, mirror } = pair()
    const tree = treeOf([context(1, 1, 1)])
    send(tree)
    const more = { ...tree, metrics: { ...tree.metrics, folded: Float64Array.of(1) } }
    send(more)
    expect(linesOf(mirror.tree())).toEqual(linesOf(more))
  })

  it('large changes are sent before small changes, and parents before children', () => {
    const { send, mirror, pending } = pair()
    const large = context(2, 1, 0, [context(3, 1, 1_000_000)])
    const small = Array.from({ length: 200 }, (_, i) => context(10 + i, 1, 5))
    const top = context(1, 1, 0, [...small, large])
    send(treeOf([top]), 60)
    const seen = linesOf(mirror.tree()).map((line) => line.slice(0, line.indexOf(':')))
    expect(seen).toContain('1;2;3')
    expect(pending()).toBeGreaterThan(100)
  })

  it('every change is sent eventually', () => {
    const { send, mirror } = pair()
    const busy = Array.from({ length: 300 }, (_, i) => context(2 + i, 1, 1))
    const quiet = context(1000, 1, 1)
    const top = context(1, 1, 0, [...busy, quiet])
    for (let turn = 0; turn < 100; turn++) {
      for (const each of busy) each.selfNs += 1_000_000
      send(treeOf([top]), 400)
    }
    expect(linesOf(mirror.tree())).toContainEqual(expect.stringMatching(/^1;1000: .*calls 1 /))
  })

  it('updates stay within the byte budget, except for the ancestors of sent nodes', () => {
    const { send } = pair()
    const nodes = Array.from({ length: 5000 }, (_, i) => context(2 + i, 1, 1))
    const top = context(1, 1, 0, nodes)
    for (let turn = 0; turn < 30; turn++) {
      for (const each of nodes) each.selfNs += 100_000 + (each.method % 77) * 1000
      expect(send(treeOf([top]), 10_000)).toBeLessThan(10_100)
    }
  })
})

describe('random sequences of trees that are sent as updates', () => {
  it.each([1, 2, 3, 4, 5, 6, 7, 8])(
    'random sequences of trees are received completely with any byte budget (seed %i)',
    (seed) => {
      const random = randomFrom(seed)
      const { send, mirror, pending } = pair()
      const tops: Context[] = []
      const all: Context[] = []
      for (let turn = 0; turn < 40; turn++) {
        for (let n = random(40); n > 0; n--) {
          const above = all.length === 0 || random(10) === 0 ? tops : all[random(all.length)]!.children
          const method = 1 + random(30)
          if (above.some((it) => it.method === method)) continue
          const made = context(method, random(3), random(1000))
          above.push(made)
          all.push(made)
        }
        for (let n = random(60); n > 0 && all.length > 0; n--) {
          const each = all[random(all.length)]!
          each.calls += random(100)
          each.selfNs += random(1 << 30) - (1 << 28)
        }
        if (random(8) === 0 && all.length > 0) all[random(all.length)]!.children = []
        if (random(15) === 0) tops.length = all.length = 0
        send(treeOf(tops), random(3) === 0 ? ALL : 20 + random(400))
      }
      send(treeOf(tops))
      expect(pending()).toBe(0)
      expect(linesOf(mirror.tree())).toEqual(linesOf(treeOf(tops)))
    },
  )
})

describe('an invalid update', () => {
  const update = () => new TreeWriter().update(treeOf([context(1, 3, 4, [context(2, 5, 6)])]), ALL)

  it('an update with a changed or missing byte is either decoded, or refused with the documented error', () => {
    const { bytes, columns } = update()
    let refused = 0
    for (let at = 0; at < bytes.length; at++) {
      for (const value of [0, 1, 0x7f, 0x80, 0xff]) {
        const changed = Uint8Array.from(bytes)
        changed[at] = value
        for (const hostile of [changed, changed.subarray(0, at)]) {
          const mirror = new TreeMirror()
          try {
            mirror.apply({ columns, bytes: hostile })
            mirror.tree()
          } catch (error) {
            expect(error).toBeInstanceOf(Malformed)
            refused++
          }
        }
      }
    }
    expect(refused).toBeGreaterThan(bytes.length)
  })

  it('an update whose sums contain a column that does not exist is refused', () => {
    expect(() =>
      new TreeMirror().apply({ columns: ['calls', 'totalNs=selfNs'], bytes: Uint8Array.of(0, 0, 0, 0) }),
    ).toThrow(Malformed)
  })
})
