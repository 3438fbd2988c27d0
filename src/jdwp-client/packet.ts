// Splits the byte stream into JDWP packets. `data.ts` reads the data of packets. All numbers are big-endian.
//
//   offset  size  field
//        0     4  length   of the whole packet, these four bytes included; at least 11
//        4     4  id       number that the sender gave to the command; the reply has the same id
//        8     1  flags    0x80: the packet is a reply
//        9     1  command: command set    reply: u2 error, 0 for none
//       10     1  command: command
//       11     …  data

import { MalformedJdwp } from './errors.ts'

export const HANDSHAKE = 'JDWP-Handshake'
export const HEADER_BYTES = 11
export const FLAG_REPLY = 0x80

/** Maximum size of a reply, bytes. A greater length means that the peer has another protocol. */
export const MAX_PACKET = 256 << 20
/** Maximum size of a command of the JVM, bytes. The JVM sends only events, which are small. */
export const MAX_EVENTS = 1 << 20

export interface CommandPacket {
  readonly kind: 'command'
  readonly id: number
  readonly set: number
  readonly command: number
  readonly data: Buffer
}

interface ReplyPacket {
  readonly kind: 'reply'
  readonly id: number
  /** Error code; 0 for none. */
  readonly error: number
  readonly data: Buffer
}

export type Packet = CommandPacket | ReplyPacket

export function encodeCommand(id: number, set: number, command: number, data: Uint8Array): Buffer {
  const packet = Buffer.alloc(HEADER_BYTES + data.length)
  packet.writeUInt32BE(packet.length, 0)
  packet.writeUInt32BE(id, 4)
  packet[9] = set
  packet[10] = command
  packet.set(data, HEADER_BYTES)
  return packet
}

/** Splits a byte stream into packets. The buffer for an incomplete packet has at most twice its size, for any size of the chunks. */
export class PacketReader {
  readonly #maxPacket: number
  readonly #maxCommand: number
  /** Buffer with the unread data from `#from` to `#to`, followed by free space. Bytes before `#to` are never overwritten. */
  #bytes: Buffer = Buffer.alloc(0)
  #from = 0
  #to = 0

  /**
   * @param maxPacket   maximum size of a packet, bytes, at most `MAX_PACKET`
   * @param maxCommand  maximum size of a command of the JVM
   */
  constructor(maxPacket = MAX_PACKET, maxCommand = maxPacket) {
    this.#maxPacket = Math.min(maxPacket, MAX_PACKET)
    this.#maxCommand = Math.min(maxCommand, this.#maxPacket)
  }

  /**
   * @yields the packets that are complete after `chunk`, in order. Each packet is yielded before the next packet is parsed
   * @throws MalformedJdwp
   */
  *push(chunk: Buffer): Generator<Packet> {
    this.#append(chunk)
    while (this.#to - this.#from >= HEADER_BYTES) {
      const length = this.#bytes.readUInt32BE(this.#from)
      const isReply = (this.#bytes[this.#from + 8]! & FLAG_REPLY) !== 0
      if (length < HEADER_BYTES || length > (isReply ? this.#maxPacket : this.#maxCommand)) {
        throw new MalformedJdwp(`a packet of ${length} bytes`)
      }
      if (this.#to - this.#from < length) return
      const packet = this.#bytes.subarray(this.#from, this.#from + length)
      this.#from += length
      yield decode(packet)
    }
  }

  #append(chunk: Buffer): void {
    const held = this.#to - this.#from
    if (held === 0) {
      // Usually a chunk consists of complete packets, and no copy is needed.
      this.#bytes = chunk
      this.#from = 0
      this.#to = chunk.length
      return
    }
    if (this.#to + chunk.length > this.#bytes.length) {
      const room = Buffer.allocUnsafeSlow(Math.max(2 * held, held + chunk.length))
      this.#bytes.copy(room, 0, this.#from, this.#to)
      this.#bytes = room
      this.#from = 0
      this.#to = held
    }
    chunk.copy(this.#bytes, this.#to)
    this.#to += chunk.length
  }
}

function decode(packet: Buffer): Packet {
  const id = packet.readUInt32BE(4)
  const data = packet.subarray(HEADER_BYTES)
  return (packet[8]! & FLAG_REPLY) !== 0
    ? { kind: 'reply', id, error: packet.readUInt16BE(9), data }
    : { kind: 'command', id, set: packet[9]!, command: packet[10]!, data }
}
