// Clients with a closed terminal and live views with a blocked terminal: the target is restored in time, and the profile is kept.

import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, it } from 'vitest'
import { until } from '../live/remains.ts'
import { jdks } from '../support/jdks.ts'
import { keptIn, onTerminal } from './clients-on-terminals.ts'
import { aftermath, clientTrials } from './lost-clients.ts'
import { TRIAL_MS, times } from './trials.ts'

const isShown = (lines: string[]): boolean =>
  lines.some((line) => /^recording|fix\.Witness\.root|\d+\/\d+ s/.test(line))

describe.each(jdks)('a client whose terminal closes, JDK $version', (jdk) => {
  const tries = times(50)
  it(`the target is restored after the terminal of its client was closed (${tries} trials)`, {
    timeout: 60_000 + tries * 30_000 + TRIAL_MS,
  }, async () => {
    await clientTrials('client: its terminal closed', jdk, tries, async (witness, chance, n) => {
      const { terminal, out } = onTerminal(witness, n % 2 === 0 ? 'attach' : 'record')
      const begun = chance.next() < 0.5
      if (begun) await terminal.until(isShown)
      await sleep(chance.between(0, begun ? 500 : 2000))
      const shown = terminal.screen().some((line) => /[1-9]\d* events/.test(line))
      const processes = terminal.processes()
      for (const pid of processes) witness.client(pid)
      await terminal.hangUp()
      await until(() => !processes.some((pid) => existsSync(`/proc/${pid}`)))
      const { harm, ms } = await aftermath(witness, performance.now())
      const profile = existsSync(out) ? await keptIn(out) : shown ? 'lost' : 'none'
      return { harm, profile, left: [], ms }
    })
  })
})

describe.each(jdks)('a live view with a blocked terminal, JDK $version', (jdk) => {
  const tries = times(50)
  it('a live view with a blocked terminal ends when it receives SIGTERM', {
    timeout: 60_000 + tries * 30_000 + TRIAL_MS,
  }, async () => {
    await clientTrials('client: its terminal takes nothing, attach', jdk, tries, async (witness, chance) => {
      await witness.state()
      const { terminal, out } = onTerminal(witness, 'attach')
      await terminal.until(isShown)
      const client = terminal.processes().at(-1)!
      witness.client(client)
      await terminal.stall()
      await sleep(chance.between(0, 1000)) // time in which the view draws
      process.kill(client, 'SIGTERM')
      await until(() => existsSync(out))
      const { harm, ms } = await aftermath(witness, performance.now())
      terminal.goOn()
      const { code } = await terminal.exit
      const wrong = code === 143 ? [] : [`the client ended with ${code}: ${terminal.screen().join('\n')}`]
      return { harm, wrong, profile: await keptIn(out), left: [], ms }
    })
  })
})
