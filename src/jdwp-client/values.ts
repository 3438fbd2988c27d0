// Encoding of Java values: a tag (JDWP.Tag) and the value, or only the value if both sides know its type.

import { namesOf, TAGS, type Tag, TYPE_TAGS, type TypeTag } from './constants.ts'
import { type DataReader, type DataWriter, isNull } from './data.ts'
import { MalformedJdwp } from './errors.ts'
import type {
  ArrayId,
  ClassLoaderId,
  ClassObjectId,
  FieldId,
  MethodId,
  ObjectId,
  StringId,
  ThreadGroupId,
  ThreadId,
  TypeId,
} from './ids.ts'

interface IdOfTag {
  readonly OBJECT: ObjectId
  readonly ARRAY: ArrayId
  readonly STRING: StringId
  readonly THREAD: ThreadId
  readonly THREAD_GROUP: ThreadGroupId
  readonly CLASS_LOADER: ClassLoaderId
  readonly CLASS_OBJECT: ClassObjectId
}
export type ObjectTag = keyof IdOfTag

export type PrimitiveValue =
  | { readonly tag: 'BYTE' | 'SHORT' | 'INT' | 'FLOAT' | 'DOUBLE'; readonly value: number }
  | { readonly tag: 'LONG'; readonly value: bigint }
  | { readonly tag: 'BOOLEAN'; readonly value: boolean }
  /** A `char`. Its value is a string of one UTF-16 unit. */
  | { readonly tag: 'CHAR'; readonly value: string }

/** An object. Its tag determines which commands accept its id. */
export type TaggedObject = { [T in ObjectTag]: { readonly tag: T; readonly id: IdOfTag[T] } }[ObjectTag]
/** An object or null. For null, HotSpot sends the tag OBJECT or the tag of the declared type. */
export type ObjectValue = {
  [T in ObjectTag]: { readonly tag: T; readonly id: IdOfTag[T] | null }
}[ObjectTag]

export type Value = PrimitiveValue | ObjectValue | { readonly tag: 'VOID' }

/** A code location. */
export interface Location {
  readonly kind: TypeTag
  readonly type: TypeId
  readonly method: MethodId
  /** Bytecode index of the instruction; -1 in a native method. */
  readonly bci: number
}

const TAG_NAMES = namesOf(TAGS)
const TYPE_TAG_NAMES = namesOf(TYPE_TAGS)

interface Layout<T> {
  readonly bytes: number
  read(bytes: Buffer): T
  /** @throws RangeError if the value is out of range */
  write(bytes: Buffer, value: T): unknown
}

type OfTag<T, V = PrimitiveValue> = V extends { tag: infer Tags; value: infer Of }
  ? T extends Tags
    ? Of
    : never
  : never

/** Encoding of a single value and of array elements, for each primitive type. */
export const PRIMITIVES: { readonly [T in PrimitiveValue['tag']]: Layout<OfTag<T>> } = {
  BYTE: { bytes: 1, read: (b) => b.readInt8(), write: (b, value) => b.writeInt8(value) },
  BOOLEAN: { bytes: 1, read: (b) => b[0] !== 0, write: (b, value) => b.writeUInt8(value ? 1 : 0) },
  SHORT: { bytes: 2, read: (b) => b.readInt16BE(), write: (b, value) => b.writeInt16BE(value) },
  CHAR: { bytes: 2, read: (b) => String.fromCharCode(b.readUInt16BE()), write: writeChar },
  INT: { bytes: 4, read: (b) => b.readInt32BE(), write: (b, value) => b.writeInt32BE(value) },
  FLOAT: { bytes: 4, read: (b) => b.readFloatBE(), write: (b, value) => b.writeFloatBE(value) },
  LONG: { bytes: 8, read: (b) => b.readBigInt64BE(), write: (b, value) => b.writeBigInt64BE(value) },
  DOUBLE: { bytes: 8, read: (b) => b.readDoubleBE(), write: (b, value) => b.writeDoubleBE(value) },
}

function writeChar(bytes: Buffer, value: string): void {
  if (value.length !== 1) throw new RangeError(`${JSON.stringify(value)} is not one char`)
  bytes.writeUInt16BE(value.charCodeAt(0))
}

export function isPrimitive(tag: Tag): tag is PrimitiveValue['tag'] {
  return tag in PRIMITIVES
}

/** @throws MalformedJdwp */
export function readTag(r: DataReader): Tag {
  return named(TAG_NAMES, r.u1(), 'value')
}

/** @throws MalformedJdwp */
export function readTypeTag(r: DataReader): TypeTag {
  return named(TYPE_TAG_NAMES, r.u1(), 'type')
}

function named<Name>(names: ReadonlyMap<number, Name>, code: number, of: string): Name {
  const tag = names.get(code)
  if (tag === undefined) throw new MalformedJdwp(`a ${of}'s tag is ${code}`)
  return tag
}

/** Reads a `value` of the specification: a tag, then the value. */
export function readValue(r: DataReader): Value {
  return readUntagged(r, readTag(r))
}

/** Reads a `tagged-object` of the specification. */
export function readObject(r: DataReader): ObjectValue {
  const value = readValue(r)
  if (!isObject(value)) throw new MalformedJdwp(`a value of tag ${value.tag} where an object is due`)
  return value
}

/** Reads a `tagged-object` of the specification. Returns null for the null object. */
export function readObjectOrNull(r: DataReader): TaggedObject | null {
  const value = readObject(r)
  return value.id === null ? null : (value as TaggedObject)
}

export function isObject(value: Value): value is ObjectValue {
  return 'id' in value
}

function readUntagged(r: DataReader, tag: Tag): Value {
  if (tag === 'VOID') return { tag }
  if (!isPrimitive(tag)) return { tag, id: r.objectOrNull() } as ObjectValue
  const { bytes, read } = PRIMITIVES[tag]
  return { tag, value: read(r.bytes(bytes)) } as PrimitiveValue
}

/** Writes a `value` of the specification: a tag, then the value. */
export function writeValue(w: DataWriter, value: Value): void {
  w.u1(TAGS[value.tag])
  writeUntagged(w, value)
}

/**
 * Writes an `untagged-value` of the specification. The JVM interprets the bytes by the type that it expects, not by `value.tag`.
 *
 * @throws RangeError if a number is out of range
 */
export function writeUntagged(w: DataWriter, value: Value): void {
  if ('id' in value) w.object(value.id)
  else if ('value' in value) {
    const { bytes, write } = PRIMITIVES[value.tag] as Layout<PrimitiveValue['value']>
    const written = Buffer.alloc(bytes)
    write(written, value.value)
    w.bytes(written)
  }
}

/** Writes the ids of the requested fields. */
export function writeFields(w: DataWriter, fields: readonly FieldId[]): DataWriter {
  return w.list(fields, (field) => w.id('field', field))
}

/** Reads a `location` of the specification. */
export function readLocation(r: DataReader): Location {
  const kind = readTypeTag(r)
  return { kind, type: r.id('referenceType'), method: r.id('method'), bci: r.index() }
}

/** Reads a `location` of the specification. Returns null if its bytes are zero, which HotSpot sends for a missing location. */
export function readLocationOrNull(r: DataReader): Location | null {
  const code = r.u1()
  const [type, method, bci] = [r.id('referenceType'), r.id('method'), r.index()]
  if (isNull(type)) return null
  return { kind: named(TYPE_TAG_NAMES, code, 'type'), type, method, bci }
}

export function writeLocation(w: DataWriter, { kind, type, method, bci }: Location): void {
  w.u1(TYPE_TAGS[kind]).id('referenceType', type).id('method', method).long(BigInt(bci))
}
