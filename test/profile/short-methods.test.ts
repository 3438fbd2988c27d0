import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { changesOf } from '../../src/profile/changes.ts'
import { judge, parseCondition } from '../../src/profile/condition.ts'
import { decodeProfile, encodeProfile } from '../../src/profile/file.ts'
import { NoSuchMethod, ShortMethodHasNoRow } from '../../src/profile/find-method.ts'
import { reportText } from '../../src/profile/report.ts'
import { namesOf, type ShortMethod, shortNames, shortTogether } from '../../src/profile/short-methods.ts'
import { together } from '../../src/profile/together.ts'
import { temporaryDirectory } from '../support/java-process.ts'
import { jfluid } from '../support/jfluid.ts'
import { profileOf } from './trees.ts'

const short = (method: string, callsPerSecond: number): ShortMethod => ({
  ...{ class: 'demo.Rays', method, callsPerSecond, meanNs: 20 },
})
const MANY = [3_200_000, 910_000, 5_000, 300, 200, 100, 90].map((calls, i) => short(`m${i}`, calls))
const profile = profileOf('main 10x 1000000ns ( work 20x 3000000ns )')
const shortLine = (shortMethods: ShortMethod[]) =>
  /^short .*$/m.exec(reportText({ ...profile, shortMethods }, { width: 1_000 }))?.[0]

describe('methods with short calls', () => {
  it('the report names those with the most calls', () => {
    expect(shortLine(MANY.slice(0, 1))).toBe(
      'short     1 method with calls below 2 µs: not timed, and shown as rows "(short methods)": demo.Rays.m0 (3.20M calls/s, 20 ns)',
    )
    expect(shortLine(MANY)).toMatch(
      /^short {5}7 methods .*: demo\.Rays\.m0 .*m4 \(200 calls\/s, 20 ns\), and 2 more$/,
    )
    expect(reportText(profile)).not.toMatch(/^short /m)
    expect(shortNames(MANY.slice(0, 2))).toBe('demo.Rays.m0, demo.Rays.m1')
    expect(shortNames(MANY)).toMatch(/^demo\.Rays\.m0, .*m4, and 2 more$/)
  })

  it('are in the file, and in the sum of several JVMs with the values of the JVM with the most calls', () => {
    const file = encodeProfile({ ...profile, shortMethods: MANY })
    expect(decodeProfile(file, 'p.jfluid').shortMethods).toEqual(MANY)
    const one = { ...profile, shortMethods: [short('a', 5), short('b', 1)] }
    const other = { ...profile, shortMethods: [short('a', 7)] }
    expect(together([one, other]).shortMethods).toEqual([short('a', 7), short('b', 1)])
    expect(together([profile, profile]).shortMethods).toBeUndefined()
    expect(shortTogether([[], []])).toEqual([])
  })

  it('are found by class and name', () => {
    expect(namesOf(MANY)('demo.Rays', 'm3')).toBe(true)
    expect(namesOf(MANY)('demo.Other', 'm3')).toBe(false)
    expect(namesOf()('demo.Rays', 'm3')).toBe(false)
  })

  it('a comparison does not judge a method that is short in one of the profiles', () => {
    const later = profileOf('main 10x 1000000ns ( work 20x 9000000ns )')
    const isSignificant = (shortMethods?: ShortMethod[]) =>
      changesOf(profile, { ...later, ...(shortMethods && { shortMethods }) }).methods.find(
        ({ name }) => name.method === 'work',
      )!.isSignificant
    const { class: owner } = profile.methodNames.find(({ method }) => method === 'work')!
    expect(isSignificant()).toBe(true)
    expect(isSignificant([{ ...short('work', 1), class: owner }])).toBe(false)
    expect(isSignificant([{ ...short('other', 1), class: owner }])).toBe(true)
  })

  it('a condition about a method that is short in one of the profiles is refused, also if neither has a row of it', () => {
    const later = profileOf('main 10x 1000000ns ( work 20x 9000000ns )')
    const { class: owner } = profile.methodNames.find(({ method }) => method === 'work')!
    const judged = (text: string, before: ShortMethod[], after: ShortMethod[]) => {
      const changes = changesOf({ ...profile, shortMethods: before }, { ...later, shortMethods: after })
      return judge(parseCondition(text, changes.metric), changes, profile.methodNames)
    }
    const work = [{ ...short('work', 1), class: owner }]
    const gone = [{ ...short('gone', 1), class: owner }]
    const text = `${owner}.work self > +10%`
    expect(judged(text, gone, gone)).toHaveLength(1)
    expect(() => judged(text, work, [])).toThrow(ShortMethodHasNoRow)
    expect(() => judged(text, [], work)).toThrow(ShortMethodHasNoRow)
    expect(() => judged(`${owner}.gone total > 1ms`, gone, gone)).toThrow(ShortMethodHasNoRow)
    expect(() => judged(`${owner}.gone(int) total > 1ms`, gone, gone)).toThrow(ShortMethodHasNoRow)
    expect(() => judged(`${owner}.gone total > 1ms`, [], [])).toThrow(NoSuchMethod)
    expect(judged('root total > 1ms', work, work)).toHaveLength(1)
    const elsewhere = [{ ...short('work', 1), class: `demo.${owner}` }]
    expect(() => judged(text, elsewhere, [])).toThrow(
      expect.objectContaining({
        hint: expect.stringMatching(`^Name the class with its package, if you mean ${owner}[.]work`),
      }),
    )
  })

  it('of hidden classes are recognised in a comparison, in which the names of these classes have no numbers', () => {
    const hidden = (number: string, ns: number) => {
      const it = profileOf(`main 10x 1000000ns ( work 20x ${ns}ns )`)
      const methodNames = it.methodNames.map((name) =>
        name.method === 'work' ? { ...name, class: `demo.Rays$$Lambda/${number}` } : name,
      )
      return {
        ...it,
        methodNames,
        shortMethods: [{ ...short('work', 1), class: `demo.Rays$$Lambda/${number}` }],
      }
    }
    const { methods } = changesOf(
      hidden('0x00007f2e8c001200', 3_000_000),
      hidden('0x00007f2e8c00f400', 9_000_000),
    )
    expect(methods.find(({ name }) => name.method === 'work')).toMatchObject({ isSignificant: false })
  })

  it('the callers of a short method are refused with the reason', async () => {
    const file = join(temporaryDirectory(), 'p.jfluid')
    writeFileSync(
      file,
      encodeProfile({ ...profile, shortMethods: [{ ...short('gone', 1), class: 'demo.Rays' }] }),
    )
    const { code, stderr } = await jfluid('report', file, '--back-traces', 'Rays.gone')
    expect(stderr).toContain("'demo.Rays.gone' has no row of its own: its calls take less than 2 µs")
    expect(stderr).toContain('Read the time of its callers, whose rows (short methods) contain it.')
    expect(stderr).toContain('--time demo.Rays.gone')
    expect(code).toBe(64)
  })
})
