import { describe, expect, it } from 'vitest'
import { append, maxOf, minOf } from '../../src/base/arrays.ts'

describe('lists of any length', () => {
  const long = Array.from({ length: 500_000 }, (_, i) => i)

  it('a list of any length can be appended to another list', () => {
    const list = [1, 2]
    append(list, long)
    expect(list).toHaveLength(500_002)
    expect(list.at(-1)).toBe(499_999)
  })

  it('the minimum and maximum of a list of any length are found', () => {
    expect(maxOf(long)).toBe(499_999)
    expect(minOf(long)).toBe(0)
    expect(maxOf(Float64Array.of(-2, -1))).toBe(-1)
  })

  it('appending and searching work for empty lists', () => {
    expect(maxOf([])).toBe(-Infinity)
    expect(maxOf([], 0)).toBe(0)
    expect(minOf([])).toBe(Infinity)
  })
})
