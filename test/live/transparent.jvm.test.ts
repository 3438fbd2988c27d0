// Calls that pass through classes excluded by --exclude or --include: exactly the expected calls are counted.

import { describe, expect, it } from 'vitest'
import { parseExpectation } from '../fixtures/expectation.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import { startJava } from '../support/java-process.ts'
import { oldestOrAll } from '../support/jdks.ts'
import { callsByPath, lines, startRecording, sumsAreExact } from '../support/jfluid.ts'

const FILTERS = [
  ['--exclude', 'fix.TransparentLib*'],
  ['--include', 'fix.Transparent'],
]

describe.each(oldestOrAll)('calls from excluded classes on JDK $version', (jdk) => {
  describe.each(['a', 'b'])('excluded classes with scheme %s', (scheme) => {
    it.each(FILTERS)(
      'with %s %s, calls from excluded classes are counted below the nearest recorded caller',
      async (...filter) => {
        const java = startJava(jdk, ['-cp', await compileFixture(jdk, 'Transparent'), 'fix.Transparent'])
        await java.line(/ready/)
        const root = ['--root', 'fix.Transparent.root', '--scheme', scheme]
        const recording = startRecording(java.pid, ...root, ...filter)
        await recording.started
        for (let i = 0; i < 2; i++) {
          const before = java.stdout().length
          java.send('run')
          await expect.poll(() => java.stdout().slice(before)).toMatch(/done/)
        }
        const profile = await recording.stop()
        java.send('expect')
        await java.line(/^end/)
        expect(lines(callsByPath(profile.merged))).toEqual(lines(parseExpectation(java.stdout())))
        expect(profile.instrumentation.gaps).toBe(0)
        expect(profile.instrumentation.healed).toBe(0)
        expect(sumsAreExact(profile.merged)).toBe(true)
        // The excluded class is never instrumented, and no message mentions the class that the user has excluded.
        expect(profile.methods.filter((it) => it.class.includes('TransparentLib'))).toEqual([])
      },
    )
  })
})
