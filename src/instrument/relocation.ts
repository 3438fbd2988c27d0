// Where every instruction of a method goes when probes are put in front of some, and the moved code.
//
//   old        new
//   0: insn         entry probe
//              0 →  insn                 a branch to bci 0 does not enter the method again
//   r: return  r →  exit probe           a branch to a return passes the probe
//                   return
//   end        end →                     handlers follow, written by `method.ts`
//
// Widening: a 16-bit branch that would outgrow its offset becomes a 32-bit one. goto and jsr have wide
// forms; a conditional is inverted to skip a goto_w, and its fall-through then needs a frame. There
// is one if the next instruction was a branch target already; else the method is left alone.

import { instructionLength, switchOperands } from '../classfile/code.ts'
import {
  GOTO_W,
  IFEQ,
  IFNONNULL,
  IFNULL,
  isConditional,
  isReturn,
  isShortBranch,
  JSR,
  JSR_W,
  LOOKUPSWITCH,
  TABLESWITCH,
} from '../classfile/opcodes.ts'
import { ClassFormatProblem } from '../classfile/problem.ts'
import { s2At, s4At } from '../classfile/reader.ts'
import { NotInstrumentable } from './problem.ts'

/** if… over goto_w: 3 + 5. */
const WIDE_CONDITIONAL_BYTES = 8
/** goto_w, jsr_w. */
const WIDE_JUMP_BYTES = 5
const MAX_CODE_BYTES = 65535

export interface Probes {
  /** Put before the first instruction. */
  readonly entry: readonly number[]
  /** Put before every return. */
  readonly exit: readonly number[]
}

export class Relocation {
  readonly #bytecode: Uint8Array
  readonly #probes: Probes
  /** By old bci: the new one, or -1 where no instruction starts. One more entry for the end. */
  readonly #moved: Int32Array
  /** By old bci: the branch there becomes a 32-bit one. */
  #wide: Uint8Array | undefined

  /**
   * @param hasFrame  whether an old bci has a frame, or needs none; asked only of code above 32 KiB
   * @throws ClassFormatProblem | NotInstrumentable
   */
  constructor(bytecode: Uint8Array, probes: Probes, hasFrame: (bci: number) => boolean) {
    this.#bytecode = bytecode
    this.#probes = probes
    this.#moved = new Int32Array(bytecode.length + 1).fill(-1)
    this.#layOut()
    while (this.end > 0x7fff && this.#widen(hasFrame)) this.#layOut()
    if (this.end > MAX_CODE_BYTES) throw new NotInstrumentable('would pass 65535 bytes')
  }

  /** New position of the end of the old code. */
  get end(): number {
    return this.#moved[this.#bytecode.length]
  }

  /**
   * New position of the instruction at `bci`, its exit probe included, or of the end.
   *
   * @throws ClassFormatProblem if no instruction starts there
   */
  of(bci: number): number {
    const position = this.#moved[bci]
    if (position === undefined || position < 0) throw new ClassFormatProblem(`no instruction at bci ${bci}`)
    return position
  }

  /**
   * The same for debugging tables: bci 0 stays 0, so that probes have a line and parameters a name,
   * and a bci inside an instruction counts as the next one.
   */
  nearest(bci: number): number {
    if (bci === 0) return 0
    if (bci > this.#bytecode.length) throw new ClassFormatProblem(`bci ${bci} is beyond the code`)
    let at = bci
    while (this.#moved[at] < 0) at++
    return this.#moved[at]
  }

  #layOut(): void {
    const bytecode = this.#bytecode
    const moved = this.#moved
    let position = this.#probes.entry.length
    for (let bci = 0; bci < bytecode.length; ) {
      const opcode = bytecode[bci]
      let length = instructionLength(bytecode, bci)
      moved[bci] = position
      bci += length
      if (isReturn(opcode)) {
        length += this.#probes.exit.length
      } else if (opcode === TABLESWITCH || opcode === LOOKUPSWITCH) {
        const start = bci - length
        length += switchOperands(position) - position - (switchOperands(start) - start)
      } else if (this.#wide?.[bci - length] === 1) {
        length = isConditional(opcode) ? WIDE_CONDITIONAL_BYTES : WIDE_JUMP_BYTES
      }
      position += length
    }
    moved[bytecode.length] = position
  }

  /** Marks the branches whose targets are out of reach in the present layout; false if there are none. */
  #widen(hasFrame: (bci: number) => boolean): boolean {
    const bytecode = this.#bytecode
    this.#wide ??= new Uint8Array(bytecode.length)
    let found = false
    for (let bci = 0; bci < bytecode.length; bci += instructionLength(bytecode, bci)) {
      const opcode = bytecode[bci]
      if (!isShortBranch(opcode) || this.#wide[bci] === 1) continue
      const offset = this.of(bci + s2At(bytecode, bci + 1)) - this.#moved[bci]
      if (offset === (offset << 16) >> 16) continue
      if (isConditional(opcode) && !hasFrame(bci + 3)) throw new NotInstrumentable('branch too far')
      this.#wide[bci] = 1
      found = true
    }
    return found
  }

  /** Writes the moved code to the start of `out`. */
  write(out: Uint8Array): void {
    const bytecode = this.#bytecode
    const { entry, exit } = this.#probes
    out.set(entry)
    for (let bci = 0; bci < bytecode.length; ) {
      const opcode = bytecode[bci]
      const next = bci + instructionLength(bytecode, bci)
      let at = this.#moved[bci]
      if (isShortBranch(opcode)) {
        this.#writeBranch(out, at, bci, opcode)
      } else if (opcode === TABLESWITCH || opcode === LOOKUPSWITCH) {
        this.#writeSwitch(out, at, bci, next)
      } else if (opcode === GOTO_W || opcode === JSR_W) {
        out[at] = opcode
        putS4(out, at + 1, this.#target(bci, s4At(bytecode, bci + 1)) - at)
      } else {
        if (isReturn(opcode)) {
          out.set(exit, at)
          at += exit.length
        }
        for (let i = bci; i < next; i++) out[at++] = bytecode[i]
      }
      bci = next
    }
  }

  #writeBranch(out: Uint8Array, at: number, bci: number, opcode: number): void {
    const target = this.#target(bci, s2At(this.#bytecode, bci + 1))
    if (this.#wide?.[bci] !== 1) {
      out[at] = opcode
      putS2(out, at + 1, target - at)
    } else if (isConditional(opcode)) {
      out[at] = inverse(opcode)
      putS2(out, at + 1, WIDE_CONDITIONAL_BYTES)
      out[at + 3] = GOTO_W
      putS4(out, at + 4, target - (at + 3))
    } else {
      out[at] = opcode === JSR ? JSR_W : GOTO_W
      putS4(out, at + 1, target - at)
    }
  }

  #writeSwitch(out: Uint8Array, at: number, bci: number, next: number): void {
    const bytecode = this.#bytecode
    const from = switchOperands(bci)
    const to = switchOperands(at)
    const moveOffset = (i: number) => {
      putS4(out, to + i, this.#target(bci, s4At(bytecode, from + i)) - at)
    }
    out[at] = bytecode[bci]
    moveOffset(0) // default
    out.set(bytecode.subarray(from + 4, from + 8), to + 4) // low, or the number of pairs
    if (bytecode[bci] === TABLESWITCH) {
      out.set(bytecode.subarray(from + 8, from + 12), to + 8) // high
      for (let i = 12; from + i < next; i += 4) moveOffset(i)
    } else {
      for (let i = 8; from + i < next; i += 8) {
        out.set(bytecode.subarray(from + i, from + i + 4), to + i) // match
        moveOffset(i + 4)
      }
    }
  }

  /** New position of a branch target: an instruction, never the end. */
  #target(bci: number, offset: number): number {
    if (bci + offset === this.#bytecode.length) {
      throw new ClassFormatProblem(`the branch at bci ${bci} leaves the code`)
    }
    return this.of(bci + offset)
  }
}

/** The conditional that branches exactly when this one does not: they come in pairs. */
function inverse(opcode: number): number {
  if (opcode === IFNULL) return IFNONNULL
  if (opcode === IFNONNULL) return IFNULL
  return ((opcode - IFEQ) ^ 1) + IFEQ
}

function putS2(out: Uint8Array, at: number, value: number): void {
  out[at] = value >>> 8
  out[at + 1] = value
}

function putS4(out: Uint8Array, at: number, value: number): void {
  putS2(out, at, value >>> 16)
  putS2(out, at + 2, value)
}
