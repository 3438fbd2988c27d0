// A chunk is read while the JVM writes it, with possible states of its header. live/flight-recording.jvm.test.ts has complete files.

import { describe, expect, it } from 'vitest'
import { Chunk, type SampleSink } from '../../src/jfr/chunk.ts'
import { HEADER_BYTES } from '../../src/jfr/chunk-header.ts'
import { Cursor } from '../../src/jfr/cursor.ts'
import { BadRecording } from '../../src/jfr/problem.ts'

const NOTHING: SampleSink = {
  sample() {
    throw new Error('there is no sample')
  },
  lost() {},
}

function header(size: number, metadata: number): Buffer {
  const bytes = Buffer.alloc(HEADER_BYTES)
  bytes.write('FLR\0', 0, 'latin1')
  bytes.writeUInt16BE(2, 4)
  bytes.writeUInt16BE(1, 6)
  bytes.writeBigUInt64BE(BigInt(size), 8)
  bytes.writeBigUInt64BE(BigInt(metadata), 24)
  bytes.writeUInt8(1, 64)
  bytes.writeUInt16BE(1, 66)
  return bytes
}

/** Returns a chunk that reads these answers one after the other. The last answer is repeated. */
function reads(...answers: readonly Buffer[]): Chunk {
  let next = 0
  return new Chunk(() => answers[Math.min(next++, answers.length - 1)]!)
}

describe('the header of a chunk in a JFR file', () => {
  it('a JFR chunk header that changes during the read is read again later', () => {
    // The old size with the new offset of the metadata would be an invalid chunk.
    const torn = header(HEADER_BYTES, 4_000)
    expect(reads(torn, header(5_000, 4_000)).poll(NOTHING)).toBe(false)
    expect(() => reads(torn).poll(NOTHING)).toThrow(BadRecording)
  })

  it('an incomplete JFR chunk header counts as absent', () => {
    expect(reads(header(HEADER_BYTES, 0).subarray(0, 20)).poll(NOTHING)).toBe(false)
    expect(reads(Buffer.alloc(0)).poll(NOTHING)).toBe(false)
    expect(reads(header(HEADER_BYTES, 0)).poll(NOTHING)).toBe(false)
  })

  it('a JFR chunk header with another format version is an error', () => {
    const foreign = header(HEADER_BYTES, 0)
    foreign.writeUInt16BE(3, 4)
    expect(() => reads(foreign).poll(NOTHING)).toThrow(/version 3\.1/)
  })
})

describe('encodings of integers and strings in a JFR file', () => {
  const read = (...bytes: readonly number[]) => new Cursor(Buffer.from(bytes))

  it('integers in a JFR file have up to nine bytes, and all eight bits of the ninth byte are used', () => {
    expect(read(0x7f).varint()).toBe(127)
    expect(read(0x80, 0x01).varint()).toBe(128)
    const largest = read(...Array<number>(9).fill(0xff))
    expect(largest.varint()).toBe(2 ** 64) // 2^64 - 1 as a double
    expect(largest.left).toBe(0)
    expect(() => read(0x80).varint()).toThrow(BadRecording)
  })

  it('strings in a JFR file have six encodings', () => {
    expect(read(0).string()).toBe(null)
    expect(read(1).string()).toBe('')
    expect(read(2, 9).string()).toEqual({ key: 9 })
    expect(read(3, 2, 0xc3, 0xa4).string()).toBe('ä')
    expect(read(4, 2, 0xe4, 0x01, 0xac, 0x41).string()).toBe('ä\u20ac') // UTF-16 units, each an integer
    expect(read(5, 1, 0xe4).string()).toBe('ä')
    expect(() => read(6).string()).toThrow(/encoding 6/)
    expect(() => read(3, 200, 1, 65).string()).toThrow(/200 elements|over the end/)
  })
})
