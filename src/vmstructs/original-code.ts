// Whether the code that the JVM holds for a method is that of a class file, up to pool indices.
//
// Nobody can be asked for it: a retransformation is shown the bytes that HotSpot has kept, whatever the class has become, and
// only a debugger reads more. So it is read where it lies (constMethod.hpp):
//
//   ConstMethod: … _code_size u2 … _max_stack u2, _max_locals u2 … | bytecodes | tables
//
// The interpreter has rewritten it there (rewriter.cpp): what names the pool has other indices, and some instructions are now
// bytecodes of HotSpot's own, with numbers that differ from JDK to JDK but stand for a few of the class file only, and are as long. A
// redefinition makes an `ldc` whose index no longer fits an `ldc_w`, which moves what comes behind it: so jumps are compared by
// the number of the instruction they go to.

import type { Code } from '../classfile/code.ts'
import { instructionLength, switchOperands } from '../classfile/code.ts'
import * as op from '../classfile/opcodes.ts'
import { ClassFormatProblem } from '../classfile/problem.ts'
import { s2At, s4At } from '../classfile/reader.ts'
import type { Memory, Pieces } from './memory.ts'
import type { Structs } from './structs.ts'

/** Code as it lies in the JVM. */
export interface HeldCode {
  /** In the pool that the class has in the JVM. */
  readonly nameIndex: number
  readonly descriptorIndex: number
  readonly maxStack: number
  readonly maxLocals: number
  readonly bytecode: Uint8Array
}

/** Read with what goes before the code: most methods have no more. */
const FIRST_BYTES = 128

interface Layout {
  readonly constMethod: number
  readonly nameIndex: number
  readonly descriptorIndex: number
  readonly codeSize: number
  readonly maxStack: number
  readonly maxLocals: number
  /** Bytes before the code. */
  readonly header: number
}

export class HeldCodes {
  private constructor(
    private readonly memory: Memory,
    private readonly at: Layout,
  ) {}

  /** @returns null if this JVM keeps its data in a way that is not known here */
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
   * @param methods  addresses
   * @returns null where nothing could be read; no bytecode of a method that has none
   */
  async of(methods: readonly number[]): Promise<(HeldCode | null)[]> {
    const { at, memory } = this
    const pointers = await memory.gather(
      methods.map((it) => it && it + at.constMethod),
      8,
    )
    const places = methods.map((_, i) => pointers.word(i))
    const heads = await memory.gather(places, at.header + FIRST_BYTES)
    const sizes = places.map((_, i) => heads.u16(i, at.codeSize))
    const bytecodes: Uint8Array[] = []
    // Longer ones of like size are read together, up to twice as much.
    const longer = new Map<number, number[]>()
    sizes.forEach((size, i) => {
      if (size <= FIRST_BYTES) {
        bytecodes[i] = heads.slice(i, at.header, size)
        return
      }
      const like = 2 ** Math.ceil(Math.log2(size))
      const known = longer.get(like)
      if (known) known.push(i)
      else longer.set(like, [i])
    })
    for (const [size, indices] of longer) {
      const codes = await memory.gather(
        indices.map((i) => places[i]! + at.header),
        size,
      )
      for (const [k, i] of indices.entries()) bytecodes[i] = codes.slice(k, 0, sizes[i]!)
    }
    return places.map((place, i) => (place === 0 ? null : this.#held(heads, i, bytecodes[i]!)))
  }

  /** The same of one, of which nothing is read that lies behind it. */
  async alone(method: number): Promise<HeldCode | null> {
    const { at, memory } = this
    if (method === 0) return null
    const place = (await memory.read(method + at.constMethod, 8)).word(0)
    if (place === 0) return null
    const head = await memory.read(place, at.header)
    const size = head.u16(0, at.codeSize)
    const code = await memory.read(place + at.header, size)
    return this.#held(head, 0, code.slice(0, 0, size))
  }

  #held(heads: Pieces, i: number, bytecode: Uint8Array): HeldCode {
    const { at } = this
    return {
      ...{ nameIndex: heads.u16(i, at.nameIndex), descriptorIndex: heads.u16(i, at.descriptorIndex) },
      ...{ maxStack: heads.u16(i, at.maxStack), maxLocals: heads.u16(i, at.maxLocals), bytecode },
    }
  }
}

function isComplete(at: { readonly [field in keyof Layout]: number | undefined }): at is Layout {
  const { constMethod, header, ...fields } = at
  if (constMethod === undefined || header === undefined) return false
  return Object.values(fields).every((it) => it !== undefined && it + 2 <= header)
}

/** Whether it is the method's own code, but for what the JVM itself does to code. */
export function isOriginal(held: HeldCode, own: Code): boolean {
  if (held.maxStack !== own.maxStack || held.maxLocals !== own.maxLocals) return false
  return isSameCode(held.bytecode, own.bytecode)
}

/** HotSpot's own numbers begin behind it; a debugger puts this one where it wants to stop. */
const BREAKPOINT = 202
/** What may be a bytecode of HotSpot's own (bytecodes.cpp), of the same length but for `ldc`. */
const HAS_OTHER_FORMS = new Set([
  ...[op.LDC, op.LDC_W, op.ILOAD, op.ALOAD_0, op.LOOKUPSWITCH, op.RETURN],
  ...[op.GETFIELD, op.PUTFIELD, op.INVOKEVIRTUAL, op.INVOKESPECIAL],
])
/** Of the bytes of an instruction, where it names the pool: from, to. */
function poolOperand(opcode: number): readonly [number, number] {
  if (opcode === op.LDC) return [1, 2]
  if (opcode === op.INVOKEDYNAMIC) return [1, 5] // all four are an index once it is linked
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

/** By opcode. */
const POOL_OPERAND_END = Uint8Array.from({ length: 256 }, (_, opcode) => poolOperand(opcode)[1])

/** Each may be as long as a method can be; an `ldc` that is ambiguous is met once for each way there. */
const MOST_LOOKS = 1 << 20
const LONGEST_CODE = 1 << 16

interface Step {
  /** Where the instruction begins, in the JVM and in the class file. */
  readonly held: number
  readonly own: number
}

function isSameCode(held: Uint8Array, own: Uint8Array): boolean {
  try {
    if (isSameInPlace(held, own)) return true
    const steps = stepsOf(held, own)
    return steps !== null && jumpsAreSame(held, own, steps)
  } catch (problem) {
    if (problem instanceof ClassFormatProblem) return false // nothing of the kind was ever installed
    throw problem
  }
}

/** Whether each instruction is the same where it lies, as in nearly all methods: then jumps and switches are, byte by byte. */
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

/** Walks both at once. @returns null if they part */
function stepsOf(held: Uint8Array, own: Uint8Array): Step[] | null {
  const steps: Step[] = []
  // An `ldc` in a form of HotSpot's own may be the wide one: both lengths are tried, the shorter first.
  const retries: { readonly step: number; readonly held: number; readonly own: number }[] = []
  // Where that leads nowhere does not depend on the way there, and the ways double with each of them.
  const tried = new Set<number>()
  let at: Step = { held: 0, own: 0 }
  for (let looks = 0; looks < MOST_LOOKS; looks++) {
    const isAmbiguous = own[at.own] === op.LDC && held[at.held]! > BREAKPOINT
    const state = at.held * LONGEST_CODE + at.own
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

/** @returns bytes of the instruction as the JVM holds it; null if it is another one */
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

/** Its padding depends on where it lies; where it jumps to is looked at later. */
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

/** Keys as they are, targets by instruction. */
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
    // default, then the count of pairs and pairs, or low, high and targets.
    const isTarget = word === 0 || (isLookup ? word >= 2 && word % 2 === 1 : word >= 3)
    const [a, b] = [s4At(held, h + 4 * word), s4At(own, o + 4 * word)]
    if (isTarget ? !agree(at.held + a, at.own + b) : a !== b) return false
  }
  return true
}
