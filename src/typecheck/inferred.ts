// Control flow over code without a StackMapTable. Types of locals and stack are propagated along every path through the code until nothing
// changes (JVMS 4.10.2.2, as in HotSpot's check_code.c).
// Frames are kept where paths join: at branch targets and handlers. If a slot has two classes on two paths, both classes are kept
// (`TypeTable.merge`), so that no common superclass must be known. A slot's type only moves up the lattice: to more classes, and at last to
// an unusable type. A rule violation never disappears when types move up, so the first problem found is a real problem. An uninitialised
// object never reaches its own `new` again: on the first path to `new` the slot did not contain the object, so the join makes the slot
// unusable.
// Unreachable code has no types. HotSpot still checks the operands of unreachable code, so a method with unreachable code gets no verdict.
// Compilers emit no unreachable code.

import { branchTargets, type Code, forEachInstruction } from '../classfile/code.ts'
import * as op from '../classfile/opcodes.ts'
import type { Control } from './control.ts'
import { type Guard, Handlers } from './handlers.ts'
import type { Instructions } from './instructions.ts'
import { TypeProblem, Unchecked } from './problem.ts'
import type { MapFrame, State } from './state.ts'
import { TOP, type Type, type TypeTable, UNINITIALIZED, UNINITIALIZED_THIS } from './types.ts'

/** Maximum number of slots of all frames together. */
const MAX_SLOTS = 1 << 22

/** Join point: the frame at a bci, merged from all paths that lead there. */
interface Meeting extends MapFrame {
  /** Types of the locals. All later locals are TOP. */
  readonly locals: Type[]
  readonly stack: Type[]
  thisUninitialized: boolean
  /** Whether the frame has changed since it was last propagated from here. */
  changed: boolean
}

export class InferredFrames implements Control {
  readonly #handlers: Handlers
  /** Join points keyed by bci; undefined until a path to the join point is found. */
  readonly #meetings = new Map<number, Meeting | undefined>()
  /** Sorted bcis of the join points. */
  readonly #places: readonly number[]
  /** Per bci: 1 if the instruction there was reached. */
  readonly #reached: Uint8Array
  #slots = 0

  /**
   * @param starts  1 at each bci where an instruction starts
   * @throws Unchecked if there are subroutines (jsr, ret)
   */
  constructor(
    private readonly code: Code,
    guards: readonly Guard[],
    private readonly starts: Uint8Array,
    private readonly types: TypeTable,
  ) {
    const { bytecode } = code
    this.#reached = new Uint8Array(bytecode.length)
    this.#handlers = new Handlers(guards, types)
    const places = new Set([0, ...allTargets(bytecode, starts)])
    for (const { handlerBci } of guards) places.add(handlerBci)
    this.#places = [...places].sort((a, b) => a - b)
    for (const bci of this.#places) this.#meetings.set(bci, undefined)
  }

  /**
   * @param state  frame on entry of the method
   * @throws Unchecked if there is unreachable code
   */
  run(instructions: Instructions, state: State): void {
    this.#flow(0, state)
    for (let changed = true; changed; ) {
      changed = false
      this.#handlers.restart()
      this.types.spend(this.#places.length)
      for (const bci of this.#places) {
        const meeting = this.#meetings.get(bci)
        if (meeting?.changed !== true) continue
        meeting.changed = false
        state.become(meeting)
        this.#follow(bci, instructions, state)
        changed = true
      }
    }
    this.starts.forEach((isStart, bci) => {
      if (isStart !== this.#reached[bci]) throw new Unchecked(`nothing leads to the instruction at ${bci}`)
    })
  }

  /** Follows the code from one join point to the next, or until control leaves. */
  #follow(from: number, instructions: Instructions, state: State): void {
    for (let bci = from; ; ) {
      state.bci = bci
      this.#reached[bci] = 1
      this.types.spend(1)
      this.#handlers.advance(bci)
      this.raise(state)
      checkInitialized(this.code.bytecode[bci], state)
      bci = instructions.run(bci, state)
      if (!instructions.goesOn) return
      if (bci >= instructions.end) state.fail('control falls off the end of the code')
      if (this.#meetings.has(bci)) {
        this.#flow(bci, state)
        return
      }
    }
  }

  jump(target: number, state: State): void {
    this.#flow(target, state)
  }

  raise(state: State): void {
    if (!this.#handlers.show(state.changes)) return
    for (const { handlerBci, caught } of this.#handlers.active) this.#meet(handlerBci, state, [caught])
  }

  get guarded(): boolean {
    return this.#handlers.active.length > 0
  }

  #flow(bci: number, state: State): void {
    this.#meet(bci, state, state.stack)
  }

  /** Merges the locals of `state` and the types of `stack` into the frame at `bci`. */
  #meet(bci: number, state: State, stack: readonly Type[]): void {
    const known = this.#meetings.get(bci)
    this.types.spend(1 + stack.length + (known?.locals ?? state.locals).length)
    if (known === undefined) this.#meetings.set(bci, this.#begin(bci, state, stack))
    else this.#merge(known, state, stack)
  }

  #begin(bci: number, { locals, localsSize, thisUninitialized }: State, stack: readonly Type[]): Meeting {
    const begun = {
      bci,
      locals: locals.slice(0, localsSize),
      stack: [...stack],
      thisUninitialized,
      changed: true,
    }
    dropTops(begun.locals)
    this.#slots += begun.locals.length + stack.length
    if (this.#slots > MAX_SLOTS) throw new Unchecked('its frames unfold to too many locals')
    return begun
  }

  #merge(known: Meeting, state: State, stack: readonly Type[]): void {
    const { types } = this
    const { locals } = known
    if (known.stack.length !== stack.length) {
      state.fail(`${stack.length} slots on the stack come to ${known.bci}, and ${known.stack.length}`)
    }
    for (let i = 0; i < stack.length; i++) {
      if (stack[i] === known.stack[i]) continue
      const merged = types.merge(known.stack[i], stack[i])
      if (merged === TOP) {
        const both = `${types.show(stack[i])} and ${types.show(known.stack[i])}`
        state.fail(`${both} come to ${known.bci} on the stack`)
      }
      if (merged === known.stack[i]) continue
      known.stack[i] = merged
      known.changed = true
    }
    for (let i = 0; i < locals.length; i++) {
      if (locals[i] === state.locals[i]) continue
      const merged = types.merge(locals[i], state.locals[i])
      if (merged === locals[i]) continue
      locals[i] = merged
      known.changed = true
    }
    dropTops(locals)
    if (state.thisUninitialized && !known.thisUninitialized) {
      known.thisUninitialized = true
      known.changed = true
    }
  }
}

function dropTops(locals: Type[]): void {
  while (locals.length > 0 && locals[locals.length - 1] === TOP) locals.pop()
}

/**
 * Checks a rule in which HotSpot's two verifiers differ: the inferring verifier forbids locking or comparing an uninitialised object.
 * `Instructions` checks the other rules.
 */
function checkInitialized(opcode: number, state: State): void {
  const objects =
    opcode === op.MONITORENTER || opcode === op.MONITOREXIT
      ? 1
      : opcode === op.IF_ACMPEQ || opcode === op.IF_ACMPNE
        ? 2
        : 0
  for (let i = 1; i <= objects; i++) {
    const tag = (state.stack.at(-i) ?? TOP) & 15
    if (tag === UNINITIALIZED || tag === UNINITIALIZED_THIS)
      state.fail('an object that is not initialised on the stack')
  }
}

/** Returns all branch targets, including targets of unreachable branches. */
function allTargets(bytecode: Uint8Array, starts: Uint8Array): Set<number> {
  const targets = new Set<number>()
  forEachInstruction(bytecode, (bci, opcode) => {
    const isSubroutine =
      opcode === op.JSR || opcode === op.JSR_W || (opcode === op.WIDE ? bytecode[bci + 1] : opcode) === op.RET
    if (isSubroutine) throw new Unchecked('it has subroutines')
    for (const target of branchTargets(bytecode, bci)) {
      if (starts[target] !== 1) throw new TypeProblem(bci, `a branch to ${target}, where no instruction is`)
      targets.add(target)
    }
  })
  return targets
}
