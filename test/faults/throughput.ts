// The throughput of a target compared with a JVM that was never attached to. Both run continuously. They are measured alternately, per
// second of processor time of their threads. Two JVMs do not compile a program in the same way, so the result is the ratio of the two
// throughputs now, divided by the ratio before. A second untouched JVM is measured as well, and its result shows the error of the method.

import type { Witness } from './witness.ts'

const WINDOW_MS = 100
/** Number of windows per JVM, before and after. */
const WINDOWS = 64
/** Time until a JVM has compiled its code. */
const WARM_CALLS = 1_000_000

/** Throughput of the target relative to before; 1: unchanged. */
export interface Ratio {
  /** Median of all rounds of windows. */
  readonly median: number
  /** Quartiles of the rounds. */
  readonly low: number
  readonly high: number
}

export class Throughput {
  readonly #target: Witness
  readonly #control: Witness
  readonly #other: Witness
  readonly #before: Ratios

  private constructor(target: Witness, control: Witness, other: Witness, before: Ratios) {
    this.#target = target
    this.#control = control
    this.#other = other
    this.#before = before
  }

  /**
   * Measures both JVMs before anything is done to the target.
   *
   * @param other  a second untouched JVM
   */
  static async before(target: Witness, control: Witness, other: Witness): Promise<Throughput> {
    for (const witness of [target, control, other]) {
      for (let calls = 0; calls < WARM_CALLS; ) {
        await witness.rate(WINDOW_MS)
        calls += (await witness.state()).calls
      }
    }
    return new Throughput(target, control, other, await measured([target, other], control, WINDOWS))
  }

  /** Returns a quick estimate for the target, from a few windows. */
  async soFar(): Promise<Ratio> {
    const ratios = await measured([this.#target], this.#control, 5)
    return ofBefore(ratios, this.#before, this.#target)
  }

  /** Returns the throughput relative to before, of the target and of the untouched JVM at the same time. */
  async now(): Promise<{ target: Ratio; other: Ratio }> {
    const ratios = await measured([this.#target, this.#other], this.#control, WINDOWS)
    const of = (witness: Witness) => ofBefore(ratios, this.#before, witness)
    return { target: of(this.#target), other: of(this.#other) }
  }

  /**
   * Waits until the throughput has returned, according to a few windows.
   *
   * @returns duration of the wait in ms, also after a timeout
   */
  async until(least: number, mostMs: number): Promise<number> {
    const begun = performance.now()
    const spent = () => performance.now() - begun
    while ((await this.soFar()).median < least && spent() < mostMs);
    return spent()
  }
}

/** Returns whether the target's throughput is below this share of the earlier throughput, while no untouched JVM lost as much. */
export function isBelow(goal: number, { target, other }: { target: Ratio; other: Ratio }): boolean {
  return target.median < goal * Math.min(1, other.median)
}

type Ratios = ReadonlyMap<Witness, Ratio>

/**
 * Returns throughputs divided by the throughput of the control. The JVM that is measured first in a round is measured last in the next
 * round.
 */
async function measured(witnesses: readonly Witness[], control: Witness, rounds: number): Promise<Ratios> {
  const found = new Map(witnesses.map((it) => [it, [] as number[]]))
  const order = [...witnesses, control]
  for (let n = 0; n < rounds; n++) {
    const pace = new Map<Witness, number>()
    for (const witness of order) pace.set(witness, await witness.pace(WINDOW_MS))
    for (const [witness, ratios] of found) ratios.push(pace.get(witness)! / pace.get(control)!)
    order.push(order.shift()!)
  }
  return new Map([...found].map(([witness, ratios]) => [witness, quartiles(ratios)]))
}

function ofBefore(now: Ratios, before: Ratios, witness: Witness): Ratio {
  const [{ median, low, high }, { median: then }] = [now.get(witness)!, before.get(witness)!]
  return { median: median / then, low: low / then, high: high / then }
}

function quartiles(values: readonly number[]): Ratio {
  const sorted = [...values].sort((a, b) => a - b)
  const at = (part: number): number => sorted[Math.round((sorted.length - 1) * part)]!
  return { median: at(0.5), low: at(0.25), high: at(0.75) }
}
