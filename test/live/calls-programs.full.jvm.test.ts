// Every way a method can be called, one program at a time: nothing is found because another program led to it.

import { describe, it } from 'vitest'
import { forEachJdk } from '../support/jdks.ts'
import { profileCalls, programsOf } from './calls-programs.ts'

forEachJdk((jdk) => {
  describe.each(['a', 'b'])('scheme %s', (scheme) => {
    it.each(programsOf(jdk))('calls of %s are counted exactly', async (program) => {
      await profileCalls(jdk, scheme, [program])
    })
  })
})
