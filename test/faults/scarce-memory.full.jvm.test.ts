// A target whose metaspace fills up during a recording, or whose heap is full at attach or detach. Its methods throw only what they would
// throw without jfluid.

import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { until } from '../live/remains.ts'
import { STATUS } from '../support/exit-codes.ts'
import { forEachJdk } from '../support/jdks.ts'
import { startRecording } from '../support/jfluid.ts'
import { keptIn, Lean, leftIn, METASPACE, nextAttach, ROOTS } from './scarce-memory-target.ts'
import { type Outcome, times, trials } from './trials.ts'

forEachJdk((jdk) => {
  it.each([
    ['', []],
    [' with scheme adaptive', ['--scheme', 'adaptive']], // the metaspace is full at the end, when code is restored
  ])(
    'metaspace that fills up during a recording%s may end the session but does not harm the target',
    {
      timeout: 900_000,
    },
    async (how, scheme) => {
      await trials(`metaspace fills up while profiled${how}`, jdk, times(10), async (chance) => {
        const lean = await Lean.start(jdk, ...METASPACE)
        const recording = startRecording(lean.java.pid, ...ROOTS, ...scheme)
        await recording.started
        await lean.ask(`metaspace ${Math.floor(chance.between(0, 200))}`)
        await lean.ask('visit 1') // the first call of this method
        await sleep(chance.between(0, 300))
        const harm = await lean.harm()
        const ended = performance.now()
        recording.process.child.kill('SIGINT')
        await until(
          async () => recording.process.child.exitCode !== null || performance.now() - ended > 5_000,
        )
        await lean.ask('give')
        await recording.process.exit
        const ms = { 'to leave': performance.now() - ended }
        const left = await leftIn(lean)
        const wrong = await nextAttach(lean)
        harm.push(...(await lean.harm()))
        await lean.java.kill()
        return { harm, wrong, profile: await keptIn(recording.file), left, ms } satisfies Outcome
      })
    },
  )

  it('a full heap at attach or detach does not harm the target', {
    timeout: 900_000,
  }, async () => {
    for (const when of ['attach', 'detach'] as const) {
      let refused = 0
      await trials(`heap full at ${when}`, jdk, times(10), async () => {
        const lean = await Lean.start(jdk, '-Xmx24m', '-XX:+UseSerialGC')
        const harm: string[] = []
        const wrong: string[] = []
        if (when === 'attach') await lean.ask('hold')
        const recording = startRecording(lean.java.pid, ...ROOTS)
        const begun = await recording.started.then(
          () => true,
          () => false,
        )
        if (!begun) refused++
        if (when === 'detach') await lean.ask('hold')
        recording.process.child.kill('SIGINT')
        const { code } = await recording.process.exit
        if (code !== 0 && code !== STATUS.notNow)
          wrong.push(`the client ended with ${code}, saying:\n${recording.process.stderr()}`)
        harm.push(...(await lean.harm()))
        await lean.ask('give')
        const left = await leftIn(lean)
        wrong.push(...(await nextAttach(lean)))
        harm.push(...(await lean.harm()))
        await lean.java.kill()
        return { harm, wrong, profile: begun ? await keptIn(recording.file) : 'none', left }
      })
      if (when === 'attach') expect(refused).toBeGreaterThan(0)
    }
  })
})
