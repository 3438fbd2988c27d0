// Clients that access a target at the same time: an attach during a detach, and `jfluid detach` during an attach. A refused client gets a
// message.

import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { CannotTell, dismiss, NotGone } from '../../src/session/doors/dismiss.ts'
import { STATUS } from '../support/exit-codes.ts'
import { jdks } from '../support/jdks.ts'
import { startJfluid, stderrLine } from '../support/jfluid.ts'
import {
  type Client,
  clientTrials,
  harmOf,
  hasBegun,
  keptBy,
  phaseOf,
  startClient,
  verdict,
} from './lost-clients.ts'
import { type Outcome, TRIAL_MS, times } from './trials.ts'
import type { Witness } from './witness.ts'

const REFUSED = { [STATUS.notNow]: /^jfluid: another jfluid is attached to JVM \d+$/m }
const KEPT = { 0: /^profile written to /m }
/** Before the agent has an event buffer, it cannot report in the buffer who ended the session. */
const DISMISSED = {
  [STATUS.notNow]:
    /^jfluid: (JVM \d+ ended the session before the recording began: |.*(it was ended by jfluid detach|another jfluid is attached))/m,
}
/** After this number of trials, each of the two clients must have been the first at least once. */
const ENOUGH = 20

/** Returns the results of the witness and of the profiles of these clients. `clientTrials` checks what is left. */
async function outcome(witness: Witness, wrong: string[], clients: readonly Client[]): Promise<Outcome> {
  await witness.withoutThreads()
  await witness.ownCode()
  const { harm, longest, asleep } = await harmOf(witness)
  const profiles = await Promise.all(
    clients.filter(hasBegun).map(async (it) => ((await keptBy(it)) === null ? 'lost' : 'kept')),
  )
  const profile = profiles.includes('lost') ? 'lost' : profiles.length > 0 ? 'kept' : 'none'
  return { harm, wrong, profile, left: null, ms: { 'stood still': longest, asleep } }
}

describe.each(jdks)('clients that attach and detach at the same time, JDK $version', (jdk) => {
  const tries = times(40)
  const timeout = 60_000 + tries * 30_000 + TRIAL_MS

  it('a client that attaches while another client detaches is accepted, or refused with a message', {
    timeout,
  }, async () => {
    let refused = 0
    await clientTrials('a client attaches while another detaches', jdk, tries, async (witness, chance) => {
      await witness.state()
      const first = startClient(witness, { duration: '10m' })
      await stderrLine(first.process, /^recording/)
      const second = startClient(witness, { duration: '200ms' })
      // The client first starts and then attaches.
      await Promise.race([stderrLine(second.process, /^attaching/), second.process.exit])
      await sleep(chance.between(0, 150))
      first.process.child.kill('SIGINT')
      const wrong = [...(await verdict(first, KEPT)), ...(await verdict(second, { ...KEPT, ...REFUSED }))]
      const { code } = await second.process.exit
      if (code !== 0) refused++
      return await outcome(witness, wrong, [first, second])
    })
    console.info(`JDK ${jdk.version}: ${refused} of ${tries} were refused`)
    if (tries < ENOUGH) return
    expect(refused).toBeGreaterThan(0)
    expect(refused).toBeLessThan(tries)
  })

  /** Number of trials with each result. */
  class Seen {
    readonly #times = new Map<string, number>()

    note(what: string): void {
      const key = what.split('\n')[0]!.replaceAll(/\d+/g, 'n')
      this.#times.set(key, (this.#times.get(key) ?? 0) + 1)
    }

    times(what: RegExp): number {
      return [...this.#times].reduce((sum, [key, times]) => sum + (what.test(key) ? times : 0), 0)
    }

    tell(): void {
      console.info([...this.#times].map(([what, n]) => `JDK ${jdk.version}: ${n} × ${what}`).join('\n'))
    }
  }

  it('jfluid detach during an attach leaves the target unchanged', { timeout }, async () => {
    const seen = new Seen()
    await clientTrials(
      '`jfluid detach --force` while a client attaches',
      jdk,
      tries,
      async (witness, chance) => {
        await witness.state()
        const client = startClient(witness, { duration: '300ms' })
        await stderrLine(client.process, /^attaching/)
        await sleep(chance.between(0, 400))
        const p = startJfluid('detach', String(witness.pid), '--force')
        const { code } = await p.exit
        const wrong = await verdict(client, { ...KEPT, ...DISMISSED })
        if (code !== 0 && code !== STATUS.notNow)
          wrong.push(`jfluid detach ended with ${code}, saying:\n${p.stdout()}${p.stderr()}`)
        seen.note(`${code}: ${p.stdout()}${p.stderr()}`)
        return await outcome(witness, wrong, [client])
      },
    )
    seen.tell()
    if (tries >= ENOUGH) expect(seen.times(/: detached from/)).toBeGreaterThan(0)
  })

  // A separate process takes longer to start than a client takes to attach.
  it('a session that is ended during the attach leaves the target unchanged', { timeout }, async () => {
    const seen = new Seen()
    await clientTrials(
      'a session is ended in the moment of attaching',
      jdk,
      tries,
      async (witness, chance) => {
        await witness.state()
        const client = startClient(witness, { duration: '300ms' })
        await stderrLine(client.process, /^attaching/)
        await sleep(chance.between(0, 200))
        const phase = phaseOf(client)
        const how = await dismiss(witness.pid, true).then(
          ({ ended }) => (ended === null ? 'nothing was there' : 'ended'),
          (problem: unknown) => {
            if (problem instanceof NotGone || problem instanceof CannotTell) return problem.message
            throw problem
          },
        )
        seen.note(`${how}, ${phase}`)
        const wrong = await verdict(client, { ...KEPT, ...DISMISSED })
        return await outcome(witness, wrong, [client])
      },
    )
    seen.tell()
    if (tries >= ENOUGH) {
      expect(seen.times(/attaching$/)).toBeGreaterThan(0)
      expect(seen.times(/^ended/)).toBeGreaterThan(0)
    }
  })
})
