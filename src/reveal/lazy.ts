// Scheme b: lazy revelation of a call subgraph (JFluid paper, section 6.2).
//
// A method is instrumented when one of its callers is entered for the first time. Each
// step redefines classes in the target, which costs 1 to 18 ms for any number of methods,
// so a step looks ahead: after the direct callees it also selects their statically bound callees, breadth
// first, up to a budget. The look-ahead neither guesses receivers nor opens the gate to callbacks
// further: methods that need a guess or a wider gate are selected only when their caller is entered. So polymorphic calls are resolved
// as precisely as in the paper.
//
// Each redefinition makes the next redefinition slower (a subgraph of thousands of methods needed
// 1,000 redefinitions of 20 ms each), so the look-ahead of a long session grows: every few steps the budget
// doubles, a call may have more receivers, and the unused part of a step's budget is spent on the
// callees of methods that earlier steps selected. A small subgraph never needs this growth;
// in a large subgraph scheme b finally behaves almost like scheme a, in steps short enough for the waiting thread.
//
// Invariant: when the answer to a first invocation is installed, every method that the invoked method can call directly in the classes
// loaded so far is instrumented or skipped with a reason, or will be instrumented when its class is loaded.

import { append } from '../base/arrays.ts'
import type { LoadedSite, MethodRef } from './linker.ts'
import type { MethodIds, MethodTarget } from './method-ids.ts'
import type { Reach } from './reach.ts'
import type { Revelation } from './revealer.ts'

/** Parameters of the look-ahead in one step. */
interface Boldness {
  /** Maximum number of methods beyond the direct callees. */
  readonly budget: number
  /** Maximum number of possible receiver classes. A virtual call with more receivers counts as polymorphic without a further check. */
  readonly receivers: number
  /** Maximum number of targets. A virtual call with more targets is not followed until its caller is entered. */
  readonly targets: number
  /** Whether the unused part of the budget is spent on callees of methods that earlier steps selected. */
  readonly backlog: boolean
}

/** Maximum number of methods beyond the direct callees in one of the first steps. */
const LOOK_AHEAD = 32
/** Number of first steps that follow only statically bound calls. Then the look-ahead grows. */
const CAUTIOUS_STEPS = 12
const STEPS_A_LEVEL = 4
/** Maximum number of doublings: 16 times the budget. Redefining about 500 methods takes well below the timeout of 1 s. */
const BOLDEST = 4
/** Number of methods of the backlog that are processed together. */
const SLICE = 128

/** Maximum number of methods processed per step before the roots run. Each method may need several class files. */
const METHODS_A_STEP = 500
/** Number of additional steps without guesses if methods are known to have run. After these steps this knowledge is ignored. */
const KNOWING_STEPS = 24

/** Knowledge about methods that ran before the session and so will probably run again. */
export interface Past {
  /** False if nothing is known about any method. */
  readonly isKnown: boolean
  /** Returns the methods that are known to have run. The other methods may have run, too. */
  thatRan(targets: readonly MethodTarget[]): MethodTarget[]
}

export const NO_PAST: Past = { isKnown: false, thatRan: () => [] }

/**
 * @param lookAhead  budget of the first steps; with 0 the look-ahead never grows, as in the paper
 * @param steps      number of redefinitions that first invocations have caused so far
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

/** Runs a step and returns the methods that the step selected. */
type Answer = (
  cause: () => string,
  step: () => Promise<void>,
  settled?: readonly number[],
) => Promise<Revelation>

export class Lazy {
  /** Ids of methods whose callees are revealed. */
  readonly #entered = new Set<number>()
  /** Knowledge about methods that ran before the session. While this knowledge is in use, receivers are not guessed. */
  #past: Past = NO_PAST
  /** Number of first invocations that led to new methods. */
  #steps = 0
  /** Selected methods whose callees are not revealed yet, oldest first. */
  #backlog: MethodRef[] = []

  /** @param budget  maximum number of methods in one of the first answers, beyond the direct callees */
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

  /** Handles a method's first invocation. @param entered  receives the ids of methods whose callees have been selected */
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
    // Drops methods that a later step has entered because they are known to run.
    this.#backlog = this.#backlog.filter(
      ({ node, method }) => !this.#entered.has(this.ids.find(node.id, method.index)?.id ?? 0),
    )
    // Opens the gate before the roots run. Otherwise the first of these methods to run would open the gate and wait for an expensive
    // answer.
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
   * Selects the callees of these methods.
   *
   * @param entered  receives the ids of methods whose callees have been selected
   * @returns callees that are known to run
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

  /** Selects callees of these methods, within the limits of the look-ahead. */
  async #lookAhead(bold: Boldness, taken: readonly MethodTarget[]): Promise<void> {
    const { reach } = this
    const backlog = this.#backlog
    let level = reach.refsOf(taken)
    let left = bold.budget
    while (left > 0) {
      let slice: MethodRef[] = []
      if (level.length === 0) {
        // Begins with the methods selected last, since their callers are running now.
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

  /** Returns the ids of selected methods whose callees are revealed. These methods need no first-invocation request. */
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

/** Does one step of the breadth-first walk. Returns the rest of the budget. */
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
    if (sites.size >= 4 * budget + 64) break // most sites select no new method, so the remaining sites are left for later
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
      // Reaching excluded code follows its calls to any depth. The look-ahead must not do this for calls that may never run.
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
