import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { time } from '../../src/tui/format.ts'

describe('a time on the screen', () => {
  it('a time is shown with a suitable unit and four significant digits', () => {
    const texts = [1, 64, 999, 1000, 29_024, 107_348_000, 999_949_000, 1_968_401_000, 12_345_678e6, 9e15]
    assert.deepEqual(
      texts.map((ns) => time(ns)),
      ['1ns', '64ns', '999ns', '1.000µs', '29.02µs', '107.3ms', '999.9ms', '1.968s ', '12346s ', '9000000s '],
    )
  })

  it('a time that is rounded up to 1 of the next unit is shown in the next unit', () => {
    assert.deepEqual(
      [999_949, 999_951, 9_999.4, 9_999.6, 99_996].map((ns) => time(ns)),
      ['999.9µs', '1.000ms', '9.999µs', '10.00µs', '100.0µs'],
    )
  })

  it("a negative time, or a time below the clock's resolution, is shown as about zero", () => {
    assert.deepEqual(
      [0, -5, 0.2, 0.6, Number.NaN].map((ns) => time(ns)),
      ['0  ', '~0  ', '~0  ', '1ns', '-  '],
    )
  })

  it('a time uses at most nine cells, and the unit is in the last two cells', () => {
    for (let ns = 0.7; ns < 1e20; ns *= 1.07) {
      assert.match(time(ns), /^[\d.e]{1,7}(ns|µs|ms|s )$/)
      assert.match(time(ns, false), /^[\d.e]{1,7}(ns|us|ms|s )$/)
      const [, digits, unit] = /^([\d.e]+)(\S+)/.exec(time(ns))!
      const exact = Number(digits) * { ns: 1, µs: 1e3, ms: 1e6, s: 1e9 }[unit!]!
      assert.ok(Math.abs(exact - ns) <= (ns < 1000 ? 0.5 : ns * 6e-4) || ns > 1e16, `${ns}: ${time(ns)}`)
    }
  })
})
