// A class file (JVMS 4.1), read lazily: the first pass only finds the names and offsets of its parts. `code.ts` reads the
// bytecode, `constant-pool.ts` reads the pool. A `ClassFile` is immutable; `splice.ts` creates the bytes of a changed
// class.

import { ConstantPool } from './constant-pool.ts'
import { ClassFormatProblem } from './problem.ts'
import { Reader } from './reader.ts'

export { ClassFormatProblem }

export const MAJOR_1_4 = 48
/** First class file version for which the JVM uses a method's StackMapTable. */
export const MAJOR_6 = 50
/** First class file version with method handles and invokedynamic. */
export const MAJOR_7 = 51
/** First class file version in which a class may call static and private methods of interfaces. */
export const MAJOR_8 = 52
/** First class file version with dynamically computed constants. */
export const MAJOR_11 = 55

/** Name and position of an attribute in the class file. */
export interface AttributeRef {
  readonly name: string
  readonly nameIndex: number
  /** Offset of the first byte of the attribute's content, after name and length. */
  readonly offset: number
  /** Number of bytes of the attribute's content. */
  readonly length: number
}

export interface MethodInfo {
  /** Index in the class file's method table. It identifies the method in messages to the agent. */
  readonly index: number
  readonly access: number
  readonly name: string
  readonly nameIndex: number
  readonly descriptor: string
  readonly descriptorIndex: number
  readonly attributes: readonly AttributeRef[]
  /** Code attribute; undefined for abstract and native methods. */
  readonly code: AttributeRef | undefined
}

export interface FieldInfo {
  readonly access: number
  readonly name: string
  readonly descriptor: string
}

export interface BootstrapMethod {
  /** Pool index of a MethodHandle. */
  readonly methodRef: number
  /** Pool indices of the static arguments. */
  readonly arguments: readonly number[]
}

export class ClassFile {
  #bootstrapMethods: readonly BootstrapMethod[] | undefined

  constructor(
    readonly bytes: Uint8Array,
    readonly major: number,
    readonly pool: ConstantPool,
    readonly access: number,
    /** Internal name of the class. */
    readonly name: string,
    /** Internal name of the superclass; null for java/lang/Object and for modules. */
    readonly superName: string | null,
    readonly interfaces: readonly string[],
    readonly methods: readonly MethodInfo[],
    readonly attributes: readonly AttributeRef[],
    /** Offset of the field table. */
    private readonly fieldsAt: number,
  ) {}

  /** Reads the fields that the class declares, static fields included. */
  fields(): FieldInfo[] {
    const { bytes, pool } = this
    const reader = new Reader(bytes, this.fieldsAt)
    const found: FieldInfo[] = []
    for (let left = reader.u2(); left > 0; left--) {
      const access = reader.u2()
      found.push({ access, name: pool.utf8(reader.u2()), descriptor: pool.utf8(reader.u2()) })
      skipAttributes(reader)
    }
    return found
  }

  /** Bootstrap methods, read at the first access. */
  get bootstrapMethods(): readonly BootstrapMethod[] {
    this.#bootstrapMethods ??= this.#readBootstrapMethods()
    return this.#bootstrapMethods
  }

  #readBootstrapMethods(): BootstrapMethod[] {
    const found: BootstrapMethod[] = []
    const attribute = this.attributes.find(({ name }) => name === 'BootstrapMethods')
    if (attribute === undefined) return found
    const reader = new Reader(this.bytes, attribute.offset, attribute.offset + attribute.length)
    for (let left = reader.u2(); left > 0; left--) {
      const methodRef = reader.u2()
      const args: number[] = []
      for (let more = reader.u2(); more > 0; more--) args.push(reader.u2())
      found.push({ methodRef, arguments: args })
    }
    return found
  }
}

/**
 * Reads a class file, except the content of its Code attributes.
 *
 * @throws ClassFormatProblem for anything that is not a well-formed class file
 */
export function parseClassFile(bytes: Uint8Array): ClassFile {
  const reader = new Reader(bytes)
  if (reader.u4() !== 0xcafebabe) throw new ClassFormatProblem('does not start with 0xCAFEBABE')
  reader.u2() // minor version
  const major = reader.u2()
  const pool = new ConstantPool(reader)
  const access = reader.u2()
  const name = pool.className(reader.u2())
  const superIndex = reader.u2()
  const superName = superIndex === 0 ? null : pool.className(superIndex)
  const interfaces: string[] = []
  for (let left = reader.u2(); left > 0; left--) interfaces.push(pool.className(reader.u2()))
  const fieldsAt = reader.at
  for (let left = reader.u2(); left > 0; left--) {
    reader.skip(6)
    skipAttributes(reader)
  }
  const methods: MethodInfo[] = []
  const methodCount = reader.u2()
  for (let index = 0; index < methodCount; index++) methods.push(readMethod(reader, pool, index))
  const attributes = readAttributes(reader, pool)
  reader.finish('the class file')
  return new ClassFile(bytes, major, pool, access, name, superName, interfaces, methods, attributes, fieldsAt)
}

function readMethod(reader: Reader, pool: ConstantPool, index: number): MethodInfo {
  const access = reader.u2()
  const nameIndex = reader.u2()
  const name = pool.utf8(nameIndex)
  const descriptorIndex = reader.u2()
  const descriptor = pool.utf8(descriptorIndex)
  const attributes = readAttributes(reader, pool)
  let code: AttributeRef | undefined
  for (const attribute of attributes) {
    if (attribute.name !== 'Code') continue
    if (code !== undefined) throw new ClassFormatProblem(`${name}${descriptor} has two Code attributes`)
    code = attribute
  }
  return { index, access, name, nameIndex, descriptor, descriptorIndex, attributes, code }
}

/** Reads the attribute table of a class, a member or a Code attribute. The table begins at the reader's position. */
export function readAttributes(reader: Reader, pool: ConstantPool): AttributeRef[] {
  const attributes: AttributeRef[] = []
  for (let left = reader.u2(); left > 0; left--) {
    const nameIndex = reader.u2()
    const length = reader.u4()
    attributes.push({ name: pool.utf8(nameIndex), nameIndex, offset: reader.skip(length), length })
  }
  return attributes
}

function skipAttributes(reader: Reader): void {
  for (let left = reader.u2(); left > 0; left--) {
    reader.skip(2)
    reader.skip(reader.u4())
  }
}
