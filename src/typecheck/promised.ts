// Checks the control flow of code with a StackMapTable, in one pass: the frame at each jump must fit the declared frame at the target of
// the jump (JVMS 4.10.1).

import type { Control } from './control.ts'
import { type Guard, Handlers } from './handlers.ts'
import type { Instructions } from './instructions.ts'
import { TypeProblem } from './problem.ts'
import type { MapFrame, State } from './state.ts'
import type { Type, TypeTable } from './types.ts'

export class PromisedFrames implements Control {
  readonly #byBci: ReadonlyMap<number, MapFrame>
  readonly #handlers: Handlers

  constructor(
    private readonly frames: readonly MapFrame[],
    guards: readonly Guard[],
    private readonly types: TypeTable,
  ) {
    this.#byBci = new Map(frames.map((frame) => [frame.bci, frame]))
    this.#handlers = new Handlers(guards, types)
    for (const { handlerBci, caught } of guards) this.#checkHandler(handlerBci, caught)
  }

  #checkHandler(bci: number, caught: Type): void {
    const { types } = this
    const frame = this.#byBci.get(bci)
    if (frame === undefined) throw new TypeProblem(bci, 'an exception handler without a frame')
    if (frame.stack.length !== 1 || !types.isAssignable(caught, frame.stack[0], bci)) {
      throw new TypeProblem(bci, `the handler's frame does not take a ${types.show(caught)}`)
    }
  }

  /** Checks the whole code. @param state  frame on entry of the method */
  run(instructions: Instructions, state: State): void {
    let nextFrame = 0
    let reachable = true
    for (let bci = 0; bci < instructions.end; ) {
      state.bci = bci
      const frame = this.frames[nextFrame]
      if (frame !== undefined && frame.bci === bci) {
        nextFrame++
        this.types.spend(frame.locals.length + frame.stack.length + 1)
        if (reachable) state.match(frame, 'control reaching')
        state.become(frame)
      } else if (!reachable) {
        state.fail('no frame after an instruction that does not go on')
      }
      this.#handlers.advance(bci)
      bci = instructions.run(bci, state)
      reachable = instructions.goesOn
    }
    if (reachable) state.fail('control falls off the end of the code')
  }

  jump(target: number, state: State): void {
    const frame = this.#byBci.get(target)
    if (frame === undefined) state.fail(`no frame at the branch target ${target}`)
    this.types.spend(1 + frame.locals.length + frame.stack.length)
    state.match(frame, 'the branch to')
  }

  raise(state: State): void {
    if (!this.#handlers.show(state.changes)) return
    for (const { handlerBci } of this.#handlers.active) {
      const frame = this.#byBci.get(handlerBci)!
      this.types.spend(1 + frame.locals.length)
      state.matchLocals(frame, state.thisUninitialized, 'the exception handler at')
    }
  }

  get guarded(): boolean {
    return this.#handlers.active.length > 0
  }
}
