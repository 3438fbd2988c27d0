// Java values as they travel: a tag (JDWP.Tag) and the value, or the value alone where both sides know its type.

import { namesOf, TAGS, type Tag, TYPE_TAGS, type TypeTag } from './constants.ts'
import { type DataReader, type DataWriter, isNull } from './data.ts'
import { MalformedJdwp } from './errors.ts'
import type {
  ArrayId,
  ClassLoaderId,
  ClassObjectId,
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
  /** One UTF-16 unit. */
  | { readonly tag: 'CHAR'; readonly value: string }

/** An object; the tag says what it can be asked as. */
export type TaggedObject = { [T in ObjectTag]: { readonly tag: T; readonly id: IdOfTag[T] } }[ObjectTag]
/** An object or null. HotSpot tags null as OBJECT, or as the type that was declared. */
export type ObjectValue = {
  [T in ObjectTag]: { readonly tag: T; readonly id: IdOfTag[T] | null }
}[ObjectTag]

export type Value = PrimitiveValue | ObjectValue | { readonly tag: 'VOID' }

/** A place in code. */
export interface Location {
  readonly kind: TypeTag
  readonly type: TypeId
  readonly method: MethodId
  /** Of the instruction in its method, in bytes; -1 in a native method. */
  readonly bci: number
}

const TAG_NAMES = namesOf(TAGS)
const TYPE_TAG_NAMES = namesOf(TYPE_TAGS)

/** @throws MalformedJdwp */
export function readTag(r: DataReader): Tag {
  const code = r.u1()
  const tag = TAG_NAMES.get(code)
  if (tag === undefined) throw new MalformedJdwp(`a value's tag is ${code}`)
  return tag
}

/** @throws MalformedJdwp */
export function readTypeTag(r: DataReader): TypeTag {
  const code = r.u1()
  const tag = TYPE_TAG_NAMES.get(code)
  if (tag === undefined) throw new MalformedJdwp(`a type's tag is ${code}`)
  return tag
}

/** `value` of the specification: tag and value. */
export function readValue(r: DataReader): Value {
  return readUntagged(r, readTag(r))
}

/** `tagged-object` of the specification. */
export function readObject(r: DataReader): ObjectValue {
  const value = readValue(r)
  if (!isObject(value)) throw new MalformedJdwp(`a value of tag ${value.tag} where an object is due`)
  return value
}

/** The same where null has nothing to tell. */
export function readObjectOrNull(r: DataReader): TaggedObject | null {
  const value = readObject(r)
  return value.id === null ? null : (value as TaggedObject)
}

export function isObject(value: Value): value is ObjectValue {
  return 'id' in value
}

function readUntagged(r: DataReader, tag: Tag): Value {
  switch (tag) {
    case 'BYTE':
      return { tag, value: (r.u1() << 24) >> 24 }
    case 'BOOLEAN':
      return { tag, value: r.boolean() }
    case 'CHAR':
      return { tag, value: String.fromCharCode(r.bytes(2).readUInt16BE(0)) }
    case 'SHORT':
      return { tag, value: r.bytes(2).readInt16BE(0) }
    case 'INT':
      return { tag, value: r.int() }
    case 'LONG':
      return { tag, value: r.long() }
    case 'FLOAT':
      return { tag, value: r.bytes(4).readFloatBE(0) }
    case 'DOUBLE':
      return { tag, value: r.bytes(8).readDoubleBE(0) }
    case 'VOID':
      return { tag }
    default:
      return { tag, id: r.objectOrNull() } as ObjectValue
  }
}

/** `value` of the specification. */
export function writeValue(w: DataWriter, value: Value): void {
  w.u1(TAGS[value.tag])
  writeUntagged(w, value)
}

/**
 * `untagged-value`: the JVM knows the type, and takes the bytes for it whatever `value.tag` says.
 *
 * @throws RangeError if a number does not fit
 */
export function writeUntagged(w: DataWriter, value: Value): void {
  switch (value.tag) {
    case 'BOOLEAN':
      w.boolean(value.value)
      break
    case 'LONG':
      w.long(value.value)
      break
    case 'CHAR':
      if (value.value.length !== 1) throw new RangeError(`${JSON.stringify(value.value)} is not one char`)
      w.bytes(sized(2, (b) => b.writeUInt16BE(value.value.charCodeAt(0))))
      break
    case 'BYTE':
      w.bytes(sized(1, (b) => b.writeInt8(value.value)))
      break
    case 'SHORT':
      w.bytes(sized(2, (b) => b.writeInt16BE(value.value)))
      break
    case 'INT':
      w.int(value.value)
      break
    case 'FLOAT':
      w.bytes(sized(4, (b) => b.writeFloatBE(value.value)))
      break
    case 'DOUBLE':
      w.bytes(sized(8, (b) => b.writeDoubleBE(value.value)))
      break
    case 'VOID':
      break
    default:
      w.object(value.id)
  }
}

function sized(n: number, write: (bytes: Buffer) => unknown): Buffer {
  const bytes = Buffer.alloc(n)
  write(bytes)
  return bytes
}

/** `location` of the specification. */
export function readLocation(r: DataReader): Location {
  const kind = readTypeTag(r)
  return { kind, type: r.id('referenceType'), method: r.id('method'), bci: r.index() }
}

/** A location that may be none: HotSpot writes 0 for its tag then, and for everything else. */
export function readLocationOrNull(r: DataReader): Location | null {
  const code = r.u1()
  const [type, method, bci] = [r.id('referenceType'), r.id('method'), r.index()]
  if (isNull(type)) return null
  const kind = TYPE_TAG_NAMES.get(code)
  if (kind === undefined) throw new MalformedJdwp(`a type's tag is ${code}`)
  return { kind, type, method, bci }
}

export function writeLocation(w: DataWriter, { kind, type, method, bci }: Location): void {
  w.u1(TYPE_TAGS[kind]).id('referenceType', type).id('method', method).long(BigInt(bci))
}
