import { afterEach, expect, it } from 'vitest'
import { refuseBusyBeforeFlush } from '../../src/attach/first-redefinition.ts'
import { openAttachSocket } from '../../src/attach/handshake.ts'
import { debug } from '../../src/base/debug.ts'
import { SINCE } from '../../src/base/jdk-releases.ts'
import { compileJava, startJava } from '../support/java-process.ts'
import { forEachJdk } from '../support/jdks.ts'
import { WAITER } from './waiter.ts'

afterEach(() => {
  delete debug.attach
})

forEachJdk((jdk) => {
  it('the JDK release is read from the counters of the JVM, and compiled methods are counted only if the first redefinition would discard compiled code', async () => {
    const java = startJava(jdk, ['-cp', await compileJava(jdk, WAITER), 'Waiter'])
    await java.line(/^ready/)
    const connection = await openAttachSocket(java.pid)
    const asked: string[] = []
    debug.attach = (text) => {
      asked.push(...(/^command jcmd (\S+):/.exec(text)?.slice(1) ?? []))
    }
    await refuseBusyBeforeFlush(connection)
    expect(asked).toEqual(jdk.version < SINCE.SELECTIVE_INVALIDATION ? ['Compiler.codecache'] : [])
    await java.kill()
  })
})
