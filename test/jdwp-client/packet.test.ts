import { describe, expect, it } from 'vitest'
import {
  DataReader,
  encodeCommand,
  encodeId,
  encodeInt,
  encodeReply,
  encodeString,
  MalformedJdwp,
  PacketReader,
} from '../../src/jdwp-client/packet.ts'

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

describe('a packet', () => {
  it('is laid out as the specification draws it', () => {
    // length 14, id 258, no flags, set 1, command 7, three bytes
    expect(hex(encodeCommand(258, 1, 7, Uint8Array.of(1, 2, 3)))).toBe(
      '0000000e' + '00000102' + '000107010203',
    )
    // length 11, id 5, reply, error 21
    expect(hex(encodeReply(5, 21, new Uint8Array()))).toBe('0000000b' + '00000005' + '800015')
  })

  it('is found in a stream however that is cut', () => {
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

  it.each([0, 10, 2 ** 31])('of %i bytes is malformed', (length) => {
    const packet = encodeReply(1, 0, Buffer.alloc(0))
    packet.writeUInt32BE(length, 0)
    expect(() => new PacketReader().push(packet)).toThrow(MalformedJdwp)
  })
})

describe('data', () => {
  it('gives back what was written', () => {
    const r = new DataReader(
      Buffer.concat([Uint8Array.of(9), encodeInt(-2), encodeString('Lä;'), encodeId('00ff10'), encodeInt(3)]),
    )
    expect([r.u1(), r.int(), r.string(), r.id(3), r.count()]).toEqual([9, -2, 'Lä;', '00ff10', 3])
    r.finish()
  })

  it('that ends early, goes on too long or counts below zero is malformed', () => {
    expect(() => new DataReader(Buffer.alloc(3)).int()).toThrow(/4 bytes where 3 are left/)
    expect(() => new DataReader(encodeInt(5)).string()).toThrow(MalformedJdwp)
    expect(() => new DataReader(encodeInt(-1)).count()).toThrow(/a count of -1/)
    expect(() => new DataReader(encodeInt(1)).finish()).toThrow(/4 bytes behind/)
  })
})
