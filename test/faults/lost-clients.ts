// Clients that fail, one after the other, with the same witness. Checks the effect of each client on the witness, and that the next
// session is normal.

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

/** Maximum time until a target without its client is restored, if it has a processor. */
export const OWN_CODE_MS = 2000
/**
 * Maximum wait of a thread, without waits for a processor, whatever happens to the client: a second for a living client, plus the time of a
 * redefinition. See src/bounds.md.
 */
export const ASLEEP_MS = 1400
/** Number of trials with the same witness, and number of trials per check. */
const TRIALS_A_WITNESS = 25
const TRIALS_A_LOOK = 5

/** Recorded roots: one that is called continuously, and one that loads classes. */
export const ROOTS = ['--root', 'fix.Witness.root', '--root', 'fix.Witness.fresh'] as const

export interface Client {
  readonly process: JavaProcess
  readonly pid: number
  /** Paths of the client's profile and autosave. */
  readonly file: string
  readonly autosaved: string
}

export interface ClientOptions {
  readonly args?: readonly string[]
  readonly env?: Record<string, string>
  /** Command prefix, such as a shell with limits that `exec`s the command. Its argument is the path of the profile. */
  readonly by?: (dir: string) => readonly string[]
  readonly duration?: string
}

/** Runs `jfluid record` with an autosave every 100 ms. */
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

/** Returns the latest step in the client's output. */
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

/** Returns whether the client had data to save. */
export function hasBegun({ process }: Client): boolean {
  return /^recording/m.test(process.stderr())
}

/** Number of trials that ended in each step. */
export class Phases {
  readonly #hit = new Map<string, number>()

  note(phase: string): void {
    this.#hit.set(phase, (this.#hit.get(phase) ?? 0) + 1)
  }

  tell(fault: string): void {
    console.info(`${fault}: ${[...this.#hit].map(([phase, times]) => `${times} × ${phase}`).join(', ')}`)
  }
}

/** Steps of a client as named in its output, with the maximum delay in ms after each. */
const STEPS = [
  [null, 1000], // before the attach
  [/^attaching/, 300],
  [/^calibrating/, 150],
  [/^reading classes/, 60],
  [/^instrumenting/, 150],
  [/^recording/, 1200],
  [/^detaching/, 80], // after the request to end
] as const

/**
 * Resolves at a random moment of a random step, or when the client ends.
 *
 * @returns whether it has received a signal to end: a second signal discards the profile
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

/** Returns the client's profile or autosave; null if neither exists. Throws for a damaged file. */
export async function keptBy(client: Client): Promise<Profile | null> {
  const file = [client.file, client.autosaved].find((it) => existsSync(it))
  return file === undefined ? null : await readProfile(file)
}

/** Waits for the end of the client. @returns errors in its output, according to the exit code */
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
 * Returns the harm since the last request, including stalls. An unfinished stall is reported completely by the next request, so the last
 * request of a trial is made with this function.
 */
export async function harmOf(witness: Witness): ReturnType<Witness['harm']> {
  const found = await witness.harm()
  if (found.asleep > ASLEEP_MS) found.harm.push(`a thread slept for ${found.asleep} ms`)
  return found
}

/**
 * Call this when the client has ended or can no longer act. Waits until the target has its original code, and returns the harm since the
 * last request.
 *
 * @param since  time of the loss, a performance.now()
 */
export async function aftermath(witness: Witness, since: number): Promise<Aftermath> {
  const first = await witness.withoutAgent() // without an end of the agent the test times out
  // If a client was killed during its attach, the JVM still executes the client's requests in order, so an agent may appear now.
  await witness.withoutThreads()
  const late = await witness.withoutAgent()
  const seen = Math.max(first.seen, late.seen)
  const all = Math.max(0, seen - since)
  // On a busy machine the restore takes longer, by the time without a processor.
  const own = Math.max(0, all - first.starvedMs - late.starvedMs)
  const hadProbes = await witness.hasProbes()
  const { harm, longest, asleep } = await harmOf(witness)
  if (hadProbes) harm.push('it had probes when the agent had gone')
  if (own > OWN_CODE_MS) harm.push(`its own code came back after ${own.toFixed(0)} ms`)
  await until(async () => (await witness.rate(50)) > 0) // without calls of the root the test times out
  return {
    harm,
    ms: { 'own code': all, 'without waits for a processor': own, 'stood still': longest, asleep },
  }
}

const both = (some: Outcome['left'], more: Outcome['left']): Outcome['left'] =>
  some === null && more === null ? null : [...(some ?? []), ...(more ?? [])]

/** Combines the results of two checks. */
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
 * Runs `trials` of clients. Several trials have the same witness. After some of them there is a normal session, which counts exactly
 * and leaves no remains of the earlier clients: files of a client that is killed before an agent knows it are removed
 * by the next client.
 *
 * @param given  the first witness, which is not ended
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
    // Adds effects of the previous trial that appeared after its check.
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

/** Returns a witness after one session. */
export async function settled(jdk: Jdk): Promise<Witness> {
  // This witness leaves a processor to the client: with few processors, more failures can happen at different moments.
  const witness = await Witness.start(jdk, { rest: 10 })
  await witness.settle()
  return witness
}
