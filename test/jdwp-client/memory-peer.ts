// Both ends of a debugger connection in this process: no socket, no waiting.

import { Duplex } from 'node:stream'
import {
  type CommandPacket,
  encodeCommand,
  HANDSHAKE,
  type Packet,
  PacketReader,
} from '../../src/jdwp-client/packet.ts'

/** A reply has an error where a command has its set and number. */
export function encodeReply(id: number, error: number, data: Uint8Array): Buffer {
  const packet = encodeCommand(id, error >> 8, error & 0xff, data)
  packet[8] = 0x80
  return packet
}

/** What a JVM would be: it shakes hands, and has each command answered. */
export class MemoryPeer extends Duplex {
  readonly #answer: (command: CommandPacket, peer: MemoryPeer) => void
  readonly #reader = new PacketReader()
  #greeted = false

  constructor(answer: (command: CommandPacket, peer: MemoryPeer) => void) {
    super()
    this.#answer = answer
  }

  /** Bytes of the JVM, a packet or not. */
  send(bytes: Uint8Array): void {
    if (!this.destroyed) this.push(bytes)
  }

  /** The JVM closes its end. */
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

/** All packets of some bytes. */
export function packetsOf(bytes: Buffer): Packet[] {
  return [...new PacketReader().push(bytes)]
}
