import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { ClassFormatProblem } from '../../src/classfile/class-file.ts'
import { forEachInstruction } from '../../src/classfile/code.ts'
import { argumentSlots, parseMethodDescriptor, returnSlots } from '../../src/classfile/descriptor.ts'
import { MNEMONICS } from '../../src/classfile/opcodes.ts'
import { decodeModifiedUtf8, encodeModifiedUtf8 } from '../../src/classfile/utf8.ts'

describe('a walk over the instructions of a method', () => {
  const walk = (...bytes: number[]) => {
    const seen: string[] = []
    forEachInstruction(Uint8Array.from(bytes), (bci, opcode) => seen.push(`${bci} ${MNEMONICS[opcode]}`))
    return seen
  }

  it('a walk over instructions finds the operands of a switch after the padding bytes', () => {
    const table = [170, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9]
    assert.deepEqual(walk(...table, 177), ['0 tableswitch', '20 return'])
    assert.deepEqual(walk(0, 171, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 177), [
      '0 nop',
      '1 lookupswitch',
      '12 return',
    ])
  })

  it('a walk over instructions treats the wide prefix and its instruction as one instruction', () => {
    assert.deepEqual(walk(196, 21, 1, 0, 196, 132, 1, 0, 0, 1, 177), ['0 wide', '4 wide', '10 return'])
  })

  it('a walk over instructions refuses unknown opcodes, truncated code and impossible switch sizes', () => {
    assert.throws(() => walk(202), /unknown opcode 202/)
    assert.throws(() => walk(17, 0), /past the end/)
    assert.throws(() => walk(196, 0, 0, 0), /wide opcode 0/)
    assert.throws(() => walk(171, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255), /-1 pairs/)
    assert.throws(() => walk(170, 0, 0, 0, 0, 0, 0, 0, 128, 0, 0, 0, 127, 255, 255, 255), /tableswitch/)
  })
})

describe('a method descriptor', () => {
  it('a method descriptor is parsed into parameter types and a result type', () => {
    assert.deepEqual(parseMethodDescriptor('(J[[DLa/B;Z)[I'), {
      parameters: ['J', '[[D', 'La/B;', 'Z'],
      returnType: '[I',
    })
  })

  it('a parameter of type long or double takes two slots, and an array of long or double takes one slot', () => {
    assert.equal(argumentSlots('(JD[J[[DLJ;I)V'), 8) // 2 + 2 + 1 + 1 + 1 + 1
    assert.equal(returnSlots('(J)V'), 0)
    assert.equal(returnSlots('(V)J'), 2)
  })

  it('a malformed descriptor is refused', () => {
    for (const bad of [
      '',
      '(',
      '()',
      '(V)V',
      '(L;)V',
      '(La)V',
      '()VV',
      'I',
      '([)V',
      `(${'['.repeat(256)}I)V`,
    ]) {
      assert.throws(() => parseMethodDescriptor(bad), ClassFormatProblem, bad)
    }
  })
})

describe('modified UTF-8', () => {
  const decode = (...bytes: number[]) => decodeModifiedUtf8(Uint8Array.from(bytes), 0, bytes.length)

  it('modified UTF-8 encodes NUL in two bytes, and a character beyond the BMP as two surrogates', () => {
    assert.equal(decode(0xc0, 0x80), '\0')
    assert.equal(decode(0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80), '😀')
    for (const text of ['', 'plain', 'é', '語', '😀', '\ud800 alone', '\0', `${'x'.repeat(9000)}é`]) {
      const bytes = encodeModifiedUtf8(text)
      assert.equal(decodeModifiedUtf8(bytes, 0, bytes.length), text)
    }
  })

  it('invalid modified UTF-8 is refused', () => {
    for (const bad of [[0], [0x80], [0xc3], [0xe2, 0x82], [0xf0, 0x9f, 0x98, 0x80], [0xc3, 0x41]]) {
      assert.throws(() => decode(...bad), ClassFormatProblem)
    }
  })
})
