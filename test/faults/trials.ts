// One fault, tried many times at random moments: what became of the target, of the profile, and what was left behind.
//
// A trial reports; `trials` counts, prints a row for `RESULTS.md` (`npm run faults`), and fails if there was any harm.

import { appendFileSync } from 'node:fs'
import { expect } from 'vitest'
import type { Jdk } from '../support/jdks.ts'

/** All of them take long: `npm test` tries each fault once or twice, `npm run test:full` many times. */
export const FULL = process.env.JFLUID_FULL === '1'

/** Something hangs that takes longer. */
const TRIAL_MS = 15 * 60_000

export interface Outcome {
  /** What was wrong with the target; empty: it came to no harm. */
  readonly harm: readonly string[]
  /** `none` where there could not be any: nothing had been recorded, or whoever would write it was killed. */
  readonly profile: 'kept' | 'none' | 'lost'
  /** What was found afterwards that is not on the documented list. */
  readonly left: readonly string[]
  /** Times in ms by name, of which the table shows the longest: `stood still`, `own code`, … */
  readonly ms?: Readonly<Record<string, number>>
}

/** Random numbers of a fixed seed, so that a trial that failed can be had again: `JFLUID_SEED`. */
export class Chance {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** At least 0, less than 1. */
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

/** A row of the table, one a fault and JDK. */
export interface Row {
  readonly fault: string
  readonly jdk: string
  readonly tried: number
  readonly harmed: number
  /** Of those where there was one to be kept. */
  readonly profilesDue: number
  readonly profilesKept: number
  readonly leftBehind: number
  readonly ms: Readonly<Record<string, number>>
}

/**
 * How often a fault is tried: `short` in `npm test`, `long` in `npm run test:full`; `JFLUID_TRIES` says otherwise.
 */
export function times(short: number, long: number): number {
  const told = process.env.JFLUID_TRIES
  return told === undefined ? (FULL ? long : short) : Number(told)
}

/**
 * Tries a fault.
 *
 * @param tries  from `times`
 * @param trial  does it once. What it throws, as where the target has ended, is harm, and so is one that is not over in time: no
 *               other follows then
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
  const wrong: string[] = []
  let isOver = false
  for (let n = 0; n < tries && !isOver; n++) {
    const outcome = await inTime(trial(chance, n)).catch((problem: unknown): Outcome => {
      isOver = true
      return { harm: [String(problem)], profile: 'none', left: [] }
    })
    outcomes.push(outcome)
    const said = [...outcome.harm, ...outcome.left.map((what) => `left behind: ${what}`)]
    if (outcome.profile === 'lost') said.push('the profile was lost')
    wrong.push(...said.map((what) => `trial ${n + 1}, JFLUID_SEED=${seed}: ${what}`))
  }
  const ms: Record<string, number> = {}
  for (const outcome of outcomes) {
    for (const [name, value] of Object.entries(outcome.ms ?? {})) ms[name] = Math.max(ms[name] ?? 0, value)
  }
  const row: Row = {
    fault,
    jdk: jdk.full,
    tried: outcomes.length,
    harmed: outcomes.filter((it) => it.harm.length > 0).length,
    profilesDue: outcomes.filter((it) => it.profile !== 'none').length,
    profilesKept: outcomes.filter((it) => it.profile === 'kept').length,
    leftBehind: outcomes.filter((it) => it.left.length > 0).length,
    ms,
  }
  const times = Object.entries(ms).map(([name, value]) => `, ${name} ${value.toFixed(0)} ms at most`)
  console.info(
    `JDK ${jdk.version}: ${fault}: tried ${row.tried} times, harmed ${row.harmed}, ` +
      `profiles ${row.profilesKept} of ${row.profilesDue}, left behind ${row.leftBehind}${times.join('')}`,
  )
  if (process.env.JFLUID_FAULTS !== undefined) {
    appendFileSync(process.env.JFLUID_FAULTS, `${JSON.stringify(row)}\n`)
  }
  expect(wrong).toEqual([])
  return row
}

async function inTime(trial: Promise<Outcome>): Promise<Outcome> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`it was not over after ${TRIAL_MS / 60_000} minutes`)),
      TRIAL_MS,
    )
  })
  return await Promise.race([trial, late]).finally(() => clearTimeout(timer))
}
