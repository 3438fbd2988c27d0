// How fast a target is beside one that was never attached to. Both run all the time, and are measured in turn, for each second of the
// processor that their threads have had. No two JVMs compile a program in the same way, so what counts is by how much the
// one differs from the other now, and by how much it did before.

import type { Witness } from './witness.ts'

const WINDOW_MS = 100
/** Windows of each, to compare with later. */
const WINDOWS = 64
/** Until a JVM has compiled what it runs. */
const WARM_CALLS = 1_000_000

/** The target's speed, of what it was; 1: the same. */
export interface Ratio {
  /** Of all pairs of windows. */
  readonly median: number
  /** Half of the pairs lie between these. */
  readonly low: number
  readonly high: number
}

export class Throughput {
  readonly #target: Witness
  readonly #control: Witness
  readonly #before: number

  private constructor(target: Witness, control: Witness, before: number) {
    this.#target = target
    this.#control = control
    this.#before = before
  }

  /** Before anything is done to the target. */
  static async before(target: Witness, control: Witness): Promise<Throughput> {
    for (const witness of [target, control]) {
      for (let calls = 0; calls < WARM_CALLS; ) {
        await witness.rate(WINDOW_MS)
        calls += (await witness.state()).calls
      }
    }
    const { median } = quartiles(await pairs(target, control, WINDOWS))
    return new Throughput(target, control, median)
  }

  async now(windows = WINDOWS): Promise<Ratio> {
    const found = await pairs(this.#target, this.#control, windows)
    return quartiles(found.map((it) => it / this.#before))
  }

  /**
   * Waits until it is as fast again, as far as a few windows tell.
   *
   * @returns how long that took in ms, or took until it was given up
   */
  async until(least: number, mostMs: number): Promise<number> {
    const begun = performance.now()
    const spent = () => performance.now() - begun
    while ((await this.now(5)).median < least && spent() < mostMs);
    return spent()
  }
}

/** The target's speed divided by the control's. Whoever is the second of a pair is the first of the next. */
async function pairs(target: Witness, control: Witness, count: number): Promise<number[]> {
  const found: number[] = []
  for (let n = 0; n < count; n++) {
    const order = n % 2 === 0 ? [target, control] : [control, target]
    const pace = new Map<Witness, number>()
    for (const witness of order) pace.set(witness, await witness.pace(WINDOW_MS))
    found.push(pace.get(target)! / pace.get(control)!)
  }
  return found
}

function quartiles(values: readonly number[]): Ratio {
  const sorted = [...values].sort((a, b) => a - b)
  const at = (part: number): number => sorted[Math.round((sorted.length - 1) * part)]!
  return { median: at(0.5), low: at(0.25), high: at(0.75) }
}
