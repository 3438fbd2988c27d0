import { expect, it } from 'vitest'
import { fuzzyBest, fuzzyScore } from '../../src/base/fuzzy.ts'

const NAMES = [
  'shop.OrderService.process',
  'shop.OrderService.priced',
  'shop.Journal.append',
  'shop.Suggestions.closest',
  'com.acme.processing.Order.sum',
]
const best = (typed: string): string | undefined => fuzzyBest(typed, NAMES, 1)[0]?.text

it.each([
  ['osproc', 'shop.OrderService.process'],
  ['OrderService.pri', 'shop.OrderService.priced'],
  ['OSpri', 'shop.OrderService.priced'],
  ['sugclo', 'shop.Suggestions.closest'],
  ['append', 'shop.Journal.append'],
  ['ordersum', 'com.acme.processing.Order.sum'],
])('the typed letters %s find the name %s', (typed, name) => {
  expect(best(typed)).toBe(name)
})

it('typed letters must occur in the name in order, ignoring case', () => {
  expect(fuzzyScore('ba', 'ab')).toBeNull()
  expect(fuzzyScore('AB', 'ab')).not.toBeNull()
  expect(fuzzyScore('abc', 'ab')).toBeNull()
  expect(best('xyz')).toBeUndefined()
})

it('typed letters match at the best position of the name, not the first position', () => {
  // The p of `shop` comes first, but the p of `.process` begins a word and is followed by the r.
  expect(fuzzyScore('pr', 'shop.process')!).toBeGreaterThan(fuzzyScore('pr', 'shop.xproces')!)
  // 8 + 1 for p, 1 + 1 + 5 for r, minus 0.02 for each of 12 characters
  expect(fuzzyScore('pr', 'shop.process')!).toBeCloseTo(16 - 12 * 0.02)
  // Each skipped letter costs 0.2.
  expect(fuzzyScore('pc', 'proc')!).toBeCloseTo(9 + 2 - 2 * 0.2 - 4 * 0.02)
})

it('an empty search text matches all names, shortest first', () => {
  expect(fuzzyBest('', ['bb', 'a', 'aa'], 9).map((it) => it.text)).toEqual(['a', 'aa', 'bb'])
  expect(fuzzyBest('', NAMES, 2).length).toBe(2)
})
