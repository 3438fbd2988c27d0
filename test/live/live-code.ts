// The current code of a class in the JVM, read over its debugger port and converted to a comparable form.
//
// A redefinition may renumber the constant pool, and an `ldc` with a larger index becomes an `ldc_w`. Code is therefore compared as text:
// pool operands are resolved with the pool that was read at the same time, and a branch names its target instruction instead of an offset.

import { forEachInstruction, instructionLength, switchOperands } from '../../src/classfile/code.ts'
import {
  CONSTANT_CLASS,
  CONSTANT_DYNAMIC,
  CONSTANT_INVOKE_DYNAMIC,
  CONSTANT_METHOD_HANDLE,
  CONSTANT_METHOD_TYPE,
  CONSTANT_STRING,
  ConstantPool,
} from '../../src/classfile/constant-pool.ts'
import * as op from '../../src/classfile/opcodes.ts'
import { Reader, s2At, s4At, u2At } from '../../src/classfile/reader.ts'
import {
  granted,
  JdwpTarget,
  type MethodId,
  type RawConstantPool,
  type TypeId,
} from '../../src/jdwp-client/index.ts'
import { type JavaProcess, startJava } from '../support/java-process.ts'
import type { Jdk } from '../support/jdks.ts'

export interface Debuggable {
  readonly java: JavaProcess
  readonly jvm: JdwpTarget
}

/** Starts a program with an open debugger port and connects to the port. */
export async function startDebuggable(jdk: Jdk, args: readonly string[]): Promise<Debuggable> {
  const java = startJava(jdk, [
    '-agentlib:jdwp=transport=dt_socket,server=y,suspend=n,address=127.0.0.1:0',
    ...args,
  ])
  const told = await java.line(/Listening for transport/)
  const jvm = await JdwpTarget.connect(Number(/\d+$/.exec(told)?.[0]))
  await java.line(/^(shop )?ready/)
  return { java, jvm }
}

/**
 * Code per method, keyed by names such as `Lfix/Ticker;.work(I)I`, with one line per instruction. If several loaders define a class, its
 * name has a number that separates them, in no particular order: `Lfix/late/Greeter;#2.…`.
 */
export type LiveCode = Map<string, string>

/** JDWP status of a class with a failed initializer. Such a class is left out, since its methods can never be called. */
const FAILED = 8
/** JDWP errors for a class with a failed initializer, and for a class that was unloaded after it was listed. */
const UNLOADED: ReadonlySet<string> = new Set(['INVALID_OBJECT', 'INVALID_CLASS'])

/** Returns the live code of all loaded classes whose signature begins with `signatureStart`. */
export async function liveCode(jvm: JdwpTarget, signatureStart: string): Promise<LiveCode> {
  const code: LiveCode = new Map()
  const seen = new Map<string, number>()
  const gone = new Set<TypeId>()
  for (const type of granted(await jvm.virtualMachine.allClasses(), 'its classes')) {
    if (!type.signature.startsWith(signatureStart) || type.kind === 'ARRAY') continue
    const nth = (seen.get(type.signature) ?? 0) + 1
    seen.set(type.signature, nth)
    const owner = nth === 1 ? type.signature : `${type.signature}#${nth}`
    const [pool, methods] = await Promise.all([
      jvm.referenceType.constantPool(type.id),
      jvm.referenceType.methods(type.id),
    ])
    const bodies = methods.ok
      ? await Promise.all(methods.value.map((m) => jvm.method.bytecodes(type.id, m.id)))
      : []
    if ([pool, methods, ...bodies].some((it) => !it.ok && UNLOADED.has(it.error))) {
      gone.add(type.id)
      continue
    }
    const constants = parsePool(granted(pool, 'a constant pool'))
    granted(methods, 'methods').forEach((m, i) => {
      code.set(`${owner}.${m.name}${m.descriptor}`, symbolic(granted(bodies[i]!, m.name), constants))
    })
  }
  if (gone.size > 0) {
    const left = granted(await jvm.virtualMachine.allClasses(), 'its classes').filter(
      ({ id, status }) => gone.has(id) && !(status & FAILED),
    )
    if (left.length > 0)
      throw new Error(`the JVM has ${left.map((it) => it.signature)}, and does not show them`)
  }
  return code
}

/**
 * Returns line and variable tables, keyed like `liveCode`. Bytecode indexes are replaced by numbers of instructions, as for branches. A
 * method without tables has an empty text.
 */
export async function liveTables(jvm: JdwpTarget, signatureStart: string): Promise<Map<string, string>> {
  const tables = new Map<string, string>()
  for (const type of granted(await jvm.virtualMachine.allClasses(), 'its classes')) {
    if (!type.signature.startsWith(signatureStart) || type.kind === 'ARRAY') continue
    const methods = granted(await jvm.referenceType.methods(type.id), 'methods')
    const rows = await Promise.all(methods.map((m) => tableRows(jvm, type.id, m.id)))
    methods.forEach((m, i) => {
      tables.set(`${type.signature}.${m.name}${m.descriptor}`, rows[i]!)
    })
  }
  return tables
}

async function tableRows(jvm: JdwpTarget, type: TypeId, method: MethodId): Promise<string> {
  const [code, lines, variables] = await Promise.all([
    jvm.method.bytecodes(type, method),
    jvm.method.lineTable(type, method),
    jvm.method.variableTable(type, method),
  ])
  const bytecode = granted(code, 'code')
  const numbers = instructionNumbers(bytecode)
  const at = (bci: number): number => numbers.get(bci) ?? (bci === bytecode.length ? numbers.size : -bci)
  const rows = [
    ...(lines.ok ? lines.value.lines : []).map(({ bci, line }) => `${at(bci)} line ${line}`),
    ...(variables.ok ? variables.value.variables : []).map(
      ({ bci, length, name, descriptor, slot }) =>
        `${at(bci)} to ${at(bci + length)} ${name}:${descriptor} in ${slot}`,
    ),
  ]
  return rows.sort().join('\n') // both tables have no defined order
}

/** Returns the names of methods that call a probe. */
export function probed(code: LiveCode): string[] {
  return [...code].filter(([, text]) => text.includes('java/lang/JFluid1.')).map(([name]) => name)
}

function parsePool({ count, bytes }: RawConstantPool): ConstantPool {
  const head = Buffer.alloc(2)
  head.writeUInt16BE(count)
  return new ConstantPool(new Reader(Buffer.concat([head, bytes])))
}

/** Returns the number of each instruction, keyed by its bytecode index. */
function instructionNumbers(bytecode: Uint8Array): Map<number, number> {
  const numbers = new Map<number, number>()
  forEachInstruction(bytecode, (bci) => numbers.set(bci, numbers.size))
  return numbers
}

export function symbolic(bytecode: Uint8Array, pool: ConstantPool): string {
  const numbers = instructionNumbers(bytecode)
  const to = (bci: number): string => `@${numbers.get(bci) ?? `inside an instruction, ${bci}`}`
  const lines: string[] = []
  forEachInstruction(bytecode, (bci, opcode) => {
    const operands = bytecode.subarray(bci + 1, bci + instructionLength(bytecode, bci))
    lines.push(`${op.MNEMONICS[opcode]!.replace('ldc_w', 'ldc')} ${operandText(opcode, bci, operands)}`)
  })
  return lines.join('\n')

  function operandText(opcode: number, bci: number, operands: Uint8Array): string {
    if (opcode === op.LDC) return constant(pool, operands[0]!)
    if (opcode === op.LDC_W || opcode === op.LDC2_W) return constant(pool, u2At(operands, 0))
    if (op.isShortBranch(opcode)) return to(bci + s2At(operands, 0))
    if (opcode === op.GOTO_W || opcode === op.JSR_W) return to(bci + s4At(operands, 0))
    if (opcode === op.TABLESWITCH || opcode === op.LOOKUPSWITCH) return switchText(opcode, bci)
    const usesPool =
      (opcode >= op.GETSTATIC && opcode <= op.NEW) ||
      [op.ANEWARRAY, op.CHECKCAST, op.INSTANCEOF, op.MULTIANEWARRAY].includes(opcode)
    // Bytes after a pool index are not indexes: the count of invokeinterface, or the dimensions of an array.
    return usesPool ? `${constant(pool, u2At(operands, 0))} ${operands.subarray(2)}` : operands.join()
  }

  function switchText(opcode: number, bci: number): string {
    const at = switchOperands(bci)
    const parts = [`default ${to(bci + s4At(bytecode, at))}`]
    const low = s4At(bytecode, at + 4)
    if (opcode === op.TABLESWITCH) {
      const high = s4At(bytecode, at + 8)
      for (let i = 0; i <= high - low; i++) {
        parts.push(`${low + i} ${to(bci + s4At(bytecode, at + 12 + 4 * i))}`)
      }
    } else {
      for (let i = 0; i < low; i++) {
        parts.push(`${s4At(bytecode, at + 8 + 8 * i)} ${to(bci + s4At(bytecode, at + 12 + 8 * i))}`)
      }
    }
    return parts.join(' ')
  }
}

/**
 * Returns the content of a pool entry without its index. An `invokedynamic` entry also has the index of a bootstrap method, which a
 * redefinition may change and which the debugger port does not resolve. Only the name and descriptor of the entry are returned.
 */
function constant(pool: ConstantPool, index: number): string {
  const tag = pool.tag(index)
  switch (tag) {
    case CONSTANT_CLASS:
      return pool.className(index)
    case CONSTANT_STRING:
    case CONSTANT_METHOD_TYPE:
      return JSON.stringify(pool.utf8(u2At(pool.bytes, pool.offsets[index]! + 1)))
    case CONSTANT_METHOD_HANDLE: {
      const { kind, owner, name, descriptor } = pool.methodHandle(index)
      return `${kind} ${owner}.${name}${descriptor}`
    }
    case CONSTANT_INVOKE_DYNAMIC: {
      const { name, descriptor } = pool.invokeDynamic(index)
      return `dynamic ${name}${descriptor}`
    }
    case CONSTANT_DYNAMIC: {
      const { name, descriptor } = pool.dynamic(index)
      return `dynamic ${name}:${descriptor}`
    }
  }
  if (tag >= 3 && tag <= 6) {
    const at = pool.offsets[index]! + 1
    return `${tag}:${Buffer.from(pool.bytes.subarray(at, at + (tag < 5 ? 4 : 8))).toString('hex')}`
  }
  const { owner, name, descriptor } = pool.memberRef(index)
  return `${owner}.${name}:${descriptor}`
}
