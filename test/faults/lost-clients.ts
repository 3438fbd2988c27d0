// Clients that come to harm, one after the other at the same witness: what each did to it, and whether the next session is as
// any other.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { readProfile } from '../../src/profile/file.ts'
import type { Profile } from '../../src/profile/profile.ts'
import { until } from '../live/remains.ts'
import { type JavaProcess, startProcess, temporaryDirectory } from '../support/java-process.ts'
import type { Jdk } from '../support/jdks.ts'
import { cli, stderrLine } from '../support/jfluid.ts'
import { type Chance, type Outcome, type Row, trials } from './trials.ts'
import { Witness } from './witness.ts'

/** A target that has lost its client is itself again by then, if it is let run. */
export const OWN_CODE_MS = 2000
/**
 * No thread waits longer for something else than a processor, whatever becomes of the client: a second for one that lives, and what a
 * redefinition adds. See src/bounds.md.
 */
export const ASLEEP_MS = 1400
/** So many trials have the same witness; so many are looked at together. */
const TRIALS_A_WITNESS = 25
const TRIALS_A_LOOK = 5

/** What is recorded: a root that is called all the time, and one that loads classes. */
export const ROOTS = ['--root', 'fix.Witness.root', '--root', 'fix.Witness.fresh'] as const

export interface Client {
  readonly process: JavaProcess
  readonly pid: number
  /** Where its profile goes, and what it saves meanwhile. */
  readonly file: string
  readonly autosaved: string
}

export interface ClientOptions {
  readonly args?: readonly string[]
  readonly env?: Record<string, string>
  /** Words before the command: a shell with limits, say, which `exec`s it. Told where the profile goes. */
  readonly by?: (dir: string) => readonly string[]
  readonly duration?: string
}

/** `jfluid record`, which saves what there is every 100 ms. */
export function startClient(
  witness: Witness,
  { args = [], env = {}, by = () => [], duration = '600ms' }: ClientOptions = {},
): Client {
  const dir = temporaryDirectory('jfluid-clients-')
  const file = join(dir, 'p.jfluid')
  const options = ['--duration', duration, '--autosave', '100ms', '--out', file, ...ROOTS, ...args]
  const words = [...by(dir), process.execPath, cli, 'record', String(witness.pid), ...options]
  const [command, ...rest] = words
  const client = startProcess(command!, rest, { env })
  witness.client(client.pid)
  return { process: client, pid: client.pid, file, autosaved: `${file}.autosave` }
}

/** How far it says that it has come. */
export function phaseOf({ process }: Client): string {
  const phases = [
    'attaching',
    'calibrating',
    'reading classes',
    'instrumenting',
    'recording',
    'ending',
    'detached',
  ]
  const said = process.stderr()
  return phases.findLast((phase) => new RegExp(`^${phase}`, 'm').test(said)) ?? 'starting'
}

/** Whether it came so far as to have something to keep. */
export function hasBegun({ process }: Client): boolean {
  return /^recording/m.test(process.stderr())
}

/** How often each phase was hit. */
export class Phases {
  readonly #hit = new Map<string, number>()

  note(phase: string): void {
    this.#hit.set(phase, (this.#hit.get(phase) ?? 0) + 1)
  }

  tell(fault: string): void {
    console.info(`${fault}: ${[...this.#hit].map(([phase, times]) => `${times} × ${phase}`).join(', ')}`)
  }
}

/** What a client does one after the other, as it says it, and for how long one may look at it in ms. */
const STEPS = [
  [null, 1000], // on its way
  [/^attaching/, 300],
  [/^calibrating/, 150],
  [/^reading classes/, 60],
  [/^instrumenting/, 150],
  [/^recording/, 1200],
  [/^detaching/, 80], // since it was told to end
] as const

/**
 * Resolves at a random moment of any step; before, if the client ends.
 *
 * @returns whether it has been told to end: who tells it twice wants it to keep nothing
 */
export async function anyMoment(client: Client, chance: Chance): Promise<boolean> {
  const [step, ms] = chance.of(STEPS)
  const isDetach = step?.source === '^detaching'
  const begins =
    step === null ? Promise.resolve() : stderrLine(client.process, isDetach ? /^recording/ : step)
  const moment = begins.then(async () => {
    if (isDetach) {
      await sleep(chance.between(0, 700))
      client.process.child.kill('SIGINT')
    }
    await sleep(chance.between(0, ms))
  })
  await Promise.race([moment, client.process.exit])
  return isDetach
}

/** Its profile, or what it saved before; null where there is neither. A damaged one is an error. */
export async function keptBy(client: Client): Promise<Profile | null> {
  const file = [client.file, client.autosaved].find((it) => existsSync(it))
  return file === undefined ? null : await readProfile(file)
}

/** Waits for its end. @returns what is wrong with what it said, by exit code */
export async function verdict(
  { process }: Client,
  lastWords: Readonly<Record<number, RegExp>>,
): Promise<string[]> {
  const { code } = await process.exit
  const said = process.stderr()
  if (code !== null && lastWords[code]?.test(said) && !/internal error|was not answered|^ {4}at /m.test(said))
    return []
  return [`the client ended with ${code}, saying:\n${said}`]
}

export interface Aftermath {
  readonly harm: string[]
  readonly ms: Record<string, number>
}

/**
 * What was done to it since it was asked last, sleep as well. A sleep that goes on while it is asked is told the next time, all of
 * it: whoever asks last asks so.
 */
export async function harmOf(witness: Witness): ReturnType<Witness['harm']> {
  const found = await witness.harm()
  if (found.asleep > ASLEEP_MS) found.harm.push(`a thread slept for ${found.asleep} ms`)
  return found
}

/**
 * The client has gone, or is as good as gone: waits until the target has its own code back, and asks it what was done
 * to it since it was asked last.
 *
 * @param since  when it was lost: a performance.now()
 */
export async function aftermath(witness: Witness, since: number): Promise<Aftermath> {
  const first = await witness.withoutAgent() // or the test's time is over
  // What a client has asked for that was killed while it attached, the JVM does one after the other: an agent may come now.
  await witness.withoutThreads()
  const late = await witness.withoutAgent()
  const seen = Math.max(first.seen, late.seen)
  const all = Math.max(0, seen - since)
  // On a busy machine it takes longer, by as long as nobody lets it run.
  const own = Math.max(0, all - first.starvedMs - late.starvedMs)
  const hadProbes = await witness.hasProbes()
  const { harm, longest, asleep } = await harmOf(witness)
  if (hadProbes) harm.push('it had probes when the agent had gone')
  if (own > OWN_CODE_MS) harm.push(`its own code came back after ${own.toFixed(0)} ms`)
  await until(async () => (await witness.rate(50)) > 0) // or the test's time is over
  return {
    harm,
    ms: { 'own code': all, 'without waits for a processor': own, 'stood still': longest, asleep },
  }
}

const both = (some: Outcome['left'], more: Outcome['left']): Outcome['left'] =>
  some === null && more === null ? null : [...(some ?? []), ...(more ?? [])]

/** What two looks have found. */
export function joined(outcome: Outcome, more: Partial<Outcome>): Outcome {
  const ms = { ...outcome.ms }
  for (const [name, value] of Object.entries(more.ms ?? {})) ms[name] = Math.max(ms[name] ?? 0, value)
  return {
    harm: [...outcome.harm, ...(more.harm ?? [])],
    wrong: [...(outcome.wrong ?? []), ...(more.wrong ?? [])],
    profile: outcome.profile,
    left: both(outcome.left, more.left ?? null),
    ms,
  }
}

/**
 * `trials` of clients. Some have the same witness, and after some of them there is a session as any other, which counts exactly and
 * after which nothing is left of the ones before: what a client leaves that is killed before any agent knows of it goes
 * with the next.
 *
 * @param given  the first of them, which stays
 */
export async function clientTrials(
  fault: string,
  jdk: Jdk,
  tries: number,
  trial: (witness: Witness, chance: Chance, n: number) => Promise<Outcome>,
  given?: Witness,
): Promise<Row> {
  let witness: Witness | null = given ?? null
  return await trials(fault, jdk, tries, async (chance, n) => {
    witness ??= await settled(jdk)
    // What came of the one before after it had been looked at.
    const { harm: since } = await harmOf(witness)
    const outcome = joined(await trial(witness, chance, n), {
      harm: since.map((it) => `before the trial began, ${it}`),
    })
    const isLast = n + 1 === tries || (n + 1) % TRIALS_A_WITNESS === 0
    if (!isLast && (n + 1) % TRIALS_A_LOOK !== 0) return outcome
    const miscounted = await witness.miscounted()
    await witness.withoutThreads()
    const { harm } = await harmOf(witness)
    const looked = joined(outcome, { harm, wrong: miscounted, left: await witness.left() })
    if (isLast) {
      if (witness !== given) await witness.end()
      witness = null
    }
    return looked
  })
}

/** One that has had a session. */
export async function settled(jdk: Jdk): Promise<Witness> {
  // One that leaves the client a processor: on a machine with few, that has more moments for something to happen.
  const witness = await Witness.start(jdk, { rest: 10 })
  await witness.settle()
  return witness
}
