// Each failure that can occur with scheme adaptive: the effect on the program, and the message to the user.

import { existsSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { sessionOptions } from '../../src/commands/options.ts'
import type { Profile } from '../../src/profile/profile.ts'
import { reportWarnings } from '../../src/profile/report/warnings.ts'
import { agentJar } from '../../src/session/doors/agent-jar.ts'
import { attachDoor } from '../../src/session/doors/door.ts'
import { Session } from '../../src/session/session.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import { STATUS } from '../support/exit-codes.ts'
import { ask, compileJava, type JavaProcess, startJava } from '../support/java-process.ts'
import { forNewestJdk, forOldestJdk, type Jdk } from '../support/jdks.ts'
import {
  AUTOSAVED,
  callsByMethod,
  calmWarnings,
  type JsonProfile,
  jfluid,
  type Recording,
  readProfileJson,
  recordedSoFar,
  startRecording,
  stderrLine,
} from '../support/jfluid.ts'
import { itInFull } from '../support/only-if.ts'
import { asPredicted } from './first-pause.ts'
import { retransform, startOther, tell } from './other-agent.ts'
import { number } from './pulse.ts'
import { until } from './remains.ts'
import { SAID, startReshaping } from './reshaping.ts'

/**
 * When the program is ready, two threads are in `stuck` and stay there. With each input line another thread enters `late`. Nothing calls
 * `never`.
 */
const STUCK = `
  package fix;
  public class Stuck {
    static void stuck() { hold(); }
    static void late() { System.out.println("inside"); hold(); }
    static void never() { hold(); }
    static void hold() {
      try { Thread.sleep(1_000_000); } catch (InterruptedException end) { throw new AssertionError(end); }
    }
    static void start(Runnable work, String name) {
      Thread thread = new Thread(work, name);
      thread.setDaemon(true);
      thread.start();
    }
    public static void main(String[] args) throws Exception {
      start(Stuck::stuck, "one");
      start(Stuck::stuck, "two");
      System.out.println("ready");
      while (System.in.read() != -1) start(Stuck::late, "three");
    }
  }`

/** The root is called three times a second and passes its work to another thread, which computes continuously. */
const ASYNC = `
  package fix;
  import java.util.concurrent.*;
  public class Async {
    static final ExecutorService OTHERS = Executors.newSingleThreadExecutor();
    static volatile double sink;
    static void accept() { OTHERS.execute(Async::work); }
    static void work() {
      double sum = 0;
      for (long end = System.nanoTime() + 400_000_000L; System.nanoTime() < end; ) sum += Math.sqrt(sum + 1);
      sink = sum;
    }
    public static void main(String[] args) throws Exception {
      System.out.println("ready");
      while (true) { accept(); Thread.sleep(300); }
    }
  }`

const record = (java: JavaProcess, ...args: readonly string[]): Recording =>
  startRecording(java.pid, '--scheme', 'adaptive', ...args)

async function start(
  jdk: Jdk,
  name: 'Server' | 'Ticker',
  args: readonly string[],
  options: readonly string[] = [],
) {
  const java = startJava(jdk, [...options, '-cp', await compileFixture(jdk, name), `fix.${name}`, ...args])
  await java.line(/^ready/)
  return java
}

/** Sends Ctrl-C and returns how the process ends. */
async function interrupted({
  process: p,
  file,
}: Recording): Promise<{ code: number | null; said: string; profile: JsonProfile }> {
  p.child.kill('SIGINT')
  const { code } = await p.exit
  return { code, said: p.stderr(), profile: await readProfileJson(file) }
}

async function attached(java: JavaProcess, root: string): Promise<Session> {
  return await Session.start(await attachDoor(java.pid), sessionOptions({ root: [root], scheme: 'adaptive' }))
}

async function ended(session: Session): Promise<Profile> {
  await session.detach()
  const profile = await session.profile()
  await session.close()
  return profile
}

forNewestJdk((jdk) => {
  describe('a root that is unsuitable', () => {
    const stuck = async () => {
      const java = startJava(jdk, ['-cp', await compileJava(jdk, { 'fix/Stuck': STUCK }), 'fix.Stuck'])
      await java.line(/^ready/)
      return java
    }

    it('a root that is not called is reported after five seconds, and the exit status is 83', async () => {
      const java = await stuck()
      const recording = record(java, '--root', 'fix.Stuck.stuck', '--root', 'fix.Stuck.never')
      await stderrLine(
        recording.process,
        /^fix\.Stuck\.stuck is running in thread "\w+" \(and 1 more\) since before the attach: recording starts with its next call; methods that it calls are possible roots: fix\.Stuck\.hold$/,
      )
      await stderrLine(recording.process, /^root fix\.Stuck\.never has not been called yet/)
      const { code, said, profile } = await interrupted(recording)
      expect(code).toBe(STATUS.rootNeverCalled)
      expect(said).toMatch(
        /^jfluid: no root was called: fix\.Stuck\.stuck, fix\.Stuck\.never\n {2}Name a method /m,
      )
      expect(calmWarnings(profile.warnings)).toEqual(['no root was called'])
    })

    it('a root that is abstract is refused with the names of its implementations', async () => {
      const java = startJava(jdk, ['-cp', await compileFixture(jdk, 'KnownTree'), 'fix.KnownTree', '1', '3'])
      await java.line(/^ready/)
      const asked = ['record', `${java.pid}`, '--scheme', 'adaptive', '--root', 'Shape.area', '--out', 'no']
      const { code, stderr } = await jfluid(...asked, '--duration', '10s')
      expect([code, stderr]).toEqual([
        STATUS.rootWithoutCode,
        expect.stringMatching(
          /'Shape.area' is abstract.*\n {2}Name an implementation of the method: .*fix\.KnownTree\.Square\.area/,
        ),
      ])
    })

    it('a root that does not return is reported with the duration of its running call', async () => {
      const java = await stuck()
      const recording = record(java, '--root', 'fix.Stuck.late')
      await recording.started
      const begun = performance.now()
      java.send('')
      await java.line(/^inside/)
      const profile = await recording.stop()
      const [root] = profile.merged
      expect(root).toMatchObject({ method: 'late', calls: 1 })
      expect(root!.totalNs / 1e6).toBeLessThan(performance.now() - begun)
      expect(root!.totalNs).toBeGreaterThan(0)
      expect((await jfluid('report', recording.file)).stdout).toMatch(
        /^\w+ +no root call has returned: times end with the recording$/m,
      )
    })

    it('if a root returns quickly and other threads do the work, a warning names the method that these threads execute', async () => {
      const java = startJava(jdk, ['-cp', await compileJava(jdk, { 'fix/Async': ASYNC }), 'fix.Async'])
      await java.line(/^ready/)
      const session = await attached(java, 'fix.Async.accept')
      await until(async () => (await session.status()).warnings.length > 0)
      expect(calmWarnings((await ended(session)).warnings)).toEqual([
        expect.stringMatching(
          /^the root returns quickly \([\d.]+ (?:ns|µs|ms) per call\), and other threads execute fix\.Async\.work: if they execute its tasks, choose a root there, or use --follow-threads /,
        ),
      ])
    })
  })
})

forNewestJdk((jdk) => {
  it('every call of a root in a hot loop is counted, one call in 64 is timed, and a warning is shown', async () => {
    const java = await start(jdk, 'Ticker', ['4', 'empty'])
    const paused = async () => await number(java, 'pause', /paused (\d+)\n/)
    const before = await paused()
    const session = await attached(java, 'fix.Ticker.work')
    java.send('resume')
    const isBraked = (warning: string) => warning.includes('1 of 64 of its calls is timed')
    await until(async () => (await session.status()).warnings.some(isBraked))
    const braked = await paused()
    // While the threads are paused, the recorder reads the rest of the event buffer.
    let rowsThen = -1
    await until(async () => {
      const before = rowsThen
      rowsThen = (await session.profileSoFar('it goes on')).merged.metrics.calls?.[0] ?? 0
      return rowsThen === before
    })
    // The events of these calls fit into the event buffer, so none is lost if the recorder gets no processor.
    const further = 6_400_000
    await ask(java, `work ${further}`, /^worked/)
    const profile = await ended(session)
    const { rootCalls, timedOneOf } = profile.stacks!
    expect([rootCalls, timedOneOf]).toEqual([braked - before + further, 64])
    const oneOf = further / (profile.merged.metrics.calls![0]! - rowsThen)
    expect(oneOf).toBeGreaterThan(60)
    expect(oneOf).toBeLessThan(68)
    expect(reportWarnings(profile)).toContainEqual(
      expect.stringMatching(
        /^the root is called [\d.]+[kM] times per second, which probes would slow down: only 1 of 64 of its calls is timed, and /,
      ),
    )
  })

  describe('a refused redefinition', () => {
    it('if the JVM refuses to redefine the root, nothing is recorded, and the error states the reason', async () => {
      const java = await startReshaping(jdk)
      const recording = record(java, '--root', 'Reshaped.work')
      await expect(recording.started).rejects.toThrow()
      expect((await recording.process.exit).code).toBe(69)
      expect(recording.process.stderr()).toContain(
        `jfluid: root 'Reshaped.work' could not be instrumented: Reshaped.work(): its class was refused: ${SAID}\n  Run the program without the other agent `,
      )
      expect(existsSync(recording.file)).toBe(false)
      java.send('')
      await java.line(/^ran 1$/)
    })

    it('if the JVM refuses to redefine a timed method, all other methods are timed, and a warning states the reason', async () => {
      const java = await startReshaping(jdk)
      const times = ['--time', 'Reshaped.work', '--time', 'Other.help']
      const recording = record(java, '--root', 'Reshaping.task', ...times)
      await recording.started
      for (let runs = 1; runs <= 5; runs++) {
        java.send('')
        await java.line(new RegExp(`^ran ${runs}$`))
      }
      const profile = await recording.stop()
      // Each task calls Other.help() once directly and once in Reshaped.work(), which has no probes, so both calls are below the task.
      expect(Object.fromEntries(callsByMethod(profile))).toEqual({
        'Reshaping.task()V': 5,
        'Other.help()V': 10,
      })
      expect(calmWarnings(profile.warnings)).toEqual([
        expect.stringContaining(
          `1 class could not be instrumented: Reshaped (${SAID}); calls of 1 method are missing`,
        ),
      ])
      expect(profile.detach).toMatchObject({ refusedClasses: 0, left: [] })
    })
  })

  it('a timed method gets its probes back after another agent has changed the class, and a warning states when the probes were missing', async () => {
    const java = await startOther(jdk, 'off')
    await tell(java, 'run') // loads the class of `step`
    const recording = record(java, '--root', 'fix.Other.root', '--time', 'fix.Other$Work.step')
    await recording.started
    await tell(java, 'run', 'switch')
    await retransform(java, 'fix.Other$Work')
    await tell(java, 'run')
    const profile = await recording.stop()
    expect(Object.fromEntries(callsByMethod(profile))).toEqual({
      'fix.Other.root()V': 2,
      'fix.Other$Work.step()V': 6,
    })
    expect(calmWarnings(profile.warnings)).toEqual([
      expect.stringMatching(
        /^fix\.Other\$Work lost its probes [\d.]+ m?s after the start, because another agent changed it, and got new probes at [\d.]+ m?s: its calls in this interval are missing$/,
      ),
    ])
    // The other agent's change of the class is kept.
    expect(await tell(java, 'run')).toEqual({ ones: 6, twos: 6 })
    expect(profile.detach).toMatchObject({ refusedClasses: 0, left: [] })
  })

  describe('low metaspace', () => {
    it('an attach is refused if metaspace is low, and the free and the required metaspace are printed', async () => {
      const java = await start(jdk, 'Ticker', ['1', 'sleep'], ['-XX:MaxMetaspaceSize=6m'])
      const { process: p, started } = record(java, '--root', 'fix.Ticker.work')
      await expect(started).rejects.toThrow()
      expect((await p.exit).code).toBe(STATUS.notNow)
      expect(p.stderr()).toMatch(
        /^jfluid: cannot attach to JVM \d+: \d\.\d MiB of its metaspace are free, and an attach needs up to 6\.0 MiB\n {2}Restart /m,
      )
    })

    it('if metaspace is low during a session, only the root is timed, and a warning states the free metaspace', async () => {
      // With an agent from the start no compiled code is discarded, and the first samples are used.
      const options = [`-javaagent:${agentJar().path}`, '-XX:MaxMetaspaceSize=18m']
      const java = await start(jdk, 'Server', ['4'], options)
      java.send('go')
      const session = await attached(java, 'fix.Server.serve')
      asPredicted(session)
      await until(async () => (await session.status()).warnings.length > 0)
      const { warnings, instrumentation } = await ended(session)
      expect(calmWarnings(warnings)).toEqual([
        expect.stringMatching(
          /^only the root is timed: \d+ MiB of the metaspace are left, and jfluid keeps 16 MiB free$/,
        ),
      ])
      expect(instrumentation).toMatchObject({ instrumentedMethods: 1, redefinitions: 1 })
    })
  })
})

forOldestJdk((jdk) => {
  it('the loss of compiled code and the pause are announced before the first redefinition', async () => {
    const java = await start(jdk, 'Ticker', ['1', 'sleep'])
    const recording = record(java, '--root', 'fix.Ticker.work', ...AUTOSAVED)
    await recordedSoFar(recording)
    const said = recording.process.stderr().split('\n')
    const [told] = said.filter((line) => line.startsWith('instrumenting'))
    // JDK 23 and later discard little compiled code.
    const flush =
      jdk.version <= 22
        ? `: the JVM \\(JDK ${jdk.version}\\) discards all its compiled code now and is slower for some seconds; this happens only once`
        : ''
    expect(told).toMatch(
      new RegExp(`^instrumenting${flush}; the JVM will stop for about \\d+ ms, up to four times$`),
    )
    expect(said.indexOf(told!)).toBeLessThan(said.indexOf('recording'))
    await recording.end()
  })

  itInFull(
    'an earlier session counts as the first redefinition in the JVM, but an earlier doctor command does not',
    async () => {
      const java = await start(jdk, 'Ticker', ['1', 'sleep'])
      expect((await jfluid('doctor', `${java.pid}`, '--root', 'fix.Ticker.work')).code).toBe(0)
      const told = async () => {
        const recording = record(java, '--root', 'fix.Ticker.work', ...AUTOSAVED)
        await recordedSoFar(recording)
        await recording.stop()
        return recording.process.stderr()
      }
      const once = expect.stringMatching(/^instrumenting: .* discards all its compiled code now/m)
      if (jdk.version <= 22) expect(await told()).toEqual(once)
      else expect(await told()).not.toEqual(once)
      expect(await told()).not.toEqual(once)
    },
  )
})
