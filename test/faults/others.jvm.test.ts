// Another agent throws in some retransformations or returns invalid classes. No method stays partly instrumented, and the final code is
// that of the program.

import { beforeAll, it } from 'vitest'
import { liveCode } from '../live/live-code.ts'
import { forNewestJdk } from '../support/jdks.ts'
import { startRecording } from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'
import { changed, end, hostileJar, SHARE, start, unbalanced } from './others-hostile.ts'
import { type Chance, type Outcome, times, trials } from './trials.ts'

forNewestJdk((jdk) => {
  let jar: string
  beforeAll(async () => {
    jar = await hostileJar(jdk)
  })

  /**
   * @param attempts  maximum number of sessions until a transformation is spoilt: by chance, no transformation is spoilt in 1 of 64
   * sessions
   */
  async function broken(
    what: string,
    first: boolean,
    storms: boolean,
    chance: Chance,
    attempts = 3,
  ): Promise<Outcome> {
    const target = await start(jdk, jar, first)
    const { java, jvm, tell, call } = target
    const before = await liveCode(jvm, 'Lfix/')
    if (!first) await tell('add')
    // The agent becomes hostile during the installation of the probes, or after it.
    const hostile = `how ${SHARE} ${what} ${Math.floor(chance.between(0, 2 ** 31))}`
    const early = chance.next() < 0.5
    if (early) await tell(hostile)
    if (storms) await tell('storm')
    const recording = startRecording(java.pid, '--root', 'fix.Hostile.root', '--scheme', 'a')
    await recording.started
    if (!early) await tell(hostile)
    const calls = storms ? 200 : 50
    const harm: string[] = []
    const wrong: string[] = []
    if ((await call(calls)) > 0) harm.push('wrong results while it was profiled')
    const profile = await end(target, recording, { harm, wrong })
    // Transformations of classes redefined during the session, or at the detach.
    if ((await target.spoilt()) === 0) {
      if (attempts === 1) throw new Error('no transformation was spoilt in three sessions')
      await jvm.dispose()
      await java.kill()
      return broken(what, first, storms, chance, attempts - 1)
    }
    if (profile !== null && profile.instrumentation.gaps === 0 && !storms)
      wrong.push(...unbalanced(profile, calls))
    if (storms) {
      await tell('calm')
      await java.line(/^stormed/)
    }
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

  const ways = ['throw', 'garbage', 'flipped'].flatMap((what) =>
    [true, false].flatMap((first) => [true, false].map((storms) => ({ what, first, storms }))),
  )
  const tried = FULL ? ways : ways.filter(({ what, first, storms }) => what === 'garbage' && first && !storms)

  it.each(tried)(
    'the target is restored although another agent fails (fault: $what, agent added before jfluid: $first, continuous retransformation: $storms)',
    { timeout: 1_800_000 },
    async ({ what, first, storms }) => {
      const order = first ? 'before us' : 'after us'
      const too = storms ? ', and retransforms all the time' : ''
      await trials(
        `another agent, ${order}, spoils half of the transformations: ${what}${too}`,
        jdk,
        times(1, 10),
        (chance) => broken(what, first, storms, chance),
      )
    },
  )
})
