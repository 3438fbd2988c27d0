// A target that ends at any moment between attach and detach: the client exits with the right code, keeps the profile and leaves nothing
// behind. The exit of the target is not delayed.

import { it } from 'vitest'
import { compileFixture } from '../fixtures/fixtures.ts'
import { filesOf } from '../live/remains.ts'
import { STATUS } from '../support/exit-codes.ts'
import { type JavaProcess, startJava, temporaryDirectory } from '../support/java-process.ts'
import { forNewestJdk } from '../support/jdks.ts'
import { FULL } from '../support/lane.ts'
import { Alone } from './alone.ts'
import { hadBegun, momentOf, PHASES, recordInto, verdictOf } from './clients.ts'
import { type Chance, type Outcome, times, trials } from './trials.ts'

interface Death {
  readonly fault: string
  readonly vm?: readonly string[]
  readonly die: (java: JavaProcess) => void
  /** Exit code, or the signal that ends the process. */
  readonly end: number | NodeJS.Signals
}

const tell = (line: string) => (java: JavaProcess) => java.send(line)
const signal = (name: NodeJS.Signals) => (java: JavaProcess) => {
  java.child.kill(name)
}

const DEATHS: readonly Death[] = [
  { fault: 'SIGKILL', die: signal('SIGKILL'), end: 'SIGKILL' },
  { fault: '`System.exit` outside of the root', die: tell('exit'), end: 3 },
  { fault: '`System.exit` inside the root', die: tell('inside'), end: 3 },
  { fault: '`Runtime.halt`', die: tell('halt'), end: 4 },
  { fault: 'a crash inside the root', die: tell('crash'), end: 1 },
  { fault: 'a crash (SIGSEGV)', die: signal('SIGSEGV'), end: 1 },
  {
    fault: 'no memory left, `ExitOnOutOfMemoryError`',
    vm: ['-Xmx48m', '-XX:+ExitOnOutOfMemoryError'],
    die: tell('memory'),
    end: 3,
  },
  {
    fault: 'no memory left, `CrashOnOutOfMemoryError`',
    vm: ['-Xmx48m', '-XX:+CrashOnOutOfMemoryError'],
    die: tell('memory'),
    end: 1,
  },
]

/** Messages of a client about a JVM that has ended: before the attach, during the attach, and while recording. */
const GONE = {
  [STATUS.noSuchProcess]: /^jfluid: cannot attach to \d+: (the process has ended|no such process)$/m,
  [STATUS.jvmEnded]: /^jfluid: (JVM \d+ ended during the recording$|the connection to the JVM was lost: )/m,
}

forNewestJdk((jdk) => {
  async function start(...vm: string[]): Promise<JavaProcess> {
    const classes = await compileFixture(jdk, 'Mortal')
    const log = `-XX:ErrorFile=${temporaryDirectory()}/hs_err.log`
    const java = startJava(jdk, [log, '-XX:-CreateCoredumpOnCrash', ...vm, '-cp', classes, 'fix.Mortal'])
    await java.line(/^ready/)
    return java
  }

  /** Returns the time in ms from the request to end until the process has ended. */
  async function endOf(java: JavaProcess, death: Death): Promise<number> {
    const told = performance.now()
    death.die(java)
    await java.exit
    return performance.now() - told
  }

  async function dies(death: Death, alone: Alone, chance: Chance, n: number): Promise<Outcome> {
    const java = await start(...(death.vm ?? []))
    const client = recordInto(java.pid, '--root', 'fix.Mortal.root', '--duration', '200ms')
    await momentOf(client, FULL ? PHASES[n % PHASES.length]! : chance.of(PHASES), chance)
    const ms = await endOf(java, death)
    const harm: string[] = []
    const { code, signal } = await java.exit
    if ((code ?? signal) !== death.end) harm.push(`it ended with ${code ?? signal}`)
    // A single trial on a busy machine shows nothing about times.
    if (FULL && (await alone.isExceededBy(ms)))
      harm.push(`it ended after ${ms.toFixed(0)} ms, and without us after ${alone}`)
    const ended = performance.now()
    const { wrong, profile } = await verdictOf(client, { ...GONE, 0: /^detached from/m })
    const begun = hadBegun(client)
    return {
      ...{ harm, wrong },
      profile: profile !== null ? 'kept' : begun ? 'lost' : 'none',
      // The JVM's own attach socket stays if the JVM could not remove it.
      left: filesOf(java.pid, client.process.pid).filter((path) => !path.startsWith('/tmp/.java_pid')),
      ms: { ended: ms, 'client ended': performance.now() - ended },
    }
  }

  // lifecycle-ends.jvm.test.ts tests how the other endings are reported.
  it.each(FULL ? DEATHS : DEATHS.filter(({ fault }) => fault === 'a crash inside the root'))(
    'a client reports the end of the target, keeps the profile and leaves nothing behind: $fault',
    { timeout: 1_800_000 },
    async (death) => {
      const alone = new Alone(async () => await endOf(await start(...(death.vm ?? [])), death))
      await trials(`the target ends: ${death.fault}`, jdk, times(1, 30), (chance, n) =>
        dies(death, alone, chance, n),
      )
    },
  )
})
