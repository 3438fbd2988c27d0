// The harness itself: a harmed target, a lost profile and something left behind make a red row, and a witness notices.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, vi } from 'vitest'
import { temporaryDirectory } from '../support/java-process.ts'
import { newest } from '../support/jdks.ts'
import { startRecording } from '../support/jfluid.ts'
import { type Outcome, type Row, trials } from './trials.ts'
import { Witness } from './witness.ts'

const UNHARMED: Outcome = { harm: [], profile: 'kept', left: [] }

/** The row of some outcomes, and what `trials` threw. */
async function tried(outcomes: readonly Outcome[]): Promise<{ row: Row; said: string }> {
  const rows = join(temporaryDirectory(), 'rows')
  vi.stubEnv('JFLUID_FAULTS', rows)
  vi.stubEnv('JFLUID_SEED', '7')
  try {
    const said = await trials('a fault', newest, outcomes.length, async (_, n) => outcomes[n]!).then(
      () => '',
      (problem: Error & { actual?: string[] }) => problem.actual?.join('\n') ?? problem.message,
    )
    return { row: JSON.parse(readFileSync(rows, 'utf8')) as Row, said }
  } finally {
    vi.unstubAllEnvs()
  }
}

it('outcomes without harm make a row and no failure', async () => {
  const { row, said } = await tried([UNHARMED, { ...UNHARMED, profile: 'none', ms: { waited: 3 } }])
  expect(said).toBe('')
  expect(row).toMatchObject({ tried: 2, harmed: 0, profilesDue: 1, profilesKept: 1, leftBehind: 0 })
  expect(row.ms).toEqual({ waited: 3 })
})

it.each<[string, Partial<Outcome>, Partial<Row>]>([
  ['a thread stood still', { harm: ['a thread stood still'] }, { harmed: 1 }],
  ['the profile was lost', { profile: 'lost' }, { profilesDue: 2, profilesKept: 1 }],
  ['left behind: a file', { left: ['a file'] }, { leftBehind: 1 }],
])('%s: the row is red, and says in which trial', async (what, outcome, expected) => {
  const { row, said } = await tried([UNHARMED, { ...UNHARMED, ...outcome }])
  expect(row).toMatchObject(expected)
  expect(said).toContain(`trial 2, JFLUID_SEED=7: ${what}`)
})

it('a trial that throws says how to have it again', async () => {
  vi.stubEnv('JFLUID_SEED', '7')
  try {
    const thrown = trials('a fault', newest, 1, () => Promise.reject(new Error('no JVM')))
    await expect(thrown).rejects.toThrow('a fault, trial 1 of 1, JFLUID_SEED=7: Error: no JVM')
  } finally {
    vi.unstubAllEnvs()
  }
})

it('a witness notices what is done to it, and what of ours is there', async () => {
  const witness = await Witness.start(newest)
  await witness.settle()
  expect(await witness.left()).toEqual([])
  expect((await witness.harm()).harm).toEqual([])

  // Stopped, it neither runs nor wants a processor.
  witness.java.child.kill('SIGSTOP')
  await sleep(400)
  witness.java.child.kill('SIGCONT')
  let seen = await witness.harm(300)
  while (seen.harm.length === 0) seen = await witness.harm(300) // once a thread has ended the call in which it was stopped
  expect(seen.harm.join()).toMatch(/^a thread stood still for \d+ ms$/)
  expect(seen.asleep).toBeGreaterThan(300)

  const recording = startRecording(witness.pid, '--root', 'fix.Witness.root')
  await recording.started
  const left = (await witness.left()).join('\n')
  expect(left).toMatch(/^thread jfluid-agent$/m)
  expect(left).toMatch(/^mapping .*ring/m)
  await recording.end()
  expect(await witness.miscounted()).toEqual([])
  await witness.ownCode()
  expect(await witness.left()).toEqual([])
  await witness.end()
})
