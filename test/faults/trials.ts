// One fault, tried many times at random moments: its effects on the target and the profile, and its remains.
//
// A trial reports. `trials` counts, adds a row to `RESULTS.md` (`npm run faults`), and fails if any result is wrong.

import { appendFileSync } from 'node:fs'
import { basename } from 'node:path'
import { expect } from 'vitest'
import type { Jdk } from '../support/jdks.ts'
import { FULL } from '../support/lane.ts'

/** Timeout of a trial. */
export const TRIAL_MS = 15 * 60_000

/** A value and its unit. */
export type Figure = readonly [value: number, unit: string]

export interface Outcome {
  /** Harm to the target; empty for none. */
  readonly harm: readonly string[]
  /** Errors of the client or the recorded data that did not harm the target: exit code, last message, counts. */
  readonly wrong?: readonly string[]
  /** `none` if no profile is possible: nothing was recorded, or the client was killed. */
  readonly profile: 'kept' | 'none' | 'lost'
  /** Remains that are not in the documented list; null if not checked. */
  readonly left: readonly string[] | null
  /** Times in ms, keyed by name; the table shows the longest: `stood still`, `own code`, … */
  readonly ms?: Readonly<Record<string, number>>
  /** Other numbers, keyed by name; the table shows minimum, median and maximum: `throughput`, … */
  readonly figures?: Readonly<Record<string, Figure>>
}

/** Thrown by a trial whose target has ended or does not answer. This is harm, not a defect of the trial. */
export class Harmed extends Error {}

/** Random numbers from a fixed seed, so that a failed trial can be repeated with `JFLUID_SEED`. */
export class Chance {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** Returns a number from 0 to below 1. */
  next(): number {
    // mulberry32
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let t = this.#state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }

  between(low: number, high: number): number {
    return low + this.next() * (high - low)
  }

  of<T>(all: readonly T[]): T {
    return all[Math.floor(this.next() * all.length)]!
  }
}

/** A row of the table: one per fault and JDK. */
export interface Row {
  /** Name of the test file, up to its first dot. */
  readonly section: string
  readonly fault: string
  readonly jdk: string
  readonly tried: number
  /** Trials that threw another error: a defect of the trial or an unexpected case. They are counted only here and in `tried`. */
  readonly failed: number
  /** Here and below, null means that the row does not test this. */
  readonly harmed: number | null
  /** Errors of clients or profiles, including a lost profile. */
  readonly wrong: number | null
  /** Number of trials that had data for a profile, and number of profiles kept. */
  readonly profilesDue: number
  readonly profilesKept: number
  readonly leftBehind: number | null
  readonly ms: Readonly<Record<string, number>>
  readonly figures: Readonly<
    Record<string, { readonly low: number; readonly median: number; readonly high: number; unit: string }>
  >
}

/** Returns the name of the running test file, up to its first dot. */
export function section(): string {
  return basename(expect.getState().testPath ?? '').replace(/\..*/, '')
}

/** Appends the row to the file named by `JFLUID_FAULTS`, if set. */
export function keepRow(row: Row): void {
  const file = process.env.JFLUID_FAULTS
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(row)}\n`)
}

/**
 * Returns the number of trials of a fault: `short` in `npm run test:live`, `long` in `npm run test:full`. `JFLUID_TRIES` overrides both.
 * Files that run only in `test:full` pass one number.
 */
export function times(short: number, long: number = short): number {
  const told = process.env.JFLUID_TRIES
  return told === undefined ? (FULL ? long : short) : Number(told)
}

/**
 * Tries a fault.
 *
 * @param tries  from `times`
 * @param trial  runs one trial. A timeout or a thrown `Harmed` is harm; any other thrown error means that
 *               the trial itself has failed. Each of these errors ends the series
 */
export async function trials(
  fault: string,
  jdk: Jdk,
  tries: number,
  trial: (chance: Chance, n: number) => Promise<Outcome>,
): Promise<Row> {
  const seed = Number(process.env.JFLUID_SEED ?? Date.now() % 2 ** 31)
  const chance = new Chance(seed)
  const outcomes: Outcome[] = []
  const said: string[] = []
  let tried = 0
  for (let isOver = false; tried < tries && !isOver; tried++) {
    const say = (what: string) => said.push(`trial ${tried + 1}, JFLUID_SEED=${seed}: ${what}`)
    try {
      const outcome = await inTime(trial(chance, tried))
      outcomes.push(outcome)
      for (const what of [...outcome.harm, ...(outcome.wrong ?? [])]) say(what)
      for (const what of outcome.left ?? []) say(`left behind: ${what}`)
      if (outcome.profile === 'lost') say('the profile was lost')
    } catch (problem) {
      isOver = true
      const isHarm = problem instanceof Harmed
      if (isHarm) outcomes.push({ harm: [problem.message], profile: 'none', left: null })
      say(isHarm ? problem.message : `the trial failed: ${problem}`)
    }
  }
  const row = rowOf(fault, jdk, tried, outcomes)
  console.info(`JDK ${jdk.version}: ${told(row)}`)
  keepRow(row)
  expect(said).toEqual([])
  return row
}

function rowOf(fault: string, jdk: Jdk, tried: number, outcomes: readonly Outcome[]): Row {
  const count = (isSo: (outcome: Outcome) => boolean): number => outcomes.filter(isSo).length
  const ms: Record<string, number> = {}
  const values = new Map<string, { unit: string; found: number[] }>()
  for (const outcome of outcomes) {
    for (const [name, value] of Object.entries(outcome.ms ?? {}))
      ms[name] = Math.round(Math.max(ms[name] ?? 0, value))
    for (const [name, [value, unit]] of Object.entries(outcome.figures ?? {})) {
      const known = values.get(name) ?? { unit, found: [] }
      known.found.push(value)
      values.set(name, known)
    }
  }
  const figures = [...values].map(([name, { unit, found }]) => {
    found.sort((a, b) => a - b)
    return [name, { low: found[0]!, median: found[found.length >> 1]!, high: found.at(-1)!, unit }] as const
  })
  return {
    section: section(),
    fault,
    jdk: jdk.full,
    tried,
    failed: tried - outcomes.length,
    harmed: count((it) => it.harm.length > 0),
    wrong: count((it) => (it.wrong ?? []).length > 0 || it.profile === 'lost'),
    profilesDue: count((it) => it.profile !== 'none'),
    profilesKept: count((it) => it.profile === 'kept'),
    leftBehind: count((it) => it.left !== null) === 0 ? null : count((it) => (it.left ?? []).length > 0),
    ms,
    figures: Object.fromEntries(figures),
  }
}

function told({ fault, tried, failed, harmed, wrong, leftBehind, ...row }: Row): string {
  return [
    `${fault}: tried ${tried} times, failed ${failed}, harmed ${harmed}, client or profile wrong ${wrong}`,
    `profiles ${row.profilesKept} of ${row.profilesDue}, left behind ${leftBehind ?? 'not looked for'}`,
    ...Object.entries(row.ms).map(([name, value]) => `${name} ${value} ms at most`),
    ...Object.entries(row.figures).map(
      ([name, { low, median, high, unit }]) => `${name} ${low}, ${median}, ${high} ${unit}`,
    ),
  ].join(', ')
}

async function inTime(trial: Promise<Outcome>): Promise<Outcome> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Harmed(`it was not over after ${TRIAL_MS / 60_000} minutes`)),
      TRIAL_MS,
    )
  })
  return await Promise.race([trial, late]).finally(() => clearTimeout(timer))
}
