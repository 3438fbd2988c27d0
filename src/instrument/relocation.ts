// Positions of a method's instructions after probes are inserted, and the relocated code.
//
//   old        new
//   0: insn         entry probe
//              0 →  insn                 a branch to bci 0 skips the entry probe
//   r: return  r →  exit probe           a branch to a return runs the exit probe
//                   return
//   h: insn    h →  inserted code        at the start of a handler (own-handlers.ts) or of a block (counting.ts)
//                   insn
//   m: insn    m →  inserted code        for an instruction that may wait (waits.ts) or allocates (allocations.ts);
//                   insn                 branches never lead to the code after it
//                   code after it
//   s: return  s →  goto exit            if the returns share an exit probe (shared-exits.ts)
//   end        end →
//                   exit: exit probe     one for each return opcode
//                   return
//              length →                  handlers follow, written by `method.ts`
//
// Widening: a branch whose offset no longer fits in 16 bits becomes a 32-bit branch. goto and jsr have wide
// forms. A conditional branch is replaced by the inverse branch, which skips a goto_w. The instruction after the goto_w then needs a
// frame. If it was no branch target before and so has no frame, the method gets no probes.

import { instructionLength, switchOperands } from '../classfile/code.ts'
import * as op from '../classfile/opcodes.ts'
import { ClassFormatProblem } from '../classfile/problem.ts'
import { s2At, s4At } from '../classfile/reader.ts'
import type { VerificationType } from '../classfile/stack-map.ts'
import { movedAccess, type NewLocals } from './new-local.ts'
import { TooLong } from './problem.ts'
import type { SharedExits } from './shared-exits.ts'

/** Length of an if… instruction (3) and the goto_w that it skips (5), bytes. */
const WIDE_CONDITIONAL_BYTES = 8
/** Length of goto_w and jsr_w. */
const WIDE_JUMP_BYTES = 5
/** Length of goto. */
const JUMP_BYTES = 3

export interface Probes {
  /** Code inserted before the first instruction. */
  readonly entry: readonly number[]
  /** Code inserted before every return instruction. It leaves the result on the stack. */
  readonly exit: readonly number[]
  /** Code for an exit by an exception. It leaves the exception on the stack. If absent, `exit` is used. */
  readonly thrown?: readonly number[]
  /** Code at the start of the method's handlers. */
  readonly resume?: readonly number[]
}

/** Code inserted before the instruction at each old bci. A branch to the instruction also runs the inserted code. */
export type Inserted = readonly (readonly number[] | undefined)[]

/** Code inserted into the body of a method, and the new variables that this code uses. */
export interface Addition {
  readonly inserted: Inserted | undefined
  /** Index of the first new variable (new-local.ts); the others follow. -1 if there is no new variable. */
  readonly local: number
  readonly localTypes: readonly VerificationType[]
  /** Position in the entry probe where each new variable is assigned. Needed only for more than three variables. */
  readonly localsSet?: readonly number[]
}

export class Relocation {
  /** New position per old bci; -1 if no instruction starts at the bci. The last entry is for the end of the code. */
  readonly #moved: Int32Array
  /** Per old bci: whether the branch at the bci becomes a 32-bit branch. */
  #wide: Uint8Array | undefined

  /**
   * @param hasFrame  whether an old bci has a frame or needs none; called only for code above 32 KiB
   * @param shared    return instructions that jump to a shared exit; if absent, each return instruction has its own probe
   * @param inserted  code before instructions; it contains no branches
   * @param newLocals new variables; the indices of variables behind them increase
   * @param behind    code after instructions; these instructions neither branch nor return
   * @throws ClassFormatProblem | TooLong
   */
  constructor(
    private readonly bytecode: Uint8Array,
    private readonly probes: Probes,
    hasFrame: (bci: number) => boolean,
    private readonly shared: SharedExits | undefined,
    private readonly inserted: Inserted | undefined,
    private readonly newLocals: NewLocals | undefined,
    private readonly behind: Inserted | undefined,
  ) {
    this.#moved = new Int32Array(bytecode.length + 1).fill(-1)
    this.#layOut()
    while (this.length > 0x7fff && this.#widen(hasFrame)) this.#layOut()
  }

  /** New position of the end of the old code. */
  get end(): number {
    return this.#moved[this.bytecode.length]
  }

  /** Length of the relocated code and the shared exits, bytes. */
  get length(): number {
    return this.end + this.exits.length * this.#exitBytes
  }

  /** Return opcode and position of each shared exit, in order of position. */
  get exits(): { opcode: number; position: number }[] {
    const opcodes = this.shared?.opcodes ?? []
    return opcodes.map((opcode, i) => ({ opcode, position: this.end + i * this.#exitBytes }))
  }

  get #exitBytes(): number {
    return this.probes.exit.length + 1
  }

  /** Returns whether the return at this old bci jumps to a shared exit. */
  jumps(bci: number): boolean {
    return this.shared?.jumps[bci] === 1
  }

  /**
   * Returns the new position of the instruction at `bci`, including the code inserted before it, or of the end.
   *
   * @throws ClassFormatProblem if no instruction starts at `bci`
   */
  of(bci: number): number {
    const position = this.#moved[bci]
    if (position === undefined || position < 0) throw new ClassFormatProblem(`no instruction at bci ${bci}`)
    return position
  }

  /** Returns the new position of a `new` or an annotated instruction itself, without the code inserted before it. */
  instruction(bci: number): number {
    return this.of(bci) + this.#insertedBytes(bci)
  }

  /**
   * Returns the new start of a handler's range, including the code inserted after the previous instruction. A handler that exits a monitor
   * must guard this code, too: otherwise an error in the code would leave the monitor locked.
   */
  guarded(bci: number): number {
    const position = this.of(bci)
    if (this.behind === undefined) return position
    let before = bci - 1
    while (before >= 0 && this.#moved[before] < 0) before--
    return before < 0 ? position : position - (this.behind[before]?.length ?? 0)
  }

  /** Returns the new index of a local variable. */
  local(index: number): number {
    const { newLocals } = this
    return newLocals !== undefined && index >= newLocals.first ? index + newLocals.slots : index
  }

  #insertedBytes(bci: number): number {
    return this.inserted?.[bci]?.length ?? 0
  }

  /**
   * Like `of`, for debugging tables. For bci 0 returns 0, so that the entry probe has a line and parameters have names there.
   * For a bci inside an instruction, returns the position of the next instruction.
   */
  nearest(bci: number): number {
    if (bci === 0) return 0
    if (bci > this.bytecode.length) throw new ClassFormatProblem(`bci ${bci} is beyond the code`)
    let at = bci
    while (this.#moved[at] < 0) at++
    return this.#moved[at]
  }

  #layOut(): void {
    const { bytecode, newLocals } = this
    const moved = this.#moved
    let position = this.probes.entry.length
    for (let bci = 0; bci < bytecode.length; ) {
      const opcode = bytecode[bci]
      let length = instructionLength(bytecode, bci)
      const start = bci
      moved[bci] = position
      position += this.#insertedBytes(bci)
      bci += length
      if (this.jumps(start)) {
        length = this.#wide?.[start] === 1 ? WIDE_JUMP_BYTES : JUMP_BYTES
      } else if (op.isReturn(opcode)) {
        length += this.probes.exit.length
      } else if (opcode === op.TABLESWITCH || opcode === op.LOOKUPSWITCH) {
        length += switchOperands(position) - position - (switchOperands(start) - start)
      } else if (this.#wide?.[start] === 1) {
        length = op.isConditional(opcode) ? WIDE_CONDITIONAL_BYTES : WIDE_JUMP_BYTES
      } else if (newLocals !== undefined) {
        length = movedAccess(bytecode, start, newLocals)?.length ?? length
      }
      position += length + (this.behind?.[start]?.length ?? 0)
    }
    moved[bytecode.length] = position
  }

  /** Marks branches whose targets are out of range in the current layout; returns whether there is such a branch. */
  #widen(hasFrame: (bci: number) => boolean): boolean {
    const bytecode = this.bytecode
    this.#wide ??= new Uint8Array(bytecode.length)
    let found = false
    for (let bci = 0; bci < bytecode.length; bci += instructionLength(bytecode, bci)) {
      const opcode = bytecode[bci]
      if (this.#wide[bci] === 1) continue
      let offset: number
      if (this.jumps(bci)) offset = this.#exit(opcode) - this.instruction(bci)
      else if (op.isShortBranch(opcode))
        offset = this.of(bci + s2At(bytecode, bci + 1)) - this.instruction(bci)
      else continue
      if (offset === (offset << 16) >> 16) continue
      if (op.isConditional(opcode) && !hasFrame(bci + 3)) throw new TooLong('branch too far')
      this.#wide[bci] = 1
      found = true
    }
    return found
  }

  /** Writes the relocated code to the start of `out`. */
  write(out: Uint8Array): void {
    const { bytecode, newLocals } = this
    const { entry, exit } = this.probes
    out.set(entry)
    for (let bci = 0; bci < bytecode.length; ) {
      const opcode = bytecode[bci]
      const next = bci + instructionLength(bytecode, bci)
      let at = this.#moved[bci]
      const inserted = this.inserted?.[bci]
      if (inserted !== undefined) {
        out.set(inserted, at)
        at += inserted.length
      }
      if (this.jumps(bci)) {
        this.#writeJump(out, at, bci, op.GOTO, this.#exit(opcode))
      } else if (op.isShortBranch(opcode)) {
        this.#writeBranch(out, at, bci, opcode)
      } else if (opcode === op.TABLESWITCH || opcode === op.LOOKUPSWITCH) {
        this.#writeSwitch(out, at, bci, next)
      } else if (opcode === op.GOTO_W || opcode === op.JSR_W) {
        out[at] = opcode
        putS4(out, at + 1, this.#target(bci, s4At(bytecode, bci + 1)) - at)
      } else {
        if (op.isReturn(opcode)) {
          out.set(exit, at)
          at += exit.length
        }
        const moved = newLocals && movedAccess(bytecode, bci, newLocals)
        if (moved !== undefined) out.set(moved, at)
        else for (let i = bci; i < next; i++) out[at++] = bytecode[i]
        const behind = this.behind?.[bci]
        if (behind !== undefined) out.set(behind, at)
      }
      bci = next
    }
    for (const { opcode, position } of this.exits) {
      out.set(exit, position)
      out[position + exit.length] = opcode
    }
  }

  #exit(opcode: number): number {
    return this.exits.find((exit) => exit.opcode === opcode)!.position
  }

  #writeBranch(out: Uint8Array, at: number, bci: number, opcode: number): void {
    this.#writeJump(out, at, bci, opcode, this.#target(bci, s2At(this.bytecode, bci + 1)))
  }

  #writeJump(out: Uint8Array, at: number, bci: number, opcode: number, target: number): void {
    if (this.#wide?.[bci] !== 1) {
      out[at] = opcode
      putS2(out, at + 1, target - at)
    } else if (op.isConditional(opcode)) {
      out[at] = inverse(opcode)
      putS2(out, at + 1, WIDE_CONDITIONAL_BYTES)
      out[at + 3] = op.GOTO_W
      putS4(out, at + 4, target - (at + 3))
    } else {
      out[at] = opcode === op.JSR ? op.JSR_W : op.GOTO_W
      putS4(out, at + 1, target - at)
    }
  }

  #writeSwitch(out: Uint8Array, at: number, bci: number, next: number): void {
    const bytecode = this.bytecode
    const from = switchOperands(bci)
    const to = switchOperands(at)
    const moveOffset = (i: number) => {
      putS4(out, to + i, this.#target(bci, s4At(bytecode, from + i)) - at)
    }
    out[at] = bytecode[bci]
    moveOffset(0) // default
    out.set(bytecode.subarray(from + 4, from + 8), to + 4) // low, or the number of pairs
    if (bytecode[bci] === op.TABLESWITCH) {
      out.set(bytecode.subarray(from + 8, from + 12), to + 8) // high
      for (let i = 12; from + i < next; i += 4) moveOffset(i)
    } else {
      for (let i = 8; from + i < next; i += 8) {
        out.set(bytecode.subarray(from + i, from + i + 4), to + i) // match
        moveOffset(i + 4)
      }
    }
  }

  /** Returns the new position of a branch target: an instruction, never the end. */
  #target(bci: number, offset: number): number {
    if (bci + offset === this.bytecode.length) {
      throw new ClassFormatProblem(`the branch at bci ${bci} leaves the code`)
    }
    return this.of(bci + offset)
  }
}

/** Returns the opcode of the opposite conditional branch. The opcodes of opposite branches are adjacent. */
function inverse(opcode: number): number {
  if (opcode === op.IFNULL) return op.IFNONNULL
  if (opcode === op.IFNONNULL) return op.IFNULL
  return ((opcode - op.IFEQ) ^ 1) + op.IFEQ
}

function putS2(out: Uint8Array, at: number, value: number): void {
  out[at] = value >>> 8
  out[at + 1] = value
}

function putS4(out: Uint8Array, at: number, value: number): void {
  putS2(out, at, value >>> 16)
  putS2(out, at + 2, value)
}
