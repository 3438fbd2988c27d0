// Clients that hang, stop or crash during a recording: the target continues unharmed. Other moments: clients.full.jvm.test.ts.

import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, it } from 'vitest'
import { until } from '../live/remains.ts'
import { STATUS } from '../support/exit-codes.ts'
import { temporaryDirectory } from '../support/java-process.ts'
import { newestOrAll } from '../support/jdks.ts'
import { stderrLine } from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'
import { allStopped, STOPPED_ASLEEP_MS, withFault } from './clients-with-faults.ts'
import {
  type Aftermath,
  aftermath,
  clientTrials,
  keptBy,
  settled,
  startClient,
  verdict,
} from './lost-clients.ts'
import { TRIAL_MS, times } from './trials.ts'
import type { Witness } from './witness.ts'

/**
 * Limit for loading 20 classes: the first class waits one second, the next ones half a second, a quarter, …. If each class waited as long
 * as the first, the total would be 20 s.
 */
const HUNG_ASLEEP_MS = 2000 + STOPPED_ASLEEP_MS

describe.each(newestOrAll)('clients that fail during a recording, JDK $version', (jdk) => {
  const TRIES = times(1, 10)
  const TIMEOUT = 60_000 + TRIES * 60_000 + (FULL ? TRIAL_MS : 0)
  let first: Witness
  beforeAll(async () => {
    first = await settled(jdk)
  })

  /** Repeats a single trial that took too long, since one trial on a busy machine shows nothing about times. */
  async function timed<T extends Aftermath>(
    once: () => Promise<T>,
    isTooLong: (found: T) => boolean,
  ): Promise<T> {
    const found = await once()
    if (FULL || !isTooLong(found)) return found
    const again = await once()
    again.harm.push(...found.harm)
    return again
  }

  it('a client with a blocked main thread delays class loading by two seconds in total', {
    timeout: TIMEOUT,
  }, async () => {
    await clientTrials(
      'client: its main thread hangs, while classes are loaded',
      jdk,
      TRIES,
      async (witness) => {
        const { harm, ms, all, allAsleep } = await timed(
          () => hangs(witness),
          (found) => found.allAsleep > HUNG_ASLEEP_MS,
        )
        if (allAsleep > HUNG_ASLEEP_MS)
          harm.push(`20 classes were loaded in ${all} ms, of that asleep ${allAsleep} ms`)
        return {
          harm,
          profile: 'none',
          left: null,
          ms: { ...ms, 'all classes': all, 'of that asleep': allAsleep },
        }
      },
      first,
    )
  })

  /** Loads 20 classes while the client's main thread hangs. */
  async function hangs(witness: Witness): Promise<Aftermath & { all: number; allAsleep: number }> {
    const now = join(temporaryDirectory('jfluid-clients-'), 'now')
    const client = startClient(witness, {
      duration: '10m',
      env: withFault('main thread: hangs', { FAULT_AT: now }),
    })
    await stderrLine(client.process, /^recording/)
    writeFileSync(now, '')
    const { allAsleep, all } = await witness.loads(20)
    await client.process.kill()
    return { ...(await aftermath(witness, performance.now())), all, allAsleep }
  }

  it('a client that is stopped before recording starts does not block class loading; after the client continues, it reports why the session ended', {
    timeout: TIMEOUT,
  }, async () => {
    const fault = 'client: SIGSTOP while it instruments, and a class is loaded'
    await clientTrials(
      fault,
      jdk,
      TRIES,
      async (witness) => {
        const { harm, wrong, ms, asleep } = await timed(
          () => stopsEarly(witness),
          (found) => found.asleep > STOPPED_ASLEEP_MS,
        )
        if (asleep > STOPPED_ASLEEP_MS) harm.push(`a class was loaded after ${asleep} ms`)
        return { harm, wrong, profile: 'none', left: null, ms: { ...ms, 'class loaded': asleep } }
      },
      first,
    )
  })

  /** Loads a class while the client is stopped. */
  async function stopsEarly(witness: Witness): Promise<Aftermath & { wrong: string[]; asleep: number }> {
    const env = withFault('main thread: stops', { FAULT_SAID: 'instrumenting' })
    const client = startClient(witness, { duration: '10m', env })
    await stderrLine(client.process, /^instrumenting/)
    await until(() => allStopped(client.pid))
    const { asleep } = await witness.loads(1)
    const { harm, ms } = await aftermath(witness, performance.now())
    client.process.child.kill('SIGCONT')
    const said =
      /^jfluid: JVM \d+ ended the session before the recording began: the client was stopped or killed$/m
    const wrong = await verdict(client, { [STATUS.notNow]: said })
    return { harm, wrong, ms, asleep }
  }

  it('a client whose recording thread throws keeps the recorded data and reports the error', {
    timeout: TIMEOUT,
  }, async () => {
    await clientTrials(
      'client: its recording thread throws while it records',
      jdk,
      TRIES,
      async (witness) => {
        const now = join(temporaryDirectory('jfluid-clients-'), 'now')
        const client = startClient(witness, {
          duration: '10m',
          env: withFault('recording thread: throws', { FAULT_AT: now }),
        })
        await stderrLine(client.process, /^recording/)
        await until(async () => (await witness.state()).calls > 0)
        writeFileSync(now, '')
        const { code } = await client.process.exit
        const found = await aftermath(witness, performance.now())
        const said = client.process.stderr()
        const wrong: string[] = []
        if (code !== STATUS.software || !/^jfluid: .*a crash/m.test(said))
          wrong.push(`it ended with ${code}: ${said}`)
        const isTruncated = (await keptBy(client))?.truncated !== false
        if (!isTruncated) wrong.push('its profile does not say that it is not whole')
        return { ...found, wrong, profile: existsSync(client.file) ? 'kept' : 'lost', left: null }
      },
      first,
    )
  })
})
