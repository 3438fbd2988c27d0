// Clients that meet at a target: one comes while another leaves, and `jfluid detach` while one comes. Whoever is not let in is told so.

import { setTimeout as sleep } from 'node:timers/promises'
import { describe, it } from 'vitest'
import { STATUS } from '../support/exit-codes.ts'
import { jdks } from '../support/jdks.ts'
import { startJfluid, stderrLine } from '../support/jfluid.ts'
import { type Client, clientTrials, hasBegun, keptBy, startClient, verdict } from './lost-clients.ts'
import { type Outcome, times } from './trials.ts'
import type { Witness } from './witness.ts'

const REFUSED = { [STATUS.notNow]: /^jfluid: another jfluid is attached to JVM \d+$/m }
const KEPT = { 0: /^profile written to /m }

/** What became of the witness, and of these clients' profiles. */
async function outcome(witness: Witness, harm: string[], clients: readonly Client[]): Promise<Outcome> {
  await witness.withoutThreads()
  await witness.ownCode()
  const { harm: more, longest, asleep } = await witness.harm()
  const profiles = await Promise.all(
    clients.filter(hasBegun).map(async (it) => ((await keptBy(it)) === null ? 'lost' : 'kept')),
  )
  const profile = profiles.includes('lost') ? 'lost' : profiles.length > 0 ? 'kept' : 'none'
  return { harm: [...harm, ...more], profile, left: [], ms: { 'stood still': longest, asleep } }
}

describe.each(jdks)('JDK $version', (jdk) => {
  const tries = times(0, 40)
  const timeout = 60_000 + tries * 30_000

  it.runIf(tries > 0)('a client that comes while another leaves', { timeout }, async () => {
    let refused = 0
    await clientTrials('a client attaches while another detaches', jdk, tries, async (witness, chance) => {
      await witness.state()
      const first = startClient(witness, { duration: '10m' })
      await stderrLine(first.process, /^recording/)
      const second = startClient(witness, { duration: '200ms' })
      // What it does first is to be started; then it is about to attach.
      await Promise.race([stderrLine(second.process, /^attaching/), second.process.exit])
      await sleep(chance.between(0, 60))
      first.process.child.kill('SIGINT')
      const harm = [...(await verdict(first, KEPT)), ...(await verdict(second, { ...KEPT, ...REFUSED }))]
      const { code } = await second.process.exit
      if (code !== 0) refused++
      return await outcome(witness, harm, [first, second])
    })
    console.info(`JDK ${jdk.version}: ${refused} of ${tries} were refused`)
  })

  it.runIf(tries > 0)('jfluid detach while a client comes', { timeout }, async () => {
    const seen = new Map<string, number>()
    await clientTrials(
      '`jfluid detach --force` while a client attaches',
      jdk,
      tries,
      async (witness, chance) => {
        await witness.state()
        const client = startClient(witness, { duration: '300ms' })
        const dismissal = stderrLine(client.process, /^attaching/).then(async () => {
          await sleep(chance.between(0, 400))
          const p = startJfluid('detach', String(witness.pid), '--force')
          const { code } = await p.exit
          return { code, said: p.stdout() + p.stderr() }
        })
        const { code, said } = await dismissal
        const harm = await verdict(client, {
          ...KEPT,
          [STATUS.notNow]: /^jfluid: .*(somebody has ended it by jfluid detach|another jfluid is attached)/m,
        })
        if (code !== 0 && code !== STATUS.notNow)
          harm.push(`jfluid detach ended with ${code}, saying:\n${said}`)
        const key = `${code}: ${said.split('\n')[0]!.replaceAll(/\d+/g, 'n')}`
        seen.set(key, (seen.get(key) ?? 0) + 1)
        return await outcome(witness, harm, [client])
      },
    )
    console.info([...seen].map(([what, n]) => `${n} × ${what}`).join('\n'))
  })
})
