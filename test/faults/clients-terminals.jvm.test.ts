// Clients whose terminal closes, or takes nothing any more: the target has its own code back when it is due, and what was recorded is
// kept, whoever reads of it.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, it } from 'vitest'
import { readProfile } from '../../src/profile/file.ts'
import { until } from '../live/remains.ts'
import { temporaryDirectory } from '../support/java-process.ts'
import { jdks, newestOrAll } from '../support/jdks.ts'
import { Terminal } from '../support/terminal.ts'
import { aftermath, clientTrials, ROOTS, settled } from './lost-clients.ts'
import { type Outcome, TRIAL_MS, times } from './trials.ts'
import type { Witness } from './witness.ts'

const isShown = (lines: string[]): boolean =>
  lines.some((line) => /^recording|fix\.Witness\.root|\d+\/\d+ s/.test(line))

function onTerminal(
  witness: Witness,
  command: string,
  ...args: string[]
): { terminal: Terminal; out: string } {
  const out = join(temporaryDirectory('jfluid-clients-'), 'p.jfluid')
  const terminal = Terminal.jfluid([command, `${witness.pid}`, '--out', out, ...ROOTS, ...args])
  return { terminal, out }
}

/** A file that is there, and damaged, is an error. */
async function keptIn(file: string): Promise<Outcome['profile']> {
  return (await readProfile(file)).events.count > 0 ? 'kept' : 'lost'
}

describe.each(jdks)('closed, JDK $version', (jdk) => {
  const tries = times(0, 50)
  it.runIf(tries > 0)(`${tries} times`, { timeout: 60_000 + tries * 30_000 + TRIAL_MS }, async () => {
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

describe.each(newestOrAll)('takes nothing, JDK $version', (jdk) => {
  const tries = times(1, 50)
  it('record ends when it is due, and says so when it can', {
    timeout: 60_000 + tries * 30_000 + TRIAL_MS,
  }, async () => {
    const first = await settled(jdk)
    await clientTrials(
      'client: its terminal takes nothing, record',
      jdk,
      tries,
      async (witness, chance) => {
        await witness.state()
        const { terminal, out } = onTerminal(witness, 'record', '--duration', '500ms')
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

describe.each(jdks)('takes nothing, JDK $version', (jdk) => {
  const tries = times(0, 50)
  it.runIf(tries > 0)(
    'a live view that is told to end does so',
    { timeout: 60_000 + tries * 30_000 + TRIAL_MS },
    async () => {
      await clientTrials(
        'client: its terminal takes nothing, attach',
        jdk,
        tries,
        async (witness, chance) => {
          await witness.state()
          const { terminal, out } = onTerminal(witness, 'attach')
          await terminal.until(isShown)
          const client = terminal.processes().at(-1)!
          witness.client(client)
          await terminal.stall()
          await sleep(chance.between(0, 1000)) // so long it draws
          process.kill(client, 'SIGTERM')
          await until(() => existsSync(out))
          const { harm, ms } = await aftermath(witness, performance.now())
          terminal.goOn()
          const { code } = await terminal.exit
          const wrong = code === 143 ? [] : [`the client ended with ${code}: ${terminal.screen().join('\n')}`]
          return { harm, wrong, profile: await keptIn(out), left: [], ms }
        },
      )
    },
  )
})
