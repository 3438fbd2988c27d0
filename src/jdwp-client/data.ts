// The data of a packet: values one after the other, big-endian, without padding.
//
//   byte, boolean 1   int 4   long 8   string: int of bytes, then UTF-8   id: as IDSizes has it
//   repeated things: int of how many, then the things
//
// A string holds the characters of Java's: a surrogate without its other half becomes U+FFFD on the way.

import { MalformedJdwp } from './errors.ts'
import type { IdKind, IdOf, IdSizes, ObjectId } from './ids.ts'

/** Before a JVM has told: nothing with an id in it can be asked then. */
export const HOTSPOT_ID_SIZES: IdSizes = { field: 8, method: 8, object: 8, referenceType: 8, frame: 8 }

/** Things that are listed in one packet: each becomes an object, which takes many times its bytes. */
export const MOST_THINGS = 1 << 21

/** Reads values one after the other. Whatever it gives is a copy; the packet can go. */
export class DataReader {
  #at = 0
  #things = 0

  constructor(
    private readonly data: Buffer,
    readonly sizes: IdSizes = HOTSPOT_ID_SIZES,
  ) {}

  u1(): number {
    return this.data[this.#take(1)]!
  }

  boolean(): boolean {
    return this.u1() !== 0
  }

  int(): number {
    return this.data.readInt32BE(this.#take(4))
  }

  long(): bigint {
    return this.data.readBigInt64BE(this.#take(8))
  }

  /** A long that is a position in code or a number of things: -1 where there is none. */
  index(): number {
    const value = this.long()
    if (value < -1n || value > BigInt(Number.MAX_SAFE_INTEGER))
      throw new MalformedJdwp(`an index of ${value}`)
    return Number(value)
  }

  /** A length in bytes and so many bytes of UTF-8. */
  string(): string {
    const length = this.count()
    const at = this.#take(length)
    return this.data.toString('utf8', at, at + length)
  }

  /** A length and so many bytes. */
  block(): Buffer {
    return this.bytes(this.count())
  }

  bytes(n: number): Buffer {
    const at = this.#take(n)
    return Buffer.from(this.data.subarray(at, at + n))
  }

  /** A count, and so many things, each of which has at least one byte. */
  list<T>(one: () => T): T[] {
    const n = this.things(this.count())
    const all: T[] = []
    for (let i = 0; i < n; i++) all.push(one())
    return all
  }

  /**
   * @returns `n`
   * @throws MalformedJdwp if, with those before, these are more things than fit into memory for sure
   */
  things(n: number): number {
    this.#things += n
    if (this.#things > MOST_THINGS) throw new MalformedJdwp(`more than ${MOST_THINGS} things in a packet`)
    return n
  }

  /** A count of what follows: never negative, and never more than there are bytes. */
  count(): number {
    const n = this.int()
    if (n < 0 || n > this.left) throw new MalformedJdwp(`a count of ${n} where ${this.left} bytes are left`)
    return n
  }

  /** One of the answers of IDSizes. Ids of no bytes would make lists without an end of them. */
  idSize(): number {
    const size = this.int()
    if (size < 1 || size > 8) throw new MalformedJdwp(`ids of ${size} bytes`)
    return size
  }

  id<Kind extends IdKind>(kind: Kind): IdOf[Kind] {
    const at = this.#take(this.sizes[kind])
    return this.data.toString('hex', at, at + this.sizes[kind]) as IdOf[Kind]
  }

  /** @typeParam T  what the specification says the object is */
  object<T extends ObjectId = ObjectId>(): T {
    return this.id('object') as ObjectId as T
  }

  objectOrNull<T extends ObjectId = ObjectId>(): T | null {
    const id = this.object<T>()
    return isNull(id) ? null : id
  }

  get left(): number {
    return this.data.length - this.#at
  }

  /** @throws MalformedJdwp if something is left */
  finish(): void {
    if (this.left > 0) throw new MalformedJdwp(`${this.left} bytes behind the last value`)
  }

  #take(n: number): number {
    const at = this.#at
    if (n > this.left) throw new MalformedJdwp(`a value of ${n} bytes where ${this.left} are left`)
    this.#at = at + n
    return at
  }
}

/** Whether an id names nothing: all of its bytes are 0. */
export function isNull(id: string): boolean {
  return /^0*$/.test(id)
}

/** Writes values one after the other. */
export class DataWriter {
  readonly #pieces: Uint8Array[] = []

  constructor(readonly sizes: IdSizes = HOTSPOT_ID_SIZES) {}

  u1(value: number): this {
    return this.bytes(Uint8Array.of(value))
  }

  boolean(value: boolean): this {
    return this.u1(value ? 1 : 0)
  }

  /** @throws RangeError if it is none */
  int(value: number): this {
    const bytes = Buffer.allocUnsafe(4)
    bytes.writeInt32BE(value)
    return this.bytes(bytes)
  }

  /** @throws RangeError if it is none */
  long(value: bigint): this {
    const bytes = Buffer.allocUnsafe(8)
    bytes.writeBigInt64BE(value)
    return this.bytes(bytes)
  }

  string(text: string): this {
    return this.block(Buffer.from(text, 'utf8'))
  }

  /** A length and the bytes. */
  block(bytes: Uint8Array): this {
    return this.int(bytes.length).bytes(bytes)
  }

  bytes(bytes: Uint8Array): this {
    this.#pieces.push(bytes)
    return this
  }

  list<T>(all: readonly T[], one: (it: T) => unknown): this {
    this.int(all.length)
    for (const it of all) one(it)
    return this
  }

  /**
   * @param id  as the JVM gave it, of this kind; null names nothing
   * @throws RangeError if the JVM has no such ids
   */
  id<Kind extends IdKind>(kind: Kind, id: IdOf[Kind] | null): this {
    const size = this.sizes[kind]
    const text = id ?? '0'.repeat(2 * size)
    if (text.length !== 2 * size || !/^[0-9a-f]*$/.test(text)) {
      throw new RangeError(`${JSON.stringify(text)} is not an id of ${size} bytes (${kind})`)
    }
    return this.bytes(Buffer.from(text, 'hex'))
  }

  object(id: ObjectId | null): this {
    return this.id('object', id)
  }

  done(): Buffer {
    return Buffer.concat(this.#pieces)
  }
}
