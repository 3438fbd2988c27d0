// A target in its shutdown hooks, which run profiled code. The hooks finish, the program ends normally, and the recorded
// data are kept, whether jfluid is attached, detaches or attaches while the hooks run.

import { setTimeout as sleep } from 'node:timers/promises'
import { it } from 'vitest'
import { compileFixture } from '../fixtures/fixtures.ts'
import { filesOf } from '../live/remains.ts'
import { STATUS } from '../support/exit-codes.ts'
import { type JavaProcess, startJava } from '../support/java-process.ts'
import { forNewestJdk } from '../support/jdks.ts'
import { callsByMethod, stderrLine } from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'
import { Alone } from './alone.ts'
import { hadBegun, type RecordingClient, recordInto, verdictOf } from './clients.ts'
import { type Chance, type Outcome, times, trials } from './trials.ts'

/** The counted root is called only by the hook. */
const HOOKED = 'fix.Mortal.hooked(I)I'
const record = ({ pid }: JavaProcess): RecordingClient =>
  recordInto(pid, '--root', 'fix.Mortal.root', '--root', 'fix.Mortal.hooked', '--duration', '10m')
/** Time in which an attaching client may or may not have finished its attach. */
const ATTACH_MS = 3000

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
  /**
   * Runs the client. The hook runs until this function has finished.
   *
   * @param begin  makes the target end, and waits for its hook
   */
  meet(java: JavaProcess, begin: () => Promise<void>, chance: Chance): Promise<RecordingClient>
  readonly expected: Readonly<Record<number, RegExp>>
  /** Number of recorded calls of the hook. */
  readonly recorded: 'all' | 'some' | 'some or none'
}

const RECORDED = { [STATUS.jvmEnded]: /^jfluid: JVM \d+ ended during the recording$/m }
const CAME_TOO_LATE = {
  [STATUS.noSuchProcess]: /^jfluid: cannot attach to \d+: (the process has ended|no such process)$/m,
  [STATUS.jvmEnded]: /^jfluid: (JVM \d+ ended during the recording$|the connection to the JVM was lost: )/m,
}

const ALL_THE_WHILE: Presence = {
  what: 'recorded before and during the hooks',
  async meet(java, begin, chance) {
    const client = record(java)
    await stderrLine(client.process, /^recording/)
    await begin()
    await sleep(chance.between(0, 500)) // time for which the hook runs
    return client
  },
  expected: RECORDED,
  recorded: 'all',
}
const LEAVES: Presence = {
  what: 'the client detaches during the hooks',
  async meet(java, begin, chance) {
    const client = record(java)
    await stderrLine(client.process, /^recording/)
    await begin()
    await sleep(chance.between(0, 500))
    client.process.child.kill('SIGINT')
    await sleep(chance.between(0, 1000)) // the client may or may not have detached by the end of this time
    return client
  },
  expected: { ...RECORDED, 0: /^detached from/m },
  recorded: 'some',
}
const COMES: Presence = {
  what: 'the client attaches during the hooks',
  async meet(java, begin) {
    await begin()
    const client = record(java)
    await stderrLine(client.process, /^recording/)
    return client
  },
  expected: RECORDED,
  recorded: 'some',
}
const COMES_LATE: Presence = {
  what: 'the client attaches during the hooks, or too late',
  async meet(java, begin, chance) {
    await begin()
    const client = record(java)
    await sleep(chance.between(0, ATTACH_MS))
    return client
  },
  expected: { ...RECORDED, ...CAME_TOO_LATE },
  recorded: 'some or none',
}

forNewestJdk((jdk) => {
  async function start(): Promise<JavaProcess> {
    const java = startJava(jdk, ['-cp', await compileFixture(jdk, 'Mortal'), 'fix.Mortal', 'hook'])
    await java.line(/^ready/)
    return java
  }

  const hookOf =
    (java: JavaProcess, { tell }: End) =>
    async (): Promise<void> => {
      tell(java)
      await java.line(/^hook begins/)
    }

  /** Returns the time in ms from the request to stop until the hook has ended. */
  async function endOf(java: JavaProcess): Promise<number> {
    const told = performance.now()
    java.send('stop')
    await java.exit
    return performance.now() - told
  }

  async function ends(presence: Presence, end: End, alone: Alone, chance: Chance): Promise<Outcome> {
    const java = await start()
    const client = await presence.meet(java, hookOf(java, end), chance)
    const ms = await endOf(java)
    const { code, signal } = await java.exit
    const harm: string[] = []
    const [, calls, wrong] = /^hook ends calls (\d+) wrong (\d+)$/m.exec(java.stdout()) ?? []
    if (calls === undefined || wrong !== '0') harm.push(`the hook did not end well: ${java.stdout()}`)
    if (code !== end.code) harm.push(`it ended with ${code ?? signal}`)
    if (java.stderr().replaceAll(/^WARNING: .*\n/gm, '') !== '') harm.push(`it said: ${java.stderr()}`)
    // A single trial on a busy machine shows nothing about times.
    if (FULL && (await alone.isExceededBy(ms)))
      harm.push(`it ended after ${ms.toFixed(0)} ms, and without us after ${alone}`)
    const { wrong: said, profile } = await verdictOf(client, presence.expected)
    const counted = profile === null ? 0 : (callsByMethod(profile).get(HOOKED) ?? 0)
    const least = { all: Number(calls), some: 1, 'some or none': 0 }[presence.recorded]
    const miscounted =
      counted < least || counted > Number(calls)
        ? [`${counted} calls were recorded of ${calls} in the hook`]
        : []
    return {
      harm,
      wrong: [...said, ...miscounted],
      profile: profile !== null ? 'kept' : hadBegun(client) ? 'lost' : 'none',
      left: filesOf(java.pid, client.process.pid),
      ms: { ended: ms },
    }
  }

  for (const presence of FULL ? [ALL_THE_WHILE, LEAVES, COMES, COMES_LATE] : [COMES]) {
    for (const end of FULL ? ENDS : ENDS.slice(0, 1)) {
      const fault = `shutdown hooks after ${end.how}: ${presence.what}`
      it(`the program ends in the same way as without jfluid (${fault})`, {
        timeout: 1_800_000,
      }, async () => {
        const alone = new Alone(async () => {
          const java = await start()
          await hookOf(java, end)()
          return await endOf(java)
        })
        await trials(fault, jdk, times(1, 20), (chance) => ends(presence, end, alone, chance))
      })
    }
  }
})
