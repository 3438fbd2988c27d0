// Determines which exception handlers guard the current instruction, and which types they catch.
// HotSpot checks every handler at every instruction, in O(handlers × instructions) time. The result depends on the locals only, so this
// code checks a handler only at the start of its range and after a change of the locals.

import type { Handler } from '../classfile/code.ts'
import { TypeProblem } from './problem.ts'
import type { Type, TypeTable } from './types.ts'

/** Row of the exception table. */
export interface Guard extends Omit<Handler, 'catchType'> {
  /** Type of the only value on the handler's stack. */
  readonly caught: Type
}

/**
 * Returns the guards of an exception table. Equal rows become one guard.
 *
 * @param starts  nonzero at each bci where an instruction starts
 */
export function guardsOf(rows: readonly Handler[], starts: Uint8Array, types: TypeTable): Guard[] {
  const guards: Guard[] = []
  const known = new Set<string>()
  for (const { startBci, endBci, handlerBci, catchType } of rows) {
    for (const bci of [startBci, endBci, handlerBci]) {
      if (bci < starts.length && starts[bci] === 0) {
        throw new TypeProblem(bci, 'the exception table names a bci inside an instruction')
      }
    }
    const row = `${startBci} ${endBci} ${handlerBci} ${catchType}`
    if (known.has(row)) continue
    known.add(row)
    guards.push({ startBci, endBci, handlerBci, caught: caughtType(catchType, handlerBci, types) })
  }
  return guards
}

function caughtType(catchType: number, handlerBci: number, types: TypeTable): Type {
  if (catchType === 0) return types.throwable
  const caught = types.constant(catchType)
  if (caught < 0) throw new TypeProblem(handlerBci, `constant ${catchType} is caught and is no class`)
  if (!types.isAssignable(caught, types.throwable, handlerBci)) {
    throw new TypeProblem(handlerBci, `${types.show(caught)} is caught and is no Throwable`)
  }
  return caught
}

/** Moves through the code once, or again after `restart`, and tracks the guards of the current instruction. */
export class Handlers {
  readonly #byStart: readonly Guard[]
  /** Sorted bcis at which ranges begin or end. */
  readonly #edges: readonly number[]
  #nextGuard = 0
  #nextEdge = 0
  active: readonly Guard[] = []
  /** Value of `State.changes` when all active handlers last checked the locals. */
  #shown = -1

  constructor(
    guards: readonly Guard[],
    private readonly types: TypeTable,
  ) {
    this.#byStart = [...guards].sort((a, b) => a.startBci - b.startBci)
    const edges = new Set(guards.flatMap(({ startBci, endBci }) => [startBci, endBci]))
    this.#edges = [...edges].sort((a, b) => a - b)
  }

  /** Moves to the instruction at `bci`. The bcis of successive calls increase. */
  advance(bci: number): void {
    let changed = false
    for (; this.#edges[this.#nextEdge] <= bci; this.#nextEdge++) changed = true
    if (!changed) return
    const guards = this.#byStart
    const active = [...this.active]
    while (this.#nextGuard < guards.length && guards[this.#nextGuard].startBci <= bci) {
      active.push(guards[this.#nextGuard++])
    }
    this.types.spend(active.length)
    this.active = active.filter(({ endBci }) => endBci > bci)
    this.#shown = -1
  }

  restart(): void {
    this.#nextGuard = 0
    this.#nextEdge = 0
    this.active = []
    this.#shown = -1
  }

  /** Returns whether the active handlers must check the locals, and marks them as checked. */
  show(changes: number): boolean {
    if (this.active.length === 0 || this.#shown === changes) return false
    this.#shown = changes
    return true
  }
}
