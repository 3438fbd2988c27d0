// A target in its shutdown hooks, which run the code that is profiled: they run to their end, the program ends as it would, and what
// was recorded is kept, whether we are there, leave, or come while they run.

import { setTimeout as sleep } from 'node:timers/promises'
import { it } from 'vitest'
import { compileFixture } from '../fixtures/fixtures.ts'
import { filesOf } from '../live/remains.ts'
import { STATUS } from '../support/exit-codes.ts'
import { type JavaProcess, startJava } from '../support/java-process.ts'
import { forEachJdk, newest } from '../support/jdks.ts'
import { callsByMethod, stderrLine } from '../support/jfluid.ts'
import { hadBegun, type RecordingClient, recordInto, verdictOf } from './clients.ts'
import { type Chance, FULL, type Outcome, times, trials } from './trials.ts'
import { HELD_MS } from './witness.ts'

/** For so long the hook calls the root. */
const HOOK_MS = FULL ? 4000 : 1500
const ROOT = ['--root', 'fix.Mortal.root']

interface End {
  readonly how: string
  tell(java: JavaProcess): void
  readonly code: number
}

const ENDS: readonly End[] = [
  {
    how: 'SIGTERM',
    tell: (java) => {
      java.child.kill('SIGTERM')
    },
    code: 143,
  },
  { how: '`System.exit`', tell: (java) => java.send('exit'), code: 3 },
  { how: '`System.exit` inside the root', tell: (java) => java.send('inside'), code: 3 },
]

interface Presence {
  readonly what: string
  /** Has the target end. @returns the client, and what it may end with */
  meet(java: JavaProcess, end: () => void, chance: Chance): Promise<RecordingClient>
  readonly expected: Readonly<Record<number, RegExp>>
}

const RECORDED = { [STATUS.jvmEnded]: /^jfluid: JVM \d+ ended before the recording did$/m }
const CAME_TOO_LATE = {
  [STATUS.noSuchProcess]: /^jfluid: cannot attach to \d+: (it has ended|no such process)$/m,
  [STATUS.jvmEnded]:
    /^jfluid: (JVM \d+ ended before the recording did$|the connection to the JVM was lost: )/m,
}

const PRESENCES: readonly Presence[] = [
  {
    what: 'recorded all the while',
    async meet(java, end) {
      const client = recordInto(java.pid, ...ROOT, '--duration', '10m')
      await stderrLine(client.process, /^recording/)
      end()
      return client
    },
    expected: RECORDED,
  },
  {
    what: 'the client leaves while they run',
    async meet(java, end, chance) {
      const client = recordInto(java.pid, ...ROOT, '--duration', '10m')
      await stderrLine(client.process, /^recording/)
      end()
      await java.line(/^hook begins/)
      await sleep(chance.between(0, HOOK_MS))
      client.process.child.kill('SIGINT')
      return client
    },
    expected: { ...RECORDED, 0: /^detached from/m },
  },
  {
    what: 'attached to while they run',
    async meet(java, end, chance) {
      end()
      await java.line(/^hook begins/)
      await sleep(chance.between(0, HOOK_MS / 4))
      return recordInto(java.pid, ...ROOT, '--duration', '10m')
    },
    expected: { ...RECORDED, ...CAME_TOO_LATE },
  },
]

forEachJdk((jdk) => {
  async function start(): Promise<JavaProcess> {
    const java = startJava(jdk, ['-cp', await compileFixture(jdk, 'Mortal'), 'fix.Mortal', String(HOOK_MS)])
    await java.line(/^ready/)
    return java
  }

  /** In ms, from when it is told until it has ended. */
  async function alone({ tell }: End): Promise<number> {
    const java = await start()
    const told = performance.now()
    tell(java)
    await java.exit
    return performance.now() - told
  }

  async function ends(
    { meet, expected }: Presence,
    { tell, code }: End,
    aloneMs: number,
    chance: Chance,
  ): Promise<Outcome> {
    const java = await start()
    let told = 0
    const end = () => {
      told = performance.now()
      tell(java)
    }
    const client = await meet(java, end, chance)
    const exit = await java.exit
    const ms = performance.now() - told
    const harm: string[] = []
    const [, calls, wrong] = /^hook ends calls (\d+) wrong (\d+)$/m.exec(java.stdout()) ?? []
    if (calls === undefined || wrong !== '0') harm.push(`the hook did not end well: ${java.stdout()}`)
    if (exit.code !== code) harm.push(`it ended with ${exit.code ?? exit.signal}`)
    if (java.stderr().replaceAll(/^WARNING: .*\n/gm, '') !== '') harm.push(`it said: ${java.stderr()}`)
    if (ms > aloneMs + HELD_MS)
      harm.push(`it ended after ${ms.toFixed(0)} ms, and without us after ${aloneMs.toFixed(0)} ms`)
    const { wrong: said, profile, exit: clientExit } = await verdictOf(client, expected)
    harm.push(...said)
    // Its root is called all the time, by the hook and by others.
    const counted = profile === null ? 0 : (callsByMethod(profile).get('fix.Mortal.root(I)I') ?? 0)
    const recorded = hadBegun(client)
    const watched = clientExit.code === STATUS.jvmEnded && expected === RECORDED
    if (watched && counted < Number(calls))
      harm.push(`${counted} calls were recorded of ${calls} in the hook`)
    return {
      harm,
      profile: !recorded ? 'none' : counted > 0 ? 'kept' : 'lost',
      left: filesOf(java.pid, client.process.pid),
      ms: { ended: ms, 'without us': aloneMs },
    }
  }

  for (const presence of PRESENCES) {
    for (const end of ENDS) {
      const fault = `shutdown hooks after ${end.how}: ${presence.what}`
      const isShort = jdk === newest && end === ENDS[0] && presence === PRESENCES[2]
      it.runIf(FULL || isShort)(fault, { timeout: 1_800_000 }, async () => {
        const aloneMs = await alone(end)
        await trials(fault, jdk, times(1, 20), (chance) => ends(presence, end, aloneMs, chance))
      })
    }
  }
})
