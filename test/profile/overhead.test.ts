import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import type { Tree } from '../../src/cct/tree.ts'
import { decodeProfile, encodeProfile } from '../../src/profile/file.ts'
import { jsonPieces } from '../../src/profile/json.ts'
import type { Profile } from '../../src/profile/profile.ts'
import { reportText } from '../../src/profile/report.ts'
import { width } from '../../src/profile/text.ts'
import { profileOf } from './trees.ts'

function withFolds(
  tree: Tree,
  extra: readonly number[],
  folded: readonly number[],
  counted: readonly number[],
): Tree {
  const columns = {
    extrapolatedCalls: Float64Array.from(extra),
    countedCalls: Float64Array.from(counted),
    folded: Float64Array.from(folded),
  }
  return { ...tree, metrics: { ...tree.metrics, ...columns } }
}

const plain = profileOf(
  'OrderService.process 4x 1000000ns ( PriceCalculator.priceOf 12x 40000000ns Audit.run 4x 2000000ns )',
)
const profile: Profile = {
  ...plain,
  merged: withFolds(plain.merged, [0, 3_000_000.4, 0], [0, 1, 2], [0, 100, 50_000]),
  overhead: {
    budget: 0.05,
    windows: [
      { atMs: 1000, part: 0.31, counted: 0, folded: 0 },
      { atMs: 2010, part: 0.0291, counted: 1, folded: 1 },
    ],
    aboveBudget: 1,
    changes: 1,
    counted: [{ method: 3, callsPerSecond: 24_000 }],
    folded: [{ method: 2, callsPerSecond: 1_469_143.2 }],
  },
}

describe('a profile with a budget', () => {
  it('says in its report what it cost, and what was folded for that', () => {
    const text = reportText(profile)
    assert.match(
      text.replace(/\n {10}/g, ' '),
      /^budget {4}2\.9 % in the last second, 31 % at most \(budget 5 %, above it in 1 of 2 seconds\); 1 method only counted, 1 folded$/m,
    )
    assert.equal(
      text.slice(text.indexOf('\nCalling')),
      `
Calling context tree, all threads
 total ms   self ms  % root      calls   ms/call  method
   43.000     1.000   100.0          4     10.75  com.acme.OrderService.process
   40.000    40.000    93.0 ~3,000,112     3.333    PriceCalc…r.priceOf (folded)
    2.000     2.000     4.7     50,004    0.5000    com.acme.Audit.run (counted)

Hot methods, by self time, 3 of 3
  self ms  total ms  % self      calls   ms/call  method
   40.000    40.000    93.0 ~3,000,112     3.333  PriceCalcu…or.priceOf (folded)
    2.000     2.000     4.7     50,004    0.5000  com.acme.Audit.run (counted)
    1.000    43.000     2.3          4     10.75  com.acme.OrderService.process

Only counted, 1 of 1: their time is their callers' since
   calls/s       counted  method
    24,000        50,000  com.acme.Audit.run

Folded into their callers, 1 of 1: their time is their callers' since
   calls/s   not counted  method
 1,469,143    ~3,000,000  com.acme.PriceCalculator.priceOf
`,
    )
    for (const line of text.split('\n')) assert.ok(width(line) <= 80, line)
  })

  it('comes back from its file as it was', () => {
    const read = decodeProfile(encodeProfile(profile), 'p.jfluid')
    assert.deepEqual(read.overhead, profile.overhead)
    assert.deepEqual(read.merged, profile.merged)
  })

  it.each([
    { overhead: { ...profile.overhead!, folded: [{ method: 99, callsPerSecond: 1 }] } },
    { overhead: { ...profile.overhead!, counted: [{ method: 0, callsPerSecond: 1 }] } },
    { overhead: { ...profile.overhead!, windows: [{ atMs: 1, part: 0.1, counted: 0, folded: -1 }] } },
    { overhead: { ...profile.overhead!, windows: [{ atMs: 1, part: 0.1, counted: -1, folded: 0 }] } },
    { merged: { ...profile.merged, metrics: { ...plain.merged.metrics, folded: new Float64Array(3) } } },
  ] as const)('is not read if that is damaged: %#', (damage) => {
    assert.throws(
      () => decodeProfile(encodeProfile({ ...profile, ...damage }), 'p.jfluid'),
      /damaged|p\.jfluid/,
    )
  })

  it('has all of it in its JSON', () => {
    const json = JSON.parse([...jsonPieces(profile)].join('')) as {
      overhead: object
      methods: object[]
      merged: { extrapolatedCalls?: number; children: object[] }[]
    }
    assert.deepEqual(json.overhead, {
      ...profile.overhead,
      counted: [{ class: 'com.acme.Audit', method: 'run', descriptor: '(I)V', callsPerSecond: 24_000 }],
      folded: [
        {
          ...{ class: 'com.acme.PriceCalculator', method: 'priceOf', descriptor: '(I)V' },
          callsPerSecond: 1_469_143.2,
        },
      ],
    })
    const fold = { calls: 12, countedCalls: 100, extrapolatedCalls: 3_000_000, counted: false, folded: true }
    assert.deepEqual({ ...json.methods[0], ...fold }, json.methods[0])
    assert.deepEqual({ ...json.merged[0]!.children[0], ...fold }, json.merged[0]!.children[0])
    const counted = { calls: 4, countedCalls: 50_000, extrapolatedCalls: 0, counted: true, folded: false }
    assert.deepEqual({ ...json.merged[0]!.children[1], ...counted }, json.merged[0]!.children[1])
    assert.equal('folded' in json.merged[0]!, false)
  })

  it('is silent about it all without one', () => {
    const text = reportText(plain) + [...jsonPieces(plain)].join('')
    assert.doesNotMatch(text, /fold|budget|extrapolated/)
  })
})
