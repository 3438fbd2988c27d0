// Clients that are killed, stopped, hang or crash at random moments: the target goes on as if they had never been there.

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import { attachDoor } from '../../src/session/doors/door.ts'
import { Agent } from '../../src/wire/agent.ts'
import { until } from '../live/remains.ts'
import { STATUS } from '../support/exit-codes.ts'
import { temporaryDirectory } from '../support/java-process.ts'
import { jdks, newestOrAll } from '../support/jdks.ts'
import { stderrLine } from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'
import {
  type Aftermath,
  ASLEEP_MS,
  aftermath,
  anyMoment,
  type Client,
  clientTrials,
  harmOf,
  hasBegun,
  joined,
  keptBy,
  Phases,
  phaseOf,
  settled,
  startClient,
  verdict,
} from './lost-clients.ts'
import { type Outcome, TRIAL_MS, times } from './trials.ts'
import type { Witness } from './witness.ts'

/** What a client that is told to end says, or one that the target has left. */
const LAST_WORDS: Readonly<Record<number, RegExp>> = {
  0: /^profile written to /m,
  [STATUS.notNow]: /^jfluid: .*the client did not answer for 250 ms$/m,
  [STATUS.clientInterrupted]: /^interrupted before anything was recorded/m,
}

/**
 * Of threads that wait for a client that is stopped: 250 ms, and what a redefinition adds. One that began to wait before may have
 * had most of the second that it has for a client that lives: ASLEEP_MS.
 */
const STOPPED_ASLEEP_MS = 400
/** 20 of them, of which the first waits a second, the others half of one, a quarter, …; it were 20 s if each waited as long as the first. */
const HUNG_ASLEEP_MS = 2000 + STOPPED_ASLEEP_MS

/** What happens in a client, by its environment: FAULT, and FAULT_MS after its start or after it has said FAULT_SAID, or once the file FAULT_AT is there. */
const FAULTS = `
const { existsSync } = require('node:fs')
const { isMainThread } = require('node:worker_threads')
const { FAULT, FAULT_MS, FAULT_AT, FAULT_SAID } = process.env
const hog = []
const faults = {
  'throws': () => { throw new Error('a crash') },
  'aborts': () => process.abort(),
  'stops': () => process.kill(process.pid, 'SIGSTOP'),
  'hangs': () => { for (const end = Date.now() + 60_000; Date.now() < end; ); },
  'runs out of memory': () => setInterval(() => { for (let i = 0; i < 1e5; i++) hog.push({ i }) }, 1),
}
const [where, what] = FAULT.split(': ')
if (isMainThread === (where === 'main thread')) {
  if (FAULT_SAID !== undefined) {
    const write = process.stderr.write
    process.stderr.write = (text, ...rest) => {
      const result = write.call(process.stderr, text, ...rest)
      if (!String(text).startsWith(FAULT_SAID)) return result
      if (FAULT_MS === undefined) faults[what]()
      else setTimeout(faults[what], Number(FAULT_MS))
      return result
    }
  } else if (FAULT_MS !== undefined) {
    setTimeout(faults[what], Number(FAULT_MS))
  } else {
    const look = setInterval(() => {
      if (!existsSync(FAULT_AT)) return
      clearInterval(look)
      faults[what]()
    }, 5)
  }
}
`
const faulty = join(temporaryDirectory('jfluid-faults-'), 'faults.cjs')
writeFileSync(faulty, FAULTS)

/** The environment of a client to which this happens. */
function withFault(
  fault: string,
  when: { FAULT_MS?: string; FAULT_AT?: string; FAULT_SAID?: string },
  options = '',
): Record<string, string> {
  return { FAULT: fault, ...when, NODE_OPTIONS: `--require ${faulty} ${options}` }
}

describe.each(jdks)('at any moment, JDK $version', (jdk) => {
  const kills = times(0, 200)
  it.runIf(kills > 0)(`killed ${kills} times`, { timeout: 60_000 + kills * 30_000 + TRIAL_MS }, async () => {
    const phases = new Phases()
    await clientTrials('client: SIGKILL', jdk, kills, async (witness, chance, n) => {
      await witness.state()
      const client = startClient(witness, { duration: '10m' })
      const loads = chance.next() < 0.5 ? witness.loads(8) : null
      // Some of them once there is something to be kept.
      if (n % 6 === 5) {
        await until(() => hasSaved(client) || client.process.child.exitCode !== null)
        await sleep(chance.between(0, 300))
      } else await anyMoment(client, chance)
      const saved = hasSaved(client)
      // A client that lives may let threads wait for longer than one that has died: two numbers.
      const living = await harmOf(witness)
      await client.process.kill()
      phases.note(phaseOf(client))
      const { harm, ms } = await aftermath(witness, performance.now())
      await loads
      ms['asleep before'] = living.asleep
      return { harm: [...living.harm, ...harm], profile: await profileOf(client, saved), left: null, ms }
    })
    phases.tell('killed')
  })

  const stops = times(0, 50)
  it.runIf(stops > 0)(
    `stopped ${stops} times, and going on`,
    { timeout: 60_000 + stops * 40_000 + TRIAL_MS },
    async () => {
      const phases = new Phases()
      await clientTrials(
        'client: SIGSTOP, while classes are loaded',
        jdk,
        stops,
        async (witness, chance, n) => {
          const client = startClient(witness, {
            duration: '10m',
            args: ['--scheme', n % 2 === 0 ? 'a' : 'b'],
          })
          const isTold = await anyMoment(client, chance)
          await witness.state()
          const isStopped = await stopWhole(client)
          const stopped = performance.now()
          phases.note(phaseOf(client))
          // While it ends, the target may have its code back, and the agent wait for the client to look at that.
          const begun = isStopped && hasBegun(client) && phaseOf(client) === 'recording'
          const loading = witness.loads(8)
          // Where nothing was recorded yet, the target may have had nothing to wait for.
          const found: Aftermath = begun ? await aftermath(witness, stopped) : await lookedAt(witness)
          const loaded = await loading
          found.ms['class loaded'] = loaded.asleep
          if (loaded.asleep > (begun ? STOPPED_ASLEEP_MS : ASLEEP_MS))
            found.harm.push(`a class was loaded after ${loaded.asleep} ms`)
          if (isStopped) client.process.child.kill('SIGCONT')
          return await ended(client, witness, found, isTold)
        },
      )
      phases.tell('stopped')
    },
  )

  const looks = times(0, 1)
  it.runIf(looks > 0)(
    'the agent does not wait for ever for a client that was to look at what is back',
    {
      timeout: 120_000,
    },
    async () => {
      const witness = await settled(jdk)
      const door = await attachDoor(witness.pid)
      const agent = new Agent(door.link)
      await agent.hello()
      await agent.restore()
      const restored = performance.now()
      await agent.closed
      expect(performance.now() - restored).toBeGreaterThan(9000)
      await witness.withoutAgent()
      door.leave()
      expect(await witness.left()).toEqual([])
    },
  )

  const minutes = times(0, 2)
  it.runIf(minutes > 0)(
    `stopped for a minute`,
    { timeout: 60_000 + minutes * 200_000 + TRIAL_MS },
    async () => {
      await clientTrials('client: SIGSTOP for a minute', jdk, minutes, async (witness, chance, n) => {
        const client = startClient(witness, { duration: '10m' })
        // The second is stopped on its way, where answers are waited for with timeouts of their own.
        await stderrLine(
          client.process,
          n === 0 ? /^recording/ : chance.of([/^attaching/, /^calibrating/, /^instrumenting/]),
        )
        await sleep(chance.between(0, 50))
        await witness.state()
        await stopWhole(client)
        const stopped = performance.now()
        const begun = hasBegun(client)
        const found = begun ? await aftermath(witness, stopped) : await lookedAt(witness)
        // Whoever attaches next does not have to wait for it to go on.
        if (begun) found.harm.push(...(await witness.miscounted()))
        await sleep(60_000 - (performance.now() - stopped))
        client.process.child.kill('SIGCONT')
        const outcome = await ended(client, witness, found)
        if (!begun) return outcome
        const isTruncated = (await keptBy(client))?.truncated !== false
        return isTruncated
          ? outcome
          : joined(outcome, { wrong: ['its profile does not say that it is not whole'] })
      })
    },
  )

  const crashes = times(0, 10)
  it.runIf(crashes > 0).each([
    ['main thread: throws', ''],
    ['main thread: aborts', ''],
    ['main thread: runs out of memory', '--max-old-space-size=100'],
    ['recording thread: throws', ''],
    ['recording thread: runs out of memory', '--max-old-space-size=100'],
  ])(`%s, ${crashes} times`, { timeout: 60_000 + crashes * 30_000 + TRIAL_MS }, async (fault, options) => {
    const phases = new Phases()
    await clientTrials(`client: ${fault}`, jdk, crashes, async (witness, chance) => {
      await witness.state()
      // The recording thread begins late enough, and says nothing.
      const said = chance.of(['attaching', 'calibrating', 'reading classes', 'instrumenting', 'recording'])
      const when = {
        FAULT_MS: chance.between(0, 600).toFixed(0),
        ...(fault.startsWith('main') && { FAULT_SAID: said }),
      }
      const client = startClient(witness, { duration: '10m', env: withFault(fault, when, options) })
      await client.process.exit
      phases.note(phaseOf(client))
      const { harm, ms } = await aftermath(witness, performance.now())
      return { harm, profile: await profileOf(client, hasSaved(client)), left: null, ms }
    })
    phases.tell(fault)
  })
})

describe.each(newestOrAll)('while it records, JDK $version', (jdk) => {
  const TRIES = times(1, 10)
  const TIMEOUT = 60_000 + TRIES * 60_000 + (FULL ? TRIAL_MS : 0)
  let first: Witness
  beforeAll(async () => {
    first = await settled(jdk)
  })

  /** Once more where it is tried but once, and was too long: one try says nothing about times on a machine that does other things as well. */
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

  it('its main thread hangs: a target that asks waits for two seconds, and not for each answer', {
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

  /** 20 classes are loaded meanwhile. */
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

  it('stopped before it records: a class is loaded all the same, and the client says why it ends', {
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

  /** A class is loaded meanwhile. */
  async function stopsEarly(witness: Witness): Promise<Aftermath & { wrong: string[]; asleep: number }> {
    const env = withFault('main thread: stops', { FAULT_SAID: 'instrumenting' })
    const client = startClient(witness, { duration: '10m', env })
    await stderrLine(client.process, /^instrumenting/)
    await until(() => allStopped(client.pid))
    const { asleep } = await witness.loads(1)
    const { harm, ms } = await aftermath(witness, performance.now())
    client.process.child.kill('SIGCONT')
    const said =
      /^jfluid: JVM \d+ ended the session before it recorded: the client did not answer for 250 ms$/m
    const wrong = await verdict(client, { [STATUS.notNow]: said })
    return { harm, wrong, ms, asleep }
  }

  it('its recording thread throws: what was recorded is kept, and the error told', {
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

/**
 * Stops a client and waits until all of its threads stand still: one that waits for a processor does so when it gets one.
 *
 * @returns false if it had ended
 */
async function stopWhole({ process }: Client): Promise<boolean> {
  if (!process.child.kill('SIGSTOP')) return false
  await until(() => process.child.exitCode !== null || allStopped(process.pid))
  return process.child.exitCode === null
}

function allStopped(pid: number): boolean {
  try {
    return readdirSync(`/proc/${pid}/task`).every((thread) =>
      /\) T /.test(readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8')),
    )
  } catch {
    return false // one of them has ended
  }
}

/** A client that goes on after a while, and is told to end: what it says, and what it has kept. */
async function ended(client: Client, witness: Witness, found: Aftermath, isTold = false): Promise<Outcome> {
  await Promise.race([stderrLine(client.process, /^recording/).catch(() => {}), client.process.exit])
  if (!isTold) client.process.child.kill('SIGINT')
  const wrong = await verdict(client, LAST_WORDS)
  const after = await aftermath(witness, performance.now())
  const profile = await keptBy(client)
  if (hasBegun(client) && profile === null) wrong.push(`it kept nothing: ${client.process.stderr()}`)
  return {
    harm: [...found.harm, ...after.harm],
    wrong,
    profile: profile === null ? (hasBegun(client) ? 'lost' : 'none') : 'kept',
    left: null,
    ms: found.ms,
  }
}

/** What a target says that may still have probes. */
async function lookedAt(witness: Witness): Promise<Aftermath> {
  const { harm, longest, asleep } = await harmOf(witness)
  return { harm, ms: { 'stood still': longest, asleep } }
}

function hasSaved(client: Client): boolean {
  return existsSync(client.file) || existsSync(client.autosaved)
}

/** What was there when it was killed is there, and whole. */
async function profileOf(client: Client, saved: boolean): Promise<Outcome['profile']> {
  return (await keptBy(client)) !== null ? 'kept' : saved ? 'lost' : 'none'
}
