// Both ends of a debugger connection in this process, without a socket or delays.

import { Duplex } from 'node:stream'
import {
  type CommandPacket,
  encodeCommand,
  HANDSHAKE,
  type Packet,
  PacketReader,
} from '../../src/jdwp-client/packet.ts'

/** Encodes a reply. Its error code has the place of a command's set and number. */
export function encodeReply(id: number, error: number, data: Uint8Array): Buffer {
  const packet = encodeCommand(id, error >> 8, error & 0xff, data)
  packet[8] = 0x80
  return packet
}

/** Plays a JVM: answers the handshake, and calls back for each command. */
export class MemoryPeer extends Duplex {
  readonly #answer: (command: CommandPacket, peer: MemoryPeer) => void
  readonly #reader = new PacketReader()
  #greeted = false

  constructor(answer: (command: CommandPacket, peer: MemoryPeer) => void) {
    super()
    this.#answer = answer
  }

  /** Sends bytes of the JVM, which need not be a packet. */
  send(bytes: Uint8Array): void {
    if (!this.destroyed) this.push(bytes)
  }

  /** Closes the JVM's end. */
  hangUp(): void {
    if (!this.destroyed) this.push(null)
  }

  override _read(): void {}

  override _write(chunk: Buffer, _: BufferEncoding, done: (error?: Error) => void): void {
    if (!this.#greeted) {
      this.#greeted = true
      this.push(HANDSHAKE)
    } else {
      for (const packet of this.#reader.push(chunk)) if (packet.kind === 'command') this.#answer(packet, this)
    }
    done()
  }
}

export function reply(to: CommandPacket, data: Uint8Array, error = 0): Buffer {
  return encodeReply(to.id, error, data)
}

/** Splits bytes into packets. */
export function packetsOf(bytes: Buffer): Packet[] {
  return [...new PacketReader().push(bytes)]
}
