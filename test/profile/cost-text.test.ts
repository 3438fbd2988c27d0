import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { METRICS } from '../../src/measures/columns.ts'
import { wordsOf } from '../../src/profile/cost-text.ts'
import { reportText } from '../../src/profile/report.ts'
import { width } from '../../src/profile/text.ts'
import { profileOf } from './trees.ts'

describe('names and formats of metrics', () => {
  const kinds = Object.values(METRICS).map(wordsOf)

  it('each column head with its sort mark is no wider than its column', () => {
    for (const { total, self, perCall } of kinds)
      for (const head of [total, self, perCall]) assert.ok(head.length <= 8, head)
  })

  it('a cost per call from 0 to 1e15 leaves an empty cell before the next column', () => {
    for (const { each } of kinds) {
      for (let exponent = -3; exponent <= 15; exponent++) {
        for (const digits of [1, 2.34567, 9.9999]) {
          const text = each(digits * 10 ** exponent, 1)
          assert.ok(text.trimEnd().length <= 8 && text.length <= 9, `${digits}e${exponent}: ${text}`)
        }
      }
    }
  })

  it('a cost per call is empty for zero calls', () => {
    for (const { each } of kinds) assert.equal(each(5, 0).trim(), '-')
  })
})

it('a report of bytecodes shows counts and no time', () => {
  const timed = profileOf('main 2x 1234567ns ( work 3x 40ns )')
  const { calls, selfNs, totalNs } = timed.merged.metrics
  const merged = {
    ...timed.merged,
    metrics: { calls: calls!, selfBytecodes: selfNs!, totalBytecodes: totalNs! },
  }
  const text = reportText({ ...timed, mode: 'bytecodes', blocks: 'precise', merged, threads: [] })
  assert.match(text, /^measured {2}executed bytecodes, not time \(basic blocks: precise\)$/m)
  assert.match(text, /^ total bc {3}self bc {2}% root {6}calls {3}bc\/call {2}method$/m)
  assert.match(text, /^1,234,607 1,234,567 +100\.0 +2 +617,304 {2}com\.acme\.App\.main$/m)
  assert.match(text, /^Hot methods, by self bytecodes, 2 of 2$/m)
  assert.doesNotMatch(text, /t_I|ms\/call/)
  for (const line of text.split('\n')) assert.ok(width(line) <= 80, line)
})
