// Repeats handle-kinds.jvm.test.ts in many runs, since in each run C1 has compiled a different set of methods before the attach.

import { describe, expect, it } from 'vitest'
import { forEachJdk } from '../support/jdks.ts'
import { countHandleCalls, ROOT, startHandleKinds, WORKERS } from './handle-kinds.ts'

const RUNS = 20

forEachJdk((jdk) => {
  describe.each([1, 2, 'default'] as const)('method handle calls at JVM compilation level %s', (level) => {
    it.each(['a', 'b'])(
      `every kind of method handle call is counted in ${RUNS} JVMs under scheme %s`,
      { timeout: RUNS * 60_000 },
      async (scheme) => {
        for (let run = 1; run <= RUNS; run++) {
          await using java = await startHandleKinds(jdk, level)
          const { wrong, threads, profile } = await countHandleCalls(java, 'only', ROOT, '--scheme', scheme)
          expect([wrong, threads, profile.instrumentation.gaps], `run ${run}`).toEqual([[], WORKERS + 1, 0])
        }
      },
    )
  })
})
