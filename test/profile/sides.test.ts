// Operands of jfluid compare: files and time ranges of two sides.

import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { BadRange, NoTwoSides, sidesOf } from '../../src/profile/sides.ts'

const range = (fromMs: number, toMs?: number) => ({ fromMs, toMs })

describe('the operands of a comparison', () => {
  it.each([
    [['a', 'b'], [], [], [['a'], {}], [['b'], {}]],
    [[], ['a1', 'a2'], ['b'], [['a1', 'a2'], {}], [['b'], {}]],
    [['a'], ['0s-30s'], ['30s-1m'], [['a'], range(0, 30_000)], [['a'], range(30_000, 60_000)]],
    [['a', 'b'], ['10s-'], [], [['a'], range(10_000)], [['b'], {}]],
    [[], ['a1', 'a2', '10s-1.5m'], ['b'], [['a1', 'a2'], range(10_000, 90_000)], [['b'], {}]],
    [['a'], ['-30s'], ['30s-'], [['a'], range(0, 30_000)], [['a'], range(30_000)]],
    [['a'], ['0-30s'], ['30s-'], [['a'], range(0, 30_000)], [['a'], range(30_000)]],
    // The name of an existing file.
    [[], ['10x-20x'], ['b'], [['10x-20x'], {}], [['b'], {}]],
  ] as const)(
    'the arguments %j with --before %j and --after %j name two sides',
    (args, before, after, one, other) => {
      const sides = sidesOf(args, before, after, (path) => path === '10x-20x')
      assert.deepEqual([sides.before.files, sides.before.range], one)
      assert.deepEqual([sides.after.files, sides.after.range], other)
    },
  )

  it.each([
    [[], [], []],
    [['a'], [], []],
    [['a'], ['0s-10s'], []],
    [[], ['a'], []],
    [['a', 'b'], ['c'], []],
  ])('the arguments %j with --before %j and --after %j are refused', (args, before, after) => {
    assert.throws(() => sidesOf(args, before, after), NoTwoSides)
  })
  it.each([
    [['10x-20x'], 'the time range 10x-20x cannot be used: it is neither a time range nor a file'],
    [['10-20'], 'the time range 10-20 cannot be used: it is neither a time range nor a file'],
    [['10s-5s'], 'the time range 10s-5s cannot be used: it ends before it begins'],
    [
      ['0s-10s', '20s-30s'],
      'the time range 20s-30s cannot be used: 0s-10s is another range of the same side',
    ],
  ])('the operands %j of a side are refused with their own message', (before, message) => {
    assert.throws(
      () => sidesOf(['a'], before, ['30s-']),
      (error) => error instanceof BadRange && error.message === message,
    )
  })
})
