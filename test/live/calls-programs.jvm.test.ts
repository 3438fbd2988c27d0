// All ways to call a method, in programs that count their own calls. Each call must be recorded on its path.

import { describe, it } from 'vitest'
import { newestOrAll } from '../support/jdks.ts'
import { profileCalls, programsOf } from './calls-programs.ts'

describe.each(newestOrAll)('JDK $version', (jdk) => {
  it.each(['a', 'b'])('scheme %s counts all programs exactly in one attach', async (scheme) => {
    await profileCalls(jdk, scheme, programsOf(jdk))
  })
})
