// A target that is stopped (SIGSTOP) at any moment of a session. After it continues, it is unharmed. If it stays stopped, the client
// reports the reason and ends.

import { setTimeout as sleep } from 'node:timers/promises'
import { it } from 'vitest'
import { STATUS } from '../support/exit-codes.ts'
import { stop } from '../support/java-process.ts'
import { forNewestJdk } from '../support/jdks.ts'
import { hadBegun, momentOf, PHASES, type RecordingClient, recordInto, verdictOf } from './clients.ts'
import { type Chance, type Outcome, TRIAL_MS, times, trials } from './trials.ts'
import { HELD_MS, Witness } from './witness.ts'

const STOPPED_MS = 1500
/** Timeouts of two consecutive steps that wait for the target, plus the delay of a busy machine. */
const GIVEN_UP_MS = 25_000

const DONE = { 0: /^detached from/m }
const GIVEN_UP = {
  [STATUS.notNow]: /^jfluid: cannot attach to JVM \d+: it is stopped \(SIGSTOP\)$/m,
}
/** Last messages of a client that was recording or had recorded. */
const LEFT = {
  0: /^detached from \d+ in/m,
  [STATUS.notRestored]: /^jfluid: JVM \d+ did not answer the detach, so it may still have code of jfluid$/m,
}

const recordWitness = (witness: Witness, duration: string): RecordingClient => {
  const client = recordInto(witness.pid, '--root', 'fix.Witness.root', '--duration', duration)
  witness.client(client.process.pid)
  return client
}

/** Returns an error if the target has printed its threads: it prints them when it gets a signal and finds no request. */
const dumped = (witness: Witness): string[] =>
  /Full thread dump/.test(witness.java.stdout()) ? ['it printed its threads'] : []

async function asBefore(
  witness: Witness,
  heldMs: number,
): Promise<{ harm: string[]; wrong: string[]; left: string[] }> {
  await witness.withoutThreads()
  await witness.ownCode()
  const { harm } = await witness.harm(heldMs)
  return {
    harm: [...harm, ...dumped(witness)],
    wrong: await witness.miscounted(50),
    left: await witness.left(),
  }
}

forNewestJdk((jdk) => {
  const PHASE = (n: number): RegExp => PHASES[n % PHASES.length]!

  async function goesOn(witness: Witness, phase: RegExp, chance: Chance): Promise<Outcome> {
    const client = recordWitness(witness, '1s')
    await momentOf(client, phase, chance)
    await stop(witness.java)
    await sleep(STOPPED_MS) // duration of the stop
    witness.java.child.kill('SIGCONT')
    const { wrong, profile } = await verdictOf(client, DONE)
    const after = await asBefore(witness, STOPPED_MS + HELD_MS)
    return { ...after, wrong: [...wrong, ...after.wrong], profile: profile === null ? 'lost' : 'kept' }
  }

  // stopped-target.test.ts tests the messages and timeouts.
  it('a target that is stopped for a while continues unharmed', {
    timeout: 1_800_000 + TRIAL_MS,
  }, async () => {
    const witness = await Witness.start(jdk)
    await witness.settle()
    await trials('SIGSTOP of the target, 1.5 s', jdk, times(24), (chance, n) =>
      goesOn(witness, PHASE(n), chance),
    )
    await witness.end()
  })

  async function staysStopped(witness: Witness, phase: RegExp, chance: Chance): Promise<Outcome> {
    const client = recordWitness(witness, '2s')
    await momentOf(client, phase, chance)
    await stop(witness.java)
    const stopped = performance.now()
    const { exit, wrong, profile } = await verdictOf(client, { ...GIVEN_UP, ...LEFT })
    const ms = performance.now() - stopped
    const late = ms > GIVEN_UP_MS ? [`the client ended after ${ms.toFixed(0)} ms`] : []
    witness.java.child.kill('SIGCONT')
    const after = await asBefore(witness, ms + HELD_MS)
    const kept = profile !== null ? 'kept' : hadBegun(client) || exit.code === 0 ? 'lost' : 'none'
    return {
      ...after,
      wrong: [...wrong, ...late, ...after.wrong],
      profile: kept,
      ms: { 'client gave up': ms },
    }
  }

  it('a client ends and reports the reason if its target stays stopped', {
    timeout: 1_800_000 + TRIAL_MS,
  }, async () => {
    const witness = await Witness.start(jdk)
    await witness.settle()
    await trials('SIGSTOP of the target until the client has given up', jdk, times(12), (chance, n) =>
      staysStopped(witness, PHASE(n), chance),
    )
    await witness.end()
  })
})
