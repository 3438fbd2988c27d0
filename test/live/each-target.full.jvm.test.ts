// The main functions: an attach, exact counts, thread states, and a detach with its proof. With JFLUID_FULL=1, on every JDK that is found.
// `npm run jdks:table` writes the results into docs/jdks.md: each title begins with the name of a column.

import { describe, expect, it } from 'vitest'
import { OLDEST_JDK } from '../../src/base/jdk-releases.ts'
import { sessionOptions } from '../../src/commands/options.ts'
import { agentJar } from '../../src/session/doors/agent-jar.ts'
import { attachDoor } from '../../src/session/doors/door.ts'
import { Session } from '../../src/session/session.ts'
import { parseExpectation } from '../fixtures/expectation.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import { cannotContain, PRIVATE, startContained } from '../support/contained.ts'
import { ask, type JavaProcess, startJava } from '../support/java-process.ts'
import { forNewestTarget, type Jdk } from '../support/jdks.ts'
import {
  AUTOSAVED,
  callsByPath,
  lines,
  recordedSoFar,
  startRecording,
  sumsAreExact,
} from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'
import { itOnlyIf } from '../support/only-if.ts'
import { remainsOf, until } from './remains.ts'

const CLIENTS = '8'
const STATES = ['cpuNs', 'lockNs', 'ioNs', 'sleepNs', 'waitNs'] as const
/** Number of samples after which the shares of states are compared. */
const SAMPLES = 200
/**
 * Largest difference of a share. The standard deviation of a share of 25 % is 3 percentage points. Only the full lane compares them:
 * while other tests use all processors, the sampling thread gets a processor late (adaptive-server.alone.jvm.test.ts compares, too).
 */
const MOST_OFF = 0.15

/** Returns the version as in docs/jdks.md: "27.0.1 (Debian, in a chroot)". */
function described({ full, vendor, isRuntime, root }: Jdk): string {
  const facts = [vendor, isRuntime ? 'runtime' : '', root === null ? '' : 'in a chroot'].filter(Boolean)
  return facts.length === 0 ? full : `${full} (${facts.join(', ')})`
}

forNewestTarget((jdk) => {
  describe(described(jdk), () => {
    it('attach: the first session loads the agent, the second activates it, and both record calls', async () => {
      const java = startJava(jdk, ['-cp', await compileFixture(jdk, 'Ticker'), 'fix.Ticker', '1', 'tiny'])
      await java.line(/^ready/)
      for (const session of ['first', 'second']) {
        const recording = startRecording(java.pid, '--root', 'fix.Ticker.work', ...AUTOSAVED)
        await recordedSoFar(recording)
        const { merged, target } = await recording.stop()
        expect(target.jdk, session).toContain(jdk.full)
        expect(merged[0]?.calls, session).toBeGreaterThan(0)
      }
    })

    it('counts: each call is counted in its context', async () => {
      const classes = await compileFixture(jdk, 'Several')
      const java = startJava(jdk, [...['-cp', classes, 'fix.Several', 'KnownTree', '4', '50', ',', 'Throws']])
      await java.line(/^all ready$/)
      const roots = ['fix.KnownTree.task', 'fix.Throws.root']
      const recording = startRecording(java.pid, ...roots.flatMap((it) => ['--root', it]), '--scheme', 'b')
      await recording.started
      for (const line of ['KnownTree run 1', 'Throws run']) await ask(java, line, /^done/)
      const { merged, instrumentation } = await recording.stop()
      for (const name of ['KnownTree', 'Throws']) await ask(java, `${name} expect`, /^end/)
      expect(lines(callsByPath(merged))).toEqual(lines(parseExpectation(java.stdout())))
      expect(sumsAreExact(merged)).toBe(true)
      expect(instrumentation.gaps).toBe(0)
    })

    it('states: shares of thread states below an adaptive root are those that the program measures', async () => {
      // Without the agent at the start, a JVM of JDK 22 or older drops its compiled code, and the next 10 s are not used.
      const agent = `-javaagent:${agentJar().path}`
      const java = startJava(jdk, [agent, '-cp', await compileFixture(jdk, 'Server'), 'fix.Server', CLIENTS])
      await java.line(/^ready/)
      java.send('go')
      const options = sessionOptions({ root: ['fix.Server.serve'], scheme: 'adaptive' })
      const session = await Session.start(await attachDoor(java.pid), options)
      java.send('zero')
      session.reset()
      await until(async () => (await session.status()).stacks!.samples >= SAMPLES)
      await ask(java, 'told', /^calls /)
      await session.detach()
      const { merged, instrumentation } = await session.profile()
      await session.close()
      const measured = shares(/^ns (.*)$/m.exec(java.stdout())![1]!.split(' ').map(Number))
      const found = shares(STATES.map((it) => merged.metrics[it]![0]!))
      for (const [i, state] of STATES.entries()) {
        const both = `${state}: ${found[i]} for ${measured[i]}`
        expect(found[i]!, both).toBeGreaterThan(0)
        if (FULL) expect(Math.abs(found[i]! - measured[i]!), both).toBeLessThan(MOST_OFF)
      }
      expect(instrumentation.gaps).toBe(0)
    })

    it('detach with proof: the code in the JVM is the original code, and nothing remains', async () => {
      const java = startJava(jdk, ['-cp', await compileFixture(jdk, 'Witness'), 'fix.Witness', '1'])
      await java.line(/^ready/)
      const recording = startRecording(java.pid, '--root', 'fix.Witness.root')
      await recording.started
      await someCalls(java)
      const { detach, instrumentation } = await recording.stop()
      expectProof(recording.process.stderr())
      const classes = instrumentation.redefinedClasses
      expect(classes).toBeGreaterThan(2)
      expect(detach).toMatchObject({ restoredClasses: classes, refusedClasses: 0, left: [], unseen: [] })
      expect(detach!.code).toMatchObject({ checkedClasses: classes, originalClasses: classes, unchecked: '' })
      expect(detach!.code.checkedMethods).toBeGreaterThanOrEqual(instrumentation.instrumentedMethods)
      expect(await remainsOf(java.pid, [recording.process.pid])).toEqual([])
    })

    const obstacle = cannotContain('--mount')
    itOnlyIf(obstacle === '', `needs root to create a mount namespace: ${obstacle}`)(
      'a JVM with its own /tmp and /dev/shm is reached through its root directory, with the same proof',
      async () => {
        const classes = await compileFixture(jdk, 'Witness')
        const java = await startContained(jdk, classes, ['fix.Witness', '1'], {
          namespaces: ['--mount'],
          setUp: PRIVATE,
        })
        const recording = startRecording(java.pid, '--root', 'fix.Witness.root')
        await recording.started
        await someCalls(java.outer)
        await recording.end()
        expectProof(recording.process.stderr())
        expect(java.left(recording.process.pid)).toEqual([])
        expect(java.runs()).toBe(true)
      },
    )
  })
}, OLDEST_JDK)

/** Waits until fix.Witness has called its root since this call. */
async function someCalls(java: JavaProcess): Promise<void> {
  const calls = async (): Promise<number> =>
    Number(/calls (\d+)/.exec(await ask(java, 'state', /^state/))![1])
  await calls() // resets the count
  await until(async () => (await calls()) > 0)
}

function expectProof(stderr: string): void {
  expect(stderr).toMatch(/restored: \d+ class\w* verified as original, nothing of jfluid remains/)
}

function shares(values: readonly number[]): number[] {
  const sum = values.reduce((all, it) => all + it, 0)
  return values.map((it) => it / sum)
}
