import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import type { ClassFile, MethodInfo } from '../../src/classfile/class-file.ts'
import { ClassFormatProblem } from '../../src/classfile/class-file.ts'
import type { Code } from '../../src/classfile/code.ts'
import {
  ARGUMENT,
  decodeStackMap,
  encodeStackMap,
  type Frame,
  INTEGER,
  initialLocals,
  LONG,
  NULL,
  OBJECT,
  TOP,
  UNINITIALIZED,
  UNINITIALIZED_THIS,
  verificationType,
} from '../../src/classfile/stack-map.ts'

/** Returns a method that has only a StackMapTable. */
function method(table: number[], descriptor = '()V', name = 'run', access = 8) {
  const classFile = { bytes: Uint8Array.from(table), superName: 'java/lang/Object' } as ClassFile
  const info = { name, descriptor, access } as MethodInfo
  const attribute = { name: 'StackMapTable', nameIndex: 1, offset: 0, length: table.length }
  const code: Code = {
    maxStack: 4,
    maxLocals: 8,
    bytecode: new Uint8Array(1000),
    handlers: [],
    attributes: [attribute],
  }
  return { classFile, info, code }
}

function decode(table: number[], descriptor?: string): Frame[] {
  const { classFile, info, code } = method(table, descriptor)
  return decodeStackMap(classFile, info, code)
}

const object = (index: number) => verificationType(OBJECT, index)
const created = (bci: number) => verificationType(UNINITIALIZED, bci)

describe('stack map frames', () => {
  it('the first stack map frame of a method has the receiver and the parameters as locals', () => {
    const locals = (descriptor: string, name: string, access: number) => {
      const { classFile, info } = method([], descriptor, name, access)
      return initialLocals(classFile, info)
    }
    assert.deepEqual(locals('(ZJ[I)V', 'run', 8), [INTEGER, LONG, verificationType(ARGUMENT, 3)])
    assert.deepEqual(locals('()V', 'run', 0), [ARGUMENT])
    assert.deepEqual(locals('()V', '<init>', 0), [UNINITIALIZED_THIS])
  })

  it('stack map frames, stored as differences in the class file, are decoded to full frames', () => {
    const table = [
      ...[0, 7],
      ...[10], // same, bci 10
      ...[64 + 4, 5], // same locals and null on the stack, 4 + 1 bytes further
      ...[252, 0, 4, 1], // append an int, 4 + 1 bytes further
      ...[253, 0, 0, 7, 0, 9, 8, 0, 16], // append Object(9) and the result of the new at bci 16
      ...[249, 1, 0], // chop two, 256 + 1 bytes further
      ...[247, 0, 100, 1], // an int on the stack, 101 bytes further
      ...[255, 0, 0, 0, 1, 0, 0, 2, 4, 4], // full: one local top, two longs on the stack
    ]
    const frames = decode(table, '(I)V')
    assert.deepEqual(frames, [
      { bci: 10, locals: [INTEGER], stack: [] },
      { bci: 15, locals: [INTEGER], stack: [NULL] },
      { bci: 20, locals: [INTEGER, INTEGER], stack: [] },
      { bci: 21, locals: [INTEGER, INTEGER, object(9), created(16)], stack: [] },
      { bci: 278, locals: [INTEGER, INTEGER], stack: [] },
      { bci: 379, locals: [INTEGER, INTEGER], stack: [INTEGER] },
      { bci: 380, locals: [TOP], stack: [LONG, LONG] },
    ])
    assert.deepEqual([...encodeStackMap(frames, [INTEGER])], table)
  })

  it('stack map frames are encoded in the shortest form', () => {
    const frames = [
      { bci: 63, locals: [], stack: [] },
      { bci: 63 + 65, locals: [], stack: [] },
    ]
    assert.deepEqual([...encodeStackMap(frames, [])], [0, 2, 63, 251, 0, 64])
  })

  it('malformed stack map frames are refused', () => {
    const bad: [number[], RegExp][] = [
      [[0, 1], /truncated/],
      [[0, 1, 200], /reserved frame type 200/],
      [[0, 1, 248, 0, 0], /chops locals that are not there/],
      [[0, 1, 64, 9], /unknown verification type 9/],
      [[0, 1, 251, 255, 255], /beyond the code/],
      [[0, 1, 255, 0, 0, 0, 9, ...Array(9).fill(0), 0, 0], /larger than max_locals/],
      [[0, 0, 0], /1 bytes too many/],
    ]
    for (const [table, reason] of bad) {
      assert.throws(
        () => decode(table),
        (problem) => problem instanceof ClassFormatProblem && reason.test(problem.message),
      )
    }
  })
})
