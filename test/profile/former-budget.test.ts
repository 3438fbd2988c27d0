// Messages about calls that were not timed, in files of versions with a budget for schemes a and b. old-files.test.ts has a recorded file.

import { describe, expect, it } from 'vitest'
import { remarksOf } from '../../src/profile/comparable.ts'
import { decodeProfile, encodeProfile } from '../../src/profile/file.ts'
import type { Profile } from '../../src/profile/profile.ts'
import { profileOf } from './trees.ts'

const plain = profileOf(
  'OrderService.process 4x 1000000ns ( PriceCalculator.priceOf 12x 40000000ns Audit.run 4x 2000000ns )',
)

/** Returns a profile in the form that versions with a budget wrote. */
function budgeted(columns: Readonly<Record<string, readonly number[]>>): Profile {
  const more = Object.entries(columns).map(([name, values]) => [name, Float64Array.from(values)])
  const merged = {
    ...plain.merged,
    metrics: { ...plain.merged.metrics, ...Object.fromEntries(more) },
  }
  return Object.assign(
    { ...plain, merged, threads: [{ id: 21, name: 'worker-1', tree: merged }] },
    {
      overhead: { budget: 0.05, windows: [], aboveBudget: 0, changes: 1, counted: [], folded: [] },
    },
  )
}

const read = (profile: Profile): Profile => decodeProfile(encodeProfile(profile), 'p.jfluid')

describe('a file in which calls were not timed because of the time budget of an earlier version', () => {
  const profile = read(
    budgeted({
      extrapolatedCalls: [0, 3_000_000.4, 0],
      countedCalls: [0, 100, 50_000],
      folded: [0, 1, 2],
    }),
  )

  it('rows show the number of timed calls, and a warning lists the number of untimed calls per method', () => {
    expect(profile.merged).toEqual(plain.merged)
    expect(profile.threads[0]!.tree).toEqual(plain.merged)
    expect(Object.keys(profile)).not.toContain('overhead')
    expect(profile.warnings).toEqual([
      'not timed because of --max-overhead of an earlier version: calls of 2 methods; their rows do not contain these calls, ' +
        'and the time counts for their callers: com.acme.PriceCalculator.priceOf (100 counted, about 3,000,000 not counted), com.acme.Audit.run (50,000 counted)',
    ])
  })

  it('the warning is kept when the file is written again', () => {
    expect(read(profile)).toEqual(profile)
  })

  it('a comparison with a file that has untimed calls contains a remark about the untimed calls', () => {
    expect(remarksOf(plain, profile)).toEqual([`after: ${profile.warnings[0]}`])
    expect(remarksOf(profile, plain)).toEqual([`before: ${profile.warnings[0]}`])
  })

  it('an older file without the number of counted calls has the warning about untimed calls', () => {
    const { warnings } = read(budgeted({ extrapolatedCalls: [0, 7, 0], folded: [0, 1, 0] }))
    expect(warnings[0]).toMatch(/calls of 1 method; .* \(about 7 not counted\)$/)
  })

  it('damaged budget data are refused', () => {
    expect(() => read(budgeted({ countedCalls: [0, Number.NaN, 0] }))).toThrow('p.jfluid')
    expect(() => read(budgeted({ extrapolatedCalls: [0, Infinity, 0] }))).toThrow('p.jfluid')
  })
})

it('a file in which all calls are timed has no warning about a budget', () => {
  const none = [0, 0, 0]
  expect(read(budgeted({ extrapolatedCalls: none, countedCalls: none, folded: none })).warnings).toEqual([])
})
