// Checks instructions that refer to a member: field access and calls (JVMS 4.10.1.9, 4.10.1.8; HotSpot's
// ClassVerifier::verify_field_instructions and verify_invoke_instructions).

import { type ClassFile, MAJOR_7, MAJOR_8 } from '../classfile/class-file.ts'
import {
  CONSTANT_FIELDREF,
  CONSTANT_INTERFACE_METHODREF,
  CONSTANT_INVOKE_DYNAMIC,
  CONSTANT_METHODREF,
} from '../classfile/constant-pool.ts'
import * as op from '../classfile/opcodes.ts'
import { Reader, u2At } from '../classfile/reader.ts'
import type { Control } from './control.ts'
import { isReference, type State } from './state.ts'
import { type Type, type TypeTable, UNINITIALIZED, UNINITIALIZED_THIS } from './types.ts'

const INIT = '<init>'
/** Constant tags that a call may refer to, keyed by opcode. */
const CALLED: ReadonlyMap<number, readonly number[]> = new Map([
  [op.INVOKEVIRTUAL, [CONSTANT_METHODREF]],
  [op.INVOKESPECIAL, [CONSTANT_METHODREF, CONSTANT_INTERFACE_METHODREF]],
  [op.INVOKESTATIC, [CONSTANT_METHODREF, CONSTANT_INTERFACE_METHODREF]],
  [op.INVOKEINTERFACE, [CONSTANT_INTERFACE_METHODREF]],
  [op.INVOKEDYNAMIC, [CONSTANT_INVOKE_DYNAMIC]],
])

export class Members {
  #fields: ReadonlyMap<string, number> | undefined

  constructor(
    private readonly classFile: ClassFile,
    private readonly types: TypeTable,
  ) {}

  /** Checks getstatic, putstatic, getfield and putfield. */
  access(opcode: number, index: number, state: State): void {
    const { pool } = this.classFile
    const { types } = this
    if (pool.tag(index) !== CONSTANT_FIELDREF) state.fail(`constant ${index} is no Fieldref`)
    const ref = pool.memberRef(index)
    const owner = types.named(ref.owner)
    const slots = types.field(ref.descriptor)
    if (opcode === op.GETSTATIC) {
      state.pushAll(slots)
    } else if (opcode === op.PUTSTATIC) {
      state.popAll(slots)
    } else if (types.isArray(owner)) {
      state.fail('a field of an array')
    } else if (opcode === op.GETFIELD) {
      const target = state.pop(owner)
      types.checkProtected(owner, ref.name, ref.descriptor, 'field', target, state.bci)
      state.pushAll(slots)
    } else {
      state.popAll(slots)
      let target = state.popAny()
      // Before it calls super(), a constructor may store into fields of its own class.
      if (target === UNINITIALIZED_THIS && owner === types.current && this.#declares(ref)) target = owner
      if (!types.isAssignable(target, owner, state.bci)) {
        state.fail(`putfield of ${ref.owner}.${ref.name} in a ${types.show(target)}`)
      }
      types.checkProtected(owner, ref.name, ref.descriptor, 'field', target, state.bci)
    }
  }

  #declares({ name, descriptor }: { name: string; descriptor: string }): boolean {
    this.#fields ??= declaredFields(this.classFile)
    return this.#fields.has(`${name}:${descriptor}`)
  }

  /** Checks the five invoke instructions. */
  call(opcode: number, bytecode: Uint8Array, state: State, control: Control): void {
    const { bci } = state
    const { types } = this
    const { pool, major } = this.classFile
    const index = u2At(bytecode, bci + 1)
    this.#checkKind(opcode, index, state)
    const dynamic = opcode === op.INVOKEDYNAMIC
    if (dynamic && major < MAJOR_7) state.fail('invokedynamic in a class file before version 51')
    const { name, descriptor } = dynamic ? pool.invokeDynamic(index) : pool.memberRef(index)
    const signature = types.signature(descriptor)
    if (opcode === op.INVOKEINTERFACE) {
      if (bytecode[bci + 3] !== signature.parameters.length + 1) state.fail('the count of invokeinterface')
      if (bytecode[bci + 4] !== 0) state.fail('the last byte of invokeinterface is not 0')
    } else if (dynamic && (bytecode[bci + 3] !== 0 || bytecode[bci + 4] !== 0)) {
      state.fail('the last bytes of invokedynamic are not 0')
    }
    const constructs = name === INIT
    if (name.startsWith('<') && !(constructs && opcode === op.INVOKESPECIAL)) state.fail(`a call of ${name}`)
    if (constructs && signature.result.length > 0) state.fail(`a call of ${name} that returns something`)
    const owner = dynamic ? types.object : types.named(pool.memberRef(index).owner)
    if (opcode === op.INVOKESPECIAL && !constructs) this.#checkSpecial(index, owner, state)
    state.popAll(signature.parameters)
    if (constructs) {
      this.#construct(owner, descriptor, bytecode, state, control)
    } else if (opcode === op.INVOKESPECIAL) {
      state.pop(types.current)
    } else if (opcode === op.INVOKEINTERFACE) {
      state.pop(owner)
    } else if (opcode === op.INVOKEVIRTUAL) {
      const target = state.pop(owner)
      types.checkProtected(owner, name, descriptor, 'method', target, bci)
    }
    state.pushAll(signature.result)
  }

  #checkKind(opcode: number, index: number, state: State): void {
    const { pool, major } = this.classFile
    const tag = pool.tag(index)
    const isEarly = tag === CONSTANT_INTERFACE_METHODREF && opcode !== op.INVOKEINTERFACE && major < MAJOR_8
    if (isEarly || !CALLED.get(opcode)!.includes(tag))
      state.fail(`constant ${index} is not what this call takes`)
  }

  /** Checks an invokespecial: super.m(), a private method, or Interface.super.m() for an interface that `implements` names. */
  #checkSpecial(index: number, owner: Type, state: State): void {
    const { types } = this
    const { superName, interfaces, pool } = this.classFile
    const name = types.name(owner)
    if (owner === types.current || name === superName || interfaces.includes(name)) return
    if (
      pool.tag(index) === CONSTANT_INTERFACE_METHODREF ||
      !types.isAssignable(types.current, owner, state.bci)
    ) {
      state.fail(`invokespecial of ${name}, which is not above this class`)
    }
  }

  /** Checks a constructor call: this() or super() on an uninitialised `this`, or a constructor of the class of a `new`. */
  #construct(owner: Type, descriptor: string, bytecode: Uint8Array, state: State, control: Control): void {
    const { types } = this
    const target = state.popAny()
    if (target === UNINITIALIZED_THIS) {
      if (owner !== types.current && types.name(owner) !== this.classFile.superName) {
        state.fail(`the constructor of ${types.name(owner)} on this`)
      }
      // The frame of the handler would have to fit an uninitialised `this` (before the call) and an initialised `this` (after the call). No
      // frame fits both.
      if (control.guarded) state.fail('this() or super() inside the range of an exception handler')
      state.initialize(target, types.current)
    } else if ((target & 15) === UNINITIALIZED) {
      const created = types.constant(u2At(bytecode, (target >>> 4) + 1))
      if (created !== owner) state.fail(`the constructor of ${types.name(owner)} on another class's object`)
      types.checkProtected(owner, INIT, descriptor, 'method', created, state.bci)
      control.raise(state)
      state.initialize(target, created)
    } else {
      const what = isReference(target) ? 'an initialised object' : types.show(target)
      state.fail(`a constructor on ${what}`)
    }
  }
}

/**
 * Returns the access flags of each field that the class declares, keyed by `name:descriptor`. `parseClassFile` skips fields. A constructor
 * may store into these fields before it calls super().
 */
export function declaredFields({ bytes, pool }: ClassFile): ReadonlyMap<string, number> {
  const fields = new Map<string, number>()
  const reader = new Reader(bytes, pool.end)
  reader.skip(6) // access, this, super
  reader.skip(2 * reader.u2()) // interfaces
  for (let left = reader.u2(); left > 0; left--) {
    const access = reader.u2()
    fields.set(`${pool.utf8(reader.u2())}:${pool.utf8(reader.u2())}`, access)
    for (let more = reader.u2(); more > 0; more--) {
      reader.skip(2)
      reader.skip(reader.u4())
    }
  }
  return fields
}
