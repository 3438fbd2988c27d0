import assert from 'node:assert/strict'
import { gunzipSync } from 'node:zlib'
import { Profile as Message } from 'pprof-format'
import { describe, it } from 'vitest'
import { hotMethods } from '../../src/cct/snapshot.ts'
import { nameOf, type Profile } from '../../src/profile/profile.ts'
import { fullName } from '../../src/profile/text.ts'
import { chain, profileOf, profileOfTree, randomTree, seeded } from '../profile/trees.ts'
import { exportedBytes, ofEveryMetric, twoThreads } from './exported.ts'

interface Sample {
  /** Names from the top node down; a line number follows the name if known. */
  readonly stack: string
  readonly values: readonly number[]
  readonly labels: Readonly<Record<string, string | number>>
}

interface Pprof {
  readonly types: readonly string[]
  readonly shown: string
  readonly samples: readonly Sample[]
  readonly comments: readonly string[]
  readonly message: Message
}

async function pprofOf(profile: Profile, threads = false): Promise<Pprof> {
  const message = Message.decode(gunzipSync(await exportedBytes(profile, 'pprof', threads)))
  const { strings } = message.stringTable
  assert.equal(strings[0], '')
  const text = (at: number | bigint) => strings[Number(at)]!
  const functions = new Map(message.function.map((it) => [it.id, text(it.name)]))
  const locations = new Map(
    message.location.map(({ id, line: [line] }) => {
      const at = Number(line!.line)
      const name = functions.get(line!.functionId)!.replaceAll('com.acme.App.', '')
      return [id, at === 0 ? name : `${name}:${at}`]
    }),
  )
  // int64: a negative number is decoded as two's complement.
  const signed = (value: number | bigint) => Number(BigInt.asIntN(64, BigInt(value)))
  const samples = message.sample.map(({ locationId, value, label }) => ({
    stack: locationId
      .map((id) => locations.get(id)!)
      .reverse()
      .join(';'),
    values: value.map(signed),
    labels: Object.fromEntries(label.map((it) => [text(it.key), it.str ? text(it.str) : Number(it.num)])),
  }))
  return {
    types: message.sampleType.map((it) => `${text(it.type)}/${text(it.unit)}`),
    shown: text(message.defaultSampleType),
    samples,
    comments: message.comment.map(text),
    message,
  }
}

const lines = ({ samples }: Pprof) => samples.map(({ stack, values }) => `${stack} ${values.join(' ')}`)

describe('the export format pprof', () => {
  it('a pprof export has one sample per context, with calls and self time, even if the self time is negative', async () => {
    const file = await pprofOf(profileOf('main 1x 10ns ( work 2x 54ns ( main 1x 0ns ) other 1x -3ns )'))
    assert.deepEqual(file.types, ['calls/count', 'time/nanoseconds'])
    assert.equal(file.shown, 'time')
    assert.deepEqual(lines(file), ['main 1 10', 'main;work 2 54', 'main;work;main 1 0', 'main;other 1 -3'])
  })

  it('a pprof export has date, duration, program and metadata', async () => {
    const { message, comments } = await pprofOf(profileOf('main 1x 1ns', { warnings: ['one'] }))
    assert.equal(BigInt(message.timeNanos), BigInt(Date.parse('2026-11-21T08:00:00.000Z')) * 1_000_000n)
    assert.equal(Number(message.durationNanos), 10_000_000_000)
    assert.equal(message.stringTable.strings[Number(message.mapping[0]!.filename)], 'com.acme.Main')
    assert.deepEqual(comments.slice(1), ['roots: com.acme.App.main', 'warning: one'])
  })

  it('a pprof export has threads as labels on request', async () => {
    const { samples } = await pprofOf(twoThreads(), true)
    assert.deepEqual(
      samples.map(({ stack, labels }) => [stack, labels]),
      [
        ['main', { thread: 'main', thread_id: 1 }],
        ['main', { thread: 'pool "1";?', thread_id: 21 }],
        ['main;work', { thread: 'pool "1";?', thread_id: 21 }],
      ],
    )
  })

  const counts = ['main 5 5', 'main;work 7 7']
  it.each(
    ofEveryMetric({
      waits: {
        types: ['calls', 'time', 'wait'],
        expected: ['lock 1 10 0', 'lock;(blocked on com.acme.Lock) 2 700 700'],
      },
      bytecodes: { types: ['calls', 'bytecodes'], expected: counts },
      calls: { types: ['calls'], expected: ['main 5', 'main;work 7'] },
      samples: { types: ['calls', 'samples'], expected: counts },
      bytes: {
        types: ['calls', 'alloc_objects', 'alloc_space'],
        expected: [
          ...['main 1 0 0', 'main;new java.lang.String 0 2 48'],
          ...['main;work 3 0 0', 'main;work;new byte[] 0 1 100'],
        ],
      },
      'call sites': {
        types: ['calls', 'time'],
        expected: ['main 1 5', 'main:7;work 1 10', 'main:9;work 2 20'],
      },
    }),
  )('a pprof export of a profile with %s has the right values', async (_, profile, { types, expected }) => {
    const file = await pprofOf(profile)
    assert.deepEqual(
      file.types.map((it) => it.split('/')[0]),
      types,
    )
    assert.equal(file.shown, types.at(-1))
    assert.deepEqual(lines(file), expected)
  })

  it('a pprof export of an empty profile has no samples', async () => {
    assert.deepEqual((await pprofOf(profileOf(''))).samples, [])
  })

  it('the length of stacks in a pprof export is limited even for a recursion 3,000 deep', async () => {
    const deep = profileOfTree(chain(3000), profileOf('deep 1x 1ns').methodNames)
    const last = (await pprofOf(deep)).samples.at(-1)!.stack.split(';')
    assert.equal(last.length, 513)
    assert.equal(last[256], '[2488 frames]')
  })

  it('in a pprof export, the calls of each method are exact, and the times are within one nanosecond', async () => {
    const tree = randomTree(2000, 30, seeded(7))
    const halves = tree.metrics.selfNs!.map((ns) => ns + 0.5)
    const merged = { ...tree, metrics: { ...tree.metrics, selfNs: halves } }
    const names = Array.from({ length: 31 }, (_, id) => `m${id} 1x 1ns`).join(' ')
    const profile = profileOfTree(merged, profileOf(names).methodNames)
    const { samples } = await pprofOf(profile)
    const sum = (at: number) => samples.reduce((all, { values }) => all + values[at]!, 0)
    const exact = halves.reduce((all, ns) => all + ns, 0)
    assert.ok(Math.abs(sum(1) - exact) <= 1)
    for (const { method, calls } of hotMethods(merged)) {
      const name = fullName(nameOf(profile.methodNames, method)).replace('com.acme.App.', '')
      const own = samples.filter(({ stack }) => stack.split(';').at(-1) === name)
      assert.equal(
        own.reduce((all, { values }) => all + values[0]!, 0),
        calls,
      )
    }
  })
})
