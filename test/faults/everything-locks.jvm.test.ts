// A thread holds locks of the application and of the JDK forever. They block neither the client during attach, instrumentation and
// detach, nor a thread that enters the root for the first time.

import { describe, it } from 'vitest'
import { forNewestJdk } from '../support/jdks.ts'
import { heldFor, LOCKS, unattachable } from './everything-locks-held.ts'
import { times, trials } from './trials.ts'

forNewestJdk((jdk) => {
  describe('locks that a thread never releases', () => {
    it('attach, calls and detach do not block while a thread holds all locks', {
      timeout: 600_000,
    }, async () => {
      await trials('held for ever: all of these at once', jdk, times(1, 10), () =>
        heldFor(
          jdk,
          Object.keys(LOCKS).filter((name) => !unattachable(name, jdk)),
        ),
      )
    })
  })
})
