// A target whose client was killed is as fast again as it was. Beside it runs one that was never attached to.

import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { forEachJdk, type Jdk, newestOrAll } from '../support/jdks.ts'
import { stderrLine } from '../support/jfluid.ts'
import { startClient } from './lost-clients.ts'
import { Throughput } from './throughput.ts'
import { Chance, type Outcome, times, trials } from './trials.ts'
import { Witness } from './witness.ts'

/** Of what it did before. */
const GOAL = 0.97
/** By then what was thrown away is compiled again. */
const BACK_MS = 60_000
/** The processors have time for the compilers, and for the other one. Without a debugger's port, which has the JVM compile with care as we do. */
const start = (jdk: Jdk, eternal = false) =>
  Witness.start(jdk, { threads: 1, rest: 2, eternal, debuggable: false })

/** Records for a while, and is killed. */
async function killed(witness: Witness, chance: Chance): Promise<void> {
  const client = startClient(witness, { duration: '10m', args: ['--scheme', chance.of(['a', 'b'])] })
  await stderrLine(client.process, /^recording/)
  await sleep(chance.between(200, 2000)) // so long it records
  await client.process.kill()
  await witness.withoutAgent()
}

const percent = (part: number): string => `${(100 * part).toFixed(1)} %`

forEachJdk((jdk) => {
  const tries = times(0, 10)
  describe.runIf(tries > 0)('its throughput', () => {
    it.each<[string, (witness: Witness, chance: Chance) => Promise<void>]>([
      ['after a client that was killed', killed],
      // What the way of measuring finds where nothing is done.
      ['without any client', async () => {}],
    ])('is 97 % of what it was: %s', { timeout: 60_000 + tries * 180_000 }, async (what, fault) => {
      const control = await start(jdk)
      const found: number[] = []
      await trials(`throughput ${what}`, jdk, tries, async (chance): Promise<Outcome> => {
        const target = await start(jdk)
        const throughput = await Throughput.before(target, control)
        await fault(target, chance)
        const back = await throughput.until(GOAL, BACK_MS)
        const { median, low, high } = await throughput.now()
        found.push(median)
        console.info(
          `JDK ${jdk.version}: ${what}: ${percent(median)} (half of the windows: ${percent(low)} to ${percent(high)}), ` +
            `back after ${back.toFixed(0)} ms`,
        )
        const { harm } = await target.harm()
        if (median < GOAL) harm.push(`its throughput is ${percent(median)} of what it was`)
        await target.end()
        return { harm, profile: 'none', left: [], ms: { 'throughput back': back } }
      })
      found.sort((a, b) => a - b)
      console.info(
        `JDK ${jdk.version}: ${what}: ${percent(found[0]!)} to ${percent(found.at(-1)!)}, ` +
          `median ${percent(found[Math.floor(found.length / 2)]!)}`,
      )
      await control.end()
    })
  })
})

describe.each(newestOrAll)('JDK $version', (jdk) => {
  const tries = times(0, 1)
  // HotSpot compiles no method that runs in its old version: a loop that was running goes on in the interpreter until it ends.
  it.runIf(tries > 0)(
    'a loop that ran when its class was changed, and never ends, costs what the interpreter costs',
    { timeout: 300_000 },
    async () => {
      const [target, control] = [await start(jdk, true), await start(jdk, true)]
      const throughput = await Throughput.before(target, control)
      await killed(target, new Chance(1))
      await throughput.until(GOAL, 10_000)
      const { median } = await throughput.now()
      console.info(`JDK ${jdk.version}: a loop that never ends: ${percent(median)}`)
      expect(median).toBeGreaterThan(0.5)
      await target.end()
      await control.end()
    },
  )

  it.runIf(tries > 0)('what probes cost is seen by it', { timeout: 120_000 }, async () => {
    const [target, control] = [await start(jdk), await start(jdk)]
    const throughput = await Throughput.before(target, control)
    const client = startClient(target, { duration: '10m' })
    await stderrLine(client.process, /^recording/)
    expect((await throughput.now(5)).median).toBeLessThan(GOAL)
    await client.process.kill()
    await target.end()
    await control.end()
  })
})
