// Clients that are killed, stopped or crash at random moments: the target continues unharmed.

import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { attachDoor } from '../../src/session/doors/door.ts'
import { Agent } from '../../src/wire/agent.ts'
import { until } from '../live/remains.ts'
import { STATUS } from '../support/exit-codes.ts'
import { jdks } from '../support/jdks.ts'
import { stderrLine } from '../support/jfluid.ts'
import { allStopped, STOPPED_ASLEEP_MS, withFault } from './clients-with-faults.ts'
import {
  type Aftermath,
  ASLEEP_MS,
  aftermath,
  anyMoment,
  type Client,
  clientTrials,
  harmOf,
  hasBegun,
  joined,
  keptBy,
  Phases,
  phaseOf,
  settled,
  startClient,
  verdict,
} from './lost-clients.ts'
import { type Outcome, TRIAL_MS, times } from './trials.ts'
import type { Witness } from './witness.ts'

/** Last messages of a client that is asked to end, or whose target has ended the session. */
const LAST_WORDS: Readonly<Record<number, RegExp>> = {
  0: /^profile written to /m,
  [STATUS.notNow]: /^jfluid: .*the client was stopped or killed$/m,
  [STATUS.clientInterrupted]: /^interrupted before the recording began/m,
}

describe.each(jdks)('clients that fail at random moments, JDK $version', (jdk) => {
  const kills = times(200)
  it(`the target is restored after its client was killed (${kills} trials)`, {
    timeout: 60_000 + kills * 30_000 + TRIAL_MS,
  }, async () => {
    const phases = new Phases()
    await clientTrials('client: SIGKILL', jdk, kills, async (witness, chance, n) => {
      await witness.state()
      const client = startClient(witness, { duration: '10m' })
      const loads = chance.next() < 0.5 ? witness.loads(8) : null
      // Some clients are killed only after they have data to save.
      if (n % 6 === 5) {
        await until(() => hasSaved(client) || client.process.child.exitCode !== null)
        await sleep(chance.between(0, 300))
      } else await anyMoment(client, chance)
      const saved = hasSaved(client)
      // Threads may wait longer for a living client than for a dead client, so both waits are recorded.
      const living = await harmOf(witness)
      await client.process.kill()
      phases.note(phaseOf(client))
      const { harm, ms } = await aftermath(witness, performance.now())
      await loads
      ms['asleep before'] = living.asleep
      return { harm: [...living.harm, ...harm], profile: await profileOf(client, saved), left: null, ms }
    })
    phases.tell('killed')
  })

  const stops = times(50)
  it(`the target is restored after its client was stopped and continued (${stops} trials)`, {
    timeout: 60_000 + stops * 40_000 + TRIAL_MS,
  }, async () => {
    const phases = new Phases()
    await clientTrials(
      'client: SIGSTOP, while classes are loaded',
      jdk,
      stops,
      async (witness, chance, n) => {
        const client = startClient(witness, {
          duration: '10m',
          args: ['--scheme', n % 2 === 0 ? 'a' : 'b'],
        })
        const isTold = await anyMoment(client, chance)
        await witness.state()
        const isStopped = await stopWhole(client)
        const stopped = performance.now()
        phases.note(phaseOf(client))
        // At the end of a session the target may be restored already, while the agent waits for the client to verify it.
        const begun = isStopped && hasBegun(client) && phaseOf(client) === 'recording'
        const loading = witness.loads(8)
        // If nothing was recorded yet, the target may have had nothing to wait for.
        const found: Aftermath = begun ? await aftermath(witness, stopped) : await lookedAt(witness)
        const loaded = await loading
        found.ms['class loaded'] = loaded.asleep
        if (loaded.asleep > (begun ? STOPPED_ASLEEP_MS : ASLEEP_MS))
          found.harm.push(`a class was loaded after ${loaded.asleep} ms`)
        if (isStopped) client.process.child.kill('SIGCONT')
        return await ended(client, witness, found, isTold)
      },
    )
    phases.tell('stopped')
  })

  it('the agent ends after a timeout if the client does not verify the restored code of the target', {
    timeout: 120_000,
  }, async () => {
    const witness = await settled(jdk)
    const door = await attachDoor(witness.pid)
    const agent = new Agent(door.link)
    await agent.hello()
    await agent.restore()
    const restored = performance.now()
    await agent.closed
    expect(performance.now() - restored).toBeGreaterThan(9000)
    await witness.withoutAgent()
    door.leave()
    expect(await witness.left()).toEqual([])
  })

  const minutes = times(2)
  it(`the target is restored after its client was stopped for a minute`, {
    timeout: 60_000 + minutes * 200_000 + TRIAL_MS,
  }, async () => {
    await clientTrials('client: SIGSTOP for a minute', jdk, minutes, async (witness, chance, n) => {
      const client = startClient(witness, { duration: '10m' })
      // The second client is stopped during its attach, whose steps have timeouts of their own.
      await stderrLine(
        client.process,
        n === 0 ? /^recording/ : chance.of([/^attaching/, /^calibrating/, /^instrumenting/]),
      )
      await sleep(chance.between(0, 50))
      await witness.state()
      await stopWhole(client)
      const stopped = performance.now()
      const begun = hasBegun(client)
      const found = begun ? await aftermath(witness, stopped) : await lookedAt(witness)
      // The next client does not have to wait until the stopped one continues.
      if (begun) found.harm.push(...(await witness.miscounted()))
      await sleep(60_000 - (performance.now() - stopped))
      client.process.child.kill('SIGCONT')
      const outcome = await ended(client, witness, found)
      if (!begun) return outcome
      const isTruncated = (await keptBy(client))?.truncated !== false
      return isTruncated
        ? outcome
        : joined(outcome, { wrong: ['its profile does not say that it is not whole'] })
    })
  })

  const crashes = times(10)
  it.each([
    ['main thread: throws', ''],
    ['main thread: aborts', ''],
    ['main thread: runs out of memory', '--max-old-space-size=100'],
    ['recording thread: throws', ''],
    ['recording thread: runs out of memory', '--max-old-space-size=100'],
  ])(
    `the target is restored after a client crash: %s (${crashes} trials)`,
    { timeout: 60_000 + crashes * 30_000 + TRIAL_MS },
    async (fault, options) => {
      const phases = new Phases()
      await clientTrials(`client: ${fault}`, jdk, crashes, async (witness, chance) => {
        await witness.state()
        // The recording thread starts late, and reports nothing.
        const said = chance.of(['attaching', 'calibrating', 'reading classes', 'instrumenting', 'recording'])
        const when = {
          FAULT_MS: chance.between(0, 600).toFixed(0),
          ...(fault.startsWith('main') && { FAULT_SAID: said }),
        }
        const client = startClient(witness, { duration: '10m', env: withFault(fault, when, options) })
        await client.process.exit
        phases.note(phaseOf(client))
        const { harm, ms } = await aftermath(witness, performance.now())
        return { harm, profile: await profileOf(client, hasSaved(client)), left: null, ms }
      })
      phases.tell(fault)
    },
  )
})

/**
 * Stops a client, and waits until all its threads are stopped. A runnable thread without a processor stops when it gets one.
 *
 * @returns false if the client has ended
 */
async function stopWhole({ process }: Client): Promise<boolean> {
  if (!process.child.kill('SIGSTOP')) return false
  await until(() => process.child.exitCode !== null || allStopped(process.pid))
  return process.child.exitCode === null
}

/** Continues a client after some time and asks it to end. Returns its messages and its saved data. */
async function ended(client: Client, witness: Witness, found: Aftermath, isTold = false): Promise<Outcome> {
  await Promise.race([stderrLine(client.process, /^recording/).catch(() => {}), client.process.exit])
  if (!isTold) client.process.child.kill('SIGINT')
  const wrong = await verdict(client, LAST_WORDS)
  const after = await aftermath(witness, performance.now())
  const profile = await keptBy(client)
  if (hasBegun(client) && profile === null) wrong.push(`it kept nothing: ${client.process.stderr()}`)
  return {
    harm: [...found.harm, ...after.harm],
    wrong,
    profile: profile === null ? (hasBegun(client) ? 'lost' : 'none') : 'kept',
    left: null,
    ms: found.ms,
  }
}

/** Returns the harm that a target reports while it may still have probes. */
async function lookedAt(witness: Witness): Promise<Aftermath> {
  const { harm, longest, asleep } = await harmOf(witness)
  return { harm, ms: { 'stood still': longest, asleep } }
}

function hasSaved(client: Client): boolean {
  return existsSync(client.file) || existsSync(client.autosaved)
}

/** Returns `lost` if data were saved before the kill and are now missing. */
async function profileOf(client: Client, saved: boolean): Promise<Outcome['profile']> {
  return (await keptBy(client)) !== null ? 'kept' : saved ? 'lost' : 'none'
}
