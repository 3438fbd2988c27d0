import { describe, expect, it } from 'vitest'
import { getOrAdd } from '../../src/base/maps.ts'

describe('getOrAdd', () => {
  it('a missing value is made once and added', () => {
    const map = new Map<string, string[]>()
    const made = getOrAdd(map, 'a', () => ['first'])
    expect(getOrAdd(map, 'a', () => ['second'])).toBe(made)
    expect([...map]).toEqual([['a', ['first']]])
  })

  it('the map stays unchanged if no value can be made', () => {
    const map = new WeakMap<object, number>()
    const key = {}
    const failing = () => {
      throw new RangeError('too many')
    }
    expect(() => getOrAdd(map, key, failing)).toThrow(RangeError)
    expect(map.has(key)).toBe(false)
  })
})
