// Computes the effect of one instruction on the frame, and checks its control flow (JVMS 4.10.1.9).

import { type ClassFile, MAJOR_7, MAJOR_11, type MethodInfo } from '../classfile/class-file.ts'
import { type Access, accessAt, type Code, instructionLength, switchOperands } from '../classfile/code.ts'
import {
  CONSTANT_CLASS,
  CONSTANT_DOUBLE,
  CONSTANT_DYNAMIC,
  CONSTANT_FLOAT,
  CONSTANT_INTEGER,
  CONSTANT_LONG,
  CONSTANT_METHOD_HANDLE,
  CONSTANT_METHOD_TYPE,
  CONSTANT_STRING,
} from '../classfile/constant-pool.ts'
import * as op from '../classfile/opcodes.ts'
import { s2At, s4At, u2At } from '../classfile/reader.ts'
import type { Control } from './control.ts'
import { ANY_OBJECT, ANY_REFERENCE, EFFECTS, type Effect, SLOTS } from './effects.ts'
import type { Members } from './members.ts'
import { isReference, type State } from './state.ts'
import {
  ARRAY_MARK,
  DOUBLE,
  DOUBLE_2,
  FLOAT,
  INTEGER,
  LONG,
  LONG_2,
  MAX_DIMENSIONS,
  NULL,
  type Type,
  type TypeTable,
  UNINITIALIZED,
} from './types.ts'

/** Kinds of xload and xstore: int, long, float, double, reference. */
const LOWER: readonly Type[] = [INTEGER, LONG, FLOAT, DOUBLE]
const UPPER: readonly (Type | undefined)[] = [undefined, LONG_2, undefined, DOUBLE_2]
const REFERENCE = 4

/** Element types of the arrays for iaload … saload and iastore … sastore. */
const ELEMENTS = ['I', 'J', 'F', 'D', '', 'BZ', 'C', 'S']
const ELEMENT_SLOTS = [...'IJFDAIII'].map((letter) => SLOTS[letter])
/** Array types of newarray, from type code 4 on (JVMS 6.5). */
const NEW_ARRAYS = ['[Z', '[C', '[F', '[D', '[B', '[S', '[I', '[J']

export class Instructions {
  /** Whether control may flow from the latest executed instruction to the instruction after it. */
  goesOn = true
  /** Slots of the method's result. */
  readonly #result: readonly Type[]

  constructor(
    private readonly classFile: ClassFile,
    private readonly method: MethodInfo,
    private readonly code: Code,
    private readonly types: TypeTable,
    private readonly members: Members,
    private readonly control: Control,
  ) {
    this.#result = types.signature(method.descriptor).result
  }

  /** Length of the code in bytes. */
  get end(): number {
    return this.code.bytecode.length
  }

  /** Executes the instruction at `bci` and returns the bci of the next. */
  run(bci: number, state: State): number {
    const { bytecode } = this.code
    const opcode = bytecode[bci]
    const stores = isStore(opcode === op.WIDE ? bytecode[bci + 1] : opcode)
    // If a store throws, it has stored nothing: handlers see the locals from before the store.
    if (stores) this.control.raise(state)
    const effect = EFFECTS[opcode]
    if (effect !== undefined) apply(effect, state, this.types)
    else this.#special(opcode, bci, state)
    if (!stores) this.control.raise(state)
    this.#branch(opcode, bci, state)
    this.goesOn = !op.endsFlow(opcode)
    return bci + instructionLength(bytecode, bci)
  }

  #special(opcode: number, bci: number, state: State): void {
    const { bytecode } = this.code
    const access = accessAt(bytecode, bci)
    if (access !== undefined) {
      this.#local(access, state)
    } else if (opcode >= op.IALOAD && opcode <= op.SALOAD) {
      this.#arrayLoad(opcode - op.IALOAD, state)
    } else if (opcode >= op.IASTORE && opcode <= op.SASTORE) {
      this.#arrayStore(opcode - op.IASTORE, state)
    } else if (opcode >= op.POP && opcode <= op.SWAP) {
      rearrange(opcode, state)
    } else if (opcode >= op.GETSTATIC && opcode <= op.PUTFIELD) {
      this.members.access(opcode, u2At(bytecode, bci + 1), state)
    } else if (opcode >= op.INVOKEVIRTUAL && opcode <= op.INVOKEDYNAMIC) {
      this.members.call(opcode, bytecode, state, this.control)
    } else if (opcode === op.LDC) {
      this.#constant(bytecode[bci + 1], false, state)
    } else if (opcode === op.LDC_W || opcode === op.LDC2_W) {
      this.#constant(u2At(bytecode, bci + 1), opcode === op.LDC2_W, state)
    } else {
      this.#object(opcode, bci, state)
    }
  }

  /** Executes an instruction on classes, objects or arrays. */
  #object(opcode: number, bci: number, state: State): void {
    const { types } = this
    const { bytecode } = this.code
    switch (opcode) {
      case op.NEW:
        if (types.isArray(this.#class(bci, state))) state.fail('new of an array')
        state.push(UNINITIALIZED | (bci << 4))
        break
      case op.NEWARRAY: {
        const array = NEW_ARRAYS[bytecode[bci + 1] - 4]
        if (array === undefined) state.fail(`newarray of the type ${bytecode[bci + 1]}`)
        state.pop(INTEGER)
        state.push(types.named(array))
        break
      }
      case op.ANEWARRAY:
        this.#newArray(this.#class(bci, state), state)
        break
      case op.MULTIANEWARRAY:
        this.#newArrays(this.#class(bci, state), bytecode[bci + 3], state)
        break
      case op.ARRAYLENGTH: {
        const type = state.popReference()
        if (type !== NULL && !types.isArray(type)) state.fail(`arraylength of a ${types.show(type)}`)
        state.push(INTEGER)
        break
      }
      case op.CHECKCAST: {
        const type = this.#class(bci, state)
        state.pop(types.object)
        state.push(type)
        break
      }
      case op.INSTANCEOF:
        this.#class(bci, state)
        state.pop(types.object)
        state.push(INTEGER)
        break
      case op.ATHROW:
        state.pop(types.throwable)
        break
      case op.ARETURN: {
        const type = state.popReference()
        if (this.#result.length !== 1 || !types.isAssignable(type, this.#result[0], bci)) {
          state.fail(`returns a ${types.show(type)}`)
        }
        break
      }
      default:
        state.fail(`${op.MNEMONICS[opcode]} is not allowed in this version of class files`)
    }
  }

  /** Executes a branch or a return: checks that the current frame matches the frame at the branch target. */
  #branch(opcode: number, bci: number, state: State): void {
    const { bytecode } = this.code
    if (op.isShortBranch(opcode)) {
      this.control.jump(bci + s2At(bytecode, bci + 1), state)
    } else if (opcode === op.GOTO_W) {
      this.control.jump(bci + s4At(bytecode, bci + 1), state)
    } else if (opcode === op.TABLESWITCH || opcode === op.LOOKUPSWITCH) {
      this.#switch(opcode, bci, state)
    } else if (op.isReturn(opcode)) {
      this.#return(opcode, state)
    }
  }

  #return(opcode: number, state: State): void {
    if (opcode === op.RETURN) {
      if (this.#result.length > 0) state.fail('returns nothing')
      if (this.method.name === '<init>' && state.thisUninitialized) {
        state.fail('a constructor returns before this() or super()')
      }
    } else if (opcode !== op.ARETURN && this.#result[0] !== LOWER[opcode - op.IRETURN]) {
      state.fail('returns a value of another type')
    }
  }

  #switch(opcode: number, bci: number, state: State): void {
    const { bytecode } = this.code
    const operands = switchOperands(bci)
    if (this.classFile.major < MAJOR_7) {
      for (let at = bci + 1; at < operands; at++) if (bytecode[at] !== 0) state.fail('padding that is not 0')
    }
    this.control.jump(bci + s4At(bytecode, operands), state)
    if (opcode === op.TABLESWITCH) {
      const keys = s4At(bytecode, operands + 8) - s4At(bytecode, operands + 4) + 1
      for (let i = 0; i < keys; i++) this.control.jump(bci + s4At(bytecode, operands + 12 + 4 * i), state)
      return
    }
    const pairs = s4At(bytecode, operands + 4)
    for (let i = 0; i < pairs; i++) {
      const at = operands + 8 + 8 * i
      if (i > 0 && s4At(bytecode, at - 8) >= s4At(bytecode, at)) state.fail('keys that are not in order')
      this.control.jump(bci + s4At(bytecode, at + 4), state)
    }
  }

  #load(kind: number, index: number, state: State): void {
    if (kind === REFERENCE) {
      const type = state.local(index)
      if (!isReference(type)) state.fail(`local ${index} is ${this.types.show(type)}, no reference`)
      state.push(type)
      return
    }
    const upper = UPPER[kind]
    state.checkLocal(index, LOWER[kind])
    state.push(LOWER[kind])
    if (upper === undefined) return
    state.checkLocal(index + 1, upper)
    state.push(upper)
  }

  #store(kind: number, index: number, state: State): void {
    if (kind === REFERENCE) {
      state.store(index, state.popReference())
      return
    }
    const upper = UPPER[kind]
    if (upper !== undefined) state.pop(upper)
    state.store(index, state.pop(LOWER[kind]), upper)
  }

  #local({ opcode, local }: Access, state: State): void {
    if (opcode === op.IINC) state.checkLocal(local, INTEGER)
    else if (opcode === op.RET) state.fail('ret is not allowed in this version of class files')
    else if (opcode >= op.ISTORE) this.#store(opcode - op.ISTORE, local, state)
    else this.#load(opcode - op.ILOAD, local, state)
  }

  #arrayLoad(kind: number, state: State): void {
    state.pop(INTEGER)
    const array = this.#popArray(kind, state)
    if (kind === REFERENCE) state.push(array === NULL ? NULL : this.types.component(array))
    else state.pushAll(ELEMENT_SLOTS[kind])
  }

  #arrayStore(kind: number, state: State): void {
    // For aastore any object is accepted: the JVM checks at run time whether the object fits the array.
    if (kind === REFERENCE) state.pop(this.types.object)
    else state.popAll(ELEMENT_SLOTS[kind])
    state.pop(INTEGER)
    this.#popArray(kind, state)
  }

  #popArray(kind: number, state: State): Type {
    const array = state.popReference()
    if (array === NULL) return array
    const element = this.types.isArray(array) ? this.types.name(array)[1] : ''
    const fits =
      kind === REFERENCE
        ? element === 'L' || element === ARRAY_MARK
        : element !== '' && ELEMENTS[kind].includes(element)
    if (!fits) state.fail(`${this.types.show(array)} is not the array this instruction is for`)
    return array
  }

  #class(bci: number, state: State): Type {
    const index = u2At(this.code.bytecode, bci + 1)
    const type = this.types.constant(index)
    if (type < 0) state.fail(`constant ${index} is no class`)
    return type
  }

  #newArray(element: Type, state: State): void {
    const name = this.types.name(element)
    const isArray = name.startsWith(ARRAY_MARK)
    if (isArray && name[MAX_DIMENSIONS - 1] === ARRAY_MARK) state.fail('an array of too many dimensions')
    state.pop(INTEGER)
    state.push(this.types.named(isArray ? ARRAY_MARK + name : `[L${name};`))
  }

  #newArrays(array: Type, dimensions: number, state: State): void {
    const name = this.types.name(array)
    if (dimensions === 0 || !name.startsWith(ARRAY_MARK.repeat(dimensions))) {
      state.fail(`multianewarray of ${name} in ${dimensions} dimensions`)
    }
    for (let left = dimensions; left > 0; left--) state.pop(INTEGER)
    state.push(array)
  }

  /** Executes ldc and ldc_w; with `wide`, ldc2_w. */
  #constant(index: number, wide: boolean, state: State): void {
    const slots = this.#constantSlots(index)
    const fits = slots !== undefined && slots.length === (wide ? 2 : 1)
    if (!fits) state.fail(`constant ${index} cannot be loaded by this instruction`)
    state.pushAll(slots)
  }

  #constantSlots(index: number): readonly Type[] | undefined {
    const { types } = this
    const { pool, major } = this.classFile
    switch (pool.tag(index)) {
      case CONSTANT_INTEGER:
        return [INTEGER]
      case CONSTANT_FLOAT:
        return [FLOAT]
      case CONSTANT_LONG:
        return [LONG, LONG_2]
      case CONSTANT_DOUBLE:
        return [DOUBLE, DOUBLE_2]
      case CONSTANT_STRING:
        return [types.string]
      case CONSTANT_CLASS:
        return [types.class]
      case CONSTANT_METHOD_HANDLE:
        return major < MAJOR_7 ? undefined : [types.methodHandle]
      case CONSTANT_METHOD_TYPE:
        return major < MAJOR_7 ? undefined : [types.methodType]
      case CONSTANT_DYNAMIC:
        return major < MAJOR_11 ? undefined : types.field(pool.dynamic(index).descriptor)
      default:
        return undefined
    }
  }
}

function apply({ pops, pushes }: Effect, state: State, types: TypeTable): void {
  for (let i = pops.length - 1; i >= 0; i--) {
    const wanted = pops[i]
    if (wanted === ANY_REFERENCE) state.popReference()
    else state.pop(wanted === ANY_OBJECT ? types.object : wanted)
  }
  state.pushAll(pushes)
}

/** Executes the stack instructions from pop to swap, which move single slots or pairs of slots. */
function rearrange(opcode: number, state: State): void {
  if (opcode === op.POP2) {
    state.popTwo()
    return
  }
  const top = opcode >= op.DUP2 && opcode !== op.SWAP ? state.popTwo() : [state.popCategory1()]
  if (opcode === op.POP) return
  let over: readonly Type[] = []
  if (opcode === op.DUP_X1 || opcode === op.DUP2_X1 || opcode === op.SWAP) over = [state.popCategory1()]
  else if (opcode === op.DUP_X2 || opcode === op.DUP2_X2) over = state.popTwo()
  insert(state, top, over, opcode !== op.SWAP)
}

/** Pushes `top` below the values `over`; with `copy`, `top` is also pushed above `over`. */
function insert(state: State, top: readonly Type[], over: readonly Type[], copy: boolean): void {
  state.pushAll(top)
  state.pushAll(over)
  if (copy) state.pushAll(top)
}

/** Returns whether the opcode stores into a local. */
function isStore(opcode: number): boolean {
  return opcode >= op.ISTORE && opcode <= op.ASTORE_3
}
