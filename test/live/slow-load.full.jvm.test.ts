// A JVM with -Xcomp compiles the agent before it runs, and needs many seconds to load it. jvm-options-counts.full.jvm.test.ts tests that an
// attach waits for such a JVM, and that its counts are exact.

import { join } from 'node:path'
import { expect, it } from 'vitest'
import { attachCommand } from '../../src/attach/command.ts'
import { MAX_WORK_MS } from '../../src/attach/work.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import { ask, startJava, temporaryDirectory } from '../support/java-process.ts'
import { forEachJdk } from '../support/jdks.ts'
import { startJfluid, startRecording } from '../support/jfluid.ts'
import { remainsOf, until } from './remains.ts'

forEachJdk((jdk) => {
  it('Ctrl-C while a JVM loads the agent ends the command at once; no session begins, and a later session activates the agent', {
    timeout: 400_000,
  }, async () => {
    const java = startJava(jdk, ['-Xcomp', '-cp', await compileFixture(jdk, 'KnownTree'), 'fix.KnownTree'])
    await java.line(/ready/)
    const root = ['--root', 'fix.KnownTree.task']
    const out = join(temporaryDirectory(), 'p.jfluid')
    const client = startJfluid('record', `${java.pid}`, ...root, '--duration', '1s', '--yes', '--out', out)
    await until(() => /waiting while JVM \d+ loads the agent/.test(client.stderr()))
    client.child.kill('SIGINT')
    expect((await client.exit).code).toBe(130)
    expect(client.stderr()).toContain('may still load the agent, which then begins no session')
    // The JVM executes this command after the load.
    const socket = `/tmp/.java_pid${java.pid}`
    const { code } = await attachCommand(socket, 'jcmd', ['VM.version'], { timeoutMs: MAX_WORK_MS })
    expect(code).toBe(0)
    expect(await remainsOf(java.pid, [client.pid])).toEqual([])
    const recording = startRecording(java.pid, ...root)
    await recording.started
    await ask(java, 'run 1', /^done/)
    const { merged } = await recording.stop()
    expect(merged[0]!.calls).toBe(4)
    expect(recording.process.stderr()).toContain('verified as original, nothing of jfluid remains')
    java.send('quit')
    expect((await java.exit).code).toBe(0)
    expect(java.stderr().match(/A Java agent has been loaded dynamically/g)?.length ?? 0).toBe(
      jdk.version < 21 ? 0 : 1,
    )
  })
})
