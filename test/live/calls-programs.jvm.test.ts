// Every way a method can be called, in programs that count their own calls: all are found, by path.

import { describe, it } from 'vitest'
import { newestOrAll } from '../support/jdks.ts'
import { profileCalls, programsOf } from './calls-programs.ts'

describe.each(newestOrAll)('JDK $version', (jdk) => {
  it.each(['a', 'b'])('scheme %s: every program below one attach is counted exactly', async (scheme) => {
    await profileCalls(jdk, scheme, programsOf(jdk))
  })
})
