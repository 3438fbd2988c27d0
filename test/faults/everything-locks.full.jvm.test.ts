// A thread holds one lock of the application or of the JDK forever. jfluid blocks no thread on it.

import { it } from 'vitest'
import { forEachJdk } from '../support/jdks.ts'
import { heldFor, LOCKS } from './everything-locks-held.ts'
import { times, trials } from './trials.ts'

forEachJdk((jdk) => {
  it.each(Object.entries(LOCKS))(
    'jfluid does not block while a thread holds the lock "%s": %s',
    { timeout: 600_000 },
    async (name, what) => {
      await trials(`held for ever: ${what}`, jdk, times(3), () => heldFor(jdk, [name]))
    },
  )
})
