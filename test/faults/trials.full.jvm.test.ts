// The test harness: a witness process detects harm to itself.

import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { newest } from '../support/jdks.ts'
import { startRecording } from '../support/jfluid.ts'
import { Witness } from './witness.ts'

it('a witness process detects harm to the process, and remains that a session leaves', {
  timeout: 60_000,
}, async () => {
  const witness = await Witness.start(newest)
  await witness.settle()
  expect(await witness.left()).toEqual([])
  expect((await witness.harm()).harm).toEqual([])

  // A stopped witness neither runs nor is runnable.
  witness.java.child.kill('SIGSTOP')
  await sleep(400)
  witness.java.child.kill('SIGCONT')
  let seen = await witness.harm(300)
  while (seen.harm.length === 0) seen = await witness.harm(300) // ends when a thread has finished the call in which it was stopped
  expect(seen.harm.join()).toMatch(/^a thread stood still for \d+ ms$/)
  expect(seen.asleep).toBeGreaterThan(300)

  // One of two threads never returns.
  await witness.ask('block 600000', 'blocked')
  do seen = await witness.harm(300)
  while (seen.harm.length === 0)
  expect(seen.harm.join()).toMatch(/^a thread stood still for \d+ ms$/)
  expect(await witness.rate(50)).toBeGreaterThan(0)

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
