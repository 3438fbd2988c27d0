// The target's memory, as the agent reads it for us: many places of the same length at once.
//
// What lies there is believed up to a point only: it may be that of a JVM which is not laid out as was thought, was freed a moment
// ago, or is hostile. A length that comes from there costs neither side more than a bound.

/** What the layers above need of the agent. */
export interface MemoryPort {
  /** Address at which the JVM's library begins; 0 if unknown. */
  vmLibrary(): Promise<number>
  /** Eight bytes out of the mirror (java.lang.Class) of each class. */
  mirrorWords(offset: number, classIds: readonly number[]): Promise<Uint8Array>
  /** `length` bytes of each place, zeros where nothing can be read. Addresses have eight bytes each. */
  peek(length: number, addresses: Uint8Array): Promise<Uint8Array>
}

/** User space has 47 bits on x86-64, 48 on AArch64; a number holds 53. */
const HIGHEST = 2 ** 52
/** Of one request, so that neither side needs much memory at once, and others get their turn (1 to 2 µs a place). */
const ANSWER_BYTES = 4 << 20
const PLACES = 16_384
/** Of one question, in all. */
const MOST_BYTES = 256 << 20
/** Of a C string. */
const LONGEST_STRING = 128

/** The JVM's own data say what cannot be. A detach tells that its code could not be looked at. */
export class VmNotUnderstood extends Error {
  override readonly name = 'VmNotUnderstood'
  constructor(problem: string) {
    super(`what the JVM shows of its own data makes no sense: ${problem}`)
  }
}

/** So many bytes of so many places, one after the other. `i` counts places. */
export class Pieces {
  readonly #view: DataView

  constructor(
    private readonly bytes: Uint8Array,
    private readonly length: number,
  ) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  u8(i: number, offset = 0): number {
    return this.#view.getUint8(this.#at(i, offset, 1))
  }

  u16(i: number, offset = 0): number {
    return this.#view.getUint16(this.#at(i, offset, 2), true)
  }

  u32(i: number, offset = 0): number {
    return this.#view.getUint32(this.#at(i, offset, 4), true)
  }

  i32(i: number, offset = 0): number {
    return this.#view.getInt32(this.#at(i, offset, 4), true)
  }

  /** An address, or any size that has 64 bits; 0 for what can be neither. */
  word(i: number, offset = 0): number {
    const at = this.#at(i, offset, 8)
    const value = this.#view.getUint32(at, true) + this.#view.getUint32(at + 4, true) * 2 ** 32
    return value < HIGHEST ? value : 0
  }

  slice(i: number, offset: number, length: number): Uint8Array {
    const at = this.#at(i, offset, length)
    return this.bytes.subarray(at, at + length)
  }

  /** @throws VmNotUnderstood if it is not within the place */
  #at(i: number, offset: number, length: number): number {
    if (offset < 0 || offset + length > this.length)
      throw new VmNotUnderstood(`bytes ${offset} to ${offset + length} of ${this.length}`)
    return i * this.length + offset
  }
}

export class Memory {
  constructor(private readonly port: MemoryPort) {}

  /**
   * @returns `length` bytes of each address, all zeros where nothing can be read, or the address is 0
   * @throws VmNotUnderstood where that is more than can be meant
   */
  async gather(addresses: readonly number[], length: number): Promise<Pieces> {
    if (!(length >= 0 && length <= ANSWER_BYTES && addresses.length * length <= MOST_BYTES))
      throw new VmNotUnderstood(`${addresses.length} pieces of ${length} bytes`)
    const all = new Uint8Array(addresses.length * length)
    const atOnce = Math.max(1, Math.min(PLACES, Math.floor(ANSWER_BYTES / Math.max(1, length))))
    // In order, so that the target reads what lies together in one go.
    const order = Uint32Array.from(addresses.keys()).sort((a, b) => addresses[a] - addresses[b])
    for (let at = 0; at < order.length; at += atOnce) {
      const some = order.subarray(at, at + atOnce)
      const bytes = await this.port.peek(length, packed(Array.from(some, (i) => addresses[i])))
      for (const [k, i] of some.entries()) all.set(bytes.subarray(k * length, (k + 1) * length), i * length)
    }
    return new Pieces(all, length)
  }

  async read(address: number, length: number): Promise<Pieces> {
    return await this.gather([address], length)
  }

  /** C strings of less than 128 bytes. */
  async strings(addresses: readonly number[]): Promise<string[]> {
    const pieces = await this.gather(addresses, LONGEST_STRING)
    return addresses.map((_, i) => {
      const bytes = pieces.slice(i, 0, LONGEST_STRING)
      const end = bytes.indexOf(0)
      return Buffer.from(bytes.subarray(0, end < 0 ? LONGEST_STRING : end)).toString('latin1')
    })
  }
}

function packed(addresses: readonly number[]): Uint8Array {
  const view = new DataView(new ArrayBuffer(8 * addresses.length))
  addresses.forEach((address, i) => {
    view.setUint32(8 * i, address % 2 ** 32, true)
    view.setUint32(8 * i + 4, Math.floor(address / 2 ** 32), true)
  })
  return new Uint8Array(view.buffer)
}
