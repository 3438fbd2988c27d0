// The compact form of a method: return instructions are replaced by jumps to a shared exit probe, one per return opcode.
//
//     …                                    old code; replaces xreturn:
//     goto exit                            3 bytes instead of probe and xreturn
//     …
//   exit:                                  one for each return opcode for which this makes the code shorter
//     push id; invokestatic methodExit
//     xreturn
//
// The frame at `exit` has no locals, but must describe the whole stack. So a return instruction may jump to `exit` only
// if the stack holds exactly the result. The stack depth is tracked here as a number of slots. A
// method in compact form executes one more jump, so only methods that would exceed a limit get this form.

import { addTo } from '../base/arrays.ts'
import type { ClassFile, MethodInfo } from '../classfile/class-file.ts'
import { ClassFormatProblem, MAJOR_6 } from '../classfile/class-file.ts'
import { type Code, instructionLength, parseCode } from '../classfile/code.ts'
import { parseMethodDescriptor } from '../classfile/descriptor.ts'
import { isReturn, isShortBranch, LOOKUPSWITCH, TABLESWITCH } from '../classfile/opcodes.ts'
import { MAX_ALLOCATION_BYTES } from './allocations.ts'
import type { Recipe } from './class.ts'
import { MAX_ADDITION_BYTES, MAX_COUNT_BYTES, MAX_HAND_OVER_BYTES } from './counting.ts'
import { stackDepths, stackEffect } from './flow.ts'
import { HUGE_METHOD_BYTES } from './limits.ts'
import { MAX_PROBE_BYTES } from './probe.ts'

export interface SharedExits {
  /** Return opcodes that have a shared exit. The shared exits follow the old code in this order. */
  readonly opcodes: readonly number[]
  /** Per old bci: 1 if the return instruction at the bci jumps to a shared exit. */
  readonly jumps: Uint8Array
}

/** Length of a goto, bytes. A goto can jump up to 32 KiB. */
const GOTO_BYTES = 3
const GOTO_W_BYTES = 5
/**
 * Chooses the return instructions that may jump to a shared exit, if this makes the code shorter.
 *
 * @param exit      length of the exit probe, bytes
 * @param shareable  whether the frame for this return opcode can be encoded
 * @throws ClassFormatProblem | NotInstrumentable for malformed code
 */
export function sharedExits(
  classFile: ClassFile,
  code: Code,
  exit: number,
  shareable: (opcode: number) => boolean,
): SharedExits {
  const { bytecode } = code
  const depths = stackDepths(classFile, code)
  const byOpcode = new Map<number, number[]>()
  for (let bci = 0; bci < bytecode.length; bci += instructionLength(bytecode, bci)) {
    const opcode = bytecode[bci]
    if (!isReturn(opcode) || depths[bci] !== stackEffect(classFile.pool, bytecode, bci).pops) continue
    if (!shareable(opcode)) continue
    addTo(byOpcode, opcode, bci)
  }
  const jump = bytecode.length > 0x7fff ? GOTO_W_BYTES : GOTO_BYTES
  const opcodes: number[] = []
  const jumps = new Uint8Array(bytecode.length)
  for (const [opcode, returns] of byOpcode) {
    const inline = returns.length * (exit + 1)
    const shared = returns.length * jump + exit + 1
    if (shared >= inline) continue
    opcodes.push(opcode)
    for (const bci of returns) jumps[bci] = 1
  }
  return { opcodes, jumps }
}

/**
 * Returns the names of classes that frames of shared exits may need. The names do not depend on ids, so the result is always the same for a
 * class file. For most class files it is empty, since few methods come near a limit.
 *
 * @param tells content of the events, since probes for bytecodes and allocations make a method longer
 */
export function returnedClasses(classFile: ClassFile, tells: Recipe['tells'] = 'time'): string[] {
  const counts = tells === 'bytecodes' || tells === 'samples' || tells === 'regions'
  const allocates = tells === 'allocations' ? MAX_ALLOCATION_BYTES : 0
  const names = new Set<string>()
  if (classFile.major < MAJOR_6) return []
  const longest =
    1 +
    MAX_PROBE_BYTES +
    allocates +
    (counts ? MAX_COUNT_BYTES + MAX_ADDITION_BYTES + MAX_HAND_OVER_BYTES : 0)
  for (const method of classFile.methods) {
    // Checks the length first, since this runs for every method of a class, and few methods are long.
    if (method.code === undefined || method.code.length * longest <= HUGE_METHOD_BYTES) continue
    try {
      const name = returnedClass(method)
      if (
        name !== undefined &&
        !names.has(name) &&
        mayOutgrow(parseCode(classFile, method), counts, allocates)
      )
        names.add(name)
    } catch (problem) {
      if (!(problem instanceof ClassFormatProblem)) throw problem // a malformed method is refused later
    }
  }
  return [...names]
}

/** Returns the name of the result type in the pool: the descriptor of an array type or a class name; undefined for a primitive type. */
export function returnedClass({ descriptor }: MethodInfo): string | undefined {
  const { returnType } = parseMethodDescriptor(descriptor)
  if (returnType[0] === '[') return returnType
  return returnType[0] === 'L' ? returnType.slice(1, -1) : undefined
}

/** Returns whether the method may need shared exits. The result may be true for a method that does not need them. */
function mayOutgrow({ bytecode }: Code, counts: boolean, allocates: number): boolean {
  const { length } = bytecode
  const probe = MAX_PROBE_BYTES + (counts ? MAX_COUNT_BYTES : 0)
  let now = length + 4 * probe // at most four probes: at entry, for the receiver, and in two handlers
  let returns = 0
  for (let bci = 0; bci < length; bci += instructionLength(bytecode, bci)) {
    const opcode = bytecode[bci]
    now += allocates // an upper bound: most instructions do not allocate
    if (counts) now += MAX_ADDITION_BYTES + (isShortBranch(opcode) ? MAX_HAND_OVER_BYTES : 0)
    if (isReturn(opcode)) {
      now += probe
      returns++
    } else if (opcode === TABLESWITCH || opcode === LOOKUPSWITCH)
      now += 3 // maximum padding of a switch
    else if (length > HUGE_METHOD_BYTES && isShortBranch(opcode)) now += 5 // the branch may become wide
  }
  // In a method of more than 32 KiB, a branch may need an offset of more than 16 bits.
  return returns > 1 && now > (length > HUGE_METHOD_BYTES ? 0x7fff : HUGE_METHOD_BYTES)
}
