// Constructors: which instructions run before `this` is initialised.
//
// The frame of a handler must state whether `this` is initialised, so a constructor needs two handlers. The
// range of neither handler contains the call of this(…) or super(…) itself. That call is not always the first
// `invokespecial <init>`: in `super(new X())` another call comes first, `super(a ? b : c)` branches, and
// each branch may have its own call. So the code before the call is interpreted abstractly. For each slot, the state records only
// whether the slot holds the uninitialised `this`.

import { append } from '../base/arrays.ts'
import type { ClassFile } from '../classfile/class-file.ts'
import { accessAt, type Code, instructionLength } from '../classfile/code.ts'
import * as op from '../classfile/opcodes.ts'
import { u2At } from '../classfile/reader.ts'
import { handlersAt, isSubroutineCall, stackEffect, successors } from './flow.ts'
import { NotInstrumentable } from './problem.ts'

// States of `this` before an instruction. `thisStates` returns one state per bci.
// 0: the instruction is unreachable, is the call of this() or super(), or no handler frame would be correct for it.
/** `this` is uninitialised, and local variable 0 holds `this` before and after the instruction. */
export const THIS_UNINITIALIZED = 1
/** `this` is initialised. */
export const THIS_INITIALIZED = 2

/** State of the slots, lowest slot first, one character per slot: `T` for the uninitialised `this`, `.` for any other value. */
interface State {
  readonly stack: string
  /** State of the local variables, without the `.` characters at the end. */
  readonly locals: string
}

/** Maximum stack depth that is interpreted. Real code needs less; a hostile class must not cause the use of gigabytes. */
const MAX_STACK = 1024

/** @throws NotInstrumentable if the this()/super() calls cannot be identified */
export function thisStates(classFile: ClassFile, code: Code): Uint8Array {
  return new Constructor(classFile, code).states()
}

class Constructor {
  readonly #bytecode: Uint8Array
  /** State before each instruction that is reachable with `this` uninitialised. */
  readonly #before = new Map<number, State>()
  /** bci of each this()/super() call. */
  readonly #calls = new Set<number>()
  readonly #pending: number[] = []

  constructor(
    private readonly classFile: ClassFile,
    private readonly code: Code,
  ) {
    this.#bytecode = code.bytecode
  }

  states(): Uint8Array {
    const states = new Uint8Array(this.#bytecode.length)
    const keepsThis = this.#interpret()
    for (const bci of keepsThis) states[bci] = THIS_UNINITIALIZED
    for (const bci of this.#reachableAfterCalls()) {
      if (this.#before.has(bci)) throw new NotInstrumentable('code shared by both sides of the super call')
      states[bci] = THIS_INITIALIZED
    }
    return states
  }

  /** Interprets the code until no state changes. Returns the bcis of instructions before and after which `this` is in local variable 0. */
  #interpret(): Iterable<number> {
    const keepsThis = new Map<number, boolean>()
    this.#flow(0, { stack: '', locals: 'T' })
    // Merging can only remove a T from a state, so for real code the loop ends soon. The limit is for hostile classes with many states.
    let steps = 50 * this.#bytecode.length
    for (let bci = this.#pending.pop(); bci !== undefined; bci = this.#pending.pop()) {
      if (--steps < 0) throw new NotInstrumentable('the code before the super call is too complex')
      const before = this.#before.get(bci)!
      for (const handler of handlersAt(this.code.handlers, bci)) {
        this.#flow(handler.handlerBci, { stack: '.', locals: before.locals })
      }
      const after = this.#execute(bci, before)
      if (after === undefined) {
        this.#calls.add(bci)
        keepsThis.delete(bci)
        continue
      }
      keepsThis.set(bci, before.locals[0] === 'T' && after.locals[0] === 'T')
      if (isSubroutineCall(this.#bytecode[bci])) {
        throw new NotInstrumentable('a subroutine before the super call')
      }
      for (const next of successors(this.#bytecode, bci)) this.#flow(next, after)
    }
    return [...keepsThis].filter(([, keeps]) => keeps).map(([bci]) => bci)
  }

  /** Merges a state into the state before `bci`. */
  #flow(bci: number, state: State): void {
    const known = this.#before.get(bci)
    const merged = known === undefined ? state : merge(known, state)
    if (merged === known) return
    this.#before.set(bci, merged)
    this.#pending.push(bci)
  }

  /** Returns the state after the instruction, or undefined for a this()/super() call. */
  #execute(bci: number, { stack, locals }: State): State | undefined {
    const bytecode = this.#bytecode
    const { pool } = this.classFile
    const opcode = bytecode[bci]
    const access = accessAt(bytecode, bci)
    if (access?.opcode === op.ALOAD) return { stack: stack + (locals[access.local] ?? '.'), locals }
    if (access !== undefined && access.opcode >= op.ISTORE && access.opcode <= op.ASTORE) {
      return store(stack, locals, access.local, access.opcode === op.ASTORE, op.POPS[access.opcode])
    }
    if (opcode >= op.DUP && opcode <= op.SWAP) return { stack: rearrange(stack, opcode), locals }
    const { pops, pushes } = stackEffect(pool, bytecode, bci)
    if (opcode === op.INVOKESPECIAL && stack[stack.length - pops] === 'T') {
      if (pool.memberRef(u2At(bytecode, bci + 1)).name === '<init>') return undefined
    }
    if (stack.length - pops + pushes > MAX_STACK)
      throw new NotInstrumentable('stack too deep before super call')
    return { stack: pop(stack, pops) + '.'.repeat(pushes), locals }
  }

  #reachableAfterCalls(): Set<number> {
    const reached = new Set<number>()
    const pending = [...this.#calls].map((bci) => bci + 3) // invokespecial
    for (let bci = pending.pop(); bci !== undefined; bci = pending.pop()) {
      if (reached.has(bci) || bci >= this.#bytecode.length) continue
      reached.add(bci)
      append(pending, successors(this.#bytecode, bci))
      if (isSubroutineCall(this.#bytecode[bci])) pending.push(bci + instructionLength(this.#bytecode, bci))
      for (const handler of handlersAt(this.code.handlers, bci)) pending.push(handler.handlerBci)
    }
    return reached
  }
}

function store(stack: string, locals: string, local: number, reference: boolean, slots: number): State {
  const value = reference && stack.endsWith('T') ? 'T' : '.'
  const rest = pop(stack, slots)
  if (value === '.' && local >= locals.length) return { stack: rest, locals }
  if (local > MAX_STACK) throw new NotInstrumentable('too many locals before super call')
  const padded = locals.padEnd(local + slots, '.')
  const stored = padded.slice(0, local) + value.repeat(slots) + padded.slice(local + slots)
  return { stack: rest, locals: stored.replace(/\.+$/, '') }
}

/** Applies dup, dup_x1, …, swap slot by slot. */
function rearrange(stack: string, opcode: number): string {
  const take = opcode === op.SWAP ? 2 : opcode >= op.DUP2 ? 2 : 1
  const skip =
    opcode === op.DUP_X1 || opcode === op.DUP2_X1 ? 1 : opcode === op.DUP_X2 || opcode === op.DUP2_X2 ? 2 : 0
  const rest = pop(stack, take + skip)
  const top = stack.slice(stack.length - take)
  if (opcode === op.SWAP) return rest + top[1] + top[0]
  if (stack.length + take > MAX_STACK) throw new NotInstrumentable('stack too deep before super call')
  return rest + top + stack.slice(rest.length, rest.length + skip) + top
}

function pop(stack: string, slots: number): string {
  if (slots > stack.length) throw new NotInstrumentable('malformed: stack underflow before super call')
  return stack.slice(0, stack.length - slots)
}

/** Merges two states: a slot is `T` only if it is `T` in both states. Returns the object `known` if the result is equal to it. */
function merge(known: State, other: State): State {
  if (known.stack.length !== other.stack.length) {
    throw new NotInstrumentable('malformed: two stack depths at one instruction')
  }
  const stack = both(known.stack, other.stack)
  const locals = both(known.locals, other.locals).replace(/\.+$/, '')
  return stack === known.stack && locals === known.locals ? known : { stack, locals }
}

function both(a: string, b: string): string {
  if (a === b) return a
  let merged = ''
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) merged += a[i] === 'T' && b[i] === 'T' ? 'T' : '.'
  return merged
}
