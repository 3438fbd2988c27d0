// Programs with known calls, profiled by attach: every count must be exact.

import { availableParallelism } from 'node:os'
import { describe, expect, it } from 'vitest'
import { byMethod, parseExpectation } from '../fixtures/expectation.ts'
import { compileFixture, compileLate } from '../fixtures/fixtures.ts'
import { ask, startJava } from '../support/java-process.ts'
import { forEachTarget, newest } from '../support/jdks.ts'
import { callsByPath, lines, startRecording, sumsAreExact } from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'
import { itOnlyIf } from '../support/only-if.ts'

/** Number of constructors in Throws that end by an exception from super(): one in four of 50. */
const THROWN_OUT_OF_SUPER = 13

forEachTarget((jdk) => {
  // The JDK determines the calls, and the scheme determines how jfluid finds them. Few errors depend on both.
  describe.each(FULL ? ['a', 'b'] : [jdk === newest ? 'b' : 'a'])('programs with scheme %s', (scheme) => {
    // Several programs run in one JVM and one session, since they share no classes and no roots.
    it('programs with a known number of calls have exactly this number of calls in the profile', async () => {
      const { classes, a, b } = await compileLate(jdk)
      const programs = `KnownTree 4 50 , Callbacks , Throws , Late ${a} ${b}`.split(' ')
      const java = startJava(jdk, ['-cp', classes, 'fix.Several', ...programs])
      await java.line(/^all ready$/)
      await ask(java, 'Late load a', /^loaded/)
      const roots = ['KnownTree.task', 'Callbacks.root', 'Throws.root', 'Late.run']
      const flags = ['--scheme', scheme, ...roots.flatMap((it) => ['--root', `fix.${it}`])]
      const recording = startRecording(java.pid, ...flags)
      await recording.started
      for (const line of ['KnownTree run 1', 'Callbacks run', 'Throws run', 'Late inside b']) {
        await ask(java, line, /^done/)
      }
      const profile = await recording.stop()
      for (const name of ['KnownTree', 'Callbacks', 'Throws', 'Late'])
        await ask(java, `${name} expect`, /^end/)
      const expected = [...parseExpectation(java.stdout())]
      const expectedOf = (name: string) =>
        lines(new Map(expected.filter(([path]) => new RegExp(`^fix\\.${name}\\b`, 'i').test(path))))
      const recordedOf = (name: string) => profile.merged.filter((it) => it.class === `fix.${name}`)
      const tree = (name: string) => callsByPath(recordedOf(name))

      expect(lines(tree('KnownTree')), 'a tree of many threads').toEqual(expectedOf('KnownTree'))
      const ofTree = profile.threads.filter((it) => it.roots.some((root) => root.class === 'fix.KnownTree'))
      expect(ofTree).toHaveLength(4)
      expect(lines(byMethod(tree('Callbacks'))), 'callbacks: what only the JDK calls').toEqual(
        expectedOf('Callbacks'),
      )
      expect(lines(tree('Throws')), 'methods that end by exceptions').toEqual(expectedOf('Throws'))
      const late = new Map<string, number>()
      for (const m of profile.methods.filter((it) => /^fix\.late\b/i.test(it.class))) {
        const from = /late-[ab]/.exec(m.loader)?.[0]
        late.set(`${m.class}.${m.method}${m.descriptor}${from === undefined ? '' : `@${from}`}`, m.calls)
      }
      expect(lines(late), 'classes that come after the attach, one name in two loaders').toEqual(
        expectedOf('Late'),
      )

      expect(profile.merged.map((it) => it.class).toSorted()).toEqual(
        roots.map((it) => `fix.${it.split('.')[0]}`).toSorted(),
      )
      expect(sumsAreExact(profile.merged)).toBe(true)
      expect(profile.instrumentation.gaps).toBe(0)
      expect(profile.truncated).toBe(false)
      // An exception from super() ends a constructor in Throws at a point where no exception handler is allowed.
      expect(profile.instrumentation.healed).toBeLessThanOrEqual(THROWN_OUT_OF_SUPER)
    })
  })

  itOnlyIf(jdk.version >= 21, 'virtual threads need JDK 21').each(FULL ? ['a', 'b'] : ['b'])(
    'calls of virtual threads that park, are pinned or change carriers are counted with scheme %s',
    async (scheme) => {
      const java = startJava(jdk, ['-cp', await compileFixture(jdk, 'Virtual'), 'fix.Virtual'])
      await java.line(/ready/)
      const recording = startRecording(java.pid, '--root', 'fix.Virtual.task', '--scheme', scheme)
      await recording.started
      java.send('run 400')
      const done = await java.line(/done/)
      expect(done).toMatch(/ strayed 0$/)
      if (availableParallelism() > 1) expect(done).not.toMatch(/ carriers 0 /)
      const profile = await recording.stop()
      java.send('expect 400')
      await java.line(/^end/)
      expect(lines(callsByPath(profile.merged))).toEqual(lines(parseExpectation(java.stdout())))
      expect(profile.instrumentation.healed).toBe(0)
    },
  )
}, 11)
