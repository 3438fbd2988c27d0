// Exception handlers: whatever an instruction of the range leaves in the locals must fit the frame of
// the handler (JVMS 4.10.1.6).
//
// HotSpot looks at every handler at every instruction, which takes as long as ranges times code. Only the
// locals count, so here a handler is looked at when its range begins and when locals have changed.

import type { Handler } from '../classfile/code.ts'
import { TypeProblem } from './problem.ts'
import type { MapFrame, State } from './state.ts'
import type { Type, TypeTable } from './types.ts'

interface Guard {
  readonly end: number
  readonly frame: MapFrame
}

export class Handlers {
  /** Guards that begin, by bci. */
  readonly #begin = new Map<number, Guard[]>()
  readonly #ends = new Set<number>()
  #active: Guard[] = []
  /** `State.changes` when all active guards matched last. */
  #matched = -1

  /**
   * @param starts   not 0 where an instruction starts
   * @param frameAt  the frame at a bci, if there is one
   */
  constructor(
    rows: readonly Handler[],
    starts: Uint8Array,
    frameAt: (bci: number) => MapFrame | undefined,
    types: TypeTable,
    private readonly spend: (steps: number) => void,
  ) {
    const known = new Set<string>()
    for (const { startBci, endBci, handlerBci, catchType } of rows) {
      for (const bci of [startBci, endBci, handlerBci]) {
        if (bci < starts.length && starts[bci] === 0) {
          throw new TypeProblem(bci, 'the exception table names a bci inside an instruction')
        }
      }
      const frame = frameAt(handlerBci)
      if (frame === undefined) throw new TypeProblem(handlerBci, 'an exception handler without a frame')
      const row = `${startBci} ${endBci} ${handlerBci} ${catchType}`
      if (known.has(row)) continue
      known.add(row)
      checkCaught(catchType, handlerBci, frame, types)
      const guards = this.#begin.get(startBci)
      if (guards === undefined) this.#begin.set(startBci, [{ end: endBci, frame }])
      else guards.push({ end: endBci, frame })
      this.#ends.add(endBci)
    }
  }

  /** The instruction at `bci` is next. */
  reach(bci: number): void {
    if (this.#ends.has(bci)) {
      this.spend(this.#active.length)
      this.#active = this.#active.filter(({ end }) => end > bci)
    }
    const guards = this.#begin.get(bci)
    if (guards === undefined) return
    this.spend(guards.length)
    for (const guard of guards) this.#active.push(guard)
    this.#matched = -1
  }

  get any(): boolean {
    return this.#active.length > 0
  }

  /** What is in the locals now may be what the handlers see. */
  match(state: State): void {
    if (this.#matched === state.changes || this.#active.length === 0) return
    for (const { frame } of this.#active) {
      this.spend(1 + frame.locals.length)
      state.matchLocals(frame, state.thisUninitialized, 'the exception handler at')
    }
    this.#matched = state.changes
  }
}

/** The handler finds nothing but the exception on the stack. */
function checkCaught(catchType: number, handlerBci: number, frame: MapFrame, types: TypeTable): void {
  let caught: Type = types.throwable
  if (catchType !== 0) {
    caught = types.constant(catchType)
    if (caught < 0) throw new TypeProblem(handlerBci, `constant ${catchType} is caught and is no class`)
    if (!types.isAssignable(caught, types.throwable, handlerBci)) {
      throw new TypeProblem(handlerBci, `${types.show(caught)} is caught and is no Throwable`)
    }
  }
  if (frame.stack.length !== 1 || !types.isAssignable(caught, frame.stack[0], handlerBci)) {
    throw new TypeProblem(handlerBci, `the handler's frame does not take a ${types.show(caught)}`)
  }
}
