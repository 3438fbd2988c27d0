// Method handle calls of all kinds are counted exactly, for each compiler and at any time of compilation: the program is warmed up before
// the attach, and its workers call continuously. handle-kinds.full.jvm.test.ts repeats this test.

import { expect, it } from 'vitest'
import { forEachJdk, newest } from '../support/jdks.ts'
import { FULL } from '../support/lane.ts'
import { countHandleCalls, LEAF_ROOT, ROOT, startHandleKinds, WORKERS } from './handle-kinds.ts'

/** Options of the second session in a JVM. */
const SECOND = {
  1: [LEAF_ROOT, '--scheme', 'b', '--mode', 'count'],
  default: [ROOT, '--scheme', 'a', '--mode', 'bytecodes'],
} as const

forEachJdk((jdk) => {
  // In the full lane both compilation levels run on each JDK.
  it.each<1 | 'default'>(FULL ? [1, 'default'] : [jdk === newest ? 'default' : 1])(
    'method handle calls of every kind are counted in two sessions at compilation level %s',
    async (level) => {
      const java = await startHandleKinds(jdk, level)
      const sessions = [
        ['first', ROOT, '--scheme', 'b'],
        ['second', ...SECOND[level]],
      ] as const
      for (const [session, root, ...flags] of sessions) {
        const { wrong, targets, threads, profile } = await countHandleCalls(java, session, root, ...flags)
        expect(wrong, session).toEqual([])
        expect(threads, session).toBe(WORKERS + 1)
        expect(targets, session).toBeGreaterThanOrEqual(root === ROOT ? 28 : 1)
        expect(profile.instrumentation.gaps, session).toBe(0)
        expect(profile.instrumentation.skipped.filter((it) => /DirectMethodHandle/.test(it.method))).toEqual(
          [],
        )
      }
    },
  )

  // C1 inlines short methods in the code of a method handle. For such methods, scheme adaptive also redefines the JDK class of method
  // handles, which it does not do for other methods.
  it('with scheme adaptive, calls by method handles of short timed methods are counted', async () => {
    const java = await startHandleKinds(jdk, 1)
    const only = await countHandleCalls(java, 'first', ROOT, '--scheme', 'adaptive')
    expect(only.profile.instrumentation.redefinedClasses).toBe(1)
    const names = ['.*', '$*.*', '$Made.<init>', '$Reflected.<init>']
    const timed = names.flatMap((it) => ['--time', `fix.HandleKinds${it}`])
    const counted = await countHandleCalls(java, 'second', ROOT, '--scheme', 'adaptive', ...timed)
    expect(counted.wrong).toEqual([])
    expect(counted.threads).toBe(WORKERS + 1)
    expect(counted.targets).toBeGreaterThanOrEqual(28)
  })
})
