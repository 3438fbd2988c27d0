// A client with a blocked terminal: the target is restored in time, and the profile is kept.

import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, it } from 'vitest'
import { until } from '../live/remains.ts'
import { newestOrAll } from '../support/jdks.ts'
import { FULL } from '../support/lane.ts'
import { keptIn, onTerminal } from './clients-on-terminals.ts'
import { aftermath, clientTrials, settled } from './lost-clients.ts'
import { TRIAL_MS, times } from './trials.ts'

/** A client that has ended has no terminal, so a single trial leaves time until the terminal is blocked. */
const DURATION = FULL ? '500ms' : '3s'

describe.each(newestOrAll)('record with a blocked terminal, JDK $version', (jdk) => {
  const tries = times(1, 50)
  it('record with a blocked terminal ends on time and prints the result when the terminal continues', {
    timeout: 60_000 + tries * 30_000 + TRIAL_MS,
  }, async () => {
    const first = await settled(jdk)
    await clientTrials(
      'client: its terminal takes nothing, record',
      jdk,
      tries,
      async (witness, chance) => {
        await witness.state()
        const { terminal, out } = onTerminal(witness, 'record', '--duration', DURATION)
        await terminal.until((lines) => lines.some((line) => /attaching/.test(line)))
        await sleep(chance.between(0, 700))
        const processes = terminal.processes()
        for (const pid of processes) witness.client(pid)
        await terminal.stall()
        await until(() => existsSync(out))
        const { harm, ms } = await aftermath(witness, performance.now())
        terminal.goOn()
        const { code } = await terminal.exit
        const wrong: string[] = []
        if (code !== 0) wrong.push(`the client ended with ${code}: ${terminal.scrollback().join('\n')}`)
        if (!terminal.scrollback().some((line) => /^profile written to /.test(line)))
          wrong.push(`its last words are not there: ${terminal.scrollback().join('\n')}`)
        return { harm, wrong, profile: await keptIn(out), left: [], ms }
      },
      first,
    )
  })
})
