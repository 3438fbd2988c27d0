// A hostile target writes arbitrary data into the event buffer at any time. The reader and its sinks throw one of their
// own errors or continue, within limits of time and memory. Reading ends, even if the buffer is never empty.

import { mkdtempSync, rmSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CctBuilder } from '../../src/cct/builder.ts'
import { Course } from '../../src/cct/course.ts'
import { ImpossibleCall } from '../../src/cct/impossible.ts'
import { SLOW_BOUNDS } from '../../src/cct/slow-calls.ts'
import { snapshotOf } from '../../src/cct/snapshot.ts'
import { Tracer } from '../../src/cct/tracer.ts'
import type { EventSink } from '../../src/events/decode.ts'
import { UnknownEvent } from '../../src/events/decode.ts'
import {
  CONTROL_NAME,
  CONTROL_OVERFLOW,
  CONTROL_TRACK,
  KIND_CONTROL,
  NAME_CLASS_SHIFT,
  TICK_BITS,
} from '../../src/events/event-layout.ts'
import { createRing, openRing, type Ring } from '../../src/events/ring.ts'
import { CHUNK_BUSY, CHUNK_EVENTS, CHUNK_FREE, CHUNK_FULL, CHUNK_IDLE } from '../../src/events/ring-layout.ts'
import { BrokenChunk, RingReader } from '../../src/events/ring-reader.ts'
import { RegionBuilder } from '../../src/regions/builder.ts'
import { enterWord, exitWord, FakeTarget, threadWord, word } from '../events/fake-target.ts'
import { Chance } from '../faults/trials.ts'
import { inputs, LONG_MS, seedOf, tryInputs } from './mutate.ts'

const CHUNK_BYTES = 4096
const CHUNKS = 8
const METHODS = 40

let dir: string
let path: string
beforeAll(() => {
  dir = mkdtempSync('/dev/shm/jfluid-fuzz-')
  path = join(dir, 'ring')
  createRing(path, { chunkBytes: CHUNK_BYTES, chunkCount: CHUNKS })
})
afterAll(() => rmSync(dir, { recursive: true }))

const PROBES = { innerTicks: 1, outerTicks: 1 }

/** All sinks that receive events of a ring. */
const SINKS: readonly [name: string, make: () => { sink: EventSink; builder: CctBuilder | null }][] = [
  ['exact', () => ofBuilder(new CctBuilder())],
  ['timed roots', () => ofBuilder(withRoots(new CctBuilder()))],
  ['slow calls', () => ofBuilder(withSlow(new CctBuilder()))],
  ['executed', () => ofBuilder(new CctBuilder({ executed: true }))],
  ['waits', () => ofBuilder(new CctBuilder({ firstMethod: 4096 }))],
  ['call sites', () => ofBuilder(new CctBuilder({ callSites: true }))],
  ['few contexts of samples', () => ofBuilder(new CctBuilder({ mostSampled: 64 }))],
  ['trace', () => traced()],
  ['regions', () => ({ sink: new RegionBuilder(), builder: null })],
]

const ofBuilder = (builder: CctBuilder) => ({ sink: builder, builder })

function withRoots(builder: CctBuilder): CctBuilder {
  builder.timeRoots(PROBES, new Course(0))
  return builder
}

function withSlow(builder: CctBuilder): CctBuilder {
  withRoots(builder).keepSlow({ threshold: 10, threw: true }, { ...SLOW_BOUNDS, contexts: 256 })
  return builder
}

function traced(): { sink: EventSink; builder: CctBuilder } {
  const builder = new CctBuilder()
  return { sink: new Tracer(builder, 3), builder }
}

/** Returns an event of a real runtime, or arbitrary words with probability `wild`. */
function anyWord(chance: Chance, ticks: number, wild: number, ofRegions: boolean): [number, number] {
  const method = 1 + Math.floor(chance.next() * METHODS)
  if (chance.next() < wild) return [Math.floor(chance.next() * 2 ** 32), Math.floor(chance.next() * 2 ** 32)]
  if (ofRegions) return exitWord(method, ticks)
  const choice = chance.next()
  if (choice < 0.4) return enterWord(method, ticks)
  if (choice < 0.75) return exitWord(method, ticks)
  if (choice < 0.8) return word(0, method, ticks)
  if (choice < 0.82) return threadWord(1 + Math.floor(chance.next() * 12), Math.floor(chance.next() * 3))
  const code = 1 + Math.floor(chance.next() * CONTROL_OVERFLOW)
  const payload = chance.next() < wild ? chance.next() * 2 ** TICK_BITS : 1 + chance.next() * 299
  const classId =
    code === CONTROL_TRACK || code === CONTROL_NAME ? (1 + (method % 30)) * 2 ** NAME_CLASS_SHIFT : 0
  return word(KIND_CONTROL, code, (Math.floor(payload) + classId) % 2 ** TICK_BITS)
}

function scribble(
  target: FakeTarget,
  chance: Chance,
  sequences: Map<number, number>,
  wild: number,
  ofRegions: boolean,
): void {
  const chunk = Math.floor(chance.next() * CHUNKS)
  const choice = chance.next()
  if (choice < 0.75 && target.state(chunk) === CHUNK_FREE) {
    const writer =
      chance.next() >= wild ? 1 + Math.floor(chance.next() * 4) : Math.floor(chance.next() * 2 ** 32)
    const expected = sequences.get(writer) ?? 0
    sequences.set(writer, expected + 1)
    const sequence = chance.next() >= wild ? expected : Math.floor(chance.next() * 2 ** 32)
    const many = Math.floor(chance.next() * ((CHUNK_BYTES - CHUNK_EVENTS) / 8))
    let ticks = Math.floor(chance.next() * 1e6)
    const words = Array.from({ length: many }, () => {
      ticks =
        chance.next() < 0.95 ? ticks + Math.floor(chance.next() * 100) : Math.floor(chance.next() * 2 ** 40)
      return anyWord(chance, ticks % 2 ** 40, wild, ofRegions)
    })
    const epoch = chance.next() >= wild ? 0 : Math.floor(chance.next() * 2 ** 32)
    target.put(chunk, chance.of([CHUNK_BUSY, CHUNK_FULL, CHUNK_IDLE]), writer, sequence, words, epoch)
  } else if (choice < 0.9 || chance.next() >= wild) {
    const state = chance.next() >= wild ? chance.of([CHUNK_BUSY, CHUNK_FULL, CHUNK_IDLE]) : 0xffff_ffff
    target.setState(chunk, state)
  } else {
    const at = Math.floor((chance.next() * CHUNK_BYTES) / 8) * 8
    target.store(target.offset(chunk) + at, ...anyWord(chance, 5, wild, ofRegions))
  }
}

const isOurs = (error: unknown): boolean =>
  error instanceof UnknownEvent || error instanceof BrokenChunk || error instanceof ImpossibleCall

describe.each(['mapped', 'read as a file'])('an event buffer that a hostile target writes, %s', (how) => {
  const open = (): Ring => {
    const old = process.env.JFLUID_NO_MMAP
    if (how !== 'mapped') process.env.JFLUID_NO_MMAP = '1'
    try {
      return openRing(path)
    } finally {
      if (old === undefined) delete process.env.JFLUID_NO_MMAP
      else process.env.JFLUID_NO_MMAP = old
    }
  }

  it.each(SINKS)('a hostile buffer is read or refused (%s)', { timeout: LONG_MS }, async (name, make) => {
    const seed = seedOf()
    const chance = new Chance(seed)
    let events = 0
    const told = await tryInputs(
      `event buffers, ${how}, for ${name}`,
      { tries: inputs(5, 10_000), seed, mostMib: 500 },
      () => {
        rmSync(path)
        createRing(path, { chunkBytes: CHUNK_BYTES, chunkCount: CHUNKS })
        const target = new FakeTarget(path, CHUNK_BYTES, CHUNKS)
        const ring = open()
        const { sink, builder } = make()
        const reader = new RingReader(ring, sink)
        const sequences = new Map<number, number>()
        const wild = chance.of([0, 0.0003, 0.003, 0.03])
        try {
          for (let round = 0; round < 12; round++) {
            for (let i = 0; i < 3; i++) scribble(target, chance, sequences, wild, name === 'regions')
            reader.poll()
          }
          reader.drain()
          return false
        } catch (error) {
          if (isOurs(error)) return true
          throw error
        } finally {
          events += reader.events
          // Events received before are shown and kept.
          if (builder !== null) {
            builder.closeOpen(reader.lastTicks)
            const { merged } = snapshotOf(builder, { calibration: PROBES, nsPerTick: 1, perThread: true })
            expect(merged.count).toBeLessThanOrEqual(2 * builder.count)
          }
          ring.close()
          target.close()
        }
      },
    )
    expect(events).toBeGreaterThan(told.tried / 3)
  })

  it('an event buffer that is never empty is not read forever', () => {
    rmSync(path)
    createRing(path, { chunkBytes: CHUNK_BYTES, chunkCount: CHUNKS })
    const target = new FakeTarget(path, CHUNK_BYTES, CHUNKS)
    const ring = open()
    const words = Array.from({ length: (CHUNK_BYTES - CHUNK_EVENTS) / 8 }, () => enterWord(1, 1))
    let sequence = 0
    const fill = () => target.put(0, CHUNK_FULL, 1, sequence++, words)
    fill()
    // Each returned chunk is refilled at once.
    const reader = new RingReader(ring, new CctBuilder(), fill)
    expect(reader.drain()).toBeLessThanOrEqual(20 * CHUNKS * words.length)
    ring.close()
    target.close()
  })
})

it('a truncated event buffer is read up to the end of its file', () => {
  rmSync(path)
  createRing(path, { chunkBytes: CHUNK_BYTES, chunkCount: CHUNKS })
  const target = new FakeTarget(path, CHUNK_BYTES, CHUNKS)
  target.put(7, CHUNK_FULL, 1, 0, [enterWord(1, 1), exitWord(1, 2)])
  process.env.JFLUID_NO_MMAP = '1'
  const ring = openRing(path)
  delete process.env.JFLUID_NO_MMAP
  truncateSync(path, 100)
  const reader = new RingReader(ring, new CctBuilder())
  expect(reader.drain()).toBe(0)
  ring.close()
  target.close()
})
