// --proof: a call of the root before anything else has probes, and after all else has lost them again.
//
// Both times the root itself has its probe, which then only sums (error-bars.ts has it the same way), and both times its code has
// just been redefined: so what compilers have not made good yet is in both. What a root takes varies by itself; how much, two standard errors say.

import { type Mean, meanOf } from '../cct/uncertainty.ts'
import type { RootProofFacts } from '../profile/detach-facts.ts'
import { allLeft, asTimes, type BareLook, INSIDE_MS, spansOf, timeBare } from './code/bare-times.ts'
import type { Engine } from './engine.ts'
import { sourceName } from './target-classes.ts'

/** How long roots are timed, before as well as after. */
const BARE_MS = { leastMs: 300, mostMs: 1_500 }
const FEW_CALLS = 5

export class RootProof {
  readonly #engine: Engine
  #before: ReadonlyMap<number, Mean> = new Map()
  #after: ReadonlyMap<number, Mean> = new Map()
  #problem = 'it was not loaded when the recording began'
  #hurried = false
  #isOwed = false

  constructor(engine: Engine) {
    this.#engine = engine
  }

  /** Whether there is something to wait for at the end. */
  get isOwed(): boolean {
    return this.#isOwed && !this.#hurried
  }

  /** Whoever ends the session will not wait. */
  hurry(): void {
    this.#hurried = true
  }

  /** Roots have their probes, and nothing else has any. Nothing is recorded yet. */
  async timeBefore(): Promise<void> {
    const { agent } = this.#engine
    await agent.closeRoots()
    this.#before = this.#means(await timeBare(agent, BARE_MS, () => this.#hurried))
    if (this.#before.size === 0)
      this.#problem = `it was called fewer than ${FEW_CALLS} times in ${BARE_MS.mostMs / 1e3} s`
    else this.#isOwed = true
  }

  /** Recording is over; everything but the roots gets its own code. */
  async timeAfter(): Promise<void> {
    try {
      if (this.#isOwed) await this.#timeAfter()
    } catch (error) {
      this.#problem = String(error)
    }
    if (this.#hurried && this.#after.size === 0 && this.#isOwed) this.#problem = 'it was not waited for'
  }

  async #timeAfter(): Promise<void> {
    if (this.#hurried) return
    const { agent, installation, instrumenter, turns } = this.#engine
    const isOver = (): boolean => this.#hurried || turns.closed
    await agent.closeRoots()
    if (!(await allLeft(agent, isOver))) {
      this.#problem = `it was running all the time, for ${INSIDE_MS / 1e3} s at least`
      return
    }
    await turns.enqueue(async () => installation.noteSwap(await agent.takeOut(instrumenter.rootMethods)))
    this.#after = this.#means(await timeBare(agent, BARE_MS, isOver))
    if (this.#after.size === 0)
      this.#problem = `it was called fewer than ${FEW_CALLS} times in ${BARE_MS.mostMs / 1e3} s afterwards`
  }

  #means(looks: readonly BareLook[]): Map<number, Mean> {
    const { calibration } = this.#engine
    const found = new Map<number, Mean>()
    for (const method of looks.at(-1)?.times.keys() ?? []) {
      const mean = meanOf(spansOf(looks.map(({ times }) => asTimes(times.get(method)))), calibration)
      if (mean !== null && mean.calls >= FEW_CALLS) found.set(method, mean)
    }
    return found
  }

  /** Most time first. */
  get facts(): RootProofFacts {
    const { clock, names } = this.#engine
    const roots = [...this.#before].flatMap(([id, before]) => {
      const after = this.#after.get(id)
      if (after === undefined) return []
      const { class: owner, method, descriptor } = names.of(id)
      return {
        method: `${sourceName(owner)}.${method}${descriptor}`,
        beforeCalls: before.calls,
        beforeNs: clock.toNs(before.ticks),
        afterCalls: after.calls,
        afterNs: clock.toNs(after.ticks),
        doubtNs: clock.toNs(before.doubt + after.doubt),
      }
    })
    roots.sort((a, b) => b.beforeCalls * b.beforeNs - a.beforeCalls * a.beforeNs)
    return { roots, problem: roots.length > 0 ? '' : this.#problem }
  }
}
