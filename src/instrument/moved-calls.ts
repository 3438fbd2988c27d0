// Which call of a rewritten body was which of the original one. Rewriting keeps the order of the original instructions
// and calls nothing else but by constants that it appends to the pool.

import { forEachInstruction } from '../classfile/code.ts'
import { INVOKEDYNAMIC, INVOKEVIRTUAL } from '../classfile/opcodes.ts'

const CODE_LENGTH = 4
const CODE = 8

/**
 * @param original   bytecode
 * @param code       content of the rewritten Code attribute
 * @param poolCount  `constant_pool_count` of the original class
 * @returns new bytecode index → old one, of each original call; null if it cannot be told
 */
export function movedCalls(
  original: Uint8Array,
  code: Uint8Array,
  poolCount: number,
): ReadonlyMap<number, number> | null {
  const length = new DataView(code.buffer, code.byteOffset, code.byteLength).getUint32(CODE_LENGTH)
  const before = callsIn(original, poolCount)
  const after = callsIn(code.subarray(CODE, CODE + length), poolCount)
  if (before.length !== after.length) return null
  return new Map(after.map((bci, i) => [bci, before[i]]))
}

function callsIn(bytecode: Uint8Array, poolCount: number): number[] {
  const calls: number[] = []
  forEachInstruction(bytecode, (bci, opcode) => {
    if (opcode < INVOKEVIRTUAL || opcode > INVOKEDYNAMIC) return
    if (((bytecode[bci + 1] << 8) | bytecode[bci + 2]) < poolCount) calls.push(bci)
  })
  return calls
}
