import { describe, expect, it } from 'vitest'
import { elsewhereText, returnsAtOnce, workElsewhere } from '../../../src/session/adaptive/elsewhere.ts'

const stack = (...frames: string[]) => ({
  id: 1,
  name: 'a thread',
  frames: frames.map((f) => {
    const dot = f.lastIndexOf('.')
    return { class: f.slice(0, dot), method: f.slice(dot + 1) }
  }),
})

describe('a root that returns quickly', () => {
  it('a root returns quickly if its calls take less than 1 % of the time', () => {
    // 20 calls of 1 ms in 6 s: 0.3 %
    const short = { calls: 20, ns: 20e6, overMs: 6_000 }
    expect(returnsAtOnce(short)).toBe(true)
    expect(returnsAtOnce({ ...short, ns: 61e6 })).toBe(false)
    expect(returnsAtOnce({ ...short, calls: 9 })).toBe(false)
    expect(returnsAtOnce({ ...short, overMs: 4_000 })).toBe(false)
  })

  it('the work of a root that returns quickly is found in other threads that run application code outside the root', () => {
    const found = workElsewhere(
      [
        stack(
          'java.util.HashMap.get',
          'shop.Orders.price',
          'shop.Orders.lambda$accept$0',
          'java.lang.Thread.run',
        ),
        stack('jdk.internal.misc.Unsafe.park', 'shop.Worker.take', 'java.lang.Thread.run'),
        stack('sun.nio.ch.EPoll.wait', 'shop.Server.select'),
        stack('shop.Orders.price', 'shop.Server.accept'),
        stack('lib.Pool.compute', 'java.lang.Thread.run'),
      ],
      [{ class: 'shop.Server', method: 'accept' }],
      (name) => name.startsWith('shop.'),
    )
    expect(found).toEqual(['shop.Orders.price'])
  })

  it('a root that returns quickly is reported with the method that is sampled most often outside the root', () => {
    expect(elsewhereText({ calls: 20, ns: 2e6, overMs: 6_000 }, ['a.A.b', 'a.C.d', 'a.C.d'])).toMatch(
      /^the root returns quickly \(100\.0 µs per call\), and other threads execute a\.C\.d: /,
    )
  })
})
