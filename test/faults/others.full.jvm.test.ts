// Another agent retransforms the same classes continuously. No method stays partly instrumented, and the final code is that of the
// program.

import { beforeAll, it } from 'vitest'
import { liveCode } from '../live/live-code.ts'
import { forEachJdk } from '../support/jdks.ts'
import { callsByMethod, startRecording } from '../support/jfluid.ts'
import { changed, end, hostileJar, start, unbalanced } from './others-hostile.ts'
import { type Outcome, times, trials } from './trials.ts'

forEachJdk((jdk) => {
  let jar: string
  beforeAll(async () => {
    jar = await hostileJar(jdk)
  })

  async function stormed(first: boolean): Promise<Outcome> {
    const target = await start(jdk, jar, first)
    const { java, jvm, tell, call } = target
    const before = await liveCode(jvm, 'Lfix/')
    if (!first) await tell('add')
    await tell('storm')
    const recording = startRecording(java.pid, '--root', 'fix.Hostile.root', '--scheme', 'a')
    await recording.started
    const calls = 200
    const harm: string[] = []
    const wrong: string[] = []
    if ((await call(calls)) > 0) harm.push('wrong results while it was profiled')
    const profile = await end(target, recording, { harm, wrong })
    if (profile?.instrumentation.gaps === 0) wrong.push(...unbalanced(profile, calls))
    else if (profile !== null && callsByMethod(profile).get('fix.Hostile.root(I)I') !== calls)
      wrong.push('the root was not counted')
    await tell('calm')
    await java.line(/^stormed [1-9]/)
    const left = await target.left()
    harm.push(...(await changed(target, before)))
    if ((await call(calls)) > 0) harm.push('wrong results after it')
    await jvm.dispose()
    await java.kill()
    return {
      ...{ harm, wrong },
      profile: profile === null ? 'lost' : 'kept',
      left: left.length === 0 ? [] : [`${left.join()}\n${recording.process.stderr()}`],
    }
  }

  it.each([true, false])(
    'the target is restored while another agent retransforms continuously (agent added before jfluid: %s)',
    { timeout: 1_800_000 },
    async (first) => {
      const order = first ? 'before us' : 'after us'
      await trials(`another agent, ${order}, retransforms our classes all the time`, jdk, times(10), () =>
        stormed(first),
      )
    },
  )
})
