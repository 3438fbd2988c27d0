// The compact form of a method: returns that jump to one exit probe for all of their kind.
//
//     …                                    old code; where it was xreturn:
//     goto exit                            3 bytes instead of probe and xreturn
//     …
//   exit:                                  one for each kind of return that is worth it
//     push id; invokestatic methodExit
//     xreturn
//
// The frame at `exit` says nothing of the locals, but it must say all of the stack: only a return with
// exactly its value there may jump. What the stack holds is followed here as a number of slots. A
// compact method runs one jump more, so this is for those that would pass a limit otherwise.

import { addTo } from '../base/arrays.ts'
import type { ClassFile, MethodInfo } from '../classfile/class-file.ts'
import { ClassFormatProblem, MAJOR_6 } from '../classfile/class-file.ts'
import { type Code, instructionLength, parseCode } from '../classfile/code.ts'
import { parseMethodDescriptor } from '../classfile/descriptor.ts'
import { isReturn, isShortBranch, LOOKUPSWITCH, TABLESWITCH } from '../classfile/opcodes.ts'
import { LONGEST_ALLOCATION } from './allocations.ts'
import type { Recipe } from './class.ts'
import { LONGEST_ADDITION, LONGEST_COUNT, LONGEST_HAND_OVER } from './counting.ts'
import { stackDepths, stackEffect } from './flow.ts'
import { HUGE_METHOD_BYTES } from './limits.ts'
import { LONGEST_PROBE } from './probe.ts'

export interface SharedExits {
  /** Return opcodes that have an exit, in the order in which these follow the old code. */
  readonly opcodes: readonly number[]
  /** By old bci: the return there jumps. */
  readonly jumps: Uint8Array
}

/** goto reaches 32 KiB, goto_w everywhere. */
const GOTO_BYTES = 3
const GOTO_W_BYTES = 5
/**
 * Which returns may jump, and gain by it.
 *
 * @param exit      bytes of the exit probe
 * @param shareable  whether the frame of this return opcode can be written
 * @throws ClassFormatProblem | NotInstrumentable if the code is no code
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
 * Classes that frames of shared exits may need, whatever the ids: of one class file always the same.
 * Most need none, for few methods come near a limit.
 *
 * @param tells what probes tell: methods that count what they execute, and those with allocations, get longer
 */
export function returnedClasses(classFile: ClassFile, tells: Recipe['tells'] = 'time'): string[] {
  const counts = tells === 'bytecodes' || tells === 'samples' || tells === 'regions'
  const allocates = tells === 'allocations' ? LONGEST_ALLOCATION : 0
  const names = new Set<string>()
  if (classFile.major < MAJOR_6) return []
  const longest =
    1 + LONGEST_PROBE + allocates + (counts ? LONGEST_COUNT + LONGEST_ADDITION + LONGEST_HAND_OVER : 0)
  for (const method of classFile.methods) {
    // Length first: this looks at every method of a class, and few are long.
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
      if (!(problem instanceof ClassFormatProblem)) throw problem // else it is refused when its turn comes
    }
  }
  return [...names]
}

/** As the pool names it: the descriptor of an array, else the class; undefined if it returns no reference. */
export function returnedClass({ descriptor }: MethodInfo): string | undefined {
  const { returnType } = parseMethodDescriptor(descriptor)
  if (returnType[0] === '[') return returnType
  return returnType[0] === 'L' ? returnType.slice(1, -1) : undefined
}

/** Could it need shared exits? Never a false no. */
function mayOutgrow({ bytecode }: Code, counts: boolean, allocates: number): boolean {
  const { length } = bytecode
  const probe = LONGEST_PROBE + (counts ? LONGEST_COUNT : 0)
  let now = length + 4 * probe // entry, receiver, two handlers
  let returns = 0
  for (let bci = 0; bci < length; bci += instructionLength(bytecode, bci)) {
    const opcode = bytecode[bci]
    now += allocates // few instructions do
    if (counts) now += LONGEST_ADDITION + (isShortBranch(opcode) ? LONGEST_HAND_OVER : 0)
    if (isReturn(opcode)) {
      now += probe
      returns++
    } else if (opcode === TABLESWITCH || opcode === LOOKUPSWITCH)
      now += 3 // padding
    else if (length > HUGE_METHOD_BYTES && isShortBranch(opcode)) now += 5 // wide
  }
  // Beyond 32 KiB branches may fail to reach.
  return returns > 1 && now > (length > HUGE_METHOD_BYTES ? 0x7fff : HUGE_METHOD_BYTES)
}
