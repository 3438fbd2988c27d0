import { describe, expect, it } from 'vitest'
import { discardsMuch, isShort, shortfall, whereShort } from '../../src/attach/first-redefinition.ts'

it.each([
  [17, 11_768, true],
  [22, 4_000, true],
  [17, 1_586, false], // the shop of the demo
  [25, 11_768, false],
  [null, 11_768, false],
  [17, null, false],
])(
  'JDK %s with %s compiled methods discards much compiled code at the first redefinition: %s',
  (feature, compiled, expected) => {
    expect(discardsMuch(feature, compiled)).toBe(expected)
  },
)

it.each([
  [{ used: 0.24, most: 2, idle: 1.7, ours: 0 }, false], // Kafka with 400 requests a second: the slowest took 0.24 s
  [{ used: 0.32, most: 2, idle: 1.6, ours: 0 }, true], // Keycloak with 30 requests a second: 2.6 s
  [{ used: 0.24, most: 2, idle: 0.9, ours: 0 }, true], // other processes use one processor
  [{ used: 0.24, most: 2, idle: 0.7, ours: 1 }, false], // jfluid itself uses one processor for a moment
  [{ used: 0.24, most: 1, idle: 60, ours: 0 }, true], // a container limited to one of many processors
])('processor use %j leaves too few processors to run without compiled code: %s', (processors, expected) => {
  expect(shortfall(processors) > 0).toBe(expected)
})

it('three clear measurements show that processors are not short', () => {
  expect(isShort([-0.9, -0.9])).toBeNull() // two values may be chance
  expect(isShort([-0.9, -0.9, -0.9])).toBe(false)
  expect(isShort([-1, -1, 0.4])).toBe(false) // the mean differs from zero by more than its error, but by less than the spread
  expect(isShort([-1.5, 1.2, -0.4])).toBeNull()
  expect(isShort([0, 0, 0])).toBe(false)
})

it('only ten measurements show that processors are short, since a garbage collection may use a processor for some of them', () => {
  const busy = Array.from({ length: 9 }, (_, i) => 1.5 + (i % 3) / 10)
  expect(isShort(busy)).toBeNull()
  expect(isShort([...busy, 1.6])).toBe(true)
  const afterwards = Array.from({ length: 9 }, () => -0.9)
  expect(isShort([2, 1.5, 2, ...afterwards])).toBeNull()
  expect(isShort([2, 1.5, 2, ...afterwards, ...afterwards.slice(0, 5)])).toBe(false)
})

it('after twenty measurements the mean is the result', () => {
  const unlike = [1.5, -1.4, 1.5, -1.4]
  expect(isShort([...unlike, ...unlike, ...unlike, ...unlike, 1.5, -1.4, 1.5])).toBeNull()
  expect(isShort([...unlike, ...unlike, ...unlike, ...unlike, ...unlike])).toBe(true)
  expect(isShort([...unlike, ...unlike, ...unlike, ...unlike, -1.6, 1.4, -1.6, 1.4])).toBe(true)
  expect(isShort([...unlike, ...unlike, ...unlike, ...unlike, -2, 1.4, -2, 1.4])).toBe(false)
})

describe('measurements of processor use', () => {
  const using = (used: number) => ({ used, most: 2, idle: 2 - used, ours: 0 })
  const looks = (...each: readonly (number | undefined)[]) => {
    const left = [...each]
    const looked = async () => {
      const used = left.shift()
      return used === undefined ? undefined : using(used)
    }
    return { left, found: whereShort(looked) }
  }

  it('processor use is no longer measured when the result is clear', async () => {
    const { left, found } = looks(0.1, 0.12, 0.1, 2, 2)
    expect([await found, left]).toEqual([null, [2, 2]])
  })

  it('processor use is measured at most twenty times, and the mean is the result', async () => {
    const unclear = Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? 0 : 0.6))
    const { left, found } = looks(...unclear, 9)
    const short = await found
    expect(left).toEqual([9])
    expect(short!.used).toBeCloseTo(0.3)
    expect(short!.idle).toBeCloseTo(1.7)
  })

  it('processor use is no longer measured when the process ends', async () => {
    const { left, found } = looks(2, undefined, 2)
    expect([await found, left]).toEqual([null, [2]])
  })
})
