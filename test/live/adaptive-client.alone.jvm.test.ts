// A client that is killed or stopped while threads call the root continuously (scheme adaptive). Runs alone, since other load on the
// machine would delay the threads too.

import { expect, it } from 'vitest'
import { STATUS } from '../support/exit-codes.ts'
import { compileJava, type JavaProcess, startJava, stop } from '../support/java-process.ts'
import { forEachJdk, type Jdk } from '../support/jdks.ts'
import { type Recording, readProfileJson, startRecording } from '../support/jfluid.ts'
import { gap, PULSE } from './pulse.ts'
import { ownThreads, remainsOf, until } from './remains.ts'

/** Minimum time that a thread waits for a client that does not answer, with scheme b. */
const WAIT_FOR_CLIENT_MS = 250

/**
 * Returns the longest time, ms, that a thread of the target was blocked before the target ended the session. If the first measurement is
 * too long, measures again and returns the shorter time, since other processes may delay threads.
 */
async function held(
  jdk: Jdk,
  end: (java: JavaProcess, recording: Recording) => Promise<void>,
): Promise<number> {
  const classes = await compileJava(jdk, { 'fix/Pulse': PULSE })
  const measure = async () => {
    const java = startJava(jdk, ['-cp', classes, 'fix.Pulse', '2'])
    await java.line(/^ready/)
    const recording = startRecording(java.pid, '--root', 'fix.Pulse.root', '--scheme', 'adaptive')
    await recording.started
    // Waits until a root call has ended after the first query, so at least one call is recorded. Each query also resets the longest time,
    // which would otherwise include the pause of the redefinition.
    for (let i = 0; i < 2; i++) await until(async () => (await gap(java)) > 0)
    await end(java, recording)
    await until(() => ownThreads(java.pid).length === 0)
    const ms = await gap(java)
    expect(await remainsOf(java.pid, [recording.process.pid])).toEqual([])
    await java.kill()
    return ms
  }
  const ms = await measure()
  return ms < WAIT_FOR_CLIENT_MS ? ms : Math.min(ms, await measure())
}

forEachJdk((jdk) => {
  it('a killed client leaves nothing behind and delays no call of the root', async () => {
    const ms = await held(jdk, (_, recording) => recording.process.kill())
    expect(ms).toBeLessThan(WAIT_FOR_CLIENT_MS)
  })

  it('a stopped client leaves nothing behind, delays no call, and reports the lost session when the client continues', async () => {
    const ms = await held(jdk, async (java, { process: p, file }) => {
      await stop(p)
      await until(() => ownThreads(java.pid).length === 0)
      p.child.kill('SIGCONT')
      expect((await p.exit).code).toBe(STATUS.notNow)
      expect(p.stderr()).toMatch(/^jfluid: the recording ended too early: the client was stopped or killed$/m)
      expect((await readProfileJson(file)).truncated).toBe(true)
    })
    expect(ms).toBeLessThan(WAIT_FOR_CLIENT_MS)
  })
})
