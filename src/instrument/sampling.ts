// Code with which a thread samples itself.
//
// As in Komorium, sections 4 and 5: at its start, a method gets the thread's shadow stack, pushes itself on this stack, and keeps the stack
// in a local variable. Every basic block subtracts its size from a counter; some blocks check whether the counter has reached zero.
//
//     push id; invokestatic methodEntry; astore n
//     …
//   block:                                 a branch to the block runs this code
//     aload n; push size; invokestatic count, or check
//     …
//     aload n; push id; invokestatic methodExit     before each return, and in the added handler
//
// A method that calls no method and has no loop is not pushed on the stack, and has no exit probe (section 5.1):
//
//     push id; invokestatic leafEntry; astore n         quietEntry (without id) if the method also runs no class initialiser
//   block:
//     aload n; push size; push id; invokestatic leafCheck
//
// If such a method consists of a single block, it needs no variable: push size; push id; invokestatic leaf.

import type { ClassFile, MethodInfo } from '../classfile/class-file.ts'
import { type Code, instructionLength } from '../classfile/code.ts'
import * as op from '../classfile/opcodes.ts'
import { OBJECT, verificationType } from '../classfile/stack-map.ts'
import { type Blocks, blocksOf, defaultBlocks } from './blocks.ts'
import { successors } from './flow.ts'
import { accessCode, newLocalOf } from './new-local.ts'
import { call, idProbe, pushId } from './probe.ts'
import type { Addition, Inserted, Probes } from './relocation.ts'
import type { SampleRefs } from './runtime.ts'

/** Maximum number of bytecodes that are executed between two checks of the counter, as in the paper's evaluation. */
export const MAX_PATH = 50
/** Stack slots of the probes. */
export const SAMPLE_SLOTS = 4

export interface SampledMethod {
  readonly id: number
  readonly isRoot: boolean
}

/** Code that is added to a method that samples itself. */
export type SampleProbes = Addition & Probes & Required<Pick<Probes, 'thrown'>>

export function sampleProbes(
  classFile: ClassFile,
  method: MethodInfo,
  code: Code,
  { id, isRoot }: SampledMethod,
  refs: SampleRefs,
): SampleProbes {
  const blocks = blocksOf(code, classFile.pool, defaultBlocks)
  const localTypes = [verificationType(OBJECT, refs.stackClass)]
  const probe = (ref: number) => idProbe(id, ref)
  const pieces = withChecks(code, blocks)
  if (!isRoot && isLeaf(code.bytecode, blocks)) {
    const isQuiet = runsNothing(code.bytecode)
    if (pieces.count === 1) {
      const entry = [...pushId(pieces.sizes[0]), ...probe(isQuiet ? refs.quiet : refs.leaf)]
      return { entry, exit: [], thrown: [], inserted: [], local: -1, localTypes }
    }
    const local = newLocalOf(method, code)
    const inserted = insertedAt(pieces, (size) => [
      ...accessCode(op.ALOAD, local),
      ...pushId(size),
      ...probe(refs.leafCheck),
    ])
    const begin = isQuiet ? call(refs.quietEntry) : probe(refs.leafEntry)
    const entry = [...begin, ...accessCode(op.ASTORE, local)]
    return { entry, exit: [], thrown: [], inserted, local, localTypes }
  }
  const local = newLocalOf(method, code)
  const load = accessCode(op.ALOAD, local)
  const exit = [...load, ...probe(isRoot ? refs.rootExit : refs.methodExit)]
  return {
    entry: [...probe(isRoot ? refs.rootEntry : refs.methodEntry), ...accessCode(op.ASTORE, local)],
    exit,
    thrown: exit,
    resume: [...load, ...probe(refs.methodResume)],
    inserted: insertedAt(pieces, (size, checks) => [
      ...load,
      ...pushId(size),
      ...call(checks ? refs.check : refs.count),
    ]),
    local,
    localTypes,
  }
}

/** Returns whether the method calls no method and executes no instruction twice. */
function isLeaf(bytecode: Uint8Array, { loops }: Blocks): boolean {
  if (loops.includes(1)) return false
  for (let bci = 0; bci < bytecode.length; bci += instructionLength(bytecode, bci)) {
    if (op.isCall(bytecode[bci])) return false
  }
  return true
}

/** Returns whether the method can run no other method and no class initialiser. */
function runsNothing(bytecode: Uint8Array): boolean {
  for (let bci = 0; bci < bytecode.length; bci += instructionLength(bytecode, bci)) {
    const opcode = bytecode[bci]
    if (op.isCall(opcode) || opcode === op.GETSTATIC || opcode === op.PUTSTATIC || opcode === op.NEW)
      return false
  }
  return true
}

function insertedAt(
  { sizes, checks }: CheckedBlocks,
  code: (size: number, checks: boolean) => number[],
): Inserted {
  return Array.from(sizes, (size, bci) => (size === 0 ? undefined : code(size, checks[bci] === 1)))
}

export interface CheckedBlocks {
  /** Per bci: number of instructions of the block, or part of a block, that begins at the bci; 0 if none begins there. */
  readonly sizes: Int32Array
  /** Per bci: 1 if the counter is checked at the start of the block or part. */
  readonly checks: Uint8Array
  readonly count: number
}

/**
 * Chooses where the counter is checked (5.2): in blocks that leave the method, make a call, or begin a loop, and in as many
 * other blocks as needed so that each path of MAX_PATH instructions contains a check. Longer blocks are split into parts.
 */
export function withChecks({ bytecode, handlers }: Code, { sizes: whole, loops }: Blocks): CheckedBlocks {
  const sizes = new Int32Array(bytecode.length)
  const checks = new Uint8Array(bytecode.length)
  /** Per bci where a part begins: maximum number of bytecodes executed since the last check. */
  const since = new Int32Array(bytecode.length)
  for (const { handlerBci } of handlers) checks[handlerBci] = 1 // the handler may be reached from any instruction in its range
  let count = 0
  let piece = 0
  let mustCheck = false
  const reach = (bci: number, executed: number) => {
    if (bci < bytecode.length) since[bci] = Math.max(since[bci], executed)
  }
  /** Ends a part and decides whether it checks the counter. All code before it has been visited; backward jumps lead only to loops. */
  const end = (targets: readonly number[]) => {
    if (mustCheck || loops[piece] === 1 || since[piece] + sizes[piece] > MAX_PATH) checks[piece] = 1
    const executed = (checks[piece] === 1 ? 0 : since[piece]) + sizes[piece]
    for (const target of targets) if (target > piece) reach(target, executed)
  }
  for (let bci = 0; bci < bytecode.length; ) {
    const opcode = bytecode[bci]
    if (whole[bci] > 0 || sizes[piece] === MAX_PATH) {
      piece = bci
      count++
      mustCheck = false
    }
    sizes[piece]++
    if (op.isCall(opcode) || op.isReturn(opcode) || opcode === op.ATHROW) mustCheck = true
    const next = bci + instructionLength(bytecode, bci)
    if (next >= bytecode.length || whole[next] > 0 || sizes[piece] === MAX_PATH)
      end(successors(bytecode, bci))
    bci = next
  }
  return { sizes, checks, count }
}
