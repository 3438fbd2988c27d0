// A client that is killed or stopped while threads call the root continuously (scheme adaptive). Runs alone, since a busy machine also
// delays threads.

import { expect, it } from 'vitest'
import { STATUS } from '../support/exit-codes.ts'
import { compileJava, type JavaProcess, startJava, stop } from '../support/java-process.ts'
import { forEachJdk, type Jdk } from '../support/jdks.ts'
import { type Recording, readProfileJson, startRecording } from '../support/jfluid.ts'
import { gap, PULSE } from './pulse.ts'
import { ownThreads, remainsOf, until } from './remains.ts'

/** With scheme B a thread waits for so long at least for a client that does not answer. */
const WAIT_FOR_CLIENT_MS = 250

/**
 * For how long threads of the target stood still until it had left the client. The shorter of two times: the machine does other things
 * as well.
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
    // From one call that ended after the question to another. Asking also forgets the pause of the redefinition.
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
  it('a killed client leaves nothing behind and delays no call', {
    timeout: 60_000,
  }, async () => {
    const ms = await held(jdk, (_, recording) => recording.process.kill())
    expect(ms).toBeLessThan(WAIT_FOR_CLIENT_MS)
  })

  it('a stopped client leaves nothing behind, delays no call, and reports the lost session when it continues', {
    timeout: 60_000,
  }, async () => {
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
