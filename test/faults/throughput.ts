// How fast a target is beside one that was never attached to. Both run all the time, and are measured in turn, for each second of the
// processor that their threads have had. No two JVMs compile a program in the same way, so what counts is by how much the
// one differs from the other now, and by how much it did before. A third, to which nothing is done either, is measured with them: what
// is found of it is what the way of measuring finds where there is nothing.

import type { Witness } from './witness.ts'

const WINDOW_MS = 100
/** Windows of each, to compare with later or before. */
const WINDOWS = 64
/** Until a JVM has compiled what it runs. */
const WARM_CALLS = 1_000_000

/** The target's speed, of what it was; 1: the same. */
export interface Ratio {
  /** Of all rounds of windows. */
  readonly median: number
  /** Half of the rounds lie between these. */
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
   * Before anything is done to the target.
   *
   * @param other  a second one to which nothing is done
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

  /** The target's, as far as a few windows tell. */
  async soFar(): Promise<Ratio> {
    const ratios = await measured([this.#target], this.#control, 5)
    return ofBefore(ratios, this.#before, this.#target)
  }

  /** What the target does of what it did, and in the same minutes the other one, to which nothing was done. */
  async now(): Promise<{ target: Ratio; other: Ratio }> {
    const ratios = await measured([this.#target, this.#other], this.#control, WINDOWS)
    const of = (witness: Witness) => ofBefore(ratios, this.#before, witness)
    return { target: of(this.#target), other: of(this.#other) }
  }

  /**
   * Waits until it is as fast again, as far as a few windows tell.
   *
   * @returns how long that took in ms, or took until it was given up
   */
  async until(least: number, mostMs: number): Promise<number> {
    const begun = performance.now()
    const spent = () => performance.now() - begun
    while ((await this.soFar()).median < least && spent() < mostMs);
    return spent()
  }
}

/** Whether the target does less than this part of what it did, and no other, to which nothing was done, lost as much. */
export function isBelow(goal: number, { target, other }: { target: Ratio; other: Ratio }): boolean {
  return target.median < goal * Math.min(1, other.median)
}

type Ratios = ReadonlyMap<Witness, Ratio>

/** Their speed divided by the control's. Whoever is the first of a round is the last of the next. */
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
