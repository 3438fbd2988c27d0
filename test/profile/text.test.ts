import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import {
  clean,
  count,
  ms,
  percent,
  shortCount,
  shortName,
  signature,
  span,
  timeCell,
  timeText,
  width,
} from '../../src/profile/text.ts'

describe('formats of numbers', () => {
  it('milliseconds have three decimals if they fit', () => {
    assert.deepEqual(
      [0, 1, 1e3, 1.5e6, 12_345_678_900, 123_456_789e6, 1e18].map((ns) => ms(ns, 9)),
      ['0', '0.000', '0.001', '1.500', '12345.679', '123456789', '1.0e12'],
    )
  })
  it('negative time is shown as about zero', () => {
    assert.deepEqual([ms(-1), ms(-5e9), timeText(-3), percent(-1, 5)], ['~0', '~0', '~0', '~0'])
  })
  it('a time has a unit and four significant digits', () => {
    assert.deepEqual(
      [0, 450, 12_340, 123_400, 1_234_000, 12_340_000, 123_400_000, 5_000_000_000, 1e15].map(timeText),
      ['0', '450 ns', '12.34 µs', '123.4 µs', '1.234 ms', '12.34 ms', '123.4 ms', '5.000 s', '1.0e6 s'],
    )
    assert.deepEqual([timeCell(Number.NaN), timeCell(2e9), timeCell(2)], ['-   ', '2.000 s ', '2 ns'])
  })
  it('counts are shown with all digits if they fit, otherwise abbreviated', () => {
    assert.deepEqual([count(1_234_567), count(1_234_567, 7), count(0)], ['1,234,567', '1.23M', '0'])
    assert.deepEqual([999, 1000, 12_345, 999_499, 999_999, 12_345_678, 4.2e9].map(shortCount), [
      '999',
      '1.00k',
      '12.3k',
      '999k',
      '1.00M',
      '12.3M',
      '4.20G',
    ])
  })
  it('durations are formatted like a clock', () => {
    assert.deepEqual([0, 850, 12_340, 59_960, 187_000, 3_723_000].map(span), [
      '0 ms',
      '850 ms',
      '12.3 s',
      '1:00',
      '3:07',
      '1:02:03',
    ])
  })
  it('a percentage of a total of zero is shown as a dash', () => {
    assert.deepEqual([percent(1, 0), percent(1, 3), percent(5, 5)], ['-', '33.3', '100.0'])
  })
})

describe('formats of names', () => {
  const name = {
    class: 'com.acme.shop.Orders$Line',
    method: 'process',
    descriptor: '(I[JLjava/lang/String;)Z',
    loader: 'app',
  }
  it('a long name is shortened at the package first, then at outer classes, then in the middle', () => {
    const shown = [40, 28, 20, 13, 12].map((cells) => shortName(name, cells))
    assert.deepEqual(shown, [
      'com.acme.shop.Orders$Line.process',
      'c.a.s.Orders$Line.process',
      'Orders$Line.process',
      '…Line.process',
      'Order…rocess',
    ])
  })
  it('a package with wide characters is shortened to its initials', () => {
    const wide = { ...name, class: '日本.商店.注文', method: 'x' }
    assert.deepEqual(
      [14, 12, 9].map((cells) => shortName(wide, cells)),
      ['日.商.注文.x', '日.商.注文.x', '注文.x'],
    )
  })
  it('a complete method name contains the parameter types and the result type', () => {
    assert.equal(signature(name), 'com.acme.shop.Orders$Line.process(int, long[], String) : boolean')
    assert.equal(
      signature({ ...name, method: '<init>', descriptor: '()V' }),
      'com.acme.shop.Orders$Line.<init>()',
    )
  })
})

describe('text for a terminal', () => {
  it('terminal text contains no cursor control and no character of unknown width', () => {
    assert.equal(clean('a\x1b[31mb\r\n\x9bc'), 'a?[31mb???c')
    assert.equal(clean('zero\u200bwidth\u202e\ufeff'), 'zerowidth')
    assert.equal(clean('pool-🚀-1'), 'pool-?-1')
    assert.equal(clean('👨‍👩‍👧'), '???')
    assert.equal(clean('e\u0301 o\u0336'), 'é o')
    assert.equal(clean('\ud800'), '?')
    assert.equal(clean('größer_メソッド'), 'größer_メソッド')
  })
  it('the width of a text is computed as terminals compute it', () => {
    assert.deepEqual([width('abc'), width('größe'), width('メソッド')], [3, 5, 8])
  })
})
