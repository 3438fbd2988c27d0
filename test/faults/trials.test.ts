// The test harness: a harmed target, a lost profile or remains of a session mark the row as failed.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { temporaryDirectory } from '../support/java-process.ts'
import type { Jdk } from '../support/jdks.ts'
import { type Chance, Harmed, type Outcome, type Row, trials } from './trials.ts'

/** Name used in rows; nothing with this name is started. */
const jdk: Jdk = {
  home: '/jdk',
  java: 'java',
  javac: 'javac',
  version: 17,
  full: '17.0.15',
  tools: '',
  isRuntime: false,
  vendor: '',
  root: null,
}
const UNHARMED: Outcome = { harm: [], profile: 'kept', left: [] }

/** Returns the row for some outcomes, and the error that `trials` throws. */
async function tried(outcomes: readonly (Outcome | Error)[]): Promise<{ row: Row; said: string }> {
  const rows = join(temporaryDirectory(), 'rows')
  vi.stubEnv('JFLUID_FAULTS', rows)
  vi.stubEnv('JFLUID_SEED', '7')
  try {
    const trial = async (_: Chance, n: number): Promise<Outcome> => {
      const outcome = outcomes[n]!
      if (outcome instanceof Error) throw outcome
      return outcome
    }
    const said = await trials('a fault', jdk, outcomes.length, trial).then(
      () => '',
      (problem: Error & { actual?: string[] }) => problem.actual?.join('\n') ?? problem.message,
    )
    return { row: JSON.parse(readFileSync(rows, 'utf8')) as Row, said }
  } finally {
    vi.unstubAllEnvs()
  }
}

it('trials without harm add a result row and do not fail', async () => {
  const { row, said } = await tried([UNHARMED, { ...UNHARMED, profile: 'none', ms: { waited: 3 } }])
  expect(said).toBe('')
  expect(row).toEqual({
    ...{ section: 'trials', fault: 'a fault', jdk: jdk.full },
    ...{ tried: 2, failed: 0, harmed: 0, wrong: 0, profilesDue: 1, profilesKept: 1, leftBehind: 0 },
    ...{ ms: { waited: 3 }, figures: {} },
  })
})

it('the number of remains that a session leaves is recorded as null and not as zero if no check for remains was made', async () => {
  const unseen: Outcome = { ...UNHARMED, left: null }
  expect((await tried([unseen, unseen])).row.leftBehind).toBeNull()
  expect((await tried([unseen, UNHARMED])).row.leftBehind).toBe(0)
})

it('measured values are recorded as minimum, median and maximum', async () => {
  const { row } = await tried(
    [99.5, 101, 98.4].map((value) => ({ ...UNHARMED, figures: { throughput: [value, '%'] } })),
  )
  expect(row.figures).toEqual({ throughput: { low: 98.4, median: 99.5, high: 101, unit: '%' } })
})

it.each<[string, Partial<Outcome>, Partial<Row>]>([
  ['a thread stood still', { harm: ['a thread stood still'] }, { harmed: 1 }],
  ['it ended with 76', { wrong: ['it ended with 76'] }, { harmed: 0, wrong: 1 }],
  ['the profile was lost', { profile: 'lost' }, { harmed: 0, wrong: 1, profilesDue: 2, profilesKept: 1 }],
  ['left behind: a file', { left: ['a file'] }, { leftBehind: 1 }],
])('the result row is marked as failed and names the trial: %s', async (what, outcome, expected) => {
  const { row, said } = await tried([UNHARMED, { ...UNHARMED, ...outcome }])
  expect(row).toMatchObject(expected)
  expect(said).toContain(`trial 2, JFLUID_SEED=7: ${what}`)
})

it('no trial follows after the target has ended, and the target counts as harmed', async () => {
  const { row, said } = await tried([UNHARMED, new Harmed('no JVM'), UNHARMED])
  expect(row).toMatchObject({ tried: 2, failed: 0, harmed: 1, profilesDue: 1, profilesKept: 1 })
  expect(said).toBe('trial 2, JFLUID_SEED=7: no JVM')
})

it('a trial with an unexpected exception counts as failed, but its target does not count as harmed', async () => {
  const { row, said } = await tried([UNHARMED, new Error('no such fixture'), UNHARMED])
  expect(row).toMatchObject({ tried: 2, failed: 1, harmed: 0, wrong: 0, profilesDue: 1 })
  expect(said).toBe('trial 2, JFLUID_SEED=7: the trial failed: Error: no such fixture')
})
