// Methods that sample themselves: places where the counter is checked.

import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { assemble } from './assembler.ts'
import { checksOf } from './checks.ts'

/** Returns the positions and sizes of all blocks, with "!" after blocks that check the counter. */
function marks(code: string): string {
  const { sizes, checks } = checksOf(assemble({ method: 'f(I)I', code }))
  const found = [...sizes.keys()].filter((bci) => sizes[bci]! > 0)
  return found.map((bci) => `${bci}:${sizes[bci]}${checks[bci] === 1 ? '!' : ''}`).join(' ')
}

describe('positions of counter checks', () => {
  it('the counter is checked in blocks that return, call a method or begin a loop', () => {
    assert.equal(marks('iconst_0 | ireturn'), '0:2!')
    assert.equal(marks('iload_0 | ifeq out | iinc 0 1 | out: iload_0 | ireturn'), '0:2 4:1 7:2!')
    assert.equal(
      marks('iload_0 | ifeq out | iload_0 | invokestatic T.g(I)V | out: iload_0 | ireturn'),
      '0:2 4:2! 8:2!',
    )
    assert.equal(
      marks('iinc 0 1 | top: iinc 0 -1 | iload_0 | ifgt top | iload_0 | ireturn'),
      '0:1 3:3! 10:2!',
    )
  })

  it('a long block is split, and a long path gets an additional counter check', () => {
    assert.equal(marks(`${'nop | '.repeat(119)}iload_0 | ireturn`), '0:50 50:50! 100:21!')
    const branch = (label: string) => `iload_0 | ifeq ${label} | iinc 0 1 | ${label}: ${'nop | '.repeat(20)}`
    // The path to the third common block has 2 + 1 + 22 + 1 + 22 + 1 instructions, so that block with its 22 instructions needs a check.
    assert.equal(
      marks(`${branch('a')}${branch('b')}${branch('c')}${branch('d')}iload_0 | ireturn`),
      '0:2 4:1 7:22 31:1 34:22 58:1 61:22! 85:1 88:22!',
    )
  })
})
