// Attributes inside a Code attribute, adjusted to the relocated code.
//
// The tables of lines, local variables and type annotations are relocated here. `method.ts` relocates the frames and adds frames.
// Unknown attributes are dropped, since their bcis would be wrong.

import { skipAnnotation } from '../classfile/annotations.ts'
import type { AttributeRef } from '../classfile/class-file.ts'
import { ClassFormatProblem } from '../classfile/problem.ts'
import { Reader } from '../classfile/reader.ts'
import { Writer } from '../classfile/writer.ts'
import type { Relocation } from './relocation.ts'

type Move = (content: Reader, moved: Relocation, out: Writer) => void

const MOVES: ReadonlyMap<string, Move> = new Map([
  ['LineNumberTable', moveLineNumbers],
  ['LocalVariableTable', moveLocalVariables],
  ['LocalVariableTypeTable', moveLocalVariables],
  ['RuntimeVisibleTypeAnnotations', moveTypeAnnotations],
  ['RuntimeInvisibleTypeAnnotations', moveTypeAnnotations],
])

/** Returns the new content of the attribute; undefined if it cannot be relocated. */
export function moveAttribute(
  classBytes: Uint8Array,
  { name, offset, length }: AttributeRef,
  moved: Relocation,
): Uint8Array | undefined {
  const move = MOVES.get(name)
  if (move === undefined) return undefined
  const content = new Reader(classBytes, offset, offset + length)
  const out = new Writer(length)
  move(content, moved, out)
  content.finish(name)
  return out.finish()
}

function copyCount(content: Reader, out: Writer): number {
  const count = content.u2()
  out.u2(count)
  return count
}

function moveLineNumbers(content: Reader, moved: Relocation, out: Writer): void {
  for (let left = copyCount(content, out); left > 0; left--) {
    out.u2(moved.nearest(content.u2()))
    out.u2(content.u2()) // line_number
  }
}

/**
 * Relocates LocalVariableTable or LocalVariableTypeTable. Layout of both: start_pc, length, name, descriptor or signature, index.
 *
 * Rows may begin or end inside an instruction, and may be equal after the relocation. The JVM refuses a class with two equal rows, so all
 * but the first are left out.
 */
function moveLocalVariables(content: Reader, moved: Relocation, out: Writer): void {
  const countAt = out.length
  const known = new Set<string>()
  out.u2(0)
  for (let left = content.u2(); left > 0; left--) {
    const { start, length } = rangeOf(content, moved)
    const name = content.u2()
    const type = content.u2()
    const local = moved.local(content.u2())
    const row = `${start} ${length} ${name} ${local}`
    if (known.has(row)) continue
    known.add(row)
    for (const value of [start, length, name, type, local]) out.u2(value)
  }
  out.patchU2(countAt, known.size)
}

function moveRange(content: Reader, moved: Relocation, out: Writer): void {
  const { start, length } = rangeOf(content, moved)
  out.u2(start)
  out.u2(length)
}

function rangeOf(content: Reader, moved: Relocation): { start: number; length: number } {
  const start = content.u2()
  const end = start + content.u2()
  const newStart = moved.nearest(start)
  return { start: newStart, length: moved.nearest(end) - newStart }
}

// target_type of type annotations inside code (JVMS table 4.7.20-B)
const LOCAL_VARIABLE = 0x40
const RESOURCE_VARIABLE = 0x41
const EXCEPTION_PARAMETER = 0x42
const INSTANCEOF = 0x43
const CAST = 0x47
const METHOD_REFERENCE_TYPE_ARGUMENT = 0x4b

function moveTypeAnnotations(content: Reader, moved: Relocation, out: Writer): void {
  for (let left = copyCount(content, out); left > 0; left--) {
    const target = content.u1()
    out.u1(target)
    if (target === LOCAL_VARIABLE || target === RESOURCE_VARIABLE) {
      for (let more = copyCount(content, out); more > 0; more--) {
        moveRange(content, moved, out)
        out.u2(moved.local(content.u2()))
      }
    } else if (target === EXCEPTION_PARAMETER) {
      out.u2(content.u2()) // exception table row; row numbers stay the same, since added rows come last
    } else if (target >= INSTANCEOF && target <= METHOD_REFERENCE_TYPE_ARGUMENT) {
      out.u2(moved.instruction(content.u2()))
      if (target >= CAST) out.u1(content.u1()) // type_argument_index
    } else {
      throw new ClassFormatProblem(`type annotation of target ${target} inside code`)
    }
    const start = content.at
    content.skip(2 * content.u1()) // type_path
    skipAnnotation(content)
    out.copy(content.bytes, start, content.at)
  }
}
