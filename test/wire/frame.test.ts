import { Packr } from 'msgpackr'
import { describe, expect, it } from 'vitest'
import { encodeFrame, FrameReader, MAX_FRAME } from '../../src/wire/frame.ts'

describe('frames of messages', () => {
  it('a frame consists of a little-endian length and one MessagePack array', () => {
    expect(encodeFrame([1, 'hello'])).toEqual(
      Buffer.from([8, 0, 0, 0, 0x92, 1, 0xa5, ...Buffer.from('hello')]),
    )
  })

  it('frames are read completely and in order, wherever the stream is split', () => {
    const messages = [
      [1, 'a'],
      [2, Buffer.alloc(70_000, 7)],
      [3, [1, [2, [3]]], null, true, -5, 2 ** 40, 'ü€'],
    ]
    const stream = Buffer.concat(messages.map(encodeFrame))
    for (const size of [1, 2, 3, 5, 4096, stream.length]) {
      const reader = new FrameReader()
      const seen: unknown[] = []
      for (let at = 0; at < stream.length; at += size) {
        seen.push(...reader.push(stream.subarray(at, at + size)))
      }
      expect(seen, `in pieces of ${size}`).toEqual(messages)
    }
  })

  it('data that arrives later does not change the byte arrays of a frame', () => {
    const reader = new FrameReader()
    const chunk = encodeFrame([Buffer.from('first')])
    const [[bytes]] = reader.push(chunk) as [[Buffer]]
    chunk.fill(0)
    expect(bytes.toString()).toBe('first')
  })

  it('a frame with a length above the maximum is refused', () => {
    const header = Buffer.alloc(4)
    header.writeUInt32LE(MAX_FRAME + 1)
    expect(() => new FrameReader().push(header)).toThrow(/a frame of/)
  })

  it('a frame whose message is not an array is refused', () => {
    const body = new Packr().pack('text')
    const frame = Buffer.alloc(4 + body.length)
    frame.writeUInt32LE(body.length)
    body.copy(frame, 4)
    expect(() => new FrameReader().push(frame)).toThrow(/not an array/)
  })
})
