// Profiles of waits: names of their rows, the list of hot locks, the file, JSON, and collapsed stacks.

import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import type { MethodName } from '../../src/cct/tree.ts'
import { FIRST_BLOCKED_CLASS, FIRST_METHOD_BESIDE_WAITS, WAIT_SLEEPING } from '../../src/events/wait-ids.ts'
import { collapsed } from '../../src/export/collapsed.ts'
import { withWaits } from '../../src/measures/locks/sink.ts'
import { CorruptProfile } from '../../src/profile/errors.ts'
import { decodeProfile, encodeProfile } from '../../src/profile/file.ts'
import { hotLocks, namesOf } from '../../src/profile/hot-locks.ts'
import { jsonPieces } from '../../src/profile/json.ts'
import type { Profile } from '../../src/profile/profile.ts'
import { reportText } from '../../src/profile/report.ts'
import { fullName, shortName } from '../../src/profile/text.ts'
import { waitName } from '../../src/session/code/wait-points.ts'
import { build, profileOfTree } from './trees.ts'

const MAIN = FIRST_METHOD_BESIDE_WAITS
const PUT = MAIN + 1
const GET = MAIN + 2
const CACHE = FIRST_BLOCKED_CLASS
const method = (name: string): MethodName => {
  return { class: 'com.acme.Cache', method: name, descriptor: '()V', loader: 'app' }
}

/** Returns a profile with the tree main ( put ( blocked 3x 300 ) get ( blocked 1x 500, asleep 2x 50 ) ). */
function profile(mode: 'exact' | 'locks'): Profile {
  const ids = [MAIN, PUT, CACHE, GET, CACHE, WAIT_SLEEPING]
  const tree = build([-1, 0, 1, 0, 3, 3], ids, [1, 9, 3, 8, 1, 2], [100, 10, 300, 20, 500, 50])
  const names: MethodName[] = [{ class: '', method: '', descriptor: '', loader: '' }]
  for (let id = 1; id < MAIN; id++) names.push(waitName(id, undefined))
  names[CACHE] = waitName(CACHE, { kind: 0, itself: false, className: 'com.acme.Cache$Segment' })
  names.push(method('main'), method('put'), method('get'))
  const locks = withWaits(tree, MAIN)
  const { selfWaitNs: _, totalWaitNs: __, ...metrics } = locks.metrics
  return profileOfTree(mode === 'locks' ? locks : { ...locks, metrics }, names, { mode })
}

describe('rows for waits in a tree', () => {
  it('a row for waits is named after the object that the threads waited for', () => {
    const { methodNames } = profile('locks')
    const names = [CACHE, WAIT_SLEEPING, 2, 3, 128].map((id) => fullName(methodNames[id]!))
    assert.deepEqual(names, [
      '(blocked on com.acme.Cache$Segment)',
      '(sleeping)',
      '(parked)',
      '(waiting)',
      '(blocked)',
    ])
    const itself = waitName(200, { kind: 0, itself: true, className: 'com.acme.Cache' })
    assert.equal(fullName(itself), '(blocked on class com.acme.Cache)')
    assert.equal(fullName(waitName(9, { kind: 2, itself: false, className: 'a.Lock' })), '(parked on a.Lock)')
  })

  it('a long name of a wait is shortened at the package first and at the class last', () => {
    const name = profile('locks').methodNames[CACHE]!
    assert.deepEqual(
      [40, 27, 22].map((cells) => shortName(name, cells)),
      ['(blocked on com.acme.Cache$Segment)', '(blocked on Cache$Segment)', '(blocked on …Segment)'],
    )
  })
})

describe('hot locks', () => {
  it('the list of hot locks contains the objects that threads waited for, longest wait first, with the waiting methods', () => {
    const { merged, methodNames } = profile('exact')
    const sleeping = {
      method: WAIT_SLEEPING,
      times: 2,
      ns: 50,
      by: [{ method: GET, times: 2, ns: 50 }],
    }
    assert.deepEqual(hotLocks(merged, namesOf(methodNames)), [
      {
        ...{ method: CACHE, times: 4, ns: 800 },
        by: [
          { method: GET, times: 1, ns: 500 },
          { method: PUT, times: 3, ns: 300 },
        ],
      },
      sleeping,
    ])
    assert.deepEqual(hotLocks(merged, namesOf(methodNames), WAIT_SLEEPING), [sleeping])
  })

  it.each(['exact', 'locks'] as const)('the report in mode %s ends with the hot locks', (mode) => {
    const text = reportText(profile(mode))
    assert.match(
      text,
      /^waiting {3}800 ns blocked on monitors \(81\.6 %\), 50 ns waiting \(5\.1 %\), of 980 ns/m,
    )
    assert.match(
      text,
      / 94\.1 +4 .*\(blocked on c?.*Cache\$Segment\)\n.* 62\.5 .* {4}com\.acme\.Cache\.get\n/,
    )
    assert.equal(text.includes('Hot methods'), mode === 'exact')
  })
})

describe('a profile that contains waits', () => {
  it.each(['exact', 'locks'] as const)(
    'a profile that contains waits is unchanged after writing and reading, mode %s',
    (mode) => {
      const before = profile(mode)
      assert.deepEqual(decodeProfile(encodeProfile(before), 'p.jfluid'), before)
    },
  )

  it('a profile that contains waits but no columns for waiting times is refused', () => {
    const whole = profile('locks')
    const { waitedNs: _, ...metrics } = whole.merged.metrics
    const broken = { ...whole, merged: { ...whole.merged, metrics } }
    assert.throws(() => decodeProfile(encodeProfile(broken), 'p.jfluid'), CorruptProfile)
  })

  it.each(['exact', 'locks'] as const)(
    'the JSON of a profile in mode %s contains times and waits',
    (mode) => {
      const json = JSON.parse([...jsonPieces(profile(mode))].join(''))
      assert.equal(json.waits, true)
      const [main] = json.merged
      const { children: _, ...costs } = main
      assert.deepEqual(costs, {
        ...{ class: 'com.acme.Cache', method: 'main', descriptor: '()V', calls: 1 },
        ...{ selfNs: 100, totalNs: 980, measuredNs: 101, totalBlockedNs: 800, totalWaitedNs: 50 },
      })
      assert.deepEqual(
        json.methods.find((it: { method: string }) => it.method === 'get'),
        {
          ...{ class: 'com.acme.Cache', loader: 'app', method: 'get', descriptor: '()V', calls: 8 },
          ...{
            selfNs: 20,
            totalNs: 570,
            blockedNs: 500,
            waitedNs: 50,
            totalBlockedNs: 500,
            totalWaitedNs: 50,
          },
        },
      )
      const lock = json.methods.find((it: { method: string }) => it.method === '(blocked on)')
      assert.deepEqual(lock, {
        ...{ class: 'com.acme.Cache$Segment', loader: '', method: '(blocked on)', descriptor: '' },
        ...{ calls: 4, selfNs: 800, totalNs: 800 },
      })
    },
  )

  it('collapsed stacks exported in mode locks contain waits', () => {
    assert.deepEqual(
      [...collapsed.pieces(profile('locks'), { threads: false })],
      [
        'com.acme.Cache.main;com.acme.Cache.put;(blocked on com.acme.Cache$Segment) 300\n',
        'com.acme.Cache.main;com.acme.Cache.get;(blocked on com.acme.Cache$Segment) 500\n',
        'com.acme.Cache.main;com.acme.Cache.get;(sleeping) 50\n',
      ],
    )
  })
})
