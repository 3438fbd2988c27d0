// Sessions that end abnormally: the client is killed or stopped, the JVM dies, a second client attaches. The target continues unharmed,
// and the recorded data are kept.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it } from 'vitest'
import { parseExpectation } from '../fixtures/expectation.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import { STATUS } from '../support/exit-codes.ts'
import {
  ask,
  compileJava,
  type JavaProcess,
  startJava,
  startProcess,
  stop,
  temporaryDirectory,
} from '../support/java-process.ts'
import { forNewestJdk, forOldestJdk, type Jdk, newestOrAll } from '../support/jdks.ts'
import {
  callsByPath,
  jfluid,
  lines,
  readProfileJson,
  startJfluid,
  startRecording,
  stderrLine,
} from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'
import { liveCode, probed, startDebuggable } from './live-code.ts'
import { gap, number, PULSE } from './pulse.ts'
import { filesOf, threadNames, until } from './remains.ts'

const cli = fileURLToPath(new URL('../../dist/cli.js', import.meta.url))
/** Ten times the expected time, and half of the time that the target would need if it waited for the client at each of 20 classes. */
const HELD_MS = 2500
const ROUNDS = FULL ? 20 : 1
/** The target notices the end of a client in some hundred ms, and a silent client after 10 s. Nothing else runs beside the full lane. */
const NOTICED_MS = FULL ? 2000 : 9000
/** Phases at which the client is killed. The first tests kill a client that is recording. */
const PHASES = [
  'attaching',
  'calibrating',
  'reading classes',
  'instrumenting',
  ...(FULL ? ['recording'] : []),
]

/** Returns a function that compiles once, at its first call. The class files exist until the end of this test file. */
function once(compile: () => Promise<string>): () => Promise<string> {
  let classes: Promise<string> | undefined
  return () => {
    classes ??= compile()
    return classes
  }
}

/**
 * Returns the shorter of two measured times. The second is measured only if the first is above HELD_MS. A busy machine can delay one
 * measurement by seconds but rarely two in a row, while a delay caused by jfluid occurs in both. A client that does not answer may cost 250
 * ms.
 */
async function heldFor(measure: () => Promise<number>): Promise<number> {
  const ms = await measure()
  return ms < HELD_MS ? ms : Math.min(ms, await measure())
}

/** After SIGKILL only the kernel notifies the client. System.exit runs the JVM's shutdown hooks. */
const EXIT = ['by System.exit inside the root', (java: JavaProcess) => java.send('die')] as const
const KILL = ['by SIGKILL', (java: JavaProcess) => java.child.kill('SIGKILL')] as const
const deathsOn = (jdk: Jdk) => (newestOrAll.includes(jdk) ? [KILL, EXIT] : [EXIT])

forOldestJdk((jdk) => {
  const SPEED = `JDK ${jdk.version}:`
  const ticker = once(() => compileFixture(jdk, 'Ticker'))
  const pulse = once(() => compileJava(jdk, { 'fix/Pulse': PULSE }))

  describe('a client that is killed', () => {
    it('after a client is killed during profiling, the target is restored, and the next session works', async () => {
      const { java, jvm } = await startDebuggable(jdk, ['-cp', await ticker(), 'fix.Ticker', '1', 'tiny'])
      const before = await liveCode(jvm, 'Lfix/')
      const recording = startRecording(java.pid, '--root', 'fix.Ticker.work')
      await recording.started
      await until(async () => probed(await liveCode(jvm, 'Lfix/')).length > 2)

      await recording.process.kill()
      const killed = performance.now()
      await until(async () => probed(await liveCode(jvm, 'Lfix/')).length === 0)
      const ms = performance.now() - killed
      expect(ms).toBeLessThan(NOTICED_MS)
      console.info(`${SPEED} ${ms.toFixed(0)} ms from a client's death to the target's own code`)
      expect(await liveCode(jvm, 'Lfix/')).toEqual(before)
      await until(async () => !(await threadNames(java.pid)).some((name) => /jfluid/.test(name)))
      expect(filesOf(java.pid, recording.process.pid)).toEqual([`/tmp/.java_pid${java.pid}`])

      const next = startRecording(java.pid, '--root', 'fix.Ticker.work')
      await next.started
      // The first root call reveals the callees.
      await until(async () => probed(await liveCode(jvm, 'Lfix/')).length > 2)
      expect((await next.stop()).truncated).toBe(false)
      await jvm.dispose()
    })
  })

  describe('a JVM that dies', () => {
    it.each(deathsOn(jdk))(
      'after the JVM is ended %s, the recorded data are saved with the reason for the end',
      async (_, die) => {
        const java = startJava(jdk, ['-cp', await pulse(), 'fix.Pulse', '1'])
        await java.line(/ready/)
        const roots = ['--root', 'fix.Pulse.root', '--root', 'fix.Pulse.die', '--scheme', 'a']
        const recording = startRecording(java.pid, ...roots)
        await recording.started
        // Waits until a root call has ended after the first query, so at least one call is recorded.
        for (let i = 0; i < 2; i++) await until(async () => (await gap(java)) > 0)
        die(java)
        await java.exit
        expect((await recording.process.exit).code).toBe(STATUS.jvmEnded)
        expect(recording.process.stderr()).toMatch(/warning: the JVM ended during the recording/)
        expect(recording.process.stderr()).toMatch(
          /^jfluid: JVM \d+ ended during the recording\n {2}Read .*: jfluid report \S+\.jfluid$/m,
        )
        const profile = await readProfileJson(recording.file)
        expect(profile.truncated).toBe(true)
        expect(profile.methods.find((m) => m.method === 'root')!.calls).toBeGreaterThan(0)
        expect(filesOf(java.pid, recording.process.pid)).toEqual([])
      },
    )
  })
})

// Behaviour of the client and the agent that does not depend on the JDK.
forOldestJdk((jdk) => {
  const title = `a session works and leaves nothing behind after another client was killed at any step (${ROUNDS} rounds)`
  it(title, { timeout: 120_000 * ROUNDS }, async () => {
    const java = startJava(jdk, ['-cp', await compileFixture(jdk, 'Ticker'), 'fix.Ticker', '1', 'tiny'])
    await java.line(/ready/)
    const clients: number[] = []
    for (let round = 0; round < ROUNDS; round++) {
      for (const phase of PHASES) {
        const out = join(temporaryDirectory(), 'p.jfluid')
        const p = startJfluid('record', String(java.pid), '--root', 'fix.Ticker.work', '--out', out)
        clients.push(p.pid)
        // If the target is still leaving the last session, this client waits.
        await stderrLine(p, new RegExp(phase))
        await p.kill()
        const killed = performance.now()
        await until(async () => (await number(java, 'rate 20', /rate (\d+)/)) > 0)
        expect(performance.now() - killed, phase).toBeLessThan(NOTICED_MS)
      }
    }
    const last = startRecording(java.pid, '--root', 'fix.Ticker.work')
    await last.started
    expect((await last.stop()).truncated).toBe(false)
    expect((await threadNames(java.pid)).filter((name) => /jfluid/.test(name))).toEqual([])
    expect(filesOf(java.pid, last.process.pid, ...clients)).toEqual([`/tmp/.java_pid${java.pid}`])
  })

  describe('a client that is stopped while the target loads classes', () => {
    it('a stopped client delays only one of 20 class loads of the target', async () => {
      const loadedMs = await heldFor(async () => {
        const java = startJava(jdk, ['-cp', await compileJava(jdk, { 'fix/Pulse': PULSE }), 'fix.Pulse', '0'])
        await java.line(/ready/)
        const recording = startRecording(java.pid, '--root', 'fix.Pulse.root')
        await recording.started
        await stop(recording.process)
        const ms = await number(java, 'load', /loaded ([\d.]+(?:E-?\d+)?)\n/)
        console.info(
          `JDK ${jdk.version}: 20 classes were loaded in ${ms.toFixed(0)} ms with the client stopped`,
        )
        // If the client continued before the target has ended the session, the session would stay active.
        await until(async () => !(await threadNames(java.pid)).some((name) => /jfluid/.test(name)))
        recording.process.child.kill('SIGCONT')
        expect((await recording.process.exit).code).toBe(STATUS.notNow)
        expect((await readProfileJson(recording.file)).truncated).toBe(true)
        await java.kill()
        return ms
      })
      expect(loadedMs).toBeLessThan(HELD_MS)
    })
  })
})

forNewestJdk((jdk) => {
  describe('a client that is stopped while the target is busy', () => {
    it('a stopped client delays a busy target once, by 250 ms, and reports the delay after the client continues', async () => {
      const blockedMs = await heldFor(async () => {
        const java = startJava(jdk, ['-cp', await compileJava(jdk, { 'fix/Pulse': PULSE }), 'fix.Pulse', '2'])
        await java.line(/ready/)
        const recording = startRecording(java.pid, '--root', 'fix.Pulse.root')
        await recording.started
        // Waits until a root call has ended after the first query, so at least one call is recorded. Each query also resets the longest
        // time, which would otherwise include the pauses of instrumentation.
        for (let i = 0; i < 2; i++) await until(async () => (await gap(java)) > 0)

        await stop(recording.process)
        await until(async () => !(await threadNames(java.pid)).some((name) => /jfluid/.test(name)))
        const ms = await gap(java)
        console.info(`JDK ${jdk.version}: a stopped client held the target's threads for ${ms.toFixed(0)} ms`)

        recording.process.child.kill('SIGCONT')
        expect((await recording.process.exit).code).toBe(STATUS.notNow)
        const said = recording.process.stderr()
        expect(said).toMatch(/warning: .*the client was stopped or killed/)
        expect(said).toMatch(
          /^jfluid: the recording ended too early: the client was stopped or killed\n {2}Read .*: jfluid report \S+$/m,
        )
        // The JVM is alive, and the client does not report an end of the JVM.
        expect(said).toMatch(new RegExp(`^the session with JVM ${java.pid} had ended before$`, 'm'))
        expect(said).not.toMatch(/JVM (?:\d+ has )?ended/)
        const profile = await readProfileJson(recording.file)
        expect(profile.truncated).toBe(true)
        expect(profile.warnings.join()).toMatch(/the client was stopped or killed/)
        expect(profile.events.count).toBeGreaterThan(0)
        expect(filesOf(java.pid, recording.process.pid)).toEqual([`/tmp/.java_pid${java.pid}`])
        await java.kill()
        return ms
      })
      expect(blockedMs).toBeLessThan(HELD_MS)
    })
  })

  /** Threads of the target run only on request. */
  describe('a target with several clients', () => {
    let java: JavaProcess
    beforeAll(async () => {
      java = startJava(jdk, ['-cp', await compileFixture(jdk, 'KnownTree'), 'fix.KnownTree', '3', '20'])
      await java.line(/ready/)
    })

    it.each([
      ['SIGINT', 0],
      ['SIGTERM', STATUS.clientTerminated],
      ['SIGHUP', STATUS.clientHungUp],
      ['SIGQUIT', STATUS.clientQuit],
    ] as const)(
      'a client ended by %s detaches, keeps the profile and exits with %i',
      async (signal, code) => {
        const recording = startRecording(java.pid, '--root', 'fix.KnownTree.task')
        await recording.started
        await ask(java, 'run', /^done/)
        recording.process.child.kill(signal)
        expect(await recording.process.exit).toEqual({ code, signal: null })
        const said = recording.process.stderr()
        const profile = await readProfileJson(recording.file)
        expect([profile.truncated, profile.merged[0]?.calls]).toEqual([false, 3])
        const told = new RegExp(
          `^jfluid: ${signal} ended the recording\\n  Read .*: jfluid report ${recording.file}$`,
          'm',
        )
        if (code === 0) expect(said).not.toMatch(/^jfluid: /m)
        else expect(said).toMatch(told)
      },
    )

    it('a client killed by SIGKILL leaves no profile, and the shell reports 137', async () => {
      const out = join(temporaryDirectory(), 'p.jfluid')
      const args = [
        'record',
        `${java.pid}`,
        '--root',
        'fix.KnownTree.task',
        '--duration',
        '10m',
        '--out',
        out,
      ]
      // The shell prints the client's process id, and exits with the client's status.
      const shell = startProcess('sh', [
        '-c',
        '"$@" & echo $!; wait $!',
        'sh',
        process.execPath,
        cli,
        ...args,
      ])
      const client = Number(await shell.line(/^\d+$/))
      await stderrLine(shell, /recording/)
      process.kill(client, 'SIGKILL')
      expect((await shell.exit).code).toBe(STATUS.clientKilled)
      expect(existsSync(out)).toBe(false)
      await until(async () => !(await threadNames(java.pid)).some((name) => /jfluid/.test(name)))
    })

    it('a second client is refused with a specific exit status, and the first client continues', async () => {
      const first = startRecording(java.pid, '--root', 'fix.KnownTree.task')
      await first.started

      const out = join(temporaryDirectory(), 'second.jfluid')
      const begun = performance.now()
      const second = await jfluid('record', String(java.pid), '--root', 'fix.KnownTree.task', '--out', out)
      expect(second.code, second.stderr).toBe(STATUS.notNow)
      expect(second.stderr).toMatch(
        /another jfluid is attached to JVM \d+\n\s+End the other session, or wait/,
      )
      expect(performance.now() - begun).toBeLessThan(10_000)

      await ask(java, 'run', /^done/)
      const profile = await first.stop()
      java.send('expect')
      await java.line(/^end/)
      expect(lines(callsByPath(profile.merged))).toEqual(lines(parseExpectation(java.stdout())))
      expect([profile.truncated, profile.instrumentation.gaps]).toEqual([false, 0])
    })
  })
})
