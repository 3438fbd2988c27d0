// Checks whether the JVM's code of a method equals the code in a class file, except for constant pool indices.
// Apart from the debugger interface, no JVM interface returns the current code: a retransformation gets the class bytes that HotSpot has
// stored, even if the class was changed later. The code is therefore read from memory (constMethod.hpp):
//
//   ConstMethod: … _code_size u2 … _max_stack u2, _max_locals u2 … | bytecodes | tables
//
// The JVM rewrites code in place (rewriter.cpp). Instructions that refer to the constant pool have other indices. Some instructions are
// replaced by HotSpot-internal bytecodes. Their numbers differ between JDKs, but each of them replaces only a few standard bytecodes, of
// the same length. If an index no longer fits in an `ldc`, a redefinition replaces the `ldc` by an `ldc_w` and moves the following code.
// Jumps are therefore compared by the index of their target instruction.

import { addTo, maxOf, minOf } from '../base/arrays.ts'
import type { Code } from '../classfile/code.ts'
import { instructionLength, switchOperands } from '../classfile/code.ts'
import * as op from '../classfile/opcodes.ts'
import { ClassFormatProblem } from '../classfile/problem.ts'
import { s2At, s4At } from '../classfile/reader.ts'
import type { Memory } from './memory.ts'
import type { Structs } from './structs.ts'

/** Code of a method in the JVM's memory. */
export interface HeldCode {
  /** Index of the method's name in the JVM's constant pool of the class. */
  readonly nameIndex: number
  readonly descriptorIndex: number
  readonly maxStack: number
  readonly maxLocals: number
  readonly bytecode: Uint8Array
}

interface Layout {
  readonly constMethod: number
  readonly nameIndex: number
  readonly descriptorIndex: number
  readonly codeSize: number
  readonly maxStack: number
  readonly maxLocals: number
  /** Number of bytes in ConstMethod before the code. */
  readonly header: number
}

/** Returns a key for a name and a descriptor, computed from their indices in the constant pool of the class. */
export function nameKey(nameIndex: number, descriptorIndex: number): number {
  return nameIndex * (1 << 16) + descriptorIndex
}

/** Data of one method other than its code. */
interface Head extends Omit<HeldCode, 'bytecode'> {
  /** Address of the code. */
  readonly place: number
  /** Length of the code in bytes. */
  readonly size: number
}

/** All codes with at most this length are read together. */
const MIN_READ_BYTES = 128

export class HeldCodes {
  private constructor(
    private readonly memory: Memory,
    private readonly at: Layout,
  ) {}

  /** @returns null if this JVM's data have an unknown layout */
  static open(memory: Memory, structs: Structs): HeldCodes | null {
    const at = {
      constMethod: structs.offset('Method._constMethod'),
      nameIndex: structs.offset('ConstMethod._name_index'),
      descriptorIndex: structs.offset('ConstMethod._signature_index'),
      codeSize: structs.offset('ConstMethod._code_size'),
      maxStack: structs.offset('ConstMethod._max_stack'),
      maxLocals: structs.offset('ConstMethod._max_locals'),
      header: structs.sizeOf('ConstMethod'),
    }
    return isComplete(at) ? new HeldCodes(memory, at) : null
  }

  /**
   * Reads the code of methods.
   *
   * @param methods  addresses
   * @returns null for an unreadable method; an empty bytecode for a method without code
   */
  async of(methods: readonly number[]): Promise<(HeldCode | null)[]> {
    const heads = await this.#heads(methods)
    const codes = await this.#codes(heads)
    return heads.map((it, i) => (it.place === 0 ? null : heldCode(it, codes[i]!)))
  }

  /**
   * Reads the code of selected methods of each class.
   *
   * @param classes  addresses of all methods of a class, and the `nameKey` of each selected method
   * @returns for each class the readable codes, keyed by `nameKey`
   */
  async named(
    classes: readonly { readonly methods: readonly number[]; readonly names: ReadonlySet<number> }[],
  ): Promise<Map<number, HeldCode>[]> {
    const heads = await this.#heads(classes.flatMap((it) => it.methods))
    const wanted: { readonly of: number; readonly head: Head }[] = []
    let next = 0
    for (const [of, { methods, names }] of classes.entries())
      for (const _ of methods) {
        const head = heads[next++]!
        if (head.place !== 0 && names.has(keyOf(head))) wanted.push({ of, head })
      }
    const codes = await this.#codes(wanted.map((it) => it.head))
    const found = classes.map(() => new Map<number, HeldCode>())
    for (const [i, { of, head }] of wanted.entries()) found[of]!.set(keyOf(head), heldCode(head, codes[i]!))
    return found
  }

  /** Reads the code of one method like `of`, but without reading memory behind the end of the code. */
  async alone(method: number): Promise<HeldCode | null> {
    const [head] = await this.#heads([method])
    if (head === undefined || head.place === 0) return null
    const code = await this.memory.read(head.place + this.at.header, head.size)
    return heldCode(head, code.slice(0, 0, head.size))
  }

  async #heads(methods: readonly number[]): Promise<Head[]> {
    const { at, memory } = this
    const { constMethod, header: _, ...fields } = at
    const first = minOf(Object.values(fields))
    const pointers = await memory.gather(
      methods.map((it) => it && it + constMethod),
      8,
    )
    const places = methods.map((_, i) => pointers.word(i))
    const heads = await memory.gather(
      places.map((it) => it && it + first),
      maxOf(Object.values(fields)) - first + 2,
    )
    return places.map((place, i) => ({
      place,
      size: heads.u16(i, at.codeSize - first),
      nameIndex: heads.u16(i, at.nameIndex - first),
      descriptorIndex: heads.u16(i, at.descriptorIndex - first),
      maxStack: heads.u16(i, at.maxStack - first),
      maxLocals: heads.u16(i, at.maxLocals - first),
    }))
  }

  /** Reads codes in groups of similar size. All codes of a group are read with the same length, a power of two. */
  async #codes(heads: readonly Head[]): Promise<Uint8Array[]> {
    const codes: Uint8Array[] = []
    const bySize = new Map<number, number[]>()
    for (const [i, { size }] of heads.entries()) {
      const like = 2 ** Math.ceil(Math.log2(Math.max(size, MIN_READ_BYTES)))
      addTo(bySize, like, i)
    }
    for (const [length, indices] of bySize) {
      const read = await this.memory.gather(
        indices.map((i) => heads[i]!.place && heads[i]!.place + this.at.header),
        length,
      )
      for (const [k, i] of indices.entries()) codes[i] = read.slice(k, 0, heads[i]!.size)
    }
    return codes
  }
}

function keyOf({ nameIndex, descriptorIndex }: Head): number {
  return nameKey(nameIndex, descriptorIndex)
}

function heldCode({ nameIndex, descriptorIndex, maxStack, maxLocals }: Head, bytecode: Uint8Array): HeldCode {
  return { nameIndex, descriptorIndex, maxStack, maxLocals, bytecode }
}

function isComplete(at: { readonly [field in keyof Layout]: number | undefined }): at is Layout {
  const { constMethod, header, ...fields } = at
  if (constMethod === undefined || header === undefined) return false
  return Object.values(fields).every((it) => it !== undefined && it + 2 <= header)
}

/** Returns whether the JVM's code is the code of the class file, apart from changes that the JVM itself makes. */
export function isOriginal(held: HeldCode, own: Code): boolean {
  if (held.maxStack !== own.maxStack || held.maxLocals !== own.maxLocals) return false
  return isSameCode(held.bytecode, own.bytecode)
}

/** Bytecode that a debugger writes at a breakpoint. HotSpot's internal bytecodes have larger numbers. */
const BREAKPOINT = 202
/** Instructions that may have a HotSpot-internal form (bytecodes.cpp). All forms have the same length, except for `ldc`. */
const HAS_OTHER_FORMS = new Set([
  ...[op.LDC, op.LDC_W, op.ILOAD, op.ALOAD_0, op.LOOKUPSWITCH, op.RETURN],
  ...[op.GETFIELD, op.PUTFIELD, op.INVOKEVIRTUAL, op.INVOKESPECIAL],
])
/** Returns the range of an instruction's bytes that is a constant pool index: from (inclusive), to (exclusive). */
function poolOperand(opcode: number): readonly [number, number] {
  if (opcode === op.LDC) return [1, 2]
  if (opcode === op.INVOKEDYNAMIC) return [1, 5] // a linked invokedynamic has one index of four bytes
  return opcode === op.LDC_W || opcode === op.LDC2_W || namesPool(opcode) ? [1, 3] : [1, 1]
}

function namesPool(opcode: number): boolean {
  return (
    (opcode >= op.GETSTATIC && opcode <= op.NEW) ||
    opcode === op.ANEWARRAY ||
    opcode === op.CHECKCAST ||
    opcode === op.INSTANCEOF ||
    opcode === op.MULTIANEWARRAY
  )
}

/** End of the constant pool index within an instruction, indexed by opcode. */
const POOL_OPERAND_END = Uint8Array.from({ length: 256 }, (_, opcode) => poolOperand(opcode)[1])

/** Limits of the comparison: instructions visited, since parts may be visited again after an ambiguous `ldc`; and length of a code. */
const MAX_STEPS = 1 << 20
const MAX_CODE_BYTES = 1 << 16

interface Step {
  /** Offset of the instruction in the JVM's code and in the class file's code. */
  readonly held: number
  readonly own: number
}

function isSameCode(held: Uint8Array, own: Uint8Array): boolean {
  try {
    if (isSameInPlace(held, own)) return true
    const steps = stepsOf(held, own)
    return steps !== null && jumpsAreSame(held, own, steps)
  } catch (problem) {
    if (problem instanceof ClassFormatProblem) return false // malformed code was never installed
    throw problem
  }
}

/**
 * Returns whether both codes have equal instructions at equal offsets, as in nearly all methods. Jumps and switches are compared byte by
 * byte.
 */
function isSameInPlace(held: Uint8Array, own: Uint8Array): boolean {
  if (held.length !== own.length) return false
  for (let at = 0; at < own.length; ) {
    const wanted = own[at]!
    const found = held[at]!
    const isSame =
      found === wanted || found === BREAKPOINT || (found > BREAKPOINT && HAS_OTHER_FORMS.has(wanted))
    if (!isSame) return false
    const length = instructionLength(own, at)
    for (let i = POOL_OPERAND_END[wanted]!; i < length; i++) if (held[at + i] !== own[at + i]) return false
    at += length
  }
  return true
}

/** Visits the instructions of both codes in parallel. @returns their offsets; null if the codes differ */
function stepsOf(held: Uint8Array, own: Uint8Array): Step[] | null {
  const steps: Step[] = []
  // A HotSpot-internal bytecode in place of an `ldc` may have the length of `ldc` or `ldc_w`. Both lengths are tried, the shorter first.
  const retries: { readonly step: number; readonly held: number; readonly own: number }[] = []
  // The number of paths doubles with each ambiguous `ldc`. The result from a position on does not depend on the path to the position, so
  // each position is tried once.
  const tried = new Set<number>()
  let at: Step = { held: 0, own: 0 }
  for (let looks = 0; looks < MAX_STEPS; looks++) {
    const isAmbiguous = own[at.own] === op.LDC && held[at.held]! > BREAKPOINT
    const state = at.held * MAX_CODE_BYTES + at.own
    const isInside = at.own < own.length && at.held < held.length
    const length = isInside && !(isAmbiguous && tried.has(state)) ? lengthOf(held, own, at) : null
    if (length !== null) {
      const next = { held: at.held + length, own: at.own + instructionLength(own, at.own) }
      if (isAmbiguous) {
        tried.add(state)
        retries.push({ step: steps.length + 1, held: at.held + 3, own: next.own })
      }
      steps.push(at)
      at = next
      if (at.own === own.length && at.held === held.length) return steps
      if (at.own < own.length && at.held < held.length) continue
    }
    const retry = retries.pop()
    if (retry === undefined) return null
    steps.length = retry.step
    at = { held: retry.held, own: retry.own }
  }
  return null
}

/** @returns length of the JVM's instruction in bytes; null if it differs from the instruction in the class file */
function lengthOf(held: Uint8Array, own: Uint8Array, at: Step): number | null {
  const wanted = own[at.own]!
  const found = held[at.held]!
  if (wanted === op.LOOKUPSWITCH || wanted === op.TABLESWITCH) return switchLength(held, own, at)
  const ownLength = instructionLength(own, at.own)
  if (wanted === op.LDC && found === op.LDC_W) return 3
  const isSame =
    found === wanted || found === BREAKPOINT || (found > BREAKPOINT && HAS_OTHER_FORMS.has(wanted))
  if (!isSame || at.held + ownLength > held.length) return null
  if (isJump(wanted)) return ownLength
  const [from, to] = poolOperand(wanted)
  for (let i = 1; i < ownLength; i++) {
    if ((i < from || i >= to) && held[at.held + i] !== own[at.own + i]) return null
  }
  return ownLength
}

function isJump(opcode: number): boolean {
  return op.isShortBranch(opcode) || opcode === op.GOTO_W || opcode === op.JSR_W
}

/** Returns the length of a switch in the JVM's code. The length depends on the offset, due to padding. Targets are compared later. */
function switchLength(held: Uint8Array, own: Uint8Array, at: Step): number | null {
  const wanted = own[at.own]!
  const found = held[at.held]!
  const isSame =
    found === wanted || found === BREAKPOINT || (found > BREAKPOINT && wanted === op.LOOKUPSWITCH)
  const length = switchOperands(at.own) - at.own
  const rest = instructionLength(own, at.own) - length
  const heldLength = switchOperands(at.held) - at.held + rest
  return isSame && at.held + heldLength <= held.length ? heldLength : null
}

function jumpsAreSame(held: Uint8Array, own: Uint8Array, steps: readonly Step[]): boolean {
  const heldNumber = new Map(steps.map((it, i) => [it.held, i]))
  const ownNumber = new Map(steps.map((it, i) => [it.own, i]))
  const agree = (heldTarget: number, ownTarget: number): boolean => {
    const number = ownNumber.get(ownTarget)
    return number !== undefined && heldNumber.get(heldTarget) === number
  }
  return steps.every((at) => {
    const opcode = own[at.own]!
    if (op.isShortBranch(opcode))
      return agree(at.held + s2At(held, at.held + 1), at.own + s2At(own, at.own + 1))
    if (isJump(opcode)) return agree(at.held + s4At(held, at.held + 1), at.own + s4At(own, at.own + 1))
    if (opcode === op.TABLESWITCH || opcode === op.LOOKUPSWITCH) return switchesAgree(held, own, at, agree)
    return true
  })
}

/** Compares two switches: their keys by value, and their targets by instruction index. */
function switchesAgree(
  held: Uint8Array,
  own: Uint8Array,
  at: Step,
  agree: (heldTarget: number, ownTarget: number) => boolean,
): boolean {
  const [h, o] = [switchOperands(at.held), switchOperands(at.own)]
  const isLookup = own[at.own] === op.LOOKUPSWITCH
  const words = (at.own + instructionLength(own, at.own) - o) / 4
  for (let word = 0; word < words; word++) {
    // The words of a lookupswitch are default, count and pairs; the words of a tableswitch are default, low, high and targets.
    const isTarget = word === 0 || (isLookup ? word >= 2 && word % 2 === 1 : word >= 3)
    const [a, b] = [s4At(held, h + 4 * word), s4At(own, o + 4 * word)]
    if (isTarget ? !agree(at.held + a, at.own + b) : a !== b) return false
  }
  return true
}
