import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import type { Tree } from '../../src/cct/tree.ts'
import { decodeProfile, encodeProfile } from '../../src/profile/file.ts'
import { jsonPieces } from '../../src/profile/json.ts'
import type { Profile } from '../../src/profile/profile.ts'
import { reportText } from '../../src/profile/report.ts'
import { width } from '../../src/profile/text.ts'
import { profileOf } from './trees.ts'

/** Self errors in preorder, -1 where nothing was measured. */
function withErrors(tree: Tree, self: readonly number[]): Tree {
  const errorNs = Float64Array.from(self)
  for (let node = tree.count - 1; node >= 0; node--) {
    if (tree.parent[node]! >= 0 && self[node]! >= 0) errorNs[tree.parent[node]!]! += errorNs[node]!
  }
  return { ...tree, metrics: { ...tree.metrics, selfErrorNs: Float64Array.from(self), errorNs } }
}

const plain = profileOf(
  'OrderService.process 4x 1000000ns ( PriceCalculator.priceOf 12x 40000000ns ) Audit.run 1x 2000ns',
)
const profile: Profile = {
  ...plain,
  calibration: { ...plain.calibration, innerSpreadNs: 0.44, outerSpreadNs: 1.5 },
  merged: withErrors(plain.merged, [400_000, 2_300_000, -1]),
  errorBars: {
    rounds: 2,
    leftOutCalls: 84,
    roots: [
      {
        method: 1,
        rounds: 2,
        bareCalls: 80,
        bareNs: 9_600_000,
        instrumentedNs: 10_250_000,
        errorNs: 675_000,
      },
    ],
  },
}

describe('a profile with error bars', () => {
  it('says in its report how sure each time is', () => {
    const text = reportText(profile)
    assert.match(
      text,
      /^removed {3}t_I 11\.5 ± 0\.4 ns a call, t_O 13\.3 ± 1\.5 ns a call made \(clock: ticks\)$/m,
    )
    assert.match(
      text.replace(/\n {10}/g, ' '),
      /^sure {6}com\.acme\.OrderService\.process 10\.25 ms a call with probes, 9\.600 without: ±0\.6750; 84 calls left out meanwhile$/m,
    )
    assert.equal(
      text.slice(text.indexOf('\nCalling')),
      `
Calling context tree, all threads
 total ms       ±   self ms  % root      calls   ms/call  method
   41.000    ±2.7     1.000   100.0          4     10.25  OrderService.process
   40.000    ±2.3    40.000    97.6         12     3.333    PriceCalc…or.priceOf
    0.002       -     0.002   100.0          1  0.002000  com.acme.Audit.run

Hot methods, by self time, 3 of 3
  self ms       ±  total ms  % self      calls   ms/call  method
   40.000    ±2.3    40.000    97.6         12     3.333  PriceCalcu…tor.priceOf
    1.000   ±0.40    41.000     2.4          4     10.25  OrderService.process
    0.002       -     0.002     0.0          1  0.002000  com.acme.Audit.run
`,
    )
    for (const cells of [66, 80, 120]) {
      for (const line of reportText(profile, { width: cells }).split('\n'))
        assert.ok(width(line) <= cells, line)
    }
  })

  it('has them in its JSON where they were measured', () => {
    const json = JSON.parse([...jsonPieces(profile)].join(''))
    const [order, audit] = json.merged
    assert.deepEqual([order.selfErrorNs, order.errorNs], [400_000, 2_700_000])
    assert.deepEqual([order.children[0].selfErrorNs, order.children[0].errorNs], [2_300_000, 2_300_000])
    assert.equal('errorNs' in audit, false)
    const of = (name: string) => json.methods.find((it: { method: string }) => it.method === name)
    assert.deepEqual([of('process').selfErrorNs, of('process').errorNs], [400_000, 2_700_000])
    assert.equal('errorNs' in of('run'), false)
    assert.deepEqual(json.errorBars, {
      rounds: 2,
      leftOutCalls: 84,
      roots: [
        {
          ...{ class: 'com.acme.OrderService', method: 'process', descriptor: '(I)V', rounds: 2 },
          ...{ bareCalls: 80, bareNs: 9_600_000, instrumentedNs: 10_250_000, errorNs: 675_000 },
        },
      ],
    })
    assert.equal('errorBars' in JSON.parse([...jsonPieces(plain)].join('')), false)
  })

  it('comes back from its file, which older versions can read', () => {
    const bytes = encodeProfile(profile)
    assert.equal(bytes.readUInt32LE(8), 1)
    assert.deepEqual(decodeProfile(bytes, 'p.jfluid'), profile)
    const nameless = { ...profile.errorBars!, roots: [{ ...profile.errorBars!.roots[0]!, method: 9 }] }
    assert.throws(
      () => decodeProfile(encodeProfile({ ...profile, errorBars: nameless }), 'p.jfluid'),
      /has no name/,
    )
  })

  it('says so where nothing was measured', () => {
    const none = { ...profile, errorBars: { rounds: 0, leftOutCalls: 0, roots: [] } }
    assert.match(reportText(none), /^sure {6}not known how sure the times are$/m)
  })
})
