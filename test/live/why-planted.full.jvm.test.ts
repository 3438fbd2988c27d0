// jfluid why names the cause that is planted in each program, in its first three lines. JFLUID_WHY_RUNS is the number of answers that are
// requested from each program, by default 1.

import { expect, it } from 'vitest'
import { type Planted, startPlanted } from '../fixtures/planted.ts'
import { forEachJdk, type Jdk } from '../support/jdks.ts'
import { jfluid } from '../support/jfluid.ts'
import { itOnlyIf } from '../support/only-if.ts'
import { NO_QUOTA, quotasCanBeSet } from '../support/quota.ts'

const RUNS = Number(process.env.JFLUID_WHY_RUNS ?? 1)
const OPTIONS = { timeout: 100_000 + RUNS * 20_000 }

/** Expects that each answer about the program names the cause. */
async function expectCause(jdk: Jdk, name: Planted, cause: RegExp): Promise<void> {
  const java = await startPlanted(jdk, name)
  const missed = []
  for (let run = 0; run < RUNS; run++) {
    const { code, stdout, stderr } = await jfluid('why', `${java.pid}`)
    expect(code, stderr).toBe(0)
    const lines = stdout.split('\n').slice(0, 3).join('\n')
    if (!cause.test(lines)) missed.push(lines)
  }
  expect(missed, `answers of ${RUNS} that do not name the cause`).toEqual([])
}

forEachJdk((jdk) => {
  it.each<[Planted, RegExp]>([
    ['slow-query', /wait for a database .* OrderRepository\.searchLines/],
    [
      'contended-lock',
      /wait for a lock .* waits for Object, held by stock-worker-\S+ in .* StockServer\$Ledger\.recount/,
    ],
    ['exhausted-pool', /(?=.*pool or queue.* StoreConnectionPool\.borrow)(?=.* StatementExporter\.export)/s],
    ['collections', /garbage collection stops all threads .* TileServer\$GeoJsonWriter\.collection/],
    ['slow-service', /wait for another HTTP service .* CarrierClient\.heavyHaulRate/],
  ])('jfluid why names the cause that is planted in the program %s', OPTIONS, async (name, cause) => {
    await expectCause(jdk, name, cause)
  })

  itOnlyIf(quotasCanBeSet(), NO_QUOTA)(
    'jfluid why names the quota, and the loop that uses the processor time',
    OPTIONS,
    async () => {
      await expectCause(
        jdk,
        'busy-loop',
        /quota \(0\.3 processors\) stops the JVM .* SuggestServer\$FeedApplier\.awaitChange/,
      )
    },
  )
})
