// Methods that need only one probe if calls or bytecodes are counted: methods that call no method and do not make the JVM call
// one. No other method can begin between the start and the end of such a method, so one probe at its start records the whole call,
// without an exit probe and without a handler.
//
//     push executed; push id; countLeaf
//     …                                    old code
//
// An instruction can make the JVM run other code: a class initialiser; a class loader (which may have probes), if the instruction is the
// first that names a class; or the constructor of an exception that the JVM throws. Exception classes are JDK classes, whose methods have
// probes with `--jdk`. If such a constructor is a root, or JDK classes are added during the session, the call of the constructor appears
// below the caller of the method instead of below the method.

import { ACC_SYNCHRONIZED } from '../classfile/access.ts'
import type { ClassFile, MethodInfo } from '../classfile/class-file.ts'
import { type Code, instructionLength, parseCode } from '../classfile/code.ts'
import { CONSTANT_DOUBLE, CONSTANT_LONG } from '../classfile/constant-pool.ts'
import * as op from '../classfile/opcodes.ts'
import { u2At } from '../classfile/reader.ts'
import { type BlockAnalysis, blocksOf, mayThrow } from './blocks.ts'

/**
 * @param counts  analysis of basic blocks; 'nothing' if bytecodes are not counted
 * @param jdk     whether JDK classes have probes, too
 * @returns number of bytecodes that a call executes, 0 if bytecodes are not counted; undefined for a method that needs an exit probe
 */
export function leafOf(
  classFile: ClassFile,
  method: MethodInfo,
  counts: BlockAnalysis | 'nothing',
  jdk: boolean,
): number | undefined {
  if (method.access & ACC_SYNCHRONIZED) return undefined
  const code = parseCode(classFile, method)
  if (!runsNothing(classFile, code, jdk)) return undefined
  if (counts === 'nothing') return 0
  const { count, entersAgain, sizes } = blocksOf(code, classFile.pool, counts)
  return count === 1 && !entersAgain ? sizes[0] : undefined
}

function runsNothing(classFile: ClassFile, { bytecode, handlers }: Code, jdk: boolean): boolean {
  if (handlers.length > 0) return false
  for (let bci = 0; bci < bytecode.length; bci += instructionLength(bytecode, bci)) {
    if (!isQuiet(classFile, bytecode, bci, jdk)) return false
  }
  return true
}

/** Returns whether the JVM runs no code with probes for this instruction. */
function isQuiet({ name, pool }: ClassFile, bytecode: Uint8Array, bci: number, jdk: boolean): boolean {
  const opcode = bytecode[bci]!
  switch (opcode) {
    case op.LDC2_W: {
      // A dynamic constant runs its bootstrap method.
      const tag = pool.tag(u2At(bytecode, bci + 1))
      return tag === CONSTANT_LONG || tag === CONSTANT_DOUBLE
    }
    case op.GETFIELD:
    case op.PUTFIELD: // the first access to a field of another class resolves this class
      return !jdk && pool.memberRef(u2At(bytecode, bci + 1)).owner === name
    case op.INVOKESPECIAL: {
      const { owner, name: called } = pool.memberRef(u2At(bytecode, bci + 1))
      return !jdk && owner === 'java/lang/Object' && called === '<init>'
    }
    case op.LDC:
    case op.LDC_W:
      return !mayThrow({ opcode, bci, bytecode, pool })
    case op.ARRAYLENGTH:
    case op.NEWARRAY:
      return !jdk
    default:
      if (opcode >= op.GETSTATIC && opcode <= op.MONITOREXIT) return false
      return opcode !== op.MULTIANEWARRAY && (!jdk || !mayThrow({ opcode, bci, bytecode, pool }))
  }
}
