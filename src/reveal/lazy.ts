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
import type { MethodTarget } from './method-ids.ts'
import type { Reach } from './reach.ts'

/** How far one step looks ahead. */
export interface Boldness {
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
export const LOOK_AHEAD = 32
/** Steps with nothing but what is statically bound, before a session grows bolder. */
const CAUTIOUS_STEPS = 12
const STEPS_A_LEVEL = 4
/** 16 times the budget: redefining some 500 methods takes well below the second a thread waits. */
const BOLDEST = 4
/** Methods of the backlog that are looked at together. */
const SLICE = 128

/**
 * @param lookAhead  the budget of the first steps; 0 is the paper's scheme B and stays so
 * @param steps      redefinitions that first invocations have caused so far
 */
export function boldness(lookAhead: number, steps: number): Boldness {
  const level =
    steps < CAUTIOUS_STEPS ? 0 : Math.min(BOLDEST, 1 + Math.floor((steps - CAUTIOUS_STEPS) / STEPS_A_LEVEL))
  return {
    budget: lookAhead * 2 ** level,
    receivers: 4 ** (1 + level),
    targets: level === 0 ? 1 : 4 ** level,
    backlog: level > 0,
  }
}

/**
 * Looks ahead behind methods.
 *
 * @param backlog  methods taken by earlier steps with open callees, oldest first; those looked at are removed
 * @param taken    those to begin with, unless given the ones just taken
 */
export async function lookAhead(
  reach: Reach,
  bold: Boldness,
  backlog: MethodRef[],
  taken: readonly MethodTarget[] = reach.fresh,
): Promise<void> {
  let level = refsOf(reach, taken)
  let left = bold.budget
  while (left > 0) {
    let slice: MethodRef[] = []
    if (level.length === 0) {
      // The latest first: their callers are running now.
      if (bold.backlog) slice = backlog.splice(-SLICE)
      if (slice.length === 0) return
      level = slice
    }
    const before = reach.fresh.length
    left = await takeBoundCallees(reach, level, left, bold)
    await reach.expandPassed()
    level = refsOf(reach, reach.fresh.slice(before))
    if (left <= 0) append(backlog, slice)
  }
}

function refsOf(reach: Reach, targets: readonly MethodTarget[]): MethodRef[] {
  return targets.map((it) => reach.refOf(it)).filter((it) => it !== null)
}

/** One step of the breadth-first walk. Returns what is left of the budget. */
async function takeBoundCallees(
  reach: Reach,
  level: readonly MethodRef[],
  budget: number,
  bold: Boldness,
): Promise<number> {
  await reach.filesFor(level)
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
    const added = linked.targets.filter((it) => !reach.isDecided(it)).length
    const bound =
      linked.gate <= reach.gate &&
      linked.onward.length === 0 &&
      linked.opaque.length === 0 &&
      // Left-out code is passed through to any depth: not on suspicion.
      linked.targets.every((it) => it.node.included || reach.isDecided(it))
    if (
      !bound ||
      reach.isGuess(open[i], linked) ||
      added > left ||
      (open[i].site.kind === 'virtual' && linked.targets.length > bold.targets)
    )
      continue
    const before = reach.fresh.length
    reach.commit(open[i], linked)
    left -= reach.fresh.length - before
  }
  return left
}

/** Of the methods just taken, those whose callees are dealt with: they need not announce themselves. */
export function readyAmong(reach: Reach, taken: readonly MethodTarget[]): number[] {
  reach.unblock()
  const ready: number[] = []
  for (const target of taken) {
    const ref = reach.refOf(target)
    if (ref !== null && reach.settled(ref)) ready.push(target.id)
  }
  return ready
}
