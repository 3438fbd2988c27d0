// Scheme adaptive: the cause of the longest stall, the pauses, and calls during recompilation. Runs alone: on a busy machine a thread
// wakes up late.

import { writeFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { sessionOptions } from '../../src/commands/options.ts'
import { reportText } from '../../src/profile/report.ts'
import { attachDoor } from '../../src/session/doors/door.ts'
import { Session } from '../../src/session/session.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import { compileJava, startJava } from '../support/java-process.ts'
import { forEachJdk, newest } from '../support/jdks.ts'
import { itOnlyIf } from '../support/only-if.ts'
import { createQuota, NO_QUOTA, quotasCanBeSet } from '../support/quota.ts'
import { until } from './remains.ts'

/**
 * The root is Stalls.work, which is called continuously. The command `collect` runs a garbage collection with five million live objects.
 */
const STALLS = {
  'Stalls.java': `
import java.util.Scanner;

public class Stalls {
    static Object list;
    static volatile double sum;

    static void work() {
        for (int i = 0; i < 100_000; i++) sum += Math.sqrt(i);
    }

    public static void main(String[] args) {
        Thread worker = new Thread(() -> { for (;;) work(); });
        worker.setDaemon(true);
        worker.start();
        for (int i = 0; i < 5_000_000; i++) list = new Object[] {list};
        System.out.println("ready");
        Scanner in = new Scanner(System.in);
        while (in.hasNextLine() && in.nextLine().equals("collect")) {
            System.gc();
            System.out.println("collected");
        }
    }
}`,
}

const OPTIONS = ['-XX:+UseSerialGC', '-Xms600m', '-Xmx600m']

async function sessionOf(pid: number): Promise<Session> {
  const session = await Session.start(
    await attachDoor(pid),
    sessionOptions({ root: ['Stalls.work'], scheme: 'adaptive' }),
  )
  // The cause of a stall is known only if the JVM's counters were read before the stall.
  await until(async () => ((await session.status()).stacks?.samples ?? 0) > 5)
  await session.reset() // discards delays that the attach causes on a busy machine
  return session
}

const hasStalled = async (session: Session): Promise<boolean> =>
  ((await session.status()).stacks?.longestStallMs ?? 0) > 40

async function profileOf(session: Session) {
  await session.detach()
  const profile = await session.profile()
  await session.close()
  return { ...profile, ...(session.detachFacts !== null && { detach: session.detachFacts }) }
}

forEachJdk((jdk) => {
  it('counters of the JVM attribute the longest stall to a garbage collection', async () => {
    const java = startJava(jdk, [...OPTIONS, '-cp', await compileJava(jdk, STALLS), 'Stalls'])
    await java.line(/ready/)
    const session = await sessionOf(java.pid)
    // A single collection may be too short for a distinct stall.
    let collections = 0
    await until(async () => {
      java.send('collect')
      await java.line(/collected/, ++collections)
      if (!(await hasStalled(session))) return false
      if ((await session.profileSoFar('it goes on')).stacks?.stallCause === 'collection') return true
      await session.reset()
      return false
    })
    const profile = await profileOf(session)
    expect(profile.stacks?.stallCause).toBe('collection')
    expect(profile.stacks!.coldUntilMs).toBeGreaterThan(0)
    expect(profile.detach?.pauseMs).toBeGreaterThan(0)
    const text = reportText(profile, { width: 200 })
    expect(text).toMatch(/^stalls .* after the start; cause: a garbage collection /m)
    expect(text).toMatch(/^pauses .* to restore \d+ class(?:es)? at the end$/m)
    expect(text).toMatch(
      /^warm-up {3}the JVM recompiled .* root calls? until then, .* on average; (?:no|[\d,]+) later calls?/m,
    )
  })
})

forEachJdk((jdk) => {
  it('the longest stall is attributed to a thread dump of the live view', async () => {
    const java = startJava(jdk, ['-cp', await compileFixture(jdk, 'Deep'), 'fix.Deep', '1500', '100'])
    await java.line(/^ready/)
    const options = sessionOptions({ root: ['fix.Deep.down'], scheme: 'adaptive' })
    const session = await Session.start(await attachDoor(java.pid), options)
    await until(async () => {
      await session.reset()
      await session.dumpThreads(true)
      await until(() => hasStalled(session))
      return (await session.profileSoFar('it goes on')).stacks?.stallCause === 'dump'
    })
    const text = reportText(await session.profileSoFar('it goes on'), { width: 200 })
    expect(text).toMatch(/^stalls .* after the start; cause: a thread dump of the live view /m)
    expect(text).toMatch(/1 thread dump of the live view stopped the JVM for \d+\.\d ms in total/)
    await session.detach()
    await session.close()
  })
})

itOnlyIf(quotasCanBeSet(), NO_QUOTA)(
  'the longest stall is attributed to an exhausted CPU quota',
  async () => {
    const java = startJava(newest, [...OPTIONS, '-cp', await compileJava(newest, STALLS), 'Stalls'])
    await java.line(/ready/)
    const quota = createQuota(`${java.pid}`, () => [java])
    writeFileSync(quota.members, `${java.pid}`)
    const session = await sessionOf(java.pid)
    quota.set(20_000)
    await until(() => hasStalled(session))
    quota.set(-1)
    const { stacks } = await profileOf(session)
    expect(stacks?.stallCause).toBe('throttled')
  },
)
