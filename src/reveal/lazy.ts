// Scheme B: lazy revelation of a call subgraph (JFluid paper, section 6.2).
//
// A method becomes worth instrumenting when a caller of it is entered for the first time. Each
// such step is a redefinition in the target that costs 1 to 18 ms however few methods it carries,
// so a step looks ahead: behind the direct callees it also takes what is statically bound, breadth
// first, up to a budget. Where the receiver decides, or the gate to callbacks would open wider, it
// does not guess: those wait until their caller is entered. That keeps the paper's precision where
// it matters, at polymorphic calls.
//
// Every redefinition makes the next one dearer to the target (a subgraph of thousands of methods took
// 1,000 of them, 20 ms each), so a session that keeps stepping grows bolder: every few steps the budget
// doubles, a call may have more receivers, and what a step does not spend on its own callees goes to
// methods that earlier steps took and whose callees are still open. A small subgraph never gets there;
// a large one ends near scheme A, in slices that the waiting thread can bear.
//
// Invariant: when the answer to a first invocation is installed, every method that the invoked one
// can call directly in the classes loaded by then is instrumented, skipped with a reason, or armed.

import { append } from '../base/arrays.ts'
import type { LoadedSite, MethodRef } from './linker.ts'
import type { MethodIds, MethodTarget } from './method-ids.ts'
import type { Reach } from './reach.ts'
import type { Revelation } from './revealer.ts'

/** How far one step looks ahead. */
interface Boldness {
  /** Methods to take at most beyond the direct callees. */
  readonly budget: number
  /** A virtual call with more possible receiver classes is polymorphic without a closer look. */
  readonly receivers: number
  /** A virtual call with more targets waits until its caller is entered. */
  readonly targets: number
  /** What is left of the budget is spent on methods that earlier steps took. */
  readonly backlog: boolean
}

/** Methods that one of the first steps takes at most beyond the direct callees. */
const LOOK_AHEAD = 32
/** Steps with nothing but what is statically bound, before a session grows bolder. */
const CAUTIOUS_STEPS = 12
const STEPS_A_LEVEL = 4
/** 16 times the budget: redefining some 500 methods takes well below the second a thread waits. */
const BOLDEST = 4
/** Methods of the backlog that are looked at together. */
const SLICE = 128

/** Of those that are looked at before the roots run, so many in a step: each looks into some classes. */
const METHODS_A_STEP = 500
/** Steps that need not guess because it is known what runs, on top of the usual ones. After them nothing seems to be known. */
const KNOWING_STEPS = 24

/** What is known of a method's past: evidence of what will run, before it does. */
export interface Past {
  /** False where nothing can be told of any method. */
  readonly isKnown: boolean
  /** Those of the methods that are known to run. That one is missing is no proof. */
  thatRan(targets: readonly MethodTarget[]): MethodTarget[]
}

export const NO_PAST: Past = { isKnown: false, thatRan: () => [] }

/**
 * @param lookAhead  the budget of the first steps; 0 is the paper's scheme B and stays so
 * @param steps      redefinitions that first invocations have caused so far
 */
function boldness(lookAhead: number, steps: number): Boldness {
  const level =
    steps < CAUTIOUS_STEPS ? 0 : Math.min(BOLDEST, 1 + Math.floor((steps - CAUTIOUS_STEPS) / STEPS_A_LEVEL))
  return {
    budget: lookAhead * 2 ** level,
    receivers: 4 ** (1 + level),
    targets: level === 0 ? 1 : 4 ** level,
    backlog: level > 0,
  }
}

/** Runs a step and packs what it has taken. */
type Answer = (
  cause: () => string,
  step: () => Promise<void>,
  settled?: readonly number[],
) => Promise<Revelation>

export class Lazy {
  /** Ids of methods whose callees are dealt with. */
  readonly #entered = new Set<number>()
  /** Where it is known, nothing need be guessed. */
  #past: Past = NO_PAST
  /** First invocations that led to new methods. */
  #steps = 0
  /** Methods taken with callees that are not dealt with, oldest first. */
  #backlog: MethodRef[] = []

  /** @param budget  methods to take at most, in one of the first answers, beyond the direct callees */
  constructor(
    private readonly reach: Reach,
    private readonly ids: MethodIds,
    private readonly budget = LOOK_AHEAD,
  ) {}

  hasEntered(id: number): boolean {
    return this.#entered.has(id)
  }

  entered(ids: Iterable<number>): void {
    for (const id of ids) this.#entered.add(id)
  }

  unloaded(classes: ReadonlySet<number>): void {
    this.#backlog = this.#backlog.filter((it) => !classes.has(it.node.id))
  }

  /** A method is about to run for the first time. @param entered  gets the ids of all of which the callees have been taken */
  async first(target: MethodTarget, entered: number[]): Promise<void> {
    let level: readonly MethodTarget[] = [target]
    while (level.length > 0) level = await this.#enter(level, entered)
    const cautious = this.#past.isKnown ? KNOWING_STEPS : 0
    await this.#lookAhead(boldness(this.budget, Math.max(0, this.#steps - cautious)), this.reach.taker.fresh)
    if (this.reach.taker.fresh.length > 0) this.#steps++
  }

  /** See `Revealer.rootsWillRun`. */
  async *rootsWillRun(past: Past, answer: Answer): AsyncGenerator<Revelation, void, void> {
    this.#past = past
    const taken: MethodTarget[] = []
    let level = [...this.ids].filter((it) => it.root && !this.#entered.has(it.id))
    while (level.length > 0) {
      const entered: number[] = []
      const step = level
      const cause = () => `${step.length} methods that will run with the roots`
      const enter = async () => {
        level = await this.#enter(step, entered)
      }
      const revelation = await answer(cause, enter, entered)
      append(taken, revelation.instrument)
      yield revelation
    }
    // Known to run, and entered by the step after the one that took them.
    this.#backlog = this.#backlog.filter(
      ({ node, method }) => !this.#entered.has(this.ids.find(node.id, method.index)?.id ?? 0),
    )
    // The first of them to be entered would open the gate, and wait for the dearest answer of all.
    const found = taken.length
    for (let at = 0; at < found; at += METHODS_A_STEP) {
      const step = taken.slice(at, Math.min(found, at + METHODS_A_STEP))
      const cause = () => `callbacks behind ${step.length} methods`
      const revelation = await answer(cause, () => this.reach.openGateFor(step))
      append(taken, revelation.instrument)
      yield revelation
    }
    const bold = boldness(this.budget, 0)
    let { budget } = bold
    for (let at = 0; at < taken.length && budget > 0; at += METHODS_A_STEP) {
      const step = taken.slice(at, at + METHODS_A_STEP)
      const cause = () => `look-ahead behind ${step.length} methods`
      const revelation = await answer(cause, () => this.#lookAhead({ ...bold, budget }, step))
      budget -= revelation.instrument.length
      yield revelation
    }
  }

  /**
   * Takes what these methods call.
   *
   * @param entered  gets the ids of all of which the callees have been taken
   * @returns those of the callees that are known to run
   */
  async #enter(targets: readonly MethodTarget[], entered: number[]): Promise<MethodTarget[]> {
    const fresh = targets.filter(({ id }) => !this.#entered.has(id))
    for (const { id } of fresh) {
      this.#entered.add(id)
      entered.push(id)
    }
    const before = this.reach.taker.fresh.length
    await this.reach.expand(this.reach.refsOf(fresh))
    return this.#past.thatRan(this.reach.taker.fresh.slice(before))
  }

  /** Looks ahead behind these methods. */
  async #lookAhead(bold: Boldness, taken: readonly MethodTarget[]): Promise<void> {
    const { reach } = this
    const backlog = this.#backlog
    let level = reach.refsOf(taken)
    let left = bold.budget
    while (left > 0) {
      let slice: MethodRef[] = []
      if (level.length === 0) {
        // The latest first: their callers are running now.
        if (bold.backlog) slice = backlog.splice(-SLICE)
        if (slice.length === 0) return
        level = slice
      }
      const before = reach.taker.fresh.length
      left = await takeBoundCallees(reach, level, left, bold)
      await reach.expandPassed()
      level = reach.refsOf(reach.taker.fresh.slice(before))
      if (left <= 0) append(backlog, slice)
    }
  }

  /** Of the methods just taken, the ids of those whose callees are dealt with: they need not announce themselves. */
  readyAmong(taken: readonly MethodTarget[]): number[] {
    this.reach.unblock()
    const refs = this.reach.refsOf(taken)
    const ready: number[] = []
    for (const ref of refs) {
      if (this.reach.settled(ref)) ready.push(this.ids.find(ref.node.id, ref.method.index)!.id)
      else this.#backlog.push(ref)
    }
    return ready
  }
}

/** One step of the breadth-first walk. Returns what is left of the budget. */
async function takeBoundCallees(
  reach: Reach,
  level: readonly MethodRef[],
  budget: number,
  bold: Boldness,
): Promise<number> {
  const { taker } = reach
  await reach.linker.mirrors.fetchFiles(level.map((it) => it.node.id))
  const sites = new Map<string, LoadedSite>()
  for (const ref of level) {
    if (sites.size >= 4 * budget + 64) break // most sites lead nowhere new; the rest can wait
    for (const it of reach.sitesOf(ref)) {
      if (it.site.kind === 'virtual' && reach.receivers(it) > bold.receivers) continue
      sites.set(JSON.stringify([it.loader, it.site]), it)
    }
  }
  const open = [...sites.values()]
  let left = budget
  for (const [i, linked] of (await reach.linkAll(open)).entries()) {
    const added = linked.targets.filter((it) => !taker.isDecided(it)).length
    const bound =
      linked.gate <= taker.gate &&
      linked.onward.length === 0 &&
      linked.opaque.length === 0 &&
      // Left-out code is passed through to any depth: not on suspicion.
      linked.targets.every((it) => it.node.included || taker.isDecided(it))
    if (
      !bound ||
      reach.isGuess(open[i], linked) ||
      added > left ||
      (open[i].site.kind === 'virtual' && linked.targets.length > bold.targets)
    )
      continue
    const before = taker.fresh.length
    reach.commit(open[i], linked)
    left -= taker.fresh.length - before
  }
  return left
}
