// Reads the target's memory through the agent: many pieces of the same length in one request.
// The contents are not trusted: the memory may have a different layout than expected, it may have been freed, or the JVM may be hostile.
// A length that was read from memory is therefore limited before it is used, to protect the client and the target.

/** Operations that the agent provides. */
export interface MemoryPort {
  /** Address at which the JVM's library is mapped; 0 if unknown. */
  vmLibrary(): Promise<number>
  /** Reads eight bytes at an offset in the mirror (java.lang.Class object) of each class. */
  mirrorWords(offset: number, classIds: readonly number[]): Promise<Uint8Array>
  /** Reads `length` bytes at each address; zeros if an address is unreadable. Each address is encoded in eight bytes. */
  peek(length: number, addresses: Uint8Array): Promise<Uint8Array>
}

/** Upper bound of an address. User-space addresses have 47 bits on x86-64 and 48 bits on AArch64; a JavaScript number has 53 bits. */
const MAX_ADDRESS = 2 ** 52
/** Limits of one request: bytes, and number of addresses. They limit memory, and the delay of other requests (1 to 2 µs per address). */
const ANSWER_BYTES = 4 << 20
const PLACES = 16_384
/** Maximum number of bytes that one `gather` returns. */
const MAX_BYTES = 256 << 20
/** Maximum length of a C string. */
const MAX_STRING_BYTES = 128

/** Thrown if the JVM's data are inconsistent. After this error, detach reports that the code could not be compared. */
export class VmNotUnderstood extends Error {
  override readonly name = 'VmNotUnderstood'
  constructor(problem: string) {
    super(`the JVM's description of its own data (vmStructs) is inconsistent: ${problem}`)
  }
}

/** Pieces of memory of equal length, in the order of the requested addresses. `i` is the index of a piece. */
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

  /** Returns an address or a 64-bit size; 0 if the value is not below MAX_ADDRESS. */
  word(i: number, offset = 0): number {
    const at = this.#at(i, offset, 8)
    const value = this.#view.getUint32(at, true) + this.#view.getUint32(at + 4, true) * 2 ** 32
    return value < MAX_ADDRESS ? value : 0
  }

  slice(i: number, offset: number, length: number): Uint8Array {
    const at = this.#at(i, offset, length)
    return this.bytes.subarray(at, at + length)
  }

  /** @throws VmNotUnderstood if the range is not inside a piece */
  #at(i: number, offset: number, length: number): number {
    if (offset < 0 || offset + length > this.length)
      throw new VmNotUnderstood(`bytes ${offset} to ${offset + length} of ${this.length}`)
    return i * this.length + offset
  }
}

export class Memory {
  constructor(private readonly port: MemoryPort) {}

  /**
   * Reads `length` bytes at each address.
   *
   * @returns one piece per address; zeros if the address is unreadable or 0
   * @throws VmNotUnderstood if the size exceeds the limits
   */
  async gather(addresses: readonly number[], length: number): Promise<Pieces> {
    if (!(length >= 0 && length <= ANSWER_BYTES && addresses.length * length <= MAX_BYTES))
      throw new VmNotUnderstood(`${addresses.length} pieces of ${length} bytes`)
    const all = new Uint8Array(addresses.length * length)
    const atOnce = Math.max(1, Math.min(PLACES, Math.floor(ANSWER_BYTES / Math.max(1, length))))
    // The addresses are sorted, so that the target reads adjacent places together.
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

  /** Reads C strings with less than 128 bytes. */
  async strings(addresses: readonly number[]): Promise<string[]> {
    const pieces = await this.gather(addresses, MAX_STRING_BYTES)
    return addresses.map((_, i) => {
      const bytes = pieces.slice(i, 0, MAX_STRING_BYTES)
      const end = bytes.indexOf(0)
      return Buffer.from(bytes.subarray(0, end < 0 ? MAX_STRING_BYTES : end)).toString('latin1')
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
