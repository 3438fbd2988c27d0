// StackMapTable (JVMS 4.7.4): the types of locals and stack at branch targets.
//
// In the class file, a frame is encoded as the difference to the previous frame. Here a frame is complete. Frames with equal locals share
// an array, so such a frame costs only one object. Encoding uses the smallest form, like javac.

import { ACC_STATIC } from './access.ts'
import type { ClassFile, MethodInfo } from './class-file.ts'
import type { Code } from './code.ts'
import { parseMethodDescriptor } from './descriptor.ts'
import { ClassFormatProblem } from './problem.ts'
import { Reader } from './reader.ts'
import { Writer } from './writer.ts'

// A verification type is one number. Its low four bits are the tag of JVMS 4.7.4. The higher bits are the
// pool index for OBJECT, or the bci of the `new` instruction for UNINITIALIZED. A long or double is one entry.
export type VerificationType = number
export const TOP = 0
export const INTEGER = 1
export const FLOAT = 2
export const DOUBLE = 3
export const LONG = 4
export const NULL = 5
export const UNINITIALIZED_THIS = 6
export const OBJECT = 7
export const UNINITIALIZED = 8
/**
 * Tag of a method argument in frames that inherit it from the implicit first frame. The higher bits are 0 for the receiver, n for the n-th
 * parameter. The pool may have no entry for the argument's class, so this type is never encoded.
 */
export const ARGUMENT = 9

export function verificationType(tag: number, operand = 0): VerificationType {
  return tag | (operand << 4)
}

export function typeTag(type: VerificationType): number {
  return type & 15
}

/** Returns the pool index of an OBJECT, the bci of an UNINITIALIZED, or the number of an ARGUMENT. */
export function typeOperand(type: VerificationType): number {
  return type >>> 4
}

/** Thrown if a frame must name the class of an argument, for which the pool may have no entry. */
export class UnnamedArgument extends RangeError {
  constructor() {
    super('an argument type cannot be written: its class has no entry')
  }
}

export interface Frame {
  readonly bci: number
  readonly locals: readonly VerificationType[]
  readonly stack: readonly VerificationType[]
}

const EMPTY: readonly VerificationType[] = []

// frame_type ranges
const SAME_LOCALS_1_STACK = 64
const SAME_LOCALS_1_STACK_EXTENDED = 247
const SAME_EXTENDED = 251
const FULL = 255

/** Maximum total number of locals in all frames of a method. Only a hostile table has more. */
const MAX_TOTAL_LOCALS = 1 << 22

/** Returns the locals at method entry: receiver and parameters. */
export function initialLocals(classFile: ClassFile, method: MethodInfo): VerificationType[] {
  const locals: VerificationType[] = []
  if ((method.access & ACC_STATIC) === 0) {
    const uninitialized = method.name === '<init>' && classFile.superName !== null
    locals.push(uninitialized ? UNINITIALIZED_THIS : ARGUMENT)
  }
  parseMethodDescriptor(method.descriptor).parameters.forEach((parameter, i) => {
    const letter = parameter[0]
    if (letter === 'J') locals.push(LONG)
    else if (letter === 'D') locals.push(DOUBLE)
    else if (letter === 'F') locals.push(FLOAT)
    else if (letter === 'L' || letter === '[') locals.push(verificationType(ARGUMENT, i + 1))
    else locals.push(INTEGER)
  })
  return locals
}

/**
 * Returns the frames of a method, in order of bci; an empty list if it has no StackMapTable. The result does not contain the implicit
 * first frame (`initialLocals`).
 *
 * @throws ClassFormatProblem if the table is inconsistent, or does not match the code
 */
export function decodeStackMap(classFile: ClassFile, method: MethodInfo, code: Code): Frame[] {
  const attribute = code.attributes.find(({ name }) => name === 'StackMapTable')
  if (attribute === undefined) return []
  const reader = new Reader(classFile.bytes, attribute.offset, attribute.offset + attribute.length)
  const frames: Frame[] = []
  let locals: readonly VerificationType[] = initialLocals(classFile, method)
  let bci = -1
  let total = 0
  for (let left = reader.u2(); left > 0; left--) {
    const type = reader.u1()
    let stack = EMPTY
    if (type < SAME_LOCALS_1_STACK) {
      bci += type + 1
    } else if (type < 2 * SAME_LOCALS_1_STACK) {
      bci += type - SAME_LOCALS_1_STACK + 1
      stack = readTypes(reader, 1)
    } else if (type < SAME_LOCALS_1_STACK_EXTENDED) {
      throw new ClassFormatProblem(`reserved frame type ${type}`)
    } else {
      bci += reader.u2() + 1
      if (type === SAME_LOCALS_1_STACK_EXTENDED) {
        stack = readTypes(reader, 1)
      } else if (type < SAME_EXTENDED) {
        const kept = locals.length - (SAME_EXTENDED - type)
        if (kept < 0) throw new ClassFormatProblem(`the frame at bci ${bci} chops locals that are not there`)
        locals = locals.slice(0, kept)
      } else if (type === FULL) {
        locals = readTypes(reader, reader.u2())
        stack = readTypes(reader, reader.u2())
      } else if (type > SAME_EXTENDED) {
        locals = [...locals, ...readTypes(reader, type - SAME_EXTENDED)]
      }
      total += locals.length
    }
    if (bci >= code.bytecode.length) throw new ClassFormatProblem(`a frame at bci ${bci}, beyond the code`)
    if (locals.length > code.maxLocals || stack.length > code.maxStack) {
      throw new ClassFormatProblem(`the frame at bci ${bci} is larger than max_locals or max_stack`)
    }
    if (total > MAX_TOTAL_LOCALS) throw new ClassFormatProblem('the frames unfold to too many locals')
    frames.push({ bci, locals, stack })
  }
  reader.finish('a StackMapTable')
  return frames
}

function readTypes(reader: Reader, count: number): VerificationType[] {
  const types: VerificationType[] = []
  for (let left = count; left > 0; left--) {
    const tag = reader.u1()
    if (tag > UNINITIALIZED) throw new ClassFormatProblem(`unknown verification type ${tag}`)
    types.push(tag >= OBJECT ? verificationType(tag, reader.u2()) : tag)
  }
  return types
}

/**
 * Returns the content of a StackMapTable attribute.
 *
 * @param frames   in order of bci, at most one per bci
 * @param initial  locals at method entry; the first frame is encoded as the difference to these locals
 */
export function encodeStackMap(frames: readonly Frame[], initial: readonly VerificationType[]): Uint8Array {
  const writer = new Writer(2 + 4 * frames.length)
  writer.u2(frames.length)
  let previous = initial
  let previousBci = -1
  for (const { bci, locals, stack } of frames) {
    const delta = bci - previousBci - 1
    if (delta < 0) throw new RangeError(`frame at ${bci} after one at ${previousBci}`)
    const kept = commonPrefix(previous, locals)
    const chopped = previous.length - kept
    const appended = locals.length - kept
    if (chopped === 0 && appended === 0 && stack.length <= 1) {
      const base = stack.length * SAME_LOCALS_1_STACK
      if (delta < SAME_LOCALS_1_STACK) {
        writer.u1(base + delta)
      } else {
        writer.u1(stack.length === 0 ? SAME_EXTENDED : SAME_LOCALS_1_STACK_EXTENDED)
        writer.u2(delta)
      }
      writeTypes(writer, stack, 0)
    } else if (stack.length === 0 && (chopped === 0 ? appended <= 3 : appended === 0 && chopped <= 3)) {
      writer.u1(SAME_EXTENDED + appended - chopped)
      writer.u2(delta)
      writeTypes(writer, locals, kept)
    } else {
      writer.u1(FULL)
      writer.u2(delta)
      writer.u2(locals.length)
      writeTypes(writer, locals, 0)
      writer.u2(stack.length)
      writeTypes(writer, stack, 0)
    }
    previous = locals
    previousBci = bci
  }
  return writer.finish()
}

function commonPrefix(a: readonly VerificationType[], b: readonly VerificationType[]): number {
  if (a === b) return a.length
  const end = Math.min(a.length, b.length)
  let at = 0
  while (at < end && a[at] === b[at]) at++
  return at
}

function writeTypes(writer: Writer, types: readonly VerificationType[], from: number): void {
  for (let i = from; i < types.length; i++) {
    const tag = typeTag(types[i])
    if (tag > UNINITIALIZED) throw new UnnamedArgument()
    writer.u1(tag)
    if (tag >= OBJECT) writer.u2(typeOperand(types[i]))
  }
}
