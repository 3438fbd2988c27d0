// JDWP packets: how they are framed, and how values lie in their data. Everything is big-endian.
//
//   offset  size  field
//        0     4  length   of the whole packet, these four bytes included; at least 11
//        4     4  id       the sender's number of a command; its reply repeats it
//        8     1  flags    0x80: a reply
//        9     1  command: command set    reply: u2 error, 0 for none
//       10     1  command: command
//       11     …  data
//
// Ids of objects, types, methods, fields and frames have sizes that the JVM states (IDSizes). They are
// opaque, so here they are strings of hex digits: comparable, printable, and no BigInt anywhere.

import { EX_PROTOCOL, JfluidError } from '../base/errors.ts'

export const HANDSHAKE = 'JDWP-Handshake'
export const HEADER_BYTES = 11
export const FLAG_REPLY = 0x80

/** No reply that we ask for is larger; a length beyond it means the peer speaks something else. */
export const MAX_PACKET = 256 << 20

/** An object, reference type or method as the JVM names it: hex digits. */
export type JdwpId = string

/** The peer's bytes are no JDWP. */
export class MalformedJdwp extends JfluidError {
  readonly exitCode = EX_PROTOCOL
  readonly hint = 'Check that the address is that of a JVM started with -agentlib:jdwp.'
  constructor(problem: string) {
    super(`malformed JDWP: ${problem}`)
  }
}

export interface CommandPacket {
  readonly kind: 'command'
  readonly id: number
  readonly set: number
  readonly command: number
  readonly data: Buffer
}

export interface ReplyPacket {
  readonly kind: 'reply'
  readonly id: number
  /** 0: none. */
  readonly error: number
  readonly data: Buffer
}

export type Packet = CommandPacket | ReplyPacket

export function encodeCommand(id: number, set: number, command: number, data: Uint8Array): Buffer {
  const packet = header(id, 0, data.length)
  packet[9] = set
  packet[10] = command
  packet.set(data, HEADER_BYTES)
  return packet
}

export function encodeReply(id: number, error: number, data: Uint8Array): Buffer {
  const packet = header(id, FLAG_REPLY, data.length)
  packet.writeUInt16BE(error, 9)
  packet.set(data, HEADER_BYTES)
  return packet
}

function header(id: number, flags: number, dataBytes: number): Buffer {
  const packet = Buffer.alloc(HEADER_BYTES + dataBytes)
  packet.writeUInt32BE(packet.length, 0)
  packet.writeUInt32BE(id, 4)
  packet[8] = flags
  return packet
}

/** Cuts a byte stream into packets. */
export class PacketReader {
  #chunks: Buffer[] = []
  #buffered = 0

  /**
   * @returns the packets completed by `chunk`, in order
   * @throws MalformedJdwp
   */
  push(chunk: Buffer): Packet[] {
    this.#chunks.push(chunk)
    this.#buffered += chunk.length
    const packets: Packet[] = []
    while (this.#buffered >= HEADER_BYTES) {
      const length = this.#joined(HEADER_BYTES).readUInt32BE(0)
      if (length < HEADER_BYTES || length > MAX_PACKET) {
        throw new MalformedJdwp(`a packet of ${length} bytes`)
      }
      if (this.#buffered < length) break
      const all = this.#joined(length)
      packets.push(decode(all.subarray(0, length)))
      this.#chunks = all.length > length ? [all.subarray(length)] : []
      this.#buffered -= length
    }
    return packets
  }

  /** A buffer that starts with the buffered bytes and holds at least `bytes` of them. */
  #joined(bytes: number): Buffer {
    const first = this.#chunks[0]!
    if (first.length >= bytes) return first
    const all = Buffer.concat(this.#chunks, this.#buffered)
    this.#chunks = [all]
    return all
  }
}

function decode(packet: Buffer): Packet {
  const id = packet.readUInt32BE(4)
  const data = packet.subarray(HEADER_BYTES)
  return (packet[8]! & FLAG_REPLY) !== 0
    ? { kind: 'reply', id, error: packet.readUInt16BE(9), data }
    : { kind: 'command', id, set: packet[9]!, command: packet[10]!, data }
}

/** Reads values one after the other. */
export class DataReader {
  #at = 0

  constructor(private readonly data: Buffer) {}

  u1(): number {
    return this.data[this.#take(1)]!
  }

  int(): number {
    return this.data.readInt32BE(this.#take(4))
  }

  /** As a number: what the protocol has as long are bytecode positions. */
  long(): number {
    return Number(this.data.readBigInt64BE(this.#take(8)))
  }

  /** A count of what follows; never negative. */
  count(): number {
    const n = this.int()
    if (n < 0) throw new MalformedJdwp(`a count of ${n}`)
    return n
  }

  /** A length in bytes and so many bytes of UTF-8. */
  string(): string {
    return this.bytes(this.count()).toString('utf8')
  }

  bytes(n: number): Buffer {
    const at = this.#take(n)
    return this.data.subarray(at, at + n)
  }

  id(size: number): JdwpId {
    return this.bytes(size).toString('hex')
  }

  /** @throws MalformedJdwp if something is left */
  finish(): void {
    const left = this.data.length - this.#at
    if (left > 0) throw new MalformedJdwp(`${left} bytes behind the last value of a reply`)
  }

  #take(n: number): number {
    const at = this.#at
    if (at + n > this.data.length) {
      throw new MalformedJdwp(`a value of ${n} bytes where ${this.data.length - at} are left`)
    }
    this.#at = at + n
    return at
  }
}

export function encodeId(id: JdwpId): Buffer {
  return Buffer.from(id, 'hex')
}

export function encodeInt(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}

export function encodeString(text: string): Buffer {
  const bytes = Buffer.from(text, 'utf8')
  return Buffer.concat([encodeInt(bytes.length), bytes])
}
