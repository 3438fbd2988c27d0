import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { CctBuilder } from '../../src/cct/builder.ts'
import { decodeEvents, type EventSink, type ThreadGate, WriterState } from '../../src/events/decode.ts'
import { MAX_EPOCHS } from '../../src/events/event-halves.ts'
import {
  CONTROL_ADJUST,
  CONTROL_BEGIN,
  CONTROL_DROP,
  CONTROL_EPOCH,
  CONTROL_OVERFLOW,
  CONTROL_RESUME,
  CONTROL_ROOT,
  CONTROL_SUBMIT,
  CONTROL_SUSPEND,
  CONTROL_THREW,
  CONTROL_VALUE,
  KIND_CONTROL,
} from '../../src/events/event-layout.ts'
import { catchWord, controlWord, enterWord, exitWord, threadWord, word } from './fake-target.ts'
import { RecordingSink, SummingSink } from './sinks.ts'

const OPEN: ThreadGate = { mayBegin: () => true, mayTakeUp: () => true }
const CLOSED: ThreadGate = { mayBegin: () => false, mayTakeUp: () => false }

function decode(words: [number, number][], state = new WriterState(1), gate = OPEN) {
  const sink = new RecordingSink()
  const buffer = Uint32Array.from(words.flat())
  const stopped = decodeEvents(buffer, 0, buffer.length, state, sink, gate)
  return { events: sink.all, taken: stopped / 2, state }
}

describe('decoding of event words', () => {
  it('the decoder decodes method and time of entries and exits for the thread that wrote them', () => {
    const { events, state } = decode([
      enterWord(1, 0),
      enterWord(2 ** 22 - 1, 2 ** 40 - 1),
      exitWord(7, 2 ** 32),
    ])
    assert.deepEqual(events, ['@1', 'enter 1 0', 'enter 4194303 1099511627775', 'exit 7 4294967296'])
    assert.equal(state.events, 3)
    assert.equal(state.lastTicks, 2 ** 32)
  })

  it('the decoder decodes method and time of an exception handler word; the word does not count as an event', () => {
    const { events, state } = decode([
      enterWord(1, 0),
      catchWord(1, 2 ** 32 + 5),
      catchWord(2 ** 22 - 1, 2 ** 33),
    ])
    assert.deepEqual(events, ['@1', 'enter 1 0', 'caught 1 4294967301', 'caught 4194303 8589934592'])
    assert.equal(state.events, 1)
    assert.equal(state.lastTicks, 2 ** 33)
  })

  it('the decoder decodes the word for a method that a StackOverflowError ended; the word does not count as an event', () => {
    const words = [exitWord(3, 8), controlWord(CONTROL_OVERFLOW, 2 ** 22 - 1), exitWord(2, 9)]
    const { events, state } = decode(words)
    assert.deepEqual(events, ['@1', 'exit 3 8', 'overflow 4194303', 'exit 2 9'])
    assert.equal(state.events, 2)
    const builder = new CctBuilder()
    const buffer = Uint32Array.from([...words, words[1]].flat())
    assert.equal(decodeEvents(buffer, 0, buffer.length, new WriterState(1), builder, OPEN), buffer.length)
    assert.deepEqual([...builder.overflows], [[4194303, 2]])
    builder.reset()
    assert.equal(builder.overflows.size, 0)
  })

  it('the decoder decodes the words with details of a root call', () => {
    const value = 31 * 2 ** 35 + 7 * 2 ** 32 + 0xffff_fffe
    const words = [controlWord(CONTROL_THREW, 63), exitWord(2, 9), controlWord(CONTROL_VALUE, value)]
    const { events, state } = decode(words)
    assert.deepEqual(events, ['@1', 'threw 63', 'exit 2 9', 'value 31 7 4294967294'])
    assert.equal(state.events, 1)
  })

  it('the ticks of events are added to the epoch of their chunk', () => {
    const state = new WriterState(1)
    state.startChunk(3)
    assert.deepEqual(decode([enterWord(1, 5)], state).events, ['@1', `enter 1 ${3 * 2 ** 40 + 5}`])
  })

  it('the ticks of events after an EPOCH word are added to that epoch, up to 2^53, even if the words are read in several pieces', () => {
    const state = new WriterState(1)
    const first = decode(
      [exitWord(1, 2 ** 40 - 1), controlWord(CONTROL_EPOCH, 1), exitWord(1, 2 ** 40)],
      state,
    )
    assert.deepEqual(first.events, ['@1', `exit 1 ${2 ** 40 - 1}`, `exit 1 ${2 ** 40}`])
    const last = decode(
      [exitWord(1, 2 ** 40 + 9), controlWord(CONTROL_EPOCH, 8191), exitWord(1, 2 ** 40 - 1)],
      state,
    )
    assert.deepEqual(last.events, ['@1', `exit 1 ${2 ** 40 + 9}`, `exit 1 ${2 ** 53 - 1}`])
    assert.equal(state.events, 4)
  })

  it('ticks beyond 2^53 are rounded to values that a double can represent, and never decrease', () => {
    // From 2^57 on, neighbouring doubles differ by 32 ticks.
    const { events } = decode([
      controlWord(CONTROL_EPOCH, MAX_EPOCHS - 1),
      ...[0, 15, 17, 31, 33].map((ticks) => exitWord(1, ticks)),
    ])
    const base = (MAX_EPOCHS - 1) * 2 ** 40
    assert.deepEqual(
      events.slice(1),
      [0, 0, 32, 32, 32].map((ticks) => `exit 1 ${base + ticks}`),
    )
  })

  it('the decoder reports submissions of tasks, and stops at a BEGIN word whose submission is not read yet', () => {
    const words = [
      controlWord(CONTROL_SUBMIT, 2 ** 40 - 1),
      controlWord(CONTROL_DROP, 3),
      controlWord(CONTROL_BEGIN, 4),
      enterWord(1, 5),
    ]
    assert.deepEqual(decode(words).events, ['@1', 'submit 1099511627775', 'drop 3', 'begin 4', 'enter 1 5'])
    const { events, taken, state } = decode(words, new WriterState(1), CLOSED)
    assert.deepEqual(events, ['@1', 'submit 1099511627775', 'drop 3'])
    assert.deepEqual([taken, state.held], [2, true])
  })

  it('the decoder reports control events: SUSPEND and RESUME with a time, ADJUST with a duration', () => {
    const state = new WriterState(1)
    state.startChunk(2)
    const { events } = decode(
      [
        controlWord(CONTROL_ROOT),
        controlWord(CONTROL_ADJUST, 2 ** 33),
        controlWord(CONTROL_SUSPEND, 10),
        controlWord(CONTROL_RESUME, 2 ** 39),
      ],
      state,
    )
    const epoch = 2 * 2 ** 40
    assert.deepEqual(events, [
      '@1',
      'root',
      `adjust ${2 ** 33}`,
      `suspend ${epoch + 10}`,
      `resume ${epoch + 2 ** 39}`,
    ])
    assert.equal(state.events, 0)
  })

  it('a THREAD word applies to all later events of its chunk, including events that are read in the next piece', () => {
    const state = new WriterState(1)
    assert.deepEqual(decode([threadWord(9, 65535), enterWord(1, 0)], state).events, [
      '@1',
      '@9.65535',
      'enter 1 0',
    ])
    assert.deepEqual(decode([exitWord(1, 4), threadWord(1, 3), enterWord(2, 9)], state).events, [
      '@9.65535',
      'exit 1 4',
      '@1',
      'enter 2 9',
    ])
    decode([threadWord(9, 0)], state)
    state.startChunk(0)
    assert.deepEqual(decode([enterWord(1, 0)], state).events, ['@1', 'enter 1 0'])
  })

  it('the decoder stops at a THREAD word if the reader does not yet accept the segment that begins there', () => {
    const { events, taken, state } = decode(
      [enterWord(1, 0), threadWord(9, 0), enterWord(1, 0)],
      undefined,
      CLOSED,
    )
    assert.deepEqual(events, ['@1', 'enter 1 0'])
    assert.equal(taken, 1)
    assert.equal(state.held, true)
  })

  it('the decoder stops at the first zero word', () => {
    const { taken, state } = decode([enterWord(1, 0), [0, 0], enterWord(1, 0)])
    assert.equal(taken, 1)
    assert.equal(state.held, false)
  })

  it.each<[string, [number, number]]>([
    ['a word without a valid kind', [1, 0]],
    ['an exception handler word without a method', [5, 200]],
    ['a control event of a later protocol version', controlWord(77)],
    ['a control event with a code of 0', word(KIND_CONTROL, 0, 5)],
    ['a THREAD word without a thread number', threadWord(0, 4)],
    ['an EPOCH word beyond 2^58 ticks', controlWord(CONTROL_EPOCH, MAX_EPOCHS)],
  ])('the decoder stops at %s', (_what, garbage) => {
    assert.equal(decode([enterWord(1, 0), garbage, enterWord(1, 0)]).taken, 1)
  })

  it('the decoder accepts any 64 bits without hanging or throwing an error', () => {
    const words = new Uint32Array(20_000)
    for (let i = 0; i < words.length; i++) words[i] = Math.floor(Math.random() * 2 ** 32)
    for (let from = 0; from < words.length; ) {
      const stopped = decodeEvents(words, from, words.length, new WriterState(1), new SummingSink(), CLOSED)
      assert.ok(stopped >= from)
      from = stopped + 2
    }
  })
})

describe('memory allocated by the decoder', () => {
  // 10 million events; a boxed number for each would be 160 MB.
  const EVENTS = 4000
  const ROUNDS = 2500
  const MAX_BYTES = 1e6
  const PIECE = 40
  const words = new Uint32Array(EVENTS * 2)
  for (let i = 0; i < EVENTS; i++) {
    const depth = i % 20
    const method = 1 + (depth < 10 ? depth : 19 - depth)
    words.set(depth < 10 ? enterWord(method, 2 ** 35 + i) : exitWord(method, 2 ** 35 + i), i * 2)
  }

  /** Returns the bytes allocated by all rounds, and the number of events decoded in total. */
  function allocated(sink: EventSink): { bytes: number; events: number } {
    const state = new WriterState(1)
    let rounds = 0
    const run = (count: number) => {
      rounds += count
      let bytes = 0
      for (let round = 0; round < count; round += 100) {
        const before = process.memoryUsage().heapUsed
        for (let i = 0; i < 100; i++) decodeEvents(words, 0, words.length, state, sink, OPEN)
        // The difference is negative after a garbage collection, which is rare within 100 rounds.
        bytes += Math.max(0, process.memoryUsage().heapUsed - before)
      }
      return bytes
    }
    // Short pieces first, so that V8 compiles the loop as a function. If the first code is compiled during one long loop (on-stack
    // replacement), V8 may keep it for the lifetime of the process, and it boxes the time of each event: seen in 1 of 100 processes.
    for (let warmUp = 0; warmUp < 100; warmUp++, rounds++) {
      for (let from = 0; from < words.length; from += PIECE)
        decodeEvents(words, from, from + PIECE, state, sink, OPEN)
    }
    run(500)
    return { bytes: run(ROUNDS), events: rounds * EVENTS }
  }

  it('the decoder alone allocates no memory', () => {
    const sink = new SummingSink()
    const { bytes, events } = allocated(sink)
    assert.ok(bytes < MAX_BYTES, `${bytes} bytes`)
    assert.equal(sink.events, events)
  })

  it('the decoder allocates no memory when it passes events to the tree builder', () => {
    const builder = new CctBuilder()
    const { bytes } = allocated(builder)
    assert.ok(bytes < MAX_BYTES, `${bytes} bytes`)
    assert.equal(builder.contexts, 10)
  })
})
