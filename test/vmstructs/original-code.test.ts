// Code in the JVM compared with code in the class file. HotSpot's own rewriting is not a difference; any other change is.

import { describe, expect, it } from 'vitest'
import { isOriginal } from '../../src/vmstructs/original-code.ts'

/** Returns whether code of the class file and code in a JVM count as equal. Arguments are bytes; nested lists only improve readability. */
function same(own: readonly number[][], held: readonly number[][], maxLocals = 2): boolean {
  const code = { maxStack: 3, maxLocals: 2, handlers: [], attributes: [] }
  const bytes = (of: readonly number[][]): Uint8Array => Uint8Array.from(of.flat())
  const indices = { nameIndex: 1, descriptorIndex: 2 }
  return isOriginal(
    { ...indices, maxStack: 3, maxLocals, bytecode: bytes(held) },
    { ...code, bytecode: bytes(own) },
  )
}

// JVMS 6.5. Numbers above 202 are HotSpot's own and differ between versions.
const [NOP, LDC, LDC_W, ILOAD_0, ILOAD_1, POP] = [0, 18, 19, 26, 27, 87]
const [IINC, IFNE, GOTO, LOOKUPSWITCH, RETURN] = [132, 154, 167, 171, 177]
const [GETSTATIC, INVOKESTATIC, INVOKEDYNAMIC, BREAKPOINT, OWN] = [178, 184, 186, 202, 231]

const SUM = [[IINC, 0, 255], [ILOAD_0], [IFNE, 255, 252], [GETSTATIC, 0, 7], [POP], [RETURN]]
/** Returns the code with another instruction in place of the nth instruction. */
const sum = (nth: number, ...instruction: number[]): number[][] =>
  SUM.map((it, i) => (i === nth ? instruction : it))

describe('changes by HotSpot are not differences', () => {
  it('unchanged code has no difference', () => {
    expect(same(SUM, SUM)).toBe(true)
  })

  it('other indexes into the constant pool, or into the constant pool cache, are no difference', () => {
    expect(same(SUM, sum(3, GETSTATIC, 0x12, 0x34))).toBe(true)
    expect(same([[INVOKEDYNAMIC, 0, 7, 0, 0], [RETURN]], [[INVOKEDYNAMIC, 1, 2, 255, 255], [RETURN]])).toBe(
      true,
    )
  })

  it('internal bytecodes and breakpoints are no difference', () => {
    expect(same(SUM, sum(5, OWN))).toBe(true) // return, in a constructor of Object
    expect(same(SUM, sum(4, BREAKPOINT))).toBe(true)
  })

  it('an ldc instruction that became ldc_w, and the instructions moved by that change, are no difference', () => {
    const own = [[GOTO, 0, 6], [LDC, 3], [POP], [RETURN]]
    expect(same(own, [[GOTO, 0, 7], [LDC_W, 1, 3], [POP], [RETURN]])).toBe(true)
    expect(same(own, [[GOTO, 0, 7], [OWN, 1, 3], [POP], [RETURN]])).toBe(true)
    expect(same(own, [[GOTO, 0, 6], [OWN, 3], [POP], [RETURN]])).toBe(true)
    expect(same(own, [[GOTO, 0, 6], [LDC_W, 1, 3], [POP], [RETURN]])).toBe(false) // the jump offset was not adjusted
  })

  it('a switch instruction at another offset is no difference', () => {
    const words = (...of: number[]): number[] => of.flatMap((it) => [0, 0, 0, it])
    // ldc 0, pop 2, iload_0 3, the switch 4 with its operands from 8 on, nop 32, nop 33, return 34
    const own = (opcode: number, key = 5): number[][] => [
      ...[[LDC, 3], [POP], [ILOAD_0], [opcode, 0, 0, 0], words(30, 2, 1, 28, key, 29)],
      ...[[NOP], [NOP], [RETURN]],
    ]
    // ldc_w 0, pop 3, iload_0 4, the switch 5 with its operands from 8 on
    const moved = (last: number): number[][] => [
      ...[[LDC_W, 1, 3], [POP], [ILOAD_0], [OWN, 0, 0], words(29, 2, 1, 27, 5, last)],
      ...[[NOP], [NOP], [RETURN]],
    ]
    expect(same(own(LOOKUPSWITCH), own(OWN))).toBe(true)
    expect(same(own(LOOKUPSWITCH), own(OWN, 6))).toBe(false)
    expect(same(own(LOOKUPSWITCH), moved(28))).toBe(true)
    expect(same(own(LOOKUPSWITCH), moved(29))).toBe(false)
  })
})

describe('changes that HotSpot does not make are differences', () => {
  it('an added or removed instruction is a difference', () => {
    expect(same(SUM, [[INVOKESTATIC, 0, 1], ...SUM])).toBe(false)
    expect(same(SUM, [...SUM, [RETURN]])).toBe(false)
    expect(same(SUM, SUM.slice(0, -1))).toBe(false)
    expect(same(SUM, [])).toBe(false)
  })

  it('a different instruction, operand or branch target is a difference', () => {
    expect(same(SUM, sum(1, ILOAD_1))).toBe(false)
    expect(same(SUM, sum(0, IINC, 0, 1))).toBe(false)
    expect(same(SUM, sum(2, IFNE, 255, 255))).toBe(false)
    expect(same(SUM, sum(4, OWN))).toBe(false) // HotSpot has no own form of pop
  })

  it('code with many ldc instructions of unknown length is compared quickly', () => {
    // 300 instructions, each in a HotSpot form whose operand looks like the next instruction: 2^300 alignments, none of which reaches the
    // end.
    const own = [...Array.from({ length: 300 }, () => [LDC, 3]), [POP], [RETURN]]
    expect(same(own, [...Array.from({ length: 700 }, () => [OWN]), [NOP], [NOP]])).toBe(false)
  })

  it('more local variables are a difference, since a probe may use them', () => {
    expect(same(SUM, SUM, 3)).toBe(false)
  })
})
