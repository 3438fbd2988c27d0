// The lines of a method in its source file.

import { describe, expect, it } from 'vitest'
import type { MethodLines } from '../../src/cct/line-samples.ts'
import { codeSince, mismatch, rangeOf } from '../../src/profile/source-lines.ts'

const SOURCE = `package shop;

class Order {
  Order(int n) {
    price(n);
  }

  @Override
  public <T> List<T> price(int n) {
    return n == 0 ? none() : price(n - 1);
  }

  static double total(int n) {
    double sum = price(n).size();
    return sum;
  }
}`.split('\n')

const name = (method: string) => ({ class: 'shop.Order', method, descriptor: '', loader: '' })
const sampled = (...lines: number[]): MethodLines => ({
  samples: 1,
  total: 1,
  lines: lines.map((line) => ({ line, self: 1, total: 1 })),
})

describe('the source lines of a method', () => {
  it('the source lines of a method are read from the class file if the class file has line numbers', () => {
    const place = { file: 'Order.java', lines: { from: 9, to: 10 } }
    expect(rangeOf(name('price'), place, sampled(10), SOURCE)).toEqual({ from: 9, to: 10, by: 'class' })
  })

  it('without a class file, the source lines of a method begin at its declaration and end at its last sampled line', () => {
    expect(rangeOf(name('total'), null, sampled(14, 15), SOURCE)).toEqual({ from: 13, to: 15, by: 'samples' })
    expect(rangeOf(name('total'), null, sampled(14, 15), null)).toEqual({ from: 14, to: 15, by: 'samples' })
    expect(rangeOf(name('lambda$total$0'), null, sampled(14), SOURCE)).toMatchObject({ from: 14, to: 14 })
  })

  it('without samples, the source lines begin at the declaration of the method, and a call is not mistaken for the declaration', () => {
    expect(rangeOf(name('price'), null, undefined, SOURCE)).toMatchObject({ from: 9, by: 'declaration' })
    expect(rangeOf(name('<init>'), null, undefined, SOURCE)).toMatchObject({ from: 4 })
    expect(rangeOf(name('none'), null, undefined, SOURCE)).toBeNull()
    expect(rangeOf(name('price'), null, undefined, null)).toBeNull()
  })

  it('a source file that has too few lines, or was changed after the JVM started, is reported as a mismatch', () => {
    const source = { path: 'Order.java', lines: SOURCE, changedAt: 1000 }
    const since = (ms: number, jvm = true) =>
      codeSince(jvm ? new Date(ms).toISOString() : undefined, new Date(jvm ? 0 : ms).toISOString())
    expect(mismatch(source, 16, since(2000))).toBeNull()
    expect(mismatch(source, 16, undefined)).toBeNull()
    expect(mismatch(source, 18, since(2000))).toEqual({
      says: 'Order.java has 17 lines, and the class has code on line 18: it is another version of the source',
      isCertain: true,
    })
    expect(mismatch(source, 16, since(999))).toEqual({
      says: 'Order.java was changed after the JVM started: lines may have moved',
      isCertain: false,
    })
    expect(mismatch(source, 16, since(999, false))?.says).toContain('changed after the recording began')
  })
})
