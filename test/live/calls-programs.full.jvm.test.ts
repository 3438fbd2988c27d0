// All ways to call a method. Each program has its own recording, so that no program reveals methods of another program.

import { describe, it } from 'vitest'
import { forEachJdk } from '../support/jdks.ts'
import { profileCalls, programsOf } from './calls-programs.ts'

forEachJdk((jdk) => {
  describe.each(['a', 'b'])('programs with scheme %s', (scheme) => {
    it.each(programsOf(jdk))('calls of %s are counted exactly', async (program) => {
      await profileCalls(jdk, scheme, [program])
    })
  })
})
