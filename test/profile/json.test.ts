import assert from 'node:assert/strict'
import { PassThrough, Writable } from 'node:stream'
import { describe, it } from 'vitest'
import { jsonPieces } from '../../src/profile/json.ts'
import { writePieces } from '../../src/profile/write.ts'
import { chain, profileOf, profileOfTree } from './trees.ts'

const textOf = (pieces: Iterable<string>): string => [...pieces].join('')

describe('JSON of a profile (documented in docs/profile-json.md)', () => {
  it('the JSON of a profile has exactly the documented keys', () => {
    const profile = profileOf('main 2x 10ns ( Outer$Inner.work 3x -4ns )', {
      truncated: 'the target ended',
      warnings: ['one'],
    })
    const main = { class: 'com.acme.App', method: 'main', descriptor: '(I)V' }
    const work = { class: 'com.acme.Outer$Inner', method: 'work', descriptor: '(I)V' }
    // main: 10 self, 10 - 4 in total; measured time is one ns per call more
    const tree = [
      {
        ...main,
        calls: 2,
        selfNs: 10,
        totalNs: 6,
        measuredNs: 12,
        children: [{ ...work, calls: 3, selfNs: -4, totalNs: -4, measuredNs: -1, children: [] }],
      },
    ]
    assert.deepEqual(JSON.parse(textOf(jsonPieces(profile))), {
      format: 'jfluid-profile',
      version: 1,
      target: { pid: 4711, jdk: '17.0.15', vm: 'OpenJDK 64-Bit Server VM', mainClass: 'com.acme.Main' },
      mode: 'exact',
      scheme: 'b',
      roots: ['com.acme.App.main'],
      startedAt: '2026-11-21T08:00:00.000Z',
      durationMs: 10000,
      calibration: { innerNs: 11.5, outerNs: 13.25, clock: 'counterTime' },
      instrumentation: {
        instrumentedMethods: 12,
        calledMethods: 4,
        redefinitions: 2,
        redefinedClasses: 3,
        hotSwapMs: 7.5,
        longestPauseMs: 2.5,
        analysisMs: 3,
        skipped: [],
        gaps: 0,
        healed: 0,
      },
      warmupMs: 40,
      truncated: true,
      warnings: ['truncated: the target ended', 'one'],
      openCalls: 0,
      events: { count: 2000, waitMs: 1.5 },
      kept: { heapBytes: 0, outsideBytes: 0 },
      followThreads: false,
      followedTasks: 0,
      methods: [
        { ...main, loader: 'app', calls: 2, selfNs: 10, totalNs: 6 },
        { ...work, loader: 'app', calls: 3, selfNs: -4, totalNs: -4 },
      ],
      threads: [{ id: 21, name: 'worker-1', roots: tree }],
      merged: tree,
    })
  })

  it('in JSON, the total of a recursive method counts nested calls once', () => {
    // fib: 8 + 4 + 2 self; its outermost call took 14, not 14 + 6 + 2
    const profile = profileOf('fib 1x 8ns ( fib 2x 4ns ( fib 4x 2ns ) )')
    const { methods } = JSON.parse(textOf(jsonPieces(profile))) as { methods: object[] }
    assert.deepEqual(methods, [
      {
        class: 'com.acme.App',
        loader: 'app',
        method: 'fib',
        descriptor: '(I)V',
        calls: 7,
        selfNs: 14,
        totalNs: 14,
      },
    ])
  })

  it('JSON has the key for warm-up only if there was a warm-up', () => {
    const profile = profileOf('main 2x 10ns ( work 3x 4ns )')
    profile.merged.metrics.warmupCalls![1] = 2
    profile.merged.metrics.warmupSelfNs![1] = 1.5
    const { merged } = JSON.parse(textOf(jsonPieces({ ...profile, threads: [] }))) as {
      merged: [{ warmupCalls?: number; children: [{ warmupCalls: number; warmupSelfNs: number }] }]
    }
    assert.ok(!('warmupCalls' in merged[0]))
    assert.equal(merged[0].children[0].warmupCalls, 2)
    assert.equal(merged[0].children[0].warmupSelfNs, 1.5)
  })

  it('in JSON, the roots are a list, even if there are several roots or none', () => {
    const two = JSON.parse(textOf(jsonPieces(profileOf('a 1x 1ns b 1x 1ns ( c 1x 1ns ) d 1x 1ns'))))
    assert.deepEqual(
      two.merged.map((node: { method: string }) => node.method),
      ['a', 'b', 'd'],
    )
    const none = JSON.parse(textOf(jsonPieces(profileOf(''))))
    assert.deepEqual([none.merged, none.threads, none.methods], [[], [], []])
  })

  it('a tree 100,000 levels deep becomes nested JSON, which is generated in pieces', () => {
    const { methodNames } = profileOf('deep 1x 1ns')
    let longest = 0
    let open = 0
    let deepest = 0
    for (const piece of jsonPieces(profileOfTree(chain(100_000), methodNames))) {
      for (const character of piece) {
        if (character === '{') deepest = Math.max(deepest, ++open)
        if (character === '}') open--
      }
      longest = Math.max(longest, piece.length)
    }
    assert.equal(open, 0)
    assert.equal(deepest, 100_001)
    assert.ok(longest <= 200_000, `a piece of ${longest} characters`)
  })
})

describe('writing JSON in pieces', () => {
  it('writing JSON waits until a slow reader has read the earlier pieces', async () => {
    let pending = 0
    let most = 0
    const slow = new Writable({
      highWaterMark: 10,
      write(_chunk: Buffer, _encoding, done) {
        most = Math.max(most, ++pending)
        setImmediate(() => {
          pending--
          done()
        })
      },
    })
    const pieces = Array.from({ length: 20 }, () => 'x'.repeat(70_000))
    assert.equal(await writePieces(slow, pieces), true)
    assert.equal(most, 1)
  })

  it('writing JSON ends without an error when the reader has closed the pipe', async () => {
    const gone = new Writable({
      write(_chunk, _encoding, done) {
        done(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }))
      },
    })
    assert.equal(await writePieces(gone, ['a', 'b']), false)
    const closed = new PassThrough()
    closed.destroy()
    assert.equal(await writePieces(closed, ['a']), false)
  })

  it('writing JSON fails when the disk is full', async () => {
    const full = new Writable({
      write(_chunk, _encoding, done) {
        done(Object.assign(new Error('no space'), { code: 'ENOSPC' }))
      },
    })
    await assert.rejects(writePieces(full, ['a']), { code: 'ENOSPC' })
  })
})
