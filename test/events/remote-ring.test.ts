// Data that a mirror accepts from the agent, and data that it refuses. ring-reader.test.ts has sessions of many rounds.

import { describe, expect, it } from 'vitest'
import { LAST, MalformedRound, MirrorRing } from '../../src/events/remote-ring.ts'
import { CHUNK_BUSY, CHUNK_EVENTS, CHUNK_FREE, CHUNK_FULL } from '../../src/events/ring-layout.ts'

const WHOLE = 1
const u32 = (...values: number[]): Buffer => Buffer.from(Uint32Array.from(values).buffer)

interface Entry {
  readonly chunk?: number
  readonly state?: number
  readonly sequence?: number
  readonly from?: number
  readonly words: number
}

function entry({ chunk = 0, state = CHUNK_BUSY, sequence = 0, from = CHUNK_EVENTS, words }: Entry): Buffer {
  const bytes = words * 8
  return Buffer.concat([u32(chunk, state, 5, sequence, 0, 0, from, bytes), Buffer.alloc(bytes, 1)])
}

function answer(kind: number, ...entries: Buffer[]): Buffer {
  const all = Buffer.concat(entries)
  return Buffer.concat([u32(kind, all.length, 0, 7, 0), all])
}

const wholeRound = (...entries: Buffer[]): Buffer[] => [answer(WHOLE, ...entries)]

describe('a copy of the event buffer on another machine (mirror)', () => {
  it('words in a mirror are readable one round after their arrival, or immediately after a request to read them again', () => {
    const ring = new MirrorRing(4096, 4)
    ring.take(wholeRound(entry({ words: 3 })))
    const end = CHUNK_EVENTS + 24
    expect([ring.look(0, CHUNK_EVENTS, 0), ring.look(0, CHUNK_EVENTS, 1)]).toEqual([CHUNK_EVENTS, end])
    expect(ring.isSettled(0)).toBe(false)
    ring.take(wholeRound())
    expect([ring.look(0, CHUNK_EVENTS, 0), ring.isSettled(0)]).toEqual([end, true])
    expect(ring.gaps()).toBe(7)
    ring.take([answer(LAST, entry({ from: end, state: CHUNK_FULL, words: 1 }))])
    expect([ring.look(0, CHUNK_EVENTS, 0), ring.isSettled(0), ring.age()]).toEqual([end + 8, true, 0])
  })

  it('a mirror reports each chunk that was read once, and ignores data of that chunk that arrive later', () => {
    const ring = new MirrorRing(4096, 4)
    ring.take(wholeRound(entry({ chunk: 2, words: 3 })))
    ring.beat()
    expect(ring.question(true)).toEqual(u32(1, 0))
    ring.free(2)
    ring.take(wholeRound(entry({ chunk: 2, state: CHUNK_FULL, from: CHUNK_EVENTS + 24, words: 0 })))
    expect([ring.state(2), ring.writer(2)]).toEqual([CHUNK_FREE, 0])
    expect(ring.question(false)).toEqual(u32(1, 0))
    expect(ring.question(true)).toEqual(u32(1, 1, 2))
    expect(ring.question(true)).toEqual(u32(1, 0))
    ring.take(wholeRound(entry({ chunk: 2, sequence: 1, words: 1 })))
    expect([ring.state(2), ring.sequence(2)]).toEqual([CHUNK_BUSY, 1])
  })

  it.each([
    ['a chunk that does not exist', entry({ chunk: 4, words: 1 })],
    ['a state that does not exist', entry({ state: 4, words: 1 })],
    ['words after a gap', entry({ from: 24, words: 1 })],
    ['more words than the chunk has room for', entry({ words: 511 })],
    ['truncated words', entry({ words: 2 }).subarray(0, -8)],
    ['half a word at the end', Buffer.concat([u32(0, 1, 5, 0, 0, 0, CHUNK_EVENTS, 4), Buffer.alloc(4)])],
    ['half an entry at the end', entry({ words: 0 }).subarray(0, -4)],
  ])('a mirror refuses a round with %s', (_what, bad) => {
    expect(() => new MirrorRing(4096, 4).take(wholeRound(bad))).toThrow(MalformedRound)
  })
})
