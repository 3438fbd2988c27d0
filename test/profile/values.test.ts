// Values of root calls in profiles: they come from the program, so they must not change the meaning of an output, and --redact removes
// them.

import { describe, expect, it } from 'vitest'
import { printable } from '../../src/cct/value-texts.ts'
import { formats } from '../../src/export/formats.ts'
import { changesOf } from '../../src/profile/changes.ts'
import { decodeProfile, encodeProfile } from '../../src/profile/file.ts'
import type { Profile } from '../../src/profile/profile.ts'
import { reportText } from '../../src/profile/report.ts'
import {
  NO_VALUE,
  pushedValues,
  redacted,
  type ValueFacts,
  ValueNumbers,
  valueRow,
} from '../../src/profile/values.ts'
import { exportedBytes } from '../export/exported.ts'
import { slowCallsOf } from './root-calls.ts'
import { profileOf } from './trees.ts'

const EVIL = 'a;b\nc\x1b[2J</script><b>&"\\,\u2028|`d'
const FACTS: ValueFacts = { show: ['arg0.tenant.id'], by: 'arg1.uri', dropped: 0 }

/** Returns a profile of a root with a row for each value, each with one call of `work`. */
function valued(...values: readonly string[]): Profile {
  const rows = values.map((_, i) => `v${i} 2x 10ns ( work 3x 40ns )`)
  const plain = profileOf(`main ${2 * values.length}x 0ns ( ${rows.join(' ')} )`)
  const methodNames = plain.methodNames.map((name) =>
    /^v\d/.test(name.method)
      ? {
          class: '',
          method: valueRow(printable(values[Number(name.method.slice(1))]!)),
          descriptor: '',
          loader: '',
        }
      : name,
  )
  return { ...plain, methodNames, values: FACTS }
}

const rows = ({ methodNames }: Profile) =>
  methodNames.map(({ method }) => method).filter((it) => it.startsWith('by='))

describe('values of root calls in a profile', () => {
  it('a file with values has a version that an earlier jfluid refuses, and contains the values', () => {
    const profile = valued('/orders', '/search')
    const bytes = encodeProfile(profile)
    expect(bytes.readUInt32LE(8)).toBe(4)
    const read = decodeProfile(bytes, 'o.jfluid')
    expect(read.values).toEqual(FACTS)
    expect(rows(read)).toEqual(['by=/orders', 'by=/search'])
    expect(encodeProfile(profileOf('main 1x 1ns')).readUInt32LE(8)).toBe(1)
  })

  it('a file with the slow calls that threw has a version that an earlier jfluid refuses', () => {
    const plain = profileOf('main 1x 1ns')
    const slow = slowCallsOf(plain.merged)
    const version = (slowCalls: NonNullable<Profile['slowCalls']>) =>
      encodeProfile({ ...plain, slowCalls }).readUInt32LE(8)
    expect(version({ ...slow, threshold: 'threw' })).toBe(4)
    expect(version({ ...slow, threshold: 'p99' })).toBe(1)
  })

  it('the report names the values and the rows', () => {
    const other = NO_VALUE.other
    const text = reportText(valued('/orders', other, NO_VALUE.none), { width: 150 })
    expect(text).toContain(
      'values    by arg1.uri: 1 value, 2 calls with other values; of slow calls: arg0.tenant.id',
    )
    expect(text).toMatch(/main\n.* {2}by=\/orders\n/)
  })

  it('the report lists each value with its calls, the value with the highest cost first', () => {
    const plain = profileOf('main 9x 0ns ( v0 2x 10ns v1 3x 90ns v2 4x 30ns ) serve 5x 0ns ( v1 5x 70ns )')
    const methodNames = plain.methodNames.map((name) =>
      /^v\d/.test(name.method) ? { ...name, class: '', method: valueRow(name.method), descriptor: '' } : name,
    )
    const text = reportText({ ...plain, methodNames, roots: ['main', 'serve'], values: FACTS }, { top: 3 })
    const [, list] = /\nValues of arg1\.uri, by total time, 3 of 4\n.*\n((?: .*\n)+)/.exec(text)!
    expect(list.split('\n').map((it) => it.trim().split(/ +/).slice(-4).join(' '))).toEqual([
      '30 ns by=v1 com.acme.App.main',
      '14 ns by=v1 com.acme.App.serve',
      '8 ns by=v2 com.acme.App.main',
      '',
    ])
  })

  it('the report names the cost of getters', () => {
    const getters = { calls: 2000, ns: 800_000, longestNs: 4.1e6, late: 1, threw: 3 }
    const text = reportText(
      { ...valued('/orders'), values: { show: [], getters, dropped: 7 } },
      { width: 300 },
    )
    expect(text).toContain(
      'not kept of 7 slow calls; 2,000 getter calls, 400 ns each, longest 4.1 ms, 1 call over 1 ms stalled the application, 3 threw',
    )
  })

  it.each(formats.filter((it) => !it.needsTrace).map(({ name }) => name))(
    'a value cannot change the structure of the format %s',
    async (format) => {
      const [evil, plain] = [valued(EVIL, '/b'), valued('x', '/b')]
      const [text, same] = [await exportedBytes(evil, format), await exportedBytes(plain, format)]
      if (text.subarray(0, 2).equals(Buffer.of(0x1f, 0x8b))) return // pprof: texts have a length
      const told = text.toString().replaceAll('\r\n', '\n') // line ends of CSV
      expect(told).not.toMatch(/[\x00-\x09\x0b-\x1f\u2028]/)
      expect(told.split('\n').length).toBe(same.toString().split('\n').length)
      if (format === 'html')
        expect(told.split(/<\/script/i).length).toBe(same.toString().split(/<\/script/i).length)
      if (format === 'collapsed')
        for (const line of told.trim().split('\n')) expect(line.split(';').length).toBeLessThanOrEqual(3)
    },
  )

  it('without values, rows have numbers, and rows of no value keep their names', () => {
    const profile = redacted(valued('/orders', NO_VALUE.other, '(secret)', NO_VALUE.needsCall))
    expect(rows(profile)).toEqual(['by=#1', 'by=(other)', 'by=#2', 'by=(needs --call-getters)'])
    const text = reportText(profile, { width: 150 })
    expect(text).toContain('values removed')
    expect(text).not.toMatch(/orders|secret/)
    expect(pushedValues(profile)).toBeNull()
    expect(pushedValues(valued('/a'))).toBe(
      'the profile contains values of the program: by arg1.uri, arg0.tenant.id',
    )
    const slow = slowCallsOf(profile.merged)
    const call = { ...slow.slowest[0]!, values: ['secret of a call'], traceId: 'secret trace' }
    const slowCalls = { ...slow, slowest: [call], latest: call, threw: { count: 1, latest: [call] } }
    const bare = redacted({ ...valued('/orders'), slowCalls }).slowCalls
    expect(JSON.stringify(slowCalls)).toContain('secret')
    expect(JSON.stringify(bare)).not.toMatch(/secret|"values"|"traceId"/)
    const unnamed = redacted({ ...profileOf('main 1x 1ns'), slowCalls })
    expect(JSON.stringify(unnamed.slowCalls)).not.toContain('secret')
    const plain = profileOf('main 1x 1ns')
    expect(redacted(plain)).toBe(plain)
    expect(pushedValues(plain)).toBeNull()
  })

  it('two redacted profiles with the same values stay comparable', () => {
    const numbers = new ValueNumbers()
    const [before, after] = [redacted(valued('/a', '/b'), numbers), redacted(valued('/b', '/c'), numbers)]
    expect([rows(before), rows(after)]).toEqual([
      ['by=#1', 'by=#2'],
      ['by=#2', 'by=#3'],
    ])
    expect(() => changesOf(before, after, {})).not.toThrow()
  })

  it('65,536 values keep their numbers, and no number is given to a second value', () => {
    const numbers = new ValueNumbers()
    for (let n = 1; n <= 65_536; n++) numbers.of(`${n}`)
    expect(numbers.of('1')).toBe(1)
    expect(numbers.of('one more')).toBe(65_537)
    expect(numbers.of('1')).toBe(1)
    expect(numbers.of('2')).toBe(65_538)
  })
})
