// Encoding of packets and of the values in them.

import { describe, expect, it } from 'vitest'
import { type ArrayRegion, readRegion, writeRegion } from '../../src/jdwp-client/array-region.ts'
import { DataReader, DataWriter } from '../../src/jdwp-client/data.ts'
import { MalformedJdwp } from '../../src/jdwp-client/errors.ts'
import type { IdSizes, ObjectId } from '../../src/jdwp-client/ids.ts'
import { encodeCommand, PacketReader } from '../../src/jdwp-client/packet.ts'
import { readValue, type Value, writeValue } from '../../src/jdwp-client/values.ts'
import { encodeReply } from './memory-peer.ts'

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
const written = (write: (w: DataWriter) => unknown): Buffer => {
  const w = new DataWriter()
  write(w)
  return w.done()
}
const int = (value: number): Buffer => written((w) => w.int(value))

describe('a JDWP packet', () => {
  it('a packet has the layout of the specification', () => {
    // length 14, id 258, no flags, set 1, command 7, three bytes
    expect(hex(encodeCommand(258, 1, 7, Uint8Array.of(1, 2, 3)))).toBe(
      '0000000e' + '00000102' + '000107010203',
    )
    // length 11, id 5, reply, error 21
    expect(hex(encodeReply(5, 21, new Uint8Array()))).toBe('0000000b' + '00000005' + '800015')
  })

  it('packets are read from a stream that is split at any byte', () => {
    const stream = Buffer.concat([
      encodeCommand(1, 64, 100, Buffer.from('event')),
      encodeReply(2, 0, Buffer.alloc(40, 7)),
      encodeReply(3, 112, Buffer.alloc(0)),
    ])
    for (const size of [1, 3, 11, 12, 50, stream.length]) {
      const reader = new PacketReader()
      const seen: string[] = []
      for (let at = 0; at < stream.length; at += size) {
        for (const p of reader.push(stream.subarray(at, at + size))) {
          seen.push(
            p.kind === 'command' ? `${p.set}/${p.command} ${p.data}` : `${p.id} ${p.error} ${p.data.length}`,
          )
        }
      }
      expect(seen, `pieces of ${size}`).toEqual(['64/100 event', '2 0 40', '3 112 0'])
    }
  })

  it.each([0, 10, 1001, 2 ** 31, 2 ** 32 - 1])(
    'a packet of %i bytes is refused as malformed if the limit is 1,000 bytes',
    (length) => {
      const packet = encodeReply(1, 0, Buffer.alloc(0))
      packet.writeUInt32BE(length, 0)
      expect(() => [...new PacketReader(1000).push(packet)]).toThrow(MalformedJdwp)
    },
  )

  it('reading a packet that arrives byte by byte takes little processor time and memory', () => {
    const packet = encodeReply(1, 0, Buffer.alloc(1 << 20, 7))
    const reader = new PacketReader()
    const [begun, before] = [process.cpuUsage(), process.memoryUsage().rss]
    const seen: number[] = []
    for (let at = 0; at < packet.length; at++) {
      for (const it of reader.push(packet.subarray(at, at + 1))) seen.push(it.data.length)
    }
    expect(seen).toEqual([1 << 20])
    expect(process.cpuUsage(begun).user / 1000).toBeLessThan(5000) // ms; one copy per piece would be 512 GiB
    expect(process.memoryUsage().rss - before).toBeLessThan(100 << 20) // keeping a million pieces would need more
  })

  it('a packet is not overwritten by following data', () => {
    const reader = new PacketReader()
    const stream = Buffer.concat([1, 2, 3].map((n) => encodeReply(n, 0, Buffer.alloc(30, n))))
    const seen = [...Array(Math.ceil(stream.length / 7)).keys()].flatMap((n) => [
      ...reader.push(Buffer.from(stream.subarray(7 * n, 7 * n + 7))),
    ])
    expect(seen.map(({ data }) => [...new Set(data)])).toEqual([[1], [2], [3]])
  })
})

describe('data of a JDWP packet', () => {
  it('data that was written is read back unchanged', () => {
    const bytes = written((w) =>
      w
        .u1(9)
        .int(-2)
        .long(-(2n ** 63n))
        .string('Lä;')
        .boolean(true)
        .object('00000000000000ff' as ObjectId),
    )
    const r = new DataReader(bytes)
    expect([r.u1(), r.int(), r.long(), r.string(), r.boolean(), r.object()]).toEqual([
      ...[9, -2, -(2n ** 63n), 'Lä;', true, '00000000000000ff'],
    ])
    r.finish()
  })

  it('ids are written and read with the length that the JVM reported; ids of other lengths are refused', () => {
    const sizes: IdSizes = { field: 3, method: 1, object: 5, referenceType: 7, frame: 2 }
    const w = new DataWriter(sizes).object('0102030405' as ObjectId).object(null)
    expect(hex(w.done())).toBe('0102030405' + '0000000000')
    const r = new DataReader(w.done(), sizes)
    expect([r.objectOrNull(), r.objectOrNull()]).toEqual(['0102030405', null])
    for (const wrong of ['01', '010203040506', '01020304zz', '']) {
      expect(() => w.object(wrong as ObjectId), wrong).toThrow(RangeError)
    }
  })

  it('data that is too short, too long or has invalid counts is refused as malformed', () => {
    expect(() => new DataReader(Buffer.alloc(3)).int()).toThrow(/4 bytes where 3 are left/)
    expect(() => new DataReader(int(5)).string()).toThrow(MalformedJdwp)
    expect(() => new DataReader(int(-1)).count()).toThrow(/a count of -1/)
    expect(() => new DataReader(int(2 ** 31 - 1)).list(() => 0)).toThrow(/where 0 bytes are left/)
    expect(() => new DataReader(int(1)).finish()).toThrow(/4 bytes behind/)
    for (const size of [0, -1, 9]) expect(() => new DataReader(int(size)).idSize()).toThrow(MalformedJdwp)
    expect(() => new DataReader(written((w) => w.long(-2n))).index()).toThrow(/an index of -2/)
    expect(() => new DataReader(written((w) => w.long(2n ** 60n))).index()).toThrow(MalformedJdwp)
  })
})

describe('values on the wire', () => {
  const VALUES: [Value, bytes: string][] = [
    [{ tag: 'BYTE', value: -1 }, '42ff'],
    [{ tag: 'BOOLEAN', value: true }, '5a01'],
    [{ tag: 'CHAR', value: '\ud83d' }, '43d83d'],
    [{ tag: 'SHORT', value: -2 }, '53fffe'],
    [{ tag: 'INT', value: -3 }, '49fffffffd'],
    [{ tag: 'LONG', value: 2n ** 63n - 1n }, '4a7fffffffffffffff'],
    [{ tag: 'FLOAT', value: 1.5 }, '463fc00000'],
    [{ tag: 'DOUBLE', value: -2 }, '44c000000000000000'],
    [{ tag: 'VOID' }, '56'],
    [{ tag: 'STRING', id: '000000000000000a' as never }, '73000000000000000a'],
    [{ tag: 'OBJECT', id: null }, '4c0000000000000000'],
  ]
  it.each(VALUES)('the value %o is written and read', (value, bytes) => {
    expect(hex(written((w) => writeValue(w, value)))).toBe(bytes)
    expect(readValue(new DataReader(Buffer.from(bytes, 'hex')))).toEqual(value)
  })

  it('encoding refuses values out of range', () => {
    for (const wrong of [
      { tag: 'BYTE', value: 128 },
      { tag: 'SHORT', value: 2 ** 15 },
      { tag: 'INT', value: 2 ** 31 },
      { tag: 'LONG', value: 2n ** 63n },
      { tag: 'CHAR', value: 'ab' },
    ] as const) {
      expect(() => written((w) => writeValue(w, wrong)), wrong.tag).toThrow(RangeError)
    }
  })

  it('the number of array values must match the byte length', () => {
    const back = (region: ArrayRegion, tag: number) =>
      readRegion(new DataReader(Buffer.concat([Uint8Array.of(tag), written((w) => writeRegion(w, region))])))
    const longs: ArrayRegion = { tag: 'LONG', values: BigInt64Array.of(1n, -1n) }
    expect(back(longs, 74)).toEqual(longs)
    const chars: ArrayRegion = { tag: 'CHAR', values: 'a\ud83d' }
    expect(back(chars, 67)).toEqual(chars)
    expect(() => readRegion(new DataReader(Buffer.concat([Uint8Array.of(86), int(2 ** 31 - 1)])))).toThrow(
      /void/,
    )
    expect(() => readRegion(new DataReader(Buffer.concat([Uint8Array.of(74), int(1), int(0)])))).toThrow(
      MalformedJdwp,
    )
    expect(() => readRegion(new DataReader(Buffer.concat([Uint8Array.of(7), int(0)])))).toThrow(/tag is 7/)
  })
})
