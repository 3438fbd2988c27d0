import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, it, vi } from 'vitest'
import { CctBuilder } from '../../src/cct/builder.ts'
import { snapshotOf } from '../../src/cct/snapshot.ts'
import type { EventSink } from '../../src/events/decode.ts'
import { MAX_EPOCHS } from '../../src/events/event-halves.ts'
import { CONTROL_BEGIN, CONTROL_SUBMIT, KIND_ENTER, KIND_EXIT } from '../../src/events/event-layout.ts'
import { LAST, MirrorRing, MORE } from '../../src/events/remote-ring.ts'
import {
  createRing,
  openRing,
  type Ring,
  type RingLevel,
  type RingReaderThread,
} from '../../src/events/ring.ts'
import { CHUNK_BUSY, CHUNK_EVENTS, CHUNK_FREE, CHUNK_FULL, CHUNK_IDLE } from '../../src/events/ring-layout.ts'
import { RingReader } from '../../src/events/ring-reader.ts'
import { FULL } from '../support/lane.ts'
import { FakeFeeder } from './fake-feeder.ts'
import {
  controlWord,
  enterWord,
  exitWord,
  FakeTarget,
  FakeThread,
  FakeWriter,
  type Steps,
  threadWord,
} from './fake-target.ts'
import { RecordingSink } from './sinks.ts'

/** The events that build trees. */
type CallEvents = Required<Omit<EventSink, 'value' | 'threw'>>

const CHUNKS = 8
const PER_CHUNK = (4096 - CHUNK_EVENTS) / 8

let dir: string
let ring: Ring
let target: FakeTarget
let sink: RecordingSink
let reader: RingReader

function open(asFile: boolean): void {
  process.env.JFLUID_NO_MMAP = asFile ? '1' : '0'
  dir = mkdtempSync('/dev/shm/jfluid-reader-')
  const path = join(dir, 'ring')
  createRing(path, { chunkBytes: 4096, chunkCount: CHUNKS })
  target = new FakeTarget(path, 4096, CHUNKS)
  ring = openRing(path)
  sink = new RecordingSink()
  reader = new RingReader(ring, sink)
}

function close(): void {
  ring.close()
  target.close()
  rmSync(dir, { recursive: true, force: true })
  delete process.env.JFLUID_NO_MMAP
}

const many = (count: number, from: number) => Array.from({ length: count }, (_, i) => enterWord(1, from + i))

describe.each([
  ['mapped', false],
  ['read as a file', true],
])('the reader of an event buffer that is %s', (_way, asFile) => {
  beforeEach(() => open(asFile))
  afterEach(() => close())

  it('the reader reads the written part of a chunk', () => {
    target.put(3, CHUNK_BUSY, 5, 0, [enterWord(1, 10)])
    assert.equal(reader.poll(), 1)
    assert.equal(reader.poll(), 0)
    target.store(target.offset(3) + CHUNK_EVENTS + 8, ...exitWord(1, 20))
    assert.equal(reader.poll(), 1)
    assert.deepEqual(sink.all, ['@5', 'enter 1 10', 'exit 1 20'])
    assert.equal(target.state(3), CHUNK_BUSY)
  })

  it('the reader waits for the header of a chunk', () => {
    target.setState(3, CHUNK_BUSY)
    assert.equal(reader.poll(), 0)
    target.put(3, CHUNK_BUSY, 5, 0, [enterWord(1, 10)])
    assert.equal(reader.poll(), 1)
  })

  it('the reader returns a full chunk after reading it to its end, even if the chunk ended early', () => {
    target.put(0, CHUNK_FULL, 5, 0, many(PER_CHUNK, 0))
    target.put(1, CHUNK_FULL, 6, 0, many(3, 0))
    target.put(2, CHUNK_BUSY, 7, 0, many(PER_CHUNK, 0))
    target.put(4, CHUNK_IDLE, 8, 0, many(3, 0))
    assert.equal(reader.poll(), 2 * PER_CHUNK + 6)
    assert.deepEqual(
      [0, 1, 2, 4].map((c) => target.state(c)),
      [CHUNK_FREE, CHUNK_FREE, CHUNK_BUSY, CHUNK_IDLE],
    )
    assert.equal(reader.freeChunks, CHUNKS - 2)
    assert.equal(reader.idleChunks, 1)
    assert.equal(reader.returnedChunks, 2)
  })

  it('the reader reads the chunks of a writer in order, at any position in the buffer', () => {
    target.put(1, CHUNK_BUSY, 5, 2, many(2, 2000))
    target.put(4, CHUNK_FULL, 5, 1, many(PER_CHUNK, 1000))
    assert.equal(reader.poll(), 0)
    target.put(6, CHUNK_FULL, 5, 0, many(2, 0))
    assert.equal(reader.poll(), PER_CHUNK + 4)
    const times = sink.of(5).map((event) => Number(event.split(' ')[2]))
    assert.deepEqual(
      times,
      [...times].sort((a, b) => a - b),
    )
  })

  it("the reader does not read a later chunk of a writer before the writer's earlier chunk is full", () => {
    target.put(0, CHUNK_BUSY, 5, 0, many(1, 0))
    assert.equal(reader.poll(), 1)
    // Adds one event to the chunk, marks the chunk as full, and adds the next chunk, in the order in which a target stores the data.
    target.store(target.offset(0) + CHUNK_EVENTS + 8, ...enterWord(1, 1))
    target.setState(0, CHUNK_FULL)
    target.put(1, CHUNK_BUSY, 5, 1, many(1, 2))
    assert.equal(reader.poll(), 2)
    assert.deepEqual(sink.of(5), ['enter 1 0', 'enter 1 1', 'enter 1 2'])
  })

  it('if few chunks are free, the reader copies full chunks, and later reads the copies in order', () => {
    target.put(0, CHUNK_FULL, 5, 0, many(PER_CHUNK, 0))
    target.put(1, CHUNK_FULL, 5, 1, many(2, 1000))
    target.put(2, CHUNK_FULL, 6, 0, many(3, 0))
    reader.setAside()
    assert.equal(target.state(0), CHUNK_FULL, 'five of eight are free')
    target.put(3, CHUNK_BUSY, 5, 2, many(1, 2000))
    reader.setAside()
    assert.deepEqual(
      [0, 1, 2, 3].map((chunk) => target.state(chunk)),
      [CHUNK_FREE, CHUNK_FREE, CHUNK_FREE, CHUNK_BUSY],
    )
    assert.equal(sink.all.length, 0)
    target.put(1, CHUNK_FULL, 6, 1, many(4, 1000))
    assert.equal(reader.poll() + reader.poll(), PER_CHUNK + 10)
    const times = sink.of(5).map((event) => Number(event.split(' ')[2]))
    assert.deepEqual(times, [...Array(PER_CHUNK).keys(), 1000, 1001, 2000])
    assert.equal(sink.of(6).length, 7)
  })

  it('the reader reads all words that a running writer had written at a given moment, and passes later words to another sink', () => {
    let next = 0
    const write = (chunk: number) => {
      target.put(chunk, CHUNK_FULL, 5, next, many(2, 10 * next))
      next++
    }
    for (let chunk = 0; chunk < CHUNKS; chunk++) write(chunk)
    class Endless extends RecordingSink {
      override calls(words: Uint32Array, from: number, to: number, base: number): number {
        const free = [...Array(CHUNKS).keys()].find((chunk) => target.state(chunk) === CHUNK_FREE)
        if (free !== undefined) write(free)
        return super.calls(words, from, to, base)
      }
    }
    sink = new Endless()
    reader = new RingReader(ring, sink)
    reader.catchUp()
    const read = sink.of(5).length
    assert.ok(read >= 2 * CHUNKS, `${read} events`)
    const later = new RecordingSink()
    reader.switchSink(later)
    reader.poll()
    assert.equal(sink.of(5).length, read)
    assert.equal(later.of(5)[0], sink.of(5)[0]!.replace(/\d+$/, String((read / 2) * 10)))
  })

  it('the reader can copy chunks during a callback, except the chunk that is being read', () => {
    const chunks = [0, 1, 2, 3, 4]
    for (const chunk of chunks) target.put(chunk, CHUNK_FULL, 5, chunk, many(2, 10 * chunk))
    let states: number[] = []
    class Busy extends RecordingSink {
      override calls(words: Uint32Array, from: number, to: number, base: number): number {
        if (states.length === 0) {
          reader.setAside()
          states = chunks.map((chunk) => target.state(chunk))
        }
        return super.calls(words, from, to, base)
      }
    }
    sink = new Busy()
    reader = new RingReader(ring, sink)
    assert.equal(reader.drain(), 10)
    assert.deepEqual(states, [CHUNK_FULL, CHUNK_FREE, CHUNK_FREE, CHUNK_FREE, CHUNK_FREE])
    const times = sink.of(5).map((event) => Number(event.split(' ')[2]))
    assert.deepEqual(times, [0, 1, 10, 11, 20, 21, 30, 31, 40, 41])
    assert.ok(chunks.every((chunk) => target.state(chunk) === CHUNK_FREE))
  })

  it('if there is no memory for copies, full chunks are read in place', () => {
    for (const chunk of [0, 1, 2, 3, 4]) target.put(chunk, CHUNK_FULL, 5, chunk, many(2, 10 * chunk))
    const Own = Uint32Array
    vi.stubGlobal(
      'Uint32Array',
      class extends Own {
        constructor(length: number) {
          if (length > 2 ** 20) throw new RangeError('Array buffer allocation failed')
          super(length)
        }
      },
    )
    try {
      reader.setAside()
      reader.setAside()
    } finally {
      vi.unstubAllGlobals()
    }
    assert.deepEqual(
      [0, 1, 2, 3, 4].map((chunk) => target.state(chunk)),
      Array(5).fill(CHUNK_FULL),
    )
    assert.equal(reader.drain(), 10)
    const times = sink.of(5).map((event) => Number(event.split(' ')[2]))
    assert.deepEqual(times, [0, 1, 10, 11, 20, 21, 30, 31, 40, 41])
  })

  it('an invalid chunk is not copied, and is refused when the reader reads it', () => {
    for (const chunk of [0, 1, 2, 3, 4]) target.put(chunk, CHUNK_FULL, 5, 0, many(2, 0))
    reader.setAside()
    assert.throws(() => reader.poll(), /chunk \d of writer 5: has sequence 0 again/)
  })

  it('the reader reads a BEGIN word after the SUBMIT word with the same token, even if the words are from different writers', () => {
    target.put(0, CHUNK_FULL, 4, 0, [controlWord(CONTROL_BEGIN, 2), enterWord(3, 30)])
    target.put(1, CHUNK_FULL, 5, 0, [
      controlWord(CONTROL_BEGIN, 1),
      enterWord(2, 20),
      controlWord(CONTROL_SUBMIT, 2),
    ])
    target.put(2, CHUNK_FULL, 6, 0, [enterWord(1, 10), controlWord(CONTROL_SUBMIT, 1)])
    reader.poll()
    assert.deepEqual(
      sink.all.filter((event) => !event.startsWith('@')),
      ['enter 1 10', 'submit 1', 'begin 1', 'enter 2 20', 'submit 2', 'begin 2', 'enter 3 30'],
    )
    assert.equal(reader.returnedChunks, 3)
  })

  it('the reader delays a segment of a virtual thread for any number of rounds until the previous segment is read', () => {
    const chunks = 40
    const path = join(dir, 'large')
    createRing(path, { chunkBytes: 4096, chunkCount: chunks })
    const large = new FakeTarget(path, 4096, chunks)
    const buffer = openRing(path)
    const [guest, other] = [20, 21]
    // A thread alternates between two carriers with each chunk. After this, the first part of its next segment is on a third carrier.
    for (let turn = 0; turn < 32; turn++) {
      const words = [threadWord(guest, turn), enterWord(1, turn)]
      large.put(turn, CHUNK_FULL, 5 + (turn % 2), Math.floor(turn / 2), words)
    }
    large.put(32, CHUNK_FULL, 6, 16, [threadWord(other, 0), enterWord(7, 100)])
    large.put(33, CHUNK_FULL, 7, 0, [threadWord(other, 1), exitWord(7, 200)])
    const reading = new RingReader(buffer, sink)
    reading.drain()
    buffer.close()
    large.close()
    assert.equal(reading.disordered, 0)
    assert.deepEqual(sink.of(other), ['enter 7 100', 'exit 7 200'])
    assert.equal(sink.of(guest).length, 32)
  })

  it('the reader delays a BEGIN word until its SUBMIT word arrives, and returns the chunk only after reading the BEGIN word', () => {
    target.put(0, CHUNK_FULL, 4, 0, [enterWord(1, 5), controlWord(CONTROL_BEGIN, 1), enterWord(2, 30)])
    assert.equal(reader.poll(), 1)
    assert.equal(target.state(0), CHUNK_FULL)
    target.put(1, CHUNK_BUSY, 5, 0, [controlWord(CONTROL_SUBMIT, 1)])
    assert.equal(reader.poll(), 1)
    assert.equal(target.state(0), CHUNK_FREE)
    assert.deepEqual(sink.of(4), ['enter 1 5', 'begin 1', 'enter 2 30'])
    assert.equal(reader.disordered, 0)
  })

  it('the reader continues after a few rounds if a SUBMIT word never arrives', () => {
    target.put(0, CHUNK_FULL, 4, 0, [controlWord(CONTROL_BEGIN, 1), enterWord(2, 30)])
    for (let round = 0; round < 6; round++) reader.poll()
    assert.deepEqual(sink.of(4), ['begin 1', 'enter 2 30'])
    assert.equal(reader.disordered, 1)
    assert.equal(target.state(0), CHUNK_FREE)
  })

  it('the reader keeps segments of a virtual thread in order while the first segment waits for a SUBMIT word', () => {
    target.put(0, CHUNK_BUSY, 4, 0, [threadWord(9, 1), exitWord(2, 40)])
    target.put(1, CHUNK_BUSY, 5, 0, [threadWord(9, 0), controlWord(CONTROL_BEGIN, 1), enterWord(2, 30)])
    target.put(2, CHUNK_BUSY, 6, 0, [controlWord(CONTROL_SUBMIT, 1)])
    reader.poll()
    assert.deepEqual(sink.of(9), ['begin 1', 'enter 2 30', 'exit 2 40'])
    assert.equal(reader.disordered, 0)
  })

  it('the reader stops waiting for a missing SUBMIT word, even if another writer waits for a later segment', () => {
    target.put(0, CHUNK_FULL, 4, 0, [threadWord(9, 1), exitWord(2, 40)])
    target.put(1, CHUNK_FULL, 5, 0, [threadWord(9, 0), controlWord(CONTROL_BEGIN, 1), enterWord(2, 30)])
    for (let round = 0; round < 8; round++) reader.poll()
    assert.deepEqual(sink.of(9), ['begin 1', 'enter 2 30', 'exit 2 40'])
    assert.equal(reader.disordered, 1)
    assert.deepEqual([target.state(0), target.state(1)], [CHUNK_FREE, CHUNK_FREE])
  })

  it('a round of the reader covers all writers, even if most writers have written nothing', () => {
    for (let chunk = 0; chunk < 6; chunk++) target.put(chunk, CHUNK_IDLE, chunk + 1, 0, [enterWord(1, chunk)])
    assert.equal(reader.poll(), 6)
    assert.equal(reader.poll(2), 0)
    assert.equal(reader.complete, true)
    target.put(6, CHUNK_BUSY, 7, 0, [enterWord(1, 10)])
    assert.equal(reader.poll(2), 1)
    assert.equal(reader.complete, true)
  })

  it('the duration of a round of the reader is limited, and the round includes every writer', () => {
    for (let chunk = 0; chunk < 6; chunk++)
      target.put(chunk, CHUNK_FULL, chunk < 3 ? 1 : 2, chunk % 3, many(10, 0))
    assert.equal(reader.poll(2), 20)
    assert.equal(reader.complete, false)
    assert.equal(reader.drain(), 40)
    assert.equal(reader.complete, true)
  })

  describe('segments of a virtual thread on two carrier threads', () => {
    it('the segments of a virtual thread are read in their order, whatever the order of the carrier threads', () => {
      target.put(0, CHUNK_BUSY, 2, 0, [threadWord(9, 1), exitWord(1, 30)])
      target.put(1, CHUNK_BUSY, 3, 0, [threadWord(9, 0), enterWord(1, 10)])
      assert.equal(reader.poll(), 2)
      assert.deepEqual(sink.of(9), ['enter 1 10', 'exit 1 30'])
    })

    it('a segment of a virtual thread is read to its end before the next segment of that thread', () => {
      target.put(0, CHUNK_BUSY, 2, 0, [enterWord(7, 1)])
      target.put(1, CHUNK_BUSY, 3, 0, [threadWord(9, 0), enterWord(1, 10)])
      assert.equal(reader.poll(), 2)
      // Carrier 3 gets one more event of the segment, and then an event of another thread. Carrier 2, which is read first, gets the next
      // segment of the thread.
      const segment = [...enterWord(2, 20), ...threadWord(8, 0), ...enterWord(5, 35)]
      target.store(target.offset(1) + CHUNK_EVENTS + 16, ...segment)
      target.store(target.offset(0) + CHUNK_EVENTS + 8, ...threadWord(9, 1), ...exitWord(2, 30))
      reader.poll()
      assert.deepEqual(sink.of(9), ['enter 1 10', 'enter 2 20', 'exit 2 30'])
      assert.deepEqual(sink.of(8), ['enter 5 35'])
    })

    it('the words of a carrier thread are delayed until the previous segment of the virtual thread has begun', () => {
      target.put(0, CHUNK_BUSY, 2, 0, [enterWord(7, 1), threadWord(9, 1), exitWord(1, 30)])
      assert.equal(reader.poll(), 1)
      target.put(1, CHUNK_BUSY, 3, 0, [threadWord(9, 0), enterWord(1, 10)])
      assert.equal(reader.poll(), 2)
      assert.deepEqual(sink.of(9), ['enter 1 10', 'exit 1 30'])
      assert.equal(reader.disordered, 0)
    })

    it('in a chain of carrier threads that wait for segments of other carriers, each carrier is delayed', () => {
      target.put(0, CHUNK_BUSY, 2, 0, [
        threadWord(9, 2),
        enterWord(3, 30),
        threadWord(8, 1),
        enterWord(3, 60),
      ])
      target.put(1, CHUNK_BUSY, 3, 0, [
        threadWord(8, 0),
        enterWord(1, 20),
        threadWord(9, 1),
        enterWord(2, 25),
      ])
      target.put(2, CHUNK_BUSY, 4, 0, [
        threadWord(9, 0),
        enterWord(1, 10),
        threadWord(8, 2),
        enterWord(4, 70),
      ])
      assert.equal(reader.poll(), 6)
      assert.deepEqual(sink.of(9), ['enter 1 10', 'enter 2 25', 'enter 3 30'])
      assert.deepEqual(sink.of(8), ['enter 1 20', 'enter 3 60', 'enter 4 70'])
    })

    it('the segments of a virtual thread continue in the next chunk of the same carrier thread', () => {
      target.put(0, CHUNK_FULL, 2, 0, [threadWord(9, 0), ...many(PER_CHUNK - 1, 0)])
      target.put(1, CHUNK_BUSY, 2, 1, [threadWord(9, 1), enterWord(2, 2000)])
      assert.equal(reader.poll(), PER_CHUNK)
    })

    it('segments of a virtual thread are numbered modulo 2^16', () => {
      let segment = 0
      for (let round = 0; segment <= 2 ** 16; round++) {
        const words = Array.from({ length: PER_CHUNK }, () => threadWord(9, segment++ % 2 ** 16))
        target.put(0, CHUNK_FULL, 2, round, words)
        reader.poll()
        assert.equal(target.state(0), CHUNK_FREE)
      }
      assert.equal(reader.disordered, 0)
    })

    it('the reader continues after a few rounds if a segment is lost', () => {
      target.put(0, CHUNK_BUSY, 2, 0, [threadWord(9, 4), exitWord(1, 30), threadWord(9, 5), enterWord(1, 40)])
      let rounds = 0
      while (reader.poll() === 0) rounds++
      assert.ok(rounds < 6)
      assert.equal(reader.disordered, 1)
      assert.deepEqual(sink.of(9), ['exit 1 30', 'enter 1 40'])
    })
  })

  describe('an event buffer with overwritten contents', () => {
    it('for an overwritten word in the buffer, the reader throws an error that names the position', () => {
      target.put(2, CHUNK_BUSY, 5, 0, [enterWord(1, 1), [0xbeef, 0xffc0ffee], enterWord(1, 2)])
      assert.throws(() => reader.poll(), /unknown event 0xffc0ffee0000beef, of writer 5, chunk 0, offset 24/)
    })

    it('the reader throws an error for a repeated sequence number of a chunk', () => {
      target.put(2, CHUNK_BUSY, 5, 0, many(1, 0))
      target.put(3, CHUNK_BUSY, 5, 0, many(1, 0))
      assert.throws(() => reader.poll(), /chunk 3 of writer 5: has sequence 0 again/)
    })

    it('the reader throws an error for a missing sequence number of a chunk', () => {
      target.put(2, CHUNK_BUSY, 5, 1, many(1, 0))
      assert.throws(() => reader.drain(), /chunk 2 of writer 5: chunk number 0 is missing/)
    })

    it('the reader throws an error for an invalid writer number or epoch of a chunk', () => {
      target.put(2, CHUNK_BUSY, 2 ** 24, 0, [])
      assert.throws(() => reader.poll(), /writer 16777216: no such writer/)
      target.put(2, CHUNK_BUSY, 5, 0, [], MAX_EPOCHS)
      assert.throws(() => reader.poll(), /beyond 2\^58 ticks/)
    })

    it('the reader never hangs on random buffer contents', () => {
      for (let attempt = 0; attempt < (FULL ? 1000 : 50); attempt++) {
        const random = () => Math.floor(Math.random() * 2 ** 32)
        const words = Array.from({ length: 50 }, (): [number, number] => [random(), random()])
        for (let chunk = 0; chunk < CHUNKS; chunk++)
          target.put(chunk, random() % 4, 1 + (random() % 4), random() % 3, words)
        try {
          new RingReader(ring, new CctBuilder()).drain()
        } catch (error) {
          assert.match(String(error), /unknown event|chunk \d+ of writer/)
        }
      }
    })
  })
})

/** A ring that lets the target run between any two accesses. */
class Interleaved implements Ring {
  readonly #ring: Ring
  readonly #meanwhile: () => void
  readonly chunkBytes: number
  readonly chunkCount: number
  readonly mapped: boolean

  constructor(inner: Ring, meanwhile: () => void) {
    this.#ring = inner
    this.#meanwhile = meanwhile
    this.chunkBytes = inner.chunkBytes
    this.chunkCount = inner.chunkCount
    this.mapped = inner.mapped
  }

  refresh(): void {
    this.#meanwhile()
    this.#ring.refresh()
  }
  state(chunk: number): number {
    this.#meanwhile()
    return this.#ring.state(chunk)
  }
  writer(chunk: number): number {
    this.#meanwhile()
    return this.#ring.writer(chunk)
  }
  sequence(chunk: number): number {
    return this.#ring.sequence(chunk)
  }
  epoch(chunk: number): number {
    return this.#ring.epoch(chunk)
  }
  look(chunk: number, from: number, level: RingLevel): number {
    this.#meanwhile()
    return this.#ring.look(chunk, from, level)
  }
  isSettled(chunk: number): boolean {
    return this.#ring.isSettled(chunk)
  }
  age(): number {
    return this.#ring.age()
  }
  sign(reader: RingReaderThread): void {
    this.#ring.sign(reader)
  }
  words(level: RingLevel): Uint32Array {
    this.#meanwhile()
    return this.#ring.words(level)
  }
  origin(chunk: number, level: RingLevel): number {
    return this.#ring.origin(chunk, level)
  }
  free(chunk: number, used: number): void {
    this.#meanwhile()
    this.#ring.free(chunk, used)
  }
  beat(): void {
    this.#ring.beat()
  }
  ended(): number {
    return this.#ring.ended()
  }
  starving(): number {
    return this.#ring.starving()
  }

  gaps(): number {
    return this.#ring.gaps()
  }
  close(): void {
    this.#ring.close()
  }
}

/** Carriers with virtual threads that move between them, and platform threads that start and end. */
class Program {
  ticks = 1
  readonly threads: FakeThread[] = []
  readonly #random: (below: number) => number
  readonly #resting: FakeThread[] = []
  readonly #running: Steps[] = []

  constructor(random: (below: number) => number, events: number) {
    this.#random = random
    for (let number = 1; number <= 3; number++) {
      const writer = new FakeWriter(target, number)
      this.threads.push(writer.self)
      this.#running.push(this.#carrier(writer, events))
    }
    for (let number = 4; number <= 5; number++) {
      const writer = new FakeWriter(target, number)
      this.threads.push(writer.self)
      this.#running.push(this.#platform(writer, events))
    }
    for (let number = 101; number <= 104; number++) this.#resting.push(new FakeThread(number))
    this.threads.push(...this.#resting)
  }

  get over(): boolean {
    return this.#running.length === 0
  }

  /** Executes one store of a random thread. */
  step(): void {
    if (this.over) return
    const at = this.#random(this.#running.length)
    if (this.#running[at].next().done === true) this.#running.splice(at, 1)
    if (this.#random(500) === 0) target.reclaim()
  }

  *#platform(writer: FakeWriter, events: number): Steps {
    for (let left = events; left > 0; left--) {
      yield* writer.wake()
      yield* this.#work(writer, writer.self, 1 + this.#random(30))
      while (writer.self.stack.length > 0) yield* this.#leave(writer, writer.self)
      yield* writer.rest()
    }
  }

  *#carrier(writer: FakeWriter, events: number): Steps {
    for (let left = events; left > 0; left--) {
      const at = this.#random(this.#resting.length)
      const [thread] = this.#resting.splice(at, 1)
      if (thread === undefined) {
        yield* this.#work(writer, writer.self, 3)
        continue
      }
      yield* this.#work(writer, thread, this.#random(20))
      this.#resting.push(thread)
      yield
    }
  }

  *#work(writer: FakeWriter, thread: FakeThread, events: number): Steps {
    for (let left = events; left > 0; left--) {
      if (thread.stack.length > 0 && (thread.stack.length > 9 || this.#random(2) === 0)) {
        yield* this.#leave(writer, thread)
        continue
      }
      if (thread.stack.length === 0) yield* writer.root(thread)
      const method = 1 + this.#random(5)
      thread.stack.push(method)
      yield* writer.event(thread, KIND_ENTER, method, this.#now())
    }
  }

  *#leave(writer: FakeWriter, thread: FakeThread): Steps {
    yield* writer.event(thread, KIND_EXIT, thread.stack.pop()!, this.#now())
  }

  /** Sometimes advances the clock by minutes, so that a new epoch begins. */
  #now(): number {
    this.ticks += this.#random(300) === 0 ? 2 ** 38 : this.#random(50)
    return this.ticks
  }
}

/** Recomputes calls and time of every context from the threads' own records. Slow and simple. */
function naiveTree(threads: readonly FakeThread[]): Map<string, [calls: number, ticks: number]> {
  const contexts = new Map<string, [number, number]>()
  for (const { done } of threads) {
    const path: string[] = []
    let last = 0
    for (const event of done) {
      const [what, method, time] = event.split(' ')
      if (what === 'adjust') last += Number(method)
      if (what !== 'enter' && what !== 'exit') continue
      const charged = contexts.get(path.join('/'))
      if (charged !== undefined) charged[1] += Number(time) - last
      last = Number(time)
      if (what === 'exit') path.pop()
      else {
        path.push(method)
        const context = contexts.get(path.join('/')) ?? [0, 0]
        context[0]++
        contexts.set(path.join('/'), context)
      }
    }
  }
  return contexts
}

function builtTree(builder: CctBuilder): Map<string, [calls: number, ticks: number]> {
  const { merged } = snapshotOf(builder, { calibration: { innerTicks: 0, outerTicks: 0 }, nsPerTick: 1 })
  const paths: string[] = []
  const contexts = new Map<string, [number, number]>()
  for (let node = 0; node < merged.count; node++) {
    const above = merged.parent[node] < 0 ? '' : `${paths[merged.parent[node]]}/`
    paths.push(above + merged.method[node])
    contexts.set(paths[node], [merged.metrics.calls[node], merged.metrics.measuredNs[node]])
  }
  return contexts
}

describe.each([
  ['mapped', false, FULL ? 100 : 10],
  ['read as a file', true, FULL ? 30 : 4],
])(
  'a target that writes events between any two accesses of the reader (event buffer %s)',
  (_way, asFile, runs) => {
    afterEach(() => close())

    it.each(Array.from({ length: runs }, (_, i) => i))('no event is lost or reordered (run %i)', (run) => {
      open(asFile)
      const seed = (Date.now() ^ Math.imul(run + 1, 0x9e3779b1)) >>> 0
      const random = generator(seed)
      const program = new Program(random, 60)
      const builder = new CctBuilder()
      const both = new Interleaved(ring, () => {
        for (let steps = random(20) === 0 ? random(600) : random(4); steps > 0; steps--) program.step()
      })
      const told = tee(sink, builder)
      const busy: EventSink = {
        ...told,
        calls: (words, from, to, base) => {
          if (random(8) === 0) reading.setAside()
          return told.calls(words, from, to, base)
        },
      }
      const reading = new RingReader(both, busy)
      while (!program.over) {
        for (let steps = random(400); steps > 0; steps--) program.step()
        if (random(8) === 0) reading.setAside()
        reading.poll(1 + random(6))
      }
      reading.drain()
      allWasRead(reading, program, builder, seed)
    })
  },
)

describe('a target that writes events while its buffer is sent over a network', () => {
  beforeEach(() => open(false))
  afterEach(() => close())

  it.each(Array.from({ length: FULL ? 100 : 10 }, (_, i) => i))(
    'no event is lost or reordered (run %i)',
    (run) => {
      const seed = (Date.now() ^ Math.imul(run + 1, 0x9e3779b1)) >>> 0
      const random = generator(seed)
      const program = new Program(random, 60)
      const both = new Interleaved(ring, () => {
        for (let steps = random(20) === 0 ? random(600) : random(4); steps > 0; steps--) program.step()
      })
      const feeder = new FakeFeeder(both, 1 + random(8192))
      const mirror = new MirrorRing(4096, CHUNKS)
      const builder = new CctBuilder()
      const reading = new RingReader(mirror, tee(sink, builder))
      let answers: Buffer[] = []
      let begins = true
      const read = (): void => {
        for (let polls = random(8); polls > 0; polls--) {
          if (random(8) === 0) reading.setAside()
          reading.poll(1 + random(6))
        }
      }
      for (let kind = MORE; kind !== LAST; begins = kind !== MORE) {
        const isOver = program.over
        const question = mirror.question(begins)
        read()
        for (let steps = random(400); steps > 0; steps--) program.step()
        const answer = feeder.answer(question, isOver)
        read()
        answers.push(answer)
        kind = answer.readUInt32LE(0)
        if (kind === MORE) continue
        mirror.take(answers)
        answers = []
        read()
      }
      reading.drain()
      allWasRead(reading, program, builder, seed)
    },
  )
})

function allWasRead(reading: RingReader, program: Program, builder: CctBuilder, seed: number): void {
  assert.equal(reading.disordered, 0, `seed ${seed}`)
  for (const thread of program.threads) {
    assert.deepEqual(sink.of(thread.number), thread.done, `seed ${seed}, thread ${thread.number}`)
  }
  assert.equal(builder.healed, 0, `seed ${seed}`)
  assert.deepEqual(builtTree(builder), naiveTree(program.threads), `seed ${seed}`)
}

function tee(a: CallEvents, b: CallEvents): CallEvents {
  return {
    calls: (words, from, to, base) => {
      a.calls(words, from, to, base)
      return b.calls(words, from, to, base)
    },
    caught: (method, ticks) => {
      a.caught(method, ticks)
      b.caught(method, ticks)
    },
    overflow: (method) => {
      a.overflow(method)
      b.overflow(method)
    },
    thread: (number, segment) => {
      a.thread(number, segment)
      b.thread(number, segment)
    },
    adjust: (ticks) => {
      a.adjust(ticks)
      b.adjust(ticks)
    },
    suspend: (ticks) => {
      a.suspend(ticks)
      b.suspend(ticks)
    },
    resume: (ticks) => {
      a.resume(ticks)
      b.resume(ticks)
    },
    root: () => {
      a.root()
      b.root()
    },
    unwind: (frames) => {
      a.unwind(frames)
      b.unwind(frames)
    },
    site: (site) => {
      a.site(site)
      b.site(site)
    },
    sample: (weight) => {
      a.sample(weight)
      b.sample(weight)
    },
    submit: (token) => {
      a.submit(token)
      b.submit(token)
    },
    track: (classId, token) => {
      a.track(classId, token)
      b.track(classId, token)
    },
    knows: (token) => a.knows(token) && b.knows(token),
    begin: (token) => {
      a.begin(token)
      b.begin(token)
    },
    drop: (token) => {
      a.drop(token)
      b.drop(token)
    },
    className: (id, at, unit) => {
      a.className(id, at, unit)
      b.className(id, at, unit)
    },
    allocated: (bytes) => {
      a.allocated(bytes)
      b.allocated(bytes)
    },
  }
}

function generator(seed: number): (below: number) => number {
  let state = seed | 1
  return (below) => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % below
  }
}
