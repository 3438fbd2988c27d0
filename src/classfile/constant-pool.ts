// The constant pool (JVMS 4.4): offsets of the entries, decoded on demand.
//
// The constructor reads the lengths of all entries and checks that they fit into the class file; it decodes nothing. Every accessor
// checks the tag of the entry, so for a wrong index it throws a ClassFormatProblem and never returns a wrong result.
// Strings and references are decoded once and cached.

import { ClassFormatProblem } from './problem.ts'
import { type Reader, u2At } from './reader.ts'
import { decodeModifiedUtf8 } from './utf8.ts'

export const CONSTANT_UTF8 = 1
export const CONSTANT_INTEGER = 3
export const CONSTANT_FLOAT = 4
export const CONSTANT_LONG = 5
export const CONSTANT_DOUBLE = 6
export const CONSTANT_CLASS = 7
export const CONSTANT_STRING = 8
export const CONSTANT_FIELDREF = 9
export const CONSTANT_METHODREF = 10
export const CONSTANT_INTERFACE_METHODREF = 11
export const CONSTANT_NAME_AND_TYPE = 12
export const CONSTANT_METHOD_HANDLE = 15
export const CONSTANT_METHOD_TYPE = 16
export const CONSTANT_DYNAMIC = 17
export const CONSTANT_INVOKE_DYNAMIC = 18

/** Size of an entry without its tag, bytes, by tag; 0 for unknown tags, and for Utf8, whose entries contain their length. */
const PAYLOAD = Uint8Array.of(0, 0, 0, 4, 4, 8, 8, 2, 2, 4, 4, 4, 4, 0, 0, 3, 2, 4, 4, 2, 2)

/** Maximum value of `constant_pool_count`, which has 16 bits. Entry 0 does not exist. */
export const MAX_POOL_COUNT = 65535

export interface NameAndType {
  readonly name: string
  readonly descriptor: string
}

/** A Fieldref, Methodref or InterfaceMethodref. */
export interface MemberRef extends NameAndType {
  /** Internal name of the class, or the descriptor of an array class, as in `[I.clone()`. */
  readonly owner: string
  /** Whether this is an InterfaceMethodref. */
  readonly interface: boolean
}

export interface MethodHandle extends MemberRef {
  /** Kind of the method handle: REF_getField (1) … REF_invokeInterface (9), JVMS 5.4.3.5. */
  readonly kind: number
}

/** An InvokeDynamic or Dynamic entry. */
export interface DynamicRef extends NameAndType {
  /** Index into the class's bootstrap methods. */
  readonly bootstrapIndex: number
}

type Decoded = string | NameAndType | MemberRef | MethodHandle | DynamicRef

export class ConstantPool {
  readonly bytes: Uint8Array
  /** `constant_pool_count`: one more than the highest index. */
  readonly count: number
  /** Offset of each entry's tag in the class file; 0 for an index without an entry. */
  readonly offsets: Uint32Array
  /** Offset of the first byte after the pool: where entries are appended. */
  readonly end: number
  readonly #decoded: (Decoded | undefined)[]

  /** Reads the pool. The reader's position must be the offset of `constant_pool_count`. */
  constructor(reader: Reader) {
    const { bytes } = reader
    const count = reader.u2()
    if (count === 0) throw new ClassFormatProblem('constant pool without entry 0')
    const offsets = new Uint32Array(count)
    for (let index = 1; index < count; index++) {
      const at = reader.at
      const tag = reader.u1()
      if (tag === CONSTANT_UTF8) {
        reader.skip(reader.u2())
      } else {
        const payload = tag < PAYLOAD.length ? PAYLOAD[tag] : 0
        if (payload === 0) throw new ClassFormatProblem(`constant ${index} has the unknown tag ${tag}`)
        reader.skip(payload)
      }
      offsets[index] = at
      if (tag === CONSTANT_LONG || tag === CONSTANT_DOUBLE) {
        index++ // a long or double takes two slots
        if (index === count) throw new ClassFormatProblem('the last constant takes two slots, one is left')
      }
    }
    this.bytes = bytes
    this.count = count
    this.offsets = offsets
    this.end = reader.at
    this.#decoded = new Array(count)
  }

  /** Returns the entry's tag; 0 for an index without an entry. Never throws. */
  tag(index: number): number {
    const at = index > 0 && index < this.count ? this.offsets[index] : 0
    return at === 0 ? 0 : this.bytes[at]
  }

  utf8(index: number): string {
    const known = this.#decoded[index]
    if (typeof known === 'string') return known
    const at = this.#offset(index, CONSTANT_UTF8)
    const text = decodeModifiedUtf8(this.bytes, at + 3, at + 3 + u2At(this.bytes, at + 1))
    this.#decoded[index] = text
    return text
  }

  /** Returns the internal name of a class (`java/util/Map$Entry`), or the descriptor of an array class. */
  className(index: number): string {
    return this.utf8(u2At(this.bytes, this.#offset(index, CONSTANT_CLASS) + 1))
  }

  nameAndType(index: number): NameAndType {
    const at = this.#offset(index, CONSTANT_NAME_AND_TYPE)
    return this.#decode(index, () => ({
      name: this.utf8(u2At(this.bytes, at + 1)),
      descriptor: this.utf8(u2At(this.bytes, at + 3)),
    }))
  }

  /** Returns a Fieldref, Methodref or InterfaceMethodref. */
  memberRef(index: number): MemberRef {
    const tag = this.tag(index)
    if (tag < CONSTANT_FIELDREF || tag > CONSTANT_INTERFACE_METHODREF) this.#not(index, 'a member reference')
    return this.#decode(index, () => {
      const at = this.offsets[index]
      const { name, descriptor } = this.nameAndType(u2At(this.bytes, at + 3))
      const owner = this.className(u2At(this.bytes, at + 1))
      return { owner, name, descriptor, interface: tag === CONSTANT_INTERFACE_METHODREF }
    })
  }

  methodHandle(index: number): MethodHandle {
    const at = this.#offset(index, CONSTANT_METHOD_HANDLE)
    return this.#decode(index, () => ({
      kind: this.bytes[at + 1],
      ...this.memberRef(u2At(this.bytes, at + 2)),
    }))
  }

  invokeDynamic(index: number): DynamicRef {
    return this.#dynamic(index, this.#offset(index, CONSTANT_INVOKE_DYNAMIC))
  }

  /** Returns a dynamically computed constant (`ldc` of a CONSTANT_Dynamic). */
  dynamic(index: number): DynamicRef {
    return this.#dynamic(index, this.#offset(index, CONSTANT_DYNAMIC))
  }

  #dynamic(index: number, at: number): DynamicRef {
    return this.#decode(index, () => ({
      bootstrapIndex: u2At(this.bytes, at + 1),
      ...this.nameAndType(u2At(this.bytes, at + 3)),
    }))
  }

  /** Returns the cached entry, or decodes and caches it. The caller has checked the tag. */
  #decode<T extends Decoded>(index: number, decode: () => T): T {
    const known = this.#decoded[index]
    if (known !== undefined) return known as T
    const fresh = decode()
    this.#decoded[index] = fresh
    return fresh
  }

  #offset(index: number, tag: number): number {
    if (this.tag(index) !== tag) this.#not(index, `of tag ${tag}`)
    return this.offsets[index]
  }

  #not(index: number, wanted: string): never {
    throw new ClassFormatProblem(`constant ${index} is not ${wanted} but of tag ${this.tag(index)}`)
  }
}
