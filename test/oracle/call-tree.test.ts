// Comparison of two call trees: by context, and without skipped methods.

import { describe, expect, it } from 'vitest'
import { differences, methodsOf, type Row, sizeOf, treeOf } from './call-tree.ts'

describe('comparison of two call trees', () => {
  const rows = (...all: [number, string, number][]): Row[] =>
    all.map(([caller, method, calls]) => ({ caller, method, calls }))

  it('trees differ where the numbers of calls of a context differ; if a context is missing, the contexts below it are not compared', () => {
    const one = treeOf(rows([-1, 'r', 1], [0, 'a', 2], [1, 'b', 4], [0, 'c', 1], [3, 'd', 9]))
    const other = treeOf(rows([-1, 'r', 1], [0, 'a', 2], [1, 'b', 5]))
    expect(differences(one, other)).toEqual([
      { path: 'r > c', expected: 1, found: 0 },
      { path: 'r > a > b', expected: 4, found: 5 },
    ])
    expect(differences(one, one)).toEqual([])
  })

  it('calls made by a skipped method are counted below the caller of that method', () => {
    // r calls a once directly and twice through a skipped method: a has 1 + 2 calls below r.
    const tree = treeOf(rows([-1, 'r', 1], [0, 's', 2], [1, 'a', 2], [0, 'a', 1]), (it) => it === 's')
    expect(methodsOf(tree)).toEqual(
      new Map([
        ['r', 1],
        ['a', 3],
      ]),
    )
    expect(sizeOf(tree)).toBe(2)
  })
})
