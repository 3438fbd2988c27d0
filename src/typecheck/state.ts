// Current frame: types of locals and stack between two instructions (JVMS 4.10.1.4), slot by slot, and the flag for an uninitialised
// `this`.

import { TypeProblem } from './problem.ts'
import {
  DOUBLE,
  DOUBLE_2,
  FLOAT,
  INTEGER,
  LONG,
  LONG_2,
  NULL,
  TOP,
  type Type,
  type TypeTable,
  UNINITIALIZED,
  UNINITIALIZED_THIS,
} from './types.ts'

/** Frame of the StackMapTable, slot by slot. Equal frames share their arrays. */
export interface MapFrame {
  readonly bci: number
  readonly locals: readonly Type[]
  readonly stack: readonly Type[]
  readonly thisUninitialized: boolean
}

export class State {
  /** bci of the current instruction, reported with a problem. */
  bci = 0
  readonly locals: Type[]
  /** Number of locals; all slots with this index or a higher index are TOP. */
  localsSize = 0
  readonly stack: Type[] = []
  thisUninitialized = false
  /** Incremented when locals or the flag change. A handler need not be checked again while this number is unchanged. */
  changes = 0

  constructor(
    private readonly types: TypeTable,
    private readonly maxStack: number,
    maxLocals: number,
  ) {
    this.locals = new Array<Type>(maxLocals).fill(TOP)
  }

  fail(reason: string): never {
    throw new TypeProblem(this.bci, reason)
  }

  push(type: Type): void {
    if (this.stack.length >= this.maxStack) this.fail('the operand stack overflows')
    this.stack.push(type)
  }

  pushAll(types: readonly Type[]): void {
    for (let i = 0; i < types.length; i++) this.push(types[i])
  }

  popAny(): Type {
    const type = this.stack.pop()
    if (type === undefined) this.fail('the operand stack is empty')
    return type
  }

  /** Pops a slot that must be assignable to `wanted`. */
  pop(wanted: Type): Type {
    const type = this.popAny()
    if (type !== wanted && !this.types.isAssignable(type, wanted, this.bci)) this.#bad(type, wanted)
    return type
  }

  #bad(type: Type, wanted: Type): never {
    this.fail(`${this.types.show(type)} on the stack where ${this.types.show(wanted)} is wanted`)
  }

  /** Pops the slots of values, the last slot first. */
  popAll(wanted: readonly Type[]): void {
    for (let i = wanted.length - 1; i >= 0; i--) this.pop(wanted[i])
  }

  /** Pops null or any object, initialised or uninitialised. */
  popReference(): Type {
    const type = this.popAny()
    if (!isReference(type)) this.fail(`${this.types.show(type)} on the stack where a reference is wanted`)
    return type
  }

  /** Pops a value of one slot. */
  popCategory1(): Type {
    const type = this.popAny()
    if (!isCategory1(type)) this.fail(`${this.types.show(type)} on the stack where one slot is wanted`)
    return type
  }

  /** Pops two slots: two values of one slot each, or one value of two slots. Returns the lower slot, then the upper slot. */
  popTwo(): readonly [Type, Type] {
    const upper = this.popAny()
    if (isCategory1(upper)) return [this.popCategory1(), upper]
    const lower = this.popAny()
    const matches = (upper === LONG_2 && lower === LONG) || (upper === DOUBLE_2 && lower === DOUBLE)
    if (!matches) this.fail('half a long or double on the stack')
    return [lower, upper]
  }

  local(index: number): Type {
    if (index >= this.locals.length) this.fail(`local ${index} is beyond max_locals`)
    return this.locals[index]
  }

  checkLocal(index: number, wanted: Type): void {
    const type = this.local(index)
    if (type !== wanted) {
      this.fail(`local ${index} is ${this.types.show(type)} where ${this.types.show(wanted)} is wanted`)
    }
  }

  /** Stores a value of one slot, or of two slots if `upper` is given. */
  store(index: number, type: Type, upper?: Type): void {
    const last = upper === undefined ? index : index + 1
    if (last >= this.locals.length) this.fail(`local ${last} is beyond max_locals`)
    const { locals } = this
    if (locals[index] === type && (upper === undefined || locals[last] === upper)) return
    // Overwriting half of a long or double invalidates the other half.
    if (locals[index] === LONG_2 || locals[index] === DOUBLE_2) locals[index - 1] = TOP
    if (locals[last] === LONG || locals[last] === DOUBLE) locals[last + 1] = TOP
    locals[index] = type
    if (upper !== undefined) locals[last] = upper
    if (last >= this.localsSize) this.localsSize = last + 1
    this.changes++
  }

  /** Handles the return of a constructor: every copy of the reference becomes an initialised object. */
  initialize(uninitialized: Type, type: Type): void {
    const { locals, stack } = this
    for (let i = 0; i < this.localsSize; i++) if (locals[i] === uninitialized) locals[i] = type
    for (let i = 0; i < stack.length; i++) if (stack[i] === uninitialized) stack[i] = type
    if (uninitialized === UNINITIALIZED_THIS) this.thisUninitialized = false
    this.changes++
  }

  /** Replaces the current frame by a frame of the StackMapTable. */
  become(frame: MapFrame): void {
    const { locals } = this
    const size = frame.locals.length
    for (let i = 0; i < size; i++) locals[i] = frame.locals[i]
    for (let i = size; i < this.localsSize; i++) locals[i] = TOP
    this.localsSize = size
    this.stack.length = 0
    for (let i = 0; i < frame.stack.length; i++) this.stack.push(frame.stack[i])
    this.thisUninitialized = frame.thisUninitialized
    this.changes++
  }

  /** Checks whether the current frame fits `frame`, the frame at a branch target. `what` names the branch in the message. */
  match(frame: MapFrame, what: string): void {
    if (this.stack.length !== frame.stack.length) {
      this.fail(
        `${what} ${frame.bci} has ${this.stack.length} slots on the stack, its frame ${frame.stack.length}`,
      )
    }
    for (let i = 0; i < frame.stack.length; i++) {
      if (this.stack[i] !== frame.stack[i]) this.#matchSlot(this.stack[i], frame.stack[i], frame, what)
    }
    this.matchLocals(frame, this.thisUninitialized, what)
  }

  matchLocals(frame: MapFrame, thisUninitialized: boolean, what: string): void {
    const { locals } = frame
    for (let i = 0; i < locals.length; i++) {
      if (this.locals[i] !== locals[i]) this.#matchSlot(this.locals[i], locals[i], frame, what)
    }
    if (thisUninitialized && !frame.thisUninitialized) {
      this.fail(`${what} ${frame.bci} has this uninitialized, its frame does not`)
    }
  }

  #matchSlot(type: Type, wanted: Type, frame: MapFrame, what: string): void {
    if (this.types.isAssignable(type, wanted, this.bci)) return
    const [has, takes] = [this.types.show(type), this.types.show(wanted)]
    this.fail(`${what} ${frame.bci} has ${has} where its frame has ${takes}`)
  }
}

/** Returns whether the type is null or an object, initialised or uninitialised. */
export function isReference(type: Type): boolean {
  const tag = type & 15
  return tag >= NULL && tag <= UNINITIALIZED
}

/** Returns whether the type is a value of one slot. */
function isCategory1(type: Type): boolean {
  const tag = type & 15
  return tag === INTEGER || tag === FLOAT || (tag >= NULL && tag <= UNINITIALIZED)
}
