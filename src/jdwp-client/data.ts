// The data of a packet: values one after the other, big-endian, without padding.
//
//   byte, boolean 1   int 4   long 8   string: int of bytes, then UTF-8   id: size from IDSizes
//   list: int count, then the elements
//
// A string is read with all characters of the Java string, except that a lone surrogate becomes U+FFFD.

import { MalformedJdwp } from './errors.ts'
import type { IdKind, IdOf, IdSizes, ObjectId } from './ids.ts'

/** Sizes of ids that are assumed until the JVM has reported the sizes. Until then, no command with an id can be sent. */
export const HOTSPOT_ID_SIZES: IdSizes = { field: 8, method: 8, object: 8, referenceType: 8, frame: 8 }

/** Maximum number of list elements in a packet. Each element becomes an object that is much larger than its bytes in the packet. */
export const MAX_ELEMENTS = 1 << 21

/** Reads values one after the other. The results are copies, so the packet can be released. */
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

  /** Reads a code index or a count, which is a long; -1 means none. */
  index(): number {
    const value = this.long()
    if (value < -1n || value > BigInt(Number.MAX_SAFE_INTEGER))
      throw new MalformedJdwp(`an index of ${value}`)
    return Number(value)
  }

  /** Reads a string: a length in bytes, then the bytes in UTF-8. */
  string(): string {
    const length = this.count()
    const at = this.#take(length)
    return this.data.toString('utf8', at, at + length)
  }

  /** Reads a length in bytes, then the bytes. */
  block(): Buffer {
    return this.bytes(this.count())
  }

  bytes(n: number): Buffer {
    const at = this.#take(n)
    return Buffer.from(this.data.subarray(at, at + n))
  }

  /** Reads a list: a count, then the elements. Each element has at least one byte. */
  list<T>(one: () => T): T[] {
    const n = this.things(this.count())
    const all: T[] = []
    for (let i = 0; i < n; i++) all.push(one())
    return all
  }

  /**
   * Counts `n` more list elements of the packet.
   *
   * @returns `n`
   * @throws MalformedJdwp if the packet has more than the maximum number of elements
   */
  things(n: number): number {
    this.#things += n
    if (this.#things > MAX_ELEMENTS) throw new MalformedJdwp(`more than ${MAX_ELEMENTS} things in a packet`)
    return n
  }

  /** Reads the number of elements, which must not be negative or greater than the number of remaining bytes. */
  count(): number {
    const n = this.int()
    if (n < 0 || n > this.left) throw new MalformedJdwp(`a count of ${n} where ${this.left} bytes are left`)
    return n
  }

  /** Reads an id size of the reply to IDSizes. Size 0 is refused, since the length of a list of ids would then not be limited. */
  idSize(): number {
    const size = this.int()
    if (size < 1 || size > 8) throw new MalformedJdwp(`ids of ${size} bytes`)
    return size
  }

  id<Kind extends IdKind>(kind: Kind): IdOf[Kind] {
    const at = this.#take(this.sizes[kind])
    return this.data.toString('hex', at, at + this.sizes[kind]) as IdOf[Kind]
  }

  /** Reads an object id. @typeParam T  kind of the object according to the specification */
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

  /** @throws MalformedJdwp if data remains */
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

/** Returns whether an id is null: all of its bytes are 0. */
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

  /** @throws RangeError if the value is not a 32-bit integer */
  int(value: number): this {
    const bytes = Buffer.allocUnsafe(4)
    bytes.writeInt32BE(value)
    return this.bytes(bytes)
  }

  /** @throws RangeError if the value is not a 64-bit integer */
  long(value: bigint): this {
    const bytes = Buffer.allocUnsafe(8)
    bytes.writeBigInt64BE(value)
    return this.bytes(bytes)
  }

  string(text: string): this {
    return this.block(Buffer.from(text, 'utf8'))
  }

  /** Writes the length and then the bytes. */
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
   * @param id  id of this kind, as sent by the JVM; null for the null object
   * @throws RangeError if ids of this kind have another length in this JVM
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
