// A hostile agent. The client answers any data on the link with one of its own errors, within limits of time and memory.

import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { METHOD_BITS, THREAD_NUMBER_BITS } from '../../src/events/event-layout.ts'
import { Agent, type AgentEvents } from '../../src/wire/agent.ts'
import { MAX_METHODS, MAX_THREADS } from '../../src/wire/checked.ts'
import { encodeFrame } from '../../src/wire/frame.ts'
import { AgentNotUnderstood, AgentRefused, Link, LinkLost } from '../../src/wire/link.ts'
import { Malformed, unpack } from '../../src/wire/unpack.ts'
import { Chance } from '../faults/trials.ts'
import { inputs, LONG_MS, mutated, seedOf, tryInputs } from './mutate.ts'

const BYTES = Buffer.from('cafebabe0000003d', 'hex')
const NAMES = ['fix/A', 'ünï/cödé', 'x'.repeat(300), '']

/** Answers of an agent, keyed by the request. */
const ASKED: readonly [ask: (agent: Agent) => Promise<unknown>, answer: unknown][] = [
  [(it) => it.hello(), ['0a1b', 'ticks', 17, '17.0.15+6', 'OpenJDK 64-Bit Server VM', 'fix.Main a b', 4711]],
  [
    (it) =>
      it.configure({
        ...{ ring: '/dev/shm/x/ring', chunkBytes: 4096, chunkCount: 4, chunksOffset: 8192, perfFile: '' },
        ...{ safepointTimeOffset: 0, follow: [], counts: false, waits: false, trees: false },
        isStarted: false,
      }),
    [[123_456_789_012, 2 ** 50, 40], true],
  ],
  [
    (it) => it.loadedClasses(),
    [
      [
        [1, 'app', 0],
        [2, 'com.foo.Loader@7', 1],
      ],
      NAMES.map((name, id) => [id, name, 1, id - 1, [7, 70_000], 33, 5, 0]),
    ],
  ],
  [(it) => it.classBytes([1, 2, 3]), [BYTES, null, Buffer.alloc(70_000, 7)]],
  [(it) => it.classesNamed(NAMES), [[1, 2], [], [70_000], []]],
  [(it) => it.vmLibrary(), 0x7f12_3456_7000],
  [(it) => it.mirrorWords(8, [1, 2]), Buffer.alloc(16, 1)],
  [(it) => it.peek(8, Buffer.alloc(8)), Buffer.alloc(8, 2)],
  [(it) => it.extendConstantPool(1, 2, 3, BYTES), null],
  [
    (it) => it.redefineMethods([{ classId: 1, methodIndex: 2, code: BYTES }], [3], 4),
    [[[1, 'java.lang.VerifyError: x']], 5, 9, -1, 2, true],
  ],
  [(it) => it.calibrate(80, 400), [10.5, 20.25, 0.125, 1]],
  [(it) => it.timeRegions(80), [7, 1.5, 2.5]],
  [
    (it) => it.status(),
    [
      [1, 2, 3],
      [
        [1, 21, 'main', false],
        [2, 22, 'http-nio-1', true],
      ],
      ...[0, 12_345_678, [[1, 2], [3]], [100, 200], [[1, 2, 3]]],
      [4, 5, Buffer.alloc(24, 1), Buffer.alloc(8, 2)],
    ],
  ],
  [
    (it) => it.stackTraces(64),
    [
      [
        1,
        'main',
        [
          ['fix.A', 'run'],
          ['fix.B', 'go'],
        ],
      ],
    ],
  ],
  [(it) => it.reclaim(), 2],
  [(it) => it.restore(), [42, 0, 17, true, null, 3, true]],
  [(it) => it.detach(), [42, 0, 17, true, 'a profiler threw', 3, true]],
]

const EVENTS: readonly (readonly unknown[])[] = [
  ['first', 77],
  ['reflect', 1, 5, 'run', '()V'],
  ['hiddenClass', 2, 5, BYTES],
  ['classLoading', 3, 6, 1, 'fix/Late', BYTES, false],
  ['changed', 6],
  ['lateLoad', 3],
  ['waited', 9, 1, true, 'java.lang.Object'],
  ['valueClass', 4, 0, 7],
  ['ended', 'the JVM has no free heap memory'],
]

/** Receives all messages and checks the type of each value. */
function listener(heard: () => void): AgentEvents {
  const number = (...all: readonly number[]): void => {
    for (const it of all) if (!Number.isSafeInteger(it) || it < 0) throw new Error(`heard of number ${it}`)
    heard()
  }
  return {
    first: (id) => number(id),
    reflect: (request, id, name, descriptor) => number(request, id, name.length, descriptor.length),
    hiddenClass: (request, id, bytes) => number(request, id, bytes.byteLength),
    classLoading: ({ hook, id, loader, name, bytes }) =>
      number(hook, id, loader, name.length, bytes.byteLength),
    changed: (id) => number(id),
    lateLoad: (hook) => number(hook),
    waited: (id, kind, _, name) => number(id, kind, name.length),
    valueClass: (path, step, id) => number(path, step, id),
    ended: (reason) => number(reason.length),
  }
}

/** Returns a connection in memory, without the kernel. */
function connection(): { link: Link; say(bytes: Buffer): void; hangUp(): void } {
  const socket = new Duplex({ allowHalfOpen: false, read() {}, write: (_chunk, _encoding, done) => done() })
  const link = new Link(socket as unknown as Socket)
  return { link, say: (bytes) => socket.push(bytes), hangUp: () => socket.push(null) }
}

const isOurs = (error: unknown): boolean =>
  error instanceof AgentNotUnderstood || error instanceof AgentRefused || error instanceof LinkLost

describe('data of a hostile agent', () => {
  it('any damaged message is read, or refused with a jfluid error', { timeout: LONG_MS }, async () => {
    const seed = seedOf()
    const chance = new Chance(seed)
    const messages = [...ASKED.map(([, answer]) => [1, true, answer]), ...EVENTS.map((it) => [0, ...it])]
    const bodies = messages.map((it) => encodeFrame(it).subarray(4))
    expect(bodies.map((it) => unpack(it))).toEqual(messages)
    const tries = inputs(10_000, 4_000_000)
    await tryInputs('messages of an agent', { tries, seed, mostMib: 300 }, () => {
      try {
        unpack(mutated(chance.of(bodies), chance))
        return false
      } catch (error) {
        if (error instanceof Malformed) return true
        throw error
      }
    })
  })

  it('an invalid message closes the link to the agent, or causes an error for the request that the message answers', {
    timeout: LONG_MS,
  }, async () => {
    const seed = seedOf()
    const chance = new Chance(seed)
    let heard = 0
    const tries = inputs(2000, 1_000_000)
    await tryInputs('replies and events of an agent', { tries, seed, mostMib: 300 }, async () => {
      const { link, say, hangUp } = connection()
      const agent = new Agent(link)
      if (chance.next() < 0.9) agent.listen(listener(() => heard++))
      const [ask, answer] = chance.of(ASKED)
      const asked = ask(agent).then(
        () => false,
        (error: unknown) => {
          if (isOurs(error)) return true
          throw error
        },
      )
      const frames = [
        [0, ...chance.of(EVENTS)],
        [1, true, answer],
        [0, ...chance.of(EVENTS)],
      ].map(encodeFrame)
      // Usually the contents of a frame are wrong, and its length is correct.
      const which = Math.floor(chance.next() * 4)
      const stream = frames.map((frame, i) => {
        if (i !== which) return frame
        const body = mutated(frame.subarray(4), chance)
        const header = Buffer.alloc(4)
        header.writeUInt32LE(body.length)
        return Buffer.concat([header, body])
      })
      const bytes = which === 3 ? mutated(Buffer.concat(stream), chance) : Buffer.concat(stream)
      const cut = Math.floor(chance.next() * bytes.length)
      say(bytes.subarray(0, cut))
      say(bytes.subarray(cut))
      hangUp()
      const refused = await asked
      link.close()
      await link.closed
      return refused
    })
    expect(heard).toBeGreaterThan(0)
  })

  it.each<[string, Buffer, RegExp]>([
    ['a length of 2 GiB', Buffer.from([0xc6, 0x80, 0, 0, 0, 1]), /length beyond/],
    ['a list of four billion elements', Buffer.from([0xdd, 0xff, 0xff, 0xff, 0xff]), /length beyond/],
    ['a name of 2^31 characters', Buffer.from([0xdb, 0x80, 0, 0, 0, 65]), /length beyond/],
    ['a million nested levels', Buffer.alloc(1 << 20, 0x91), /too many levels/],
    ['a list of four million lists', listOf(4 << 20), /too many values/],
    ['a map', Buffer.from([0x91, 0x81, 0xa1, 65, 1]), /type 0x81/],
    ['a record', Buffer.from([0xd4, 0x72, 0x40, 0x91, 0xa1, 97, 1]), /type 0xd4/],
    ['an empty message', Buffer.alloc(0), /length beyond/],
    ['a message followed by one byte', Buffer.from([0x90, 0]), /something behind/],
  ])('an oversized or malformed message is refused at low cost: %s', (_, bytes, why) => {
    const before = process.memoryUsage.rss()
    let refused: unknown
    try {
      unpack(bytes)
    } catch (error) {
      refused = error
    }
    expect(refused).toBeInstanceOf(Malformed)
    expect((refused as Malformed).message).toMatch(why)
    expect(process.memoryUsage.rss() - before).toBeLessThan(800 << 20)
  })

  it('unrequested messages are kept up to a limit', async () => {
    const { link, say } = connection()
    for (let i = 0; i < 2000; i++) say(encodeFrame([0, 'first', i]))
    expect(await link.closed).toMatch(/more events than were asked for/)
  })

  it('the limits of method and thread numbers in messages equal the limits of the event format', () => {
    expect([MAX_METHODS, MAX_THREADS]).toEqual([2 ** METHOD_BITS, 2 ** THREAD_NUMBER_BITS])
  })
})

function listOf(length: number): Buffer {
  const bytes = Buffer.alloc(5 + length, 0x90)
  bytes[0] = 0xdd
  bytes.writeUInt32BE(length, 1)
  return bytes
}
