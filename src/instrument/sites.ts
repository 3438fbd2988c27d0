// Call sites: each call instruction of an instrumented method has a number, which the caller reports
// before the call.
//
//     push site; callSite
//     invoke…
//
//     siteEntry; push id; methodEntry       start of a method: if the thread wrote no event since callSite, the site called this method
//
// A thread that samples itself keeps the number of the call site on its stack, beside the id of the callee (sampling.ts).

import type { ClassFile } from '../classfile/class-file.ts'
import { type Code, forEachInstruction, linesOf } from '../classfile/code.ts'
import { INVOKEDYNAMIC, INVOKEINTERFACE, INVOKESPECIAL, INVOKEVIRTUAL } from '../classfile/opcodes.ts'
import { u2At } from '../classfile/reader.ts'
import { idProbe, MAX_ID } from './probe.ts'
import type { Inserted } from './relocation.ts'

/** A call instruction in the code of a method. */
export interface CallSite {
  readonly bci: number
  /** Undefined if the class has no line numbers. */
  readonly line: number | undefined
}

/** Maximum number of stack slots of the probes. */
export const SITE_SLOTS = 3

/** Assigns numbers to call instructions, from 1. A call instruction keeps its number when its method is instrumented again. */
export class SiteNumbers {
  readonly #sites: CallSite[] = [{ bci: -1, line: undefined }]
  /** Number of each call instruction, keyed by method id and then by bci. */
  readonly #ofMethods = new Map<number, ReadonlyMap<number, number>>()
  readonly #most: number
  readonly #jdk: boolean
  #withoutNumber = 0

  /**
   * @param jdk   whether JDK methods have probes, so that every call needs a number
   * @param most  maximum number that is assigned
   */
  constructor(jdk = false, most = MAX_ID) {
    this.#jdk = jdk
    this.#most = most
  }

  /** Returns the number of each call of a method, keyed by bci. If too few numbers are left, each number is 0, which means no site. */
  of(methodId: number, classFile: ClassFile, code: Code): ReadonlyMap<number, number> {
    const bcis = callsIn(classFile, code, this.#jdk)
    const lines = linesOf(classFile, code)
    const lineAt = (bci: number) => (lines === undefined || lines[bci] < 0 ? undefined : lines[bci])
    const known = this.#ofMethods.get(methodId)
    if (known?.size === bcis.length && bcis.every((bci) => this.#isStill(known.get(bci), lineAt(bci)))) {
      return known
    }
    const isRoom = this.#sites.length + bcis.length <= this.#most + 1
    if (!isRoom) this.#withoutNumber++
    // Calls with number 0 also get the probe. Otherwise the callee would be attributed to an earlier site.
    const numbers = new Map(bcis.map((bci, i) => [bci, isRoom ? this.#sites.length + i : 0]))
    if (isRoom) for (const bci of bcis) this.#sites.push({ bci, line: lineAt(bci) })
    this.#ofMethods.set(methodId, numbers)
    return numbers
  }

  /** Returns whether the line of a numbered call is unchanged. A redefined class may have other lines for the same instructions. */
  #isStill(number: number | undefined, line: number | undefined): boolean {
    return number !== undefined && (number === 0 || this.#sites[number]?.line === line)
  }

  get warnings(): string[] {
    const methods = this.#withoutNumber
    if (methods === 0) return []
    return [`${methods} methods have no call sites: the limit is ${this.#most} call sites`]
  }

  site(number: number): CallSite | undefined {
    return number === 0 ? undefined : this.#sites[number]
  }
}

/**
 * Returns the code before the calls of a method.
 *
 * @param before  code that pushes the first argument of the probe; the number is the last argument
 */
export function siteProbes(
  numbers: ReadonlyMap<number, number>,
  before: readonly number[],
  methodref: number,
): Inserted {
  const inserted: number[][] = []
  for (const [bci, number] of numbers) inserted[bci] = [...before, ...idProbe(number, methodref)]
  return inserted
}

/** Returns the insertions of `first` followed, at the same bci, by those of `second`. */
export function joined(first: Inserted | undefined, second: Inserted | undefined): Inserted | undefined {
  if (first === undefined || second === undefined) return first ?? second
  return Array.from({ length: Math.max(first.length, second.length) }, (_, bci) => {
    const [a, b] = [first[bci], second[bci]]
    return a === undefined || b === undefined ? (a ?? b) : [...a, ...b]
  })
}

/** Returns the bcis of instructions that may call another method, in order. */
function callsIn({ pool }: ClassFile, { bytecode }: Code, jdk: boolean): number[] {
  const bcis: number[] = []
  forEachInstruction(bytecode, (bci, opcode) => {
    if (opcode === INVOKEDYNAMIC) bcis.push(bci)
    if (opcode < INVOKEVIRTUAL || opcode > INVOKEINTERFACE) return
    const { owner, name, descriptor } = pool.memberRef(u2At(bytecode, bci + 1))
    if (jdk || !endsInItself(opcode, owner, name, descriptor)) bcis.push(bci)
  })
  return bcis
}

const QUIET =
  /^java\/lang\/(?:String|StringBuilder|StringBuffer|Math|StrictMath|Integer|Long|Short|Byte|Character|Boolean|Float|Double)$/
/** Matches parameter lists of primitive types, arrays of these, and strings: objects of these types contain no application code. */
const QUIET_PARAMETERS = /^\((?:\[*[BCDFIJSZ]|Ljava\/lang\/String;)*\)/

/** Returns whether the callee certainly makes no callback: an array method, Object's constructor, or a number or string method. */
function endsInItself(opcode: number, owner: string, name: string, descriptor: string): boolean {
  if (owner[0] === '[') return true
  if (owner === 'java/lang/Object') return opcode === INVOKESPECIAL && name === '<init>'
  return QUIET.test(owner) && QUIET_PARAMETERS.test(descriptor)
}
