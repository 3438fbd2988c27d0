// Reads the StackMapTable for the type checker as absolute frames with one type per slot, and checks every entry (JVMS 4.7.4; HotSpot's
// stackMapTable.cpp). `classfile/stack-map.ts` reads the same bytes to move frames. The two readers share only the tags, so that this
// reader detects mistakes of the other reader.

import type { ClassFile } from '../classfile/class-file.ts'
import type { Code } from '../classfile/code.ts'
import { NEW } from '../classfile/opcodes.ts'
import { Reader } from '../classfile/reader.ts'
import { TypeProblem, Unchecked } from './problem.ts'
import type { MapFrame } from './state.ts'
import {
  DOUBLE,
  DOUBLE_2,
  LONG,
  LONG_2,
  OBJECT,
  type Type,
  type TypeTable,
  UNINITIALIZED,
  UNINITIALIZED_THIS,
} from './types.ts'

export const STACK_MAP_TABLE = 'StackMapTable'
/** Maximum number of slots of all frames together. A table with more slots was made to exhaust the memory. */
const MAX_SLOTS = 1 << 22

const NOTHING: readonly Type[] = []

/**
 * @param starts   nonzero at each bci where an instruction starts
 * @param initial  locals on entry of the method
 * @returns frames in order of bci
 */
export function readFrames(
  classFile: ClassFile,
  code: Code,
  starts: Uint8Array,
  initial: readonly Type[],
  types: TypeTable,
): MapFrame[] {
  const tables = code.attributes.filter(({ name }) => name === STACK_MAP_TABLE)
  if (tables.length > 1) throw new TypeProblem(0, 'two StackMapTables')
  if (tables.length === 0) return []
  return new FrameReader(classFile, code, starts, initial, types, tables[0]).read()
}

class FrameReader {
  readonly #reader: Reader
  #bci = -1
  #locals: readonly Type[]
  #slots = 0

  constructor(
    classFile: ClassFile,
    private readonly code: Code,
    private readonly starts: Uint8Array,
    initial: readonly Type[],
    private readonly types: TypeTable,
    { offset, length }: { offset: number; length: number },
  ) {
    this.#reader = new Reader(classFile.bytes, offset, offset + length)
    this.#locals = initial
  }

  read(): MapFrame[] {
    const reader = this.#reader
    const frames: MapFrame[] = []
    for (let left = reader.u2(); left > 0; left--) frames.push(this.#frame())
    reader.finish('a StackMapTable')
    return frames
  }

  #frame(): MapFrame {
    const reader = this.#reader
    const type = reader.u1()
    let stack = NOTHING
    if (type < 64) {
      this.#advance(type)
    } else if (type < 128) {
      this.#advance(type - 64)
      stack = this.#read(1)
    } else if (type < 247) {
      this.#fail(`reserved frame type ${type}`)
    } else {
      this.#advance(reader.u2())
      if (type === 247) stack = this.#read(1)
      else if (type < 251) this.#chop(251 - type)
      else if (type > 251 && type < 255) this.#locals = [...this.#locals, ...this.#read(type - 251)]
      else if (type === 255) {
        this.#locals = this.#read(reader.u2())
        stack = this.#read(reader.u2())
      }
      this.#slots += this.#locals.length
      if (this.#slots > MAX_SLOTS) throw new Unchecked('its frames unfold to too many locals')
    }
    if (this.#locals.length > this.code.maxLocals) this.#fail('more locals than max_locals')
    if (stack.length > this.code.maxStack) this.#fail('more on the stack than max_stack')
    const thisUninitialized = this.#locals.includes(UNINITIALIZED_THIS)
    return { bci: this.#bci, locals: this.#locals, stack, thisUninitialized }
  }

  #advance(delta: number): void {
    this.#bci += delta + 1
    if (this.#bci >= this.starts.length || this.starts[this.#bci] === 0) this.#fail('not at an instruction')
  }

  #chop(values: number): void {
    let size = this.#locals.length
    for (let left = values; left > 0; left--) {
      const top = this.#locals[size - 1]
      size -= top === LONG_2 || top === DOUBLE_2 ? 2 : 1
      if (size < 0) this.#fail('chops locals that are not there')
    }
    this.#locals = this.#locals.slice(0, size)
  }

  #read(count: number): Type[] {
    const reader = this.#reader
    const types: Type[] = []
    for (let left = count; left > 0; left--) {
      const tag = reader.u1()
      if (tag > UNINITIALIZED) this.#fail(`unknown verification type ${tag}`)
      if (tag === OBJECT) {
        const index = reader.u2()
        const type = this.types.constant(index)
        if (type < 0) this.#fail(`constant ${index} is no class`)
        types.push(type)
      } else if (tag === UNINITIALIZED) {
        const bci = reader.u2()
        const isNew = bci < this.starts.length && this.starts[bci] !== 0 && this.code.bytecode[bci] === NEW
        if (!isNew) this.#fail(`no new at ${bci}`)
        types.push(UNINITIALIZED | (bci << 4))
      } else {
        types.push(tag)
        if (tag === LONG) types.push(LONG_2)
        else if (tag === DOUBLE) types.push(DOUBLE_2)
      }
    }
    return types
  }

  #fail(reason: string): never {
    throw new TypeProblem(Math.max(this.#bci, 0), `its frame: ${reason}`)
  }
}
