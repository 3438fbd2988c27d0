// The throughput of a target returns after its client was killed. Two JVMs without a session run as controls.

import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { forEachJdk, type Jdk, jdks } from '../support/jdks.ts'
import { stderrLine } from '../support/jfluid.ts'
import { startClient } from './lost-clients.ts'
import { isBelow, Throughput } from './throughput.ts'
import { type Chance, type Figure, type Outcome, TRIAL_MS, times, trials } from './trials.ts'
import { Witness } from './witness.ts'

/** Minimum share of the earlier throughput, or of the throughput of an untouched JVM if that is lower. */
const GOAL = 0.97
/** Minimum share if a loop continues in the interpreter: 83 to 87 % were measured. */
const LOOP_LEAST = 0.75
/** Time until discarded code is compiled again. */
const BACK_MS = 60_000
/**
 * Starts a program that leaves processor time for the compilers and for the other JVM. It has no debugger port, since the JVM compiles
 * differently with one.
 */
const start = (jdk: Jdk, eternal = false) =>
  Witness.start(jdk, { threads: 1, rest: 2, eternal, debuggable: false })

/** Runs a client that records for some time and is killed. */
async function killed(witness: Witness, chance: Chance): Promise<void> {
  const client = startClient(witness, { duration: '10m', args: ['--scheme', chance.of(['a', 'b'])] })
  await stderrLine(client.process, /^recording/)
  await sleep(chance.between(200, 2000)) // duration of the recording
  await client.process.kill()
  await witness.withoutAgent()
}

type Now = Awaited<ReturnType<Throughput['now']>>
const told = ({ target: { median, low, high }, other }: Now): string =>
  `${percent(median)} of what it was (half of the windows: ${percent(low)} to ${percent(high)}), another's ${percent(other.median)}`
const figuresOf = ({ target, other }: Now): Record<string, Figure> => ({
  throughput: [Number((100 * target.median).toFixed(1)), '%'],
  "another's": [Number((100 * other.median).toFixed(1)), '%'],
})
const percent = (part: number): string => `${(100 * part).toFixed(1)} %`

forEachJdk((jdk) => {
  const tries = times(10)
  describe('throughput of the target', () => {
    it.each<[string, (witness: Witness, chance: Chance) => Promise<void>]>([
      ['after a client that was killed', killed],
      // This case measures the error of the method, on an untouched JVM.
      ['without any client', async () => {}],
    ])(
      'throughput of the target returns to 97 % of its former value %s',
      { timeout: 60_000 + tries * 180_000 + TRIAL_MS },
      async (what, fault) => {
        const [control, other] = [await start(jdk), await start(jdk)]
        const found: number[] = []
        await trials(`throughput ${what}`, jdk, tries, async (chance): Promise<Outcome> => {
          const target = await start(jdk)
          const throughput = await Throughput.before(target, control, other)
          await fault(target, chance)
          const back = await throughput.until(GOAL, BACK_MS)
          const now = await throughput.now()
          found.push(now.target.median)
          console.info(`JDK ${jdk.version}: ${what}: ${told(now)}, back after ${back.toFixed(0)} ms`)
          const { harm } = await target.harm()
          if (isBelow(GOAL, now)) harm.push(`its throughput is ${told(now)}`)
          await target.end()
          const figures = figuresOf(now)
          return { harm, profile: 'none', left: null, ms: { 'throughput back': back }, figures }
        })
        found.sort((a, b) => a - b)
        console.info(
          `JDK ${jdk.version}: ${what}: ${percent(found[0]!)} to ${percent(found.at(-1)!)}, ` +
            `median ${percent(found[Math.floor(found.length / 2)]!)}`,
        )
        await control.end()
        await other.end()
      },
    )
  })
})

describe.each(jdks)('throughput measurements on JDK $version', (jdk) => {
  const tries = times(3)
  // HotSpot does not compile an obsolete version of a method: a running loop continues in the interpreter until it ends.
  it('a loop that started before a redefinition and never ends stays in the interpreter', {
    timeout: 60_000 + tries * 180_000 + TRIAL_MS,
  }, async () => {
    const [control, other] = [await start(jdk, true), await start(jdk, true)]
    const fault =
      'throughput after a client that was killed: the loop around the root never ends (97 % not reached)'
    await trials(fault, jdk, tries, async (chance): Promise<Outcome> => {
      const target = await start(jdk, true)
      const throughput = await Throughput.before(target, control, other)
      await killed(target, chance)
      await throughput.until(LOOP_LEAST, 10_000)
      const now = await throughput.now()
      console.info(`JDK ${jdk.version}: a loop that never ends: ${told(now)}`)
      const { harm } = await target.harm()
      if (isBelow(LOOP_LEAST, now)) harm.push(`its throughput is ${told(now)}`)
      await target.end()
      return { harm, profile: 'none', left: null, figures: figuresOf(now) }
    })
    await control.end()
    await other.end()
  })

  it('the throughput measurement detects the cost of probes', { timeout: 180_000 }, async () => {
    const [target, control, other] = [await start(jdk), await start(jdk), await start(jdk)]
    const throughput = await Throughput.before(target, control, other)
    const client = startClient(target, { duration: '10m' })
    await stderrLine(client.process, /^recording/)
    const now = await throughput.now()
    expect(isBelow(GOAL, now), told(now)).toBe(true)
    await client.process.kill()
    await Promise.all([target, control, other].map((it) => it.end()))
  })
})
