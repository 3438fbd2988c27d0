// All ways to call a method, in programs that count their own calls. Each call must be recorded on its path.

import { describe, it } from 'vitest'
import { newestOrAll } from '../support/jdks.ts'
import { FULL } from '../support/lane.ts'
import { profileCalls, programsOf } from './calls-programs.ts'

describe.each(newestOrAll)('counted calls of test programs on JDK $version', (jdk) => {
  it.each(FULL ? ['a', 'b'] : ['b'])(
    'with scheme %s, the calls of all test programs are counted exactly in one session',
    async (scheme) => {
      await profileCalls(jdk, scheme, programsOf(jdk))
    },
  )
})
