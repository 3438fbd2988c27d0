// A frame is a length (u32, little-endian), followed by this number of bytes. msgpackr's own stream takes quadratic time for large
// messages, so frames are assembled here, from whole buffers. msgpackr packs outgoing messages; `unpack.ts` unpacks incoming messages.

import { Packr } from 'msgpackr/pack'
import { Malformed, unpack } from './unpack.ts'

/** Maximum frame length. No message of client or agent is as long; a larger length means that the peer is not jfluid's agent. */
export const MAX_FRAME = 256 << 20

const packr = new Packr({ useRecords: false, variableMapSize: true })

/** Encodes one message as a frame. */
export function encodeFrame(message: readonly unknown[]): Buffer {
  const body = packr.pack(message)
  const frame = Buffer.allocUnsafe(body.length + 4)
  frame.writeUInt32LE(body.length, 0)
  body.copy(frame, 4)
  return frame
}

/** Splits a byte stream into messages. */
export class FrameReader {
  private chunks: Buffer[] = []
  private buffered = 0
  /** Length of the current frame in bytes, header included; 0 until the header has arrived. */
  private wanted = 0

  /** @param most  maximum frame length; `push` throws Malformed for a longer frame */
  constructor(public most = MAX_FRAME) {}

  /**
   * @param sizes  if given, the frame length of each message is appended to it
   * @returns the messages completed by `chunk`, in order
   * @throws Malformed if the bytes are not valid frames
   */
  push(chunk: Buffer, sizes?: number[]): unknown[][] {
    this.chunks.push(chunk)
    this.buffered += chunk.length
    const messages: unknown[][] = []
    while (true) {
      if (this.wanted === 0) {
        if (this.buffered < 4) return messages
        const length = this.joined(4).readUInt32LE(0)
        if (length > this.most) throw new Malformed(`a frame of ${length} bytes`)
        this.wanted = length + 4
      }
      if (this.buffered < this.wanted) return messages
      const all = this.joined(this.wanted)
      // Unpacks a copy: byte arrays in the message are views, and must neither keep the socket buffer alive nor change with it.
      const message = unpack(Uint8Array.prototype.slice.call(all, 4, this.wanted))
      this.chunks = all.length > this.wanted ? [all.subarray(this.wanted)] : []
      this.buffered -= this.wanted
      sizes?.push(this.wanted)
      this.wanted = 0
      if (!Array.isArray(message)) throw new Malformed('a message that is not an array')
      messages.push(message)
    }
  }

  /** Joins buffered pieces, so that the returned buffer contains at least the first `bytes` bytes that have arrived. */
  private joined(bytes: number): Buffer {
    const first = this.chunks[0]!
    if (first.length >= bytes && this.chunks.length === 1) return first
    const all = Buffer.concat(this.chunks, this.buffered)
    this.chunks = [all]
    return all
  }
}
