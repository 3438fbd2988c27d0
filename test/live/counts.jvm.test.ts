// Programs whose calls are known beforehand, profiled by attach: every count must be exact.

import { availableParallelism } from 'node:os'
import { describe, expect, it } from 'vitest'
import { parseExpectation } from '../fixtures/expectation.ts'
import { compileFixture, compileLate } from '../fixtures/fixtures.ts'
import { startJava } from '../support/java-process.ts'
import { jdks, newest } from '../support/jdks.ts'
import { callsByMethod, callsByPath, lines, startRecording, sumsAreExact } from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'
import { itOnlyIf } from '../support/only-if.ts'

describe.each(jdks)('JDK $version', (jdk) => {
  // What is counted depends on the JDK, and how it is found on the scheme; seldom on both.
  describe.each(FULL ? ['a', 'b'] : [jdk === newest ? 'b' : 'a'])('scheme %s', (scheme) => {
    it('the tree of many threads that is known by construction', async () => {
      const java = startJava(jdk, ['-cp', await compileFixture(jdk, 'KnownTree'), 'fix.KnownTree', '4', '50'])
      await java.line(/ready/)
      const recording = startRecording(java.pid, '--root', 'fix.KnownTree.task', '--scheme', scheme)
      await recording.started
      java.send('run 1')
      await java.line(/done/)
      const profile = await recording.stop()
      java.send('expect')
      await java.line(/^end/)
      expect(lines(callsByPath(profile.merged))).toEqual(lines(parseExpectation(java.stdout())))
      expect(sumsAreExact(profile.merged)).toBe(true)
      expect(profile.instrumentation.healed).toBe(0)
      expect(profile.instrumentation.gaps).toBe(0)
      expect(profile.truncated).toBe(false)
      expect(profile.threads.filter((t) => t.roots.length > 0)).toHaveLength(4)
    })

    it('callbacks: what only the JDK calls is found all the same', async () => {
      const java = startJava(jdk, ['-cp', await compileFixture(jdk, 'Callbacks'), 'fix.Callbacks'])
      await java.line(/ready/)
      const recording = startRecording(java.pid, '--root', 'fix.Callbacks.root', '--scheme', scheme)
      await recording.started
      java.send('run')
      await java.line(/done/)
      const profile = await recording.stop()
      java.send('expect')
      await java.line(/^end/)
      expect(lines(callsByMethod(profile))).toEqual(lines(parseExpectation(java.stdout())))
    })

    it('throws: methods that end by exceptions leave the tree in order', async () => {
      const java = startJava(jdk, ['-cp', await compileFixture(jdk, 'Throws'), 'fix.Throws'])
      await java.line(/ready/)
      const recording = startRecording(java.pid, '--root', 'fix.Throws.root', '--scheme', scheme)
      await recording.started
      java.send('run')
      await java.line(/done/)
      const profile = await recording.stop()
      java.send('expect')
      await java.line(/^end/)
      expect(lines(callsByPath(profile.merged))).toEqual(lines(parseExpectation(java.stdout())))
    })

    it('late: classes that come after the attach, one name in two loaders', async () => {
      const { classes, a, b } = await compileLate(jdk)
      const java = startJava(jdk, ['-cp', classes, 'fix.Late', a, b])
      await java.line(/ready/)
      java.send('load a')
      await java.line(/loaded/)
      const recording = startRecording(java.pid, '--root', 'fix.Late.run', '--scheme', scheme)
      await recording.started
      java.send('inside b')
      await java.line(/done/)
      const profile = await recording.stop()
      java.send('expect')
      await java.line(/^end/)
      const calls = new Map<string, number>()
      for (const m of profile.methods) {
        const from = /late-[ab]/.exec(m.loader)?.[0]
        calls.set(`${m.class}.${m.method}${m.descriptor}${from === undefined ? '' : `@${from}`}`, m.calls)
      }
      expect(lines(calls)).toEqual(lines(parseExpectation(java.stdout())))
    })
  })

  itOnlyIf(jdk.version >= 21, 'virtual threads need JDK 21').each(FULL ? ['a', 'b'] : ['b'])(
    'virtual threads that park, pinned and not, and change carriers, under scheme %s',
    async (scheme) => {
      const java = startJava(jdk, ['-cp', await compileFixture(jdk, 'Virtual'), 'fix.Virtual'])
      await java.line(/ready/)
      const recording = startRecording(java.pid, '--root', 'fix.Virtual.task', '--scheme', scheme)
      await recording.started
      java.send('run 2000')
      const done = await java.line(/done/)
      expect(done).toMatch(/ strayed 0$/)
      if (availableParallelism() > 1) expect(done).not.toMatch(/ carriers 0 /)
      const profile = await recording.stop()
      java.send('expect 2000')
      await java.line(/^end/)
      expect(lines(callsByPath(profile.merged))).toEqual(lines(parseExpectation(java.stdout())))
      expect(profile.instrumentation.healed).toBe(0)
    },
  )
})
