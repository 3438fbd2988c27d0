import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { changesBetween, changesPerCall, sidesOf, sinceOf } from '../../src/cct/baseline.ts'
import { differenceOf } from '../../src/cct/difference.ts'
import { METRICS } from '../../src/measures/columns.ts'
import { CorruptProfile } from '../../src/profile/errors.ts'
import { decodeProfile, encodeProfile } from '../../src/profile/file.ts'
import { jsonPieces } from '../../src/profile/json.ts'
import { reportJsonPieces } from '../../src/profile/report/json.ts'
import { reportText } from '../../src/profile/report.ts'
import { reproducible } from '../../src/profile/reproducible.ts'
import { averageText } from '../../src/profile/slow-calls.ts'
import { slowCallsOf, TIMED } from './root-calls.ts'
import { Methods, profileOfTree, treeOf } from './trees.ts'

const methods = new Methods()
const all = treeOf('main 100x 100000000ns ( work 100x 45000000ns )', methods)
const slow = treeOf('main 1x 1000000ns ( work 1x 44000000ns ( lock 3x 9000000ns ) )', methods)
const profile = profileOfTree(all, methods.names, { ...TIMED, slowCalls: slowCallsOf(slow) })

describe('slow calls of a profile', () => {
  it('the report has a section on slow calls: figures, slowest calls, differences, tree', () => {
    const text = reportText(profile)
    const section = text.slice(text.indexOf('Slow calls'), text.indexOf('\nHot methods'))
    // work takes 44 ms of a slow call, and 45 of a hundred calls; lock occurs only in slow calls
    assert.equal(
      section,
      `Slow calls: 1 call above p99 (now 12.0 ms)
  duration  ended at  root, thread (slowest calls first)
   45.0 ms     1.5 s  com.acme.App.main  worker-1
   2.00 ms     1.5 s  com.acme.App.main  worker-1
      slow all calls  self time per root call, largest differences first
   44.0 ms    450 µs  com.acme.App.work
   9.00 ms      0 ns  com.acme.App.lock

Calling context tree of 1 slow call (mean 54.0 ms, of all calls 1.45 ms)
    total      self  % root      calls  per call  method
 54.00 ms  1.000 ms   100.0          1  54.00 ms  com.acme.App.main
 53.00 ms  44.00 ms    98.1          1  53.00 ms    com.acme.App.work
 9.000 ms  9.000 ms    16.7          3  3.000 ms      com.acme.App.lock
`,
    )
  })

  it('slow calls without samples are not compared with rows of all calls that are sampled', () => {
    const none = new Float64Array(all.count)
    const sampled = { ...all, metrics: { ...all.metrics, known: none, samples: none, sdNs: none } }
    const text = reportText({ ...profile, merged: sampled })
    assert.match(text, /^Slow calls: 1 call above p99/m)
    assert.doesNotMatch(text, /largest differences first/)
  })

  it('the report shows the facts about a slow call, and the calls that an exception ended', () => {
    const by = { class: '', loader: '', method: 'by=/orders', descriptor: '' }
    const names = [...methods.names, by]
    const times = slowCallsOf(slow)
    const [first, second] = times.slowest
    const facts = {
      ...{ first: names.length - 1, values: ['7', null], caller: 'web.Filter.next', traceId: '4bf9' },
      ...{ samples: 2, threw: 'java.sql.SQLTimeoutException' },
    }
    const slowCalls = {
      ...{ ...times, knownAtMs: 1400, shows: ['arg0.tenant', 'arg1'] },
      slowest: [{ ...first!, ...facts }],
      threw: { count: 12, latest: [{ ...second!, threw: 'java.lang.Error', samples: 3 }] },
    }
    const threw = [...'abcd'].map((it, i) => ({ class: it, calls: 9 - i }))
    const all4 = { ...profile, methodNames: names, slowCalls, rootCalls: { ...TIMED.rootCalls, threw } }
    const read = decodeProfile(encodeProfile(all4), 'p')
    assert.deepEqual(read, all4)
    const text = reportText(read)
    assert.match(text, /^threw {5}30 of 4,252 root calls: a 9, b 8, c 7, other 1 class 6$/m)
    assert.doesNotMatch(reportText({ ...read, rootCalls: TIMED.rootCalls }), /no root call has returned/)
    assert.ok(
      text.includes(`Slow calls: 1 call above p99 (now 12.0 ms, known from 1.4 s)
  duration  ended at  root, thread (slowest calls first)
   45.0 ms     1.5 s  com.acme.App.main  by=/orders  arg0.tenant=7
                      arg1=(not written)  worker-1
                      threw java.sql.SQLTimeoutException
                      called by web.Filter.next; trace 4bf9
                      2 samples: too few to divide its time
  duration  ended at  root, thread (latest of 12 calls that an exception ended)
   2.00 ms     1.5 s  com.acme.App.main  worker-1  threw java.lang.Error
                      3 samples
`),
      text,
    )
    const json = JSON.parse([...jsonPieces(read)].join('')) as {
      slowCalls: { threwCount: number; slowest: object[]; threw: { threw: string }[] }
    }
    assert.equal(json.slowCalls.threwCount, 12)
    const { first: _, ...told } = facts
    assert.deepEqual({ ...json.slowCalls.slowest[0], ...told, by: '/orders' }, json.slowCalls.slowest[0])
    assert.deepEqual(
      json.slowCalls.threw.map((it) => it.threw),
      ['java.lang.Error'],
    )
  })

  it('a common tree that has only the slow calls since a change of the timed methods is marked', () => {
    const part = {
      ...profile,
      slowCalls: { ...slowCallsOf(slow), count: 3, treeFromMs: 14_200, treeCount: 1 },
    }
    assert.deepEqual(decodeProfile(encodeProfile(part), 'p'), part)
    const text = reportText(part)
    assert.match(text, /^Slow calls: 3 calls above p99/m)
    assert.match(text, /^Common tree: 1 since 14\.2 s, when the timed methods changed\.$/m)
    const json = JSON.parse([...jsonPieces(part)].join('')) as { slowCalls: object }
    assert.deepEqual({ ...json.slowCalls, treeFromMs: 14_200, treeCount: 1 }, json.slowCalls)
    const [whole, ofPart] = [profile, part].map((it) => averageText(it.slowCalls!, it.merged))
    assert.match(whole!, /^1 slow call \(mean/)
    assert.equal(ofPart, whole!.replace('1 slow call', '1 slow call since 14.2 s'))
  })

  it('slow calls and their trees are read from a file', () => {
    assert.deepEqual(decodeProfile(encodeProfile(profile), 'p'), profile)
    const few = { ...slowCallsOf(slow), thresholdNow: null, latest: null, slowest: [] }
    const early = { ...profile, slowCalls: few }
    assert.deepEqual(decodeProfile(encodeProfile(early), 'p'), early)
    assert.match(
      reportText(early),
      /0 calls above p99 \(known after 100 calls\)|1 call above p99 \(known after 100 calls\)/,
    )
    assert.match(reportText({ ...early, slowCalls: { ...few, threshold: 5e7 } }), /of 50.0 ms or more/)
  })

  it.each([
    { slowest: [{ number: 1 }] },
    { slowest: 7 },
    { threshold: 'p98' },
    { latest: { ...slowCallsOf(slow).latest, method: 99 } },
    { tree: { ...slow, size: Int32Array.of(9, 1, 1) } },
  ])('damaged slow calls are refused (case %#)', (wrong) => {
    const damaged = { ...profile, slowCalls: { ...slowCallsOf(slow), ...wrong } } as typeof profile
    let file: Buffer
    try {
      file = encodeProfile(damaged)
    } catch {
      return // no version of jfluid can have written this file
    }
    assert.throws(() => decodeProfile(file, 'p'), CorruptProfile)
  })

  it('JSON contains the nodes of slow calls, and a reproducible profile contains no slow calls', () => {
    for (const pieces of [jsonPieces(profile), reportJsonPieces(profile)]) {
      const { slowCalls } = JSON.parse([...pieces].join('')) as {
        slowCalls: { count: number; roots: { totalNs: number }[]; slowest: { roots: unknown[] }[] }
      }
      assert.equal(slowCalls.count, 1)
      assert.equal(slowCalls.roots[0]!.totalNs, 54e6)
      assert.deepEqual(
        slowCalls.slowest.map((it) => it.roots.length),
        [1, 0],
      )
    }
    assert.equal(reproducible(profile).slowCalls, undefined)
  })
})

describe('changes per root call', () => {
  it('a change since an earlier snapshot is the cost per root call since that snapshot minus the cost per root call before it', () => {
    const before = treeOf('main 2x 10ns ( work 4x 8ns )', methods)
    const after = treeOf('main 3x 14ns ( work 4x 8ns  other 1x 3ns )', methods)
    const difference = differenceOf(before, after)
    const { change } = changesPerCall(sinceOf(difference))
    // main: 4/1 - 10/2; work: 0 - 8/2; other: 3/1; totals are sums of these
    assert.deepEqual([...change.self], [-1, -4, 3])
    assert.deepEqual([...change.total], [-2, -4, 3])
    assert.deepEqual([...change.calls], [0, -2, 1])
    const { tree, rootCalls } = changesBetween(before, after, METRICS.exact)
    assert.deepEqual(rootCalls, { before: 2, after: 1 })
    assert.deepEqual([tree.metrics.selfNs, tree.metrics.totalNs], [change.self, change.total])
  })

  it('the change of selected calls is their cost per call minus the cost per call of all calls, and is empty if there are no calls', () => {
    const { change } = changesPerCall(sidesOf(differenceOf(all, slow)))
    assert.deepEqual([...change.self], [0, 43.55e6, 9e6])
    const none = treeOf('', methods)
    assert.deepEqual([...changesBetween(none, slow, METRICS.exact).tree.metrics.selfNs!], [1e6, 44e6, 9e6])
    assert.equal(changesBetween(none, none, METRICS.exact).tree.count, 0)
  })
})
