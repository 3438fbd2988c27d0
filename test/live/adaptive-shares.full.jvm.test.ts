// What threads inside the root were doing, by samples, against what they have measured themselves: with the machine to itself, since
// a thread that samples gets a processor later where all are busy. In the live lane the newest JDK has the server of adaptive-server.alone for that.

import { expect, it } from 'vitest'
import { sessionOptions } from '../../src/commands/options.ts'
import { agentJar } from '../../src/session/doors/agent-jar.ts'
import { attachDoor } from '../../src/session/doors/door.ts'
import { Session } from '../../src/session/session.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import { startJava } from '../support/java-process.ts'
import { forEachJdk, type Jdk } from '../support/jdks.ts'
import { until } from './remains.ts'

const STATES = ['cpuNs', 'lockNs', 'ioNs', 'sleepNs', 'waitNs', 'unknownNs'] as const

/** Samples come late where processors are busy, which bends shares by up to 8 points; 300 of them are off by 2 to 4 by chance. */
const MOST_OFF = 0.1

/** What is sampled, and what the program says, as parts of the time of the root. */
async function sharesOf(jdk: Jdk) {
  const classpath = await compileFixture(jdk, 'Shares')
  // With an agent that is there already no compiled code is dropped, and samples count from the first on.
  const java = startJava(jdk, [`-javaagent:${agentJar().path}`, '-cp', classpath, 'fix.Shares', '2'])
  await java.line(/^ready/)
  const options = sessionOptions({ root: ['fix.Shares.serve'], scheme: 'adaptive' })
  const session = await Session.start(await attachDoor(java.pid), options)
  // From there on rows are of the same calls.
  await until(async () => (await session.profileSoFar('it goes on')).stacks!.rowsFromMs > 0)
  java.send('zero')
  session.reset()
  // How long that takes depends on what a stack costs here.
  await until(async () => (await session.status()).stacks!.samples >= 300)
  java.send('told')
  const told = (await java.line(/^shares /)).split(' ').slice(2).map(Number)
  await session.detach()
  const profile = await session.profile()
  await session.close()
  const whole = told.reduce((sum, it) => sum + it, 0)
  const [compute, monitor, lock, socket, sleep, queue] = told.map((it) => it / whole)
  const expected = {
    cpuNs: compute!,
    lockNs: monitor! + lock!,
    ioNs: socket!,
    sleepNs: sleep!,
    waitNs: queue!,
  }
  const { metrics } = profile.merged
  const found = Object.fromEntries(STATES.map((it) => [it, metrics[it]![0]! / metrics.totalNs![0]!]))
  return { profile, expected, found }
}

function expectNear(
  found: Readonly<Record<string, number>>,
  expected: Readonly<Record<string, number>>,
): void {
  for (const [state, share] of Object.entries(expected))
    expect(Math.abs(found[state]! - share), `${state}: ${found[state]} for ${share}`).toBeLessThan(MOST_OFF)
}

forEachJdk((jdk) => {
  it('says what threads inside the root were doing, as they say themselves', {
    timeout: 90_000,
  }, async () => {
    const { profile, expected, found } = await sharesOf(jdk)
    expectNear(found, expected)
    const names = Array.from(profile.merged.method, (id) => profile.methodNames[id]!.method)
    expect(names).toEqual(expect.arrayContaining(['compute', 'monitor', 'lock', 'socket', 'sleep', 'queue']))
  })
})
