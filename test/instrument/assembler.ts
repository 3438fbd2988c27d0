// Small classes for tests, written as text.
//
//   assemble({ method: 'count(I)V', code: 'top: iinc 0 -1 | iload_0 | ifne top | return' })
//
// Creates class `T` with one static method (or, with `this`, a constructor or instance method). The default version is 48, which needs no
// frames. Operands: locals and immediates as numbers, branch targets as labels (or a bci, `@9`), members as `owner.name(descriptor)`,
// switches as `tableswitch 0 a b default c`, constants made by a bootstrap method as `dynamic.name:type`.

import { type ClassFile, parseClassFile } from '../../src/classfile/class-file.ts'
import { parseCode } from '../../src/classfile/code.ts'
import { LENGTHS, LOOKUPSWITCH, MNEMONICS, TABLESWITCH } from '../../src/classfile/opcodes.ts'
import { Reader, s2At, s4At, u2At } from '../../src/classfile/reader.ts'
import { encodeModifiedUtf8 } from '../../src/classfile/utf8.ts'
import { Writer } from '../../src/classfile/writer.ts'

export interface Assembly {
  /** Name of the class. Default: `T`. */
  className?: string
  /** Name and descriptor: `run(I)V`, `<init>(Z)V`. */
  method: string
  /** Names of further methods with the same code. */
  copies?: string[]
  /** Instructions separated by `|`, with labels before a colon. `nop*300` repeats an instruction. */
  code: string
  /** Exception rows as `from..to -> handler` with labels, separated by `|`. `to` may be `end`. */
  handlers?: string
  /** Whether the method is not static. */
  this?: boolean
  major?: number
  maxStack?: number
  maxLocals?: number
  /** `owner.name` of the bootstrap method for dynamic constants. Its parameters are a Lookup, the name and the type. */
  bootstrap?: string
  /** Bytes of further attributes of the code, keyed by attribute name. A label is replaced by the two bytes of its bci. */
  attributes?: Record<string, (number | string)[]>
}

const BOOTSTRAP =
  '(Ljava/lang/invoke/MethodHandles$Lookup;Ljava/lang/String;Ljava/lang/Class;)Ljava/lang/Object;'

class Pool {
  readonly writer = new Writer()
  count = 1
  readonly #known = new Map<string, number>()

  utf8(text: string): number {
    return this.#entry(`1 ${text}`, () => {
      const bytes = encodeModifiedUtf8(text)
      this.writer.u1(1)
      this.writer.u2(bytes.length)
      this.writer.copy(bytes)
    })
  }

  class(name: string): number {
    const index = this.utf8(name)
    return this.#entry(`7 ${name}`, () => {
      this.writer.u1(7)
      this.writer.u2(index)
    })
  }

  member(text: string): number {
    const [, owner, name, descriptor] = /^([^.]+)\.(.+?)([(:].*)$/.exec(text)!
    const isField = descriptor.startsWith(':')
    const type = isField ? descriptor.slice(1) : descriptor
    const [ownerIndex, nameIndex, typeIndex] = [this.class(owner), this.utf8(name), this.utf8(type)]
    const nameAndType = this.#pair(12, nameIndex, typeIndex)
    return this.#entry(`ref ${text}`, () => {
      this.writer.u1(isField ? 9 : 10)
      this.writer.u2(ownerIndex)
      this.writer.u2(nameAndType)
    })
  }

  /** Adds a constant that bootstrap method 0 creates. */
  dynamic(text: string): number {
    const [, name, type] = /^dynamic\.(.+):(.+)$/.exec(text)!
    const nameAndType = this.#pair(12, this.utf8(name), this.utf8(type))
    return this.#pair(17, 0, nameAndType)
  }

  /** Adds a handle of a static method. */
  methodHandle(text: string): number {
    const method = this.member(text)
    return this.#entry(`15 ${method}`, () => {
      this.writer.u1(15)
      this.writer.u1(6) // REF_invokeStatic
      this.writer.u2(method)
    })
  }

  #pair(tag: number, first: number, second: number): number {
    return this.#entry(`${tag} ${first} ${second}`, () => {
      this.writer.u1(tag)
      this.writer.u2(first)
      this.writer.u2(second)
    })
  }

  #entry(key: string, write: () => void): number {
    let index = this.#known.get(key)
    if (index === undefined) {
      write()
      index = this.count++
      this.#known.set(key, index)
    }
    return index
  }
}

interface Line {
  bci: number
  opcode: number
  operands: string[]
}

export function assemble(assembly: Assembly): ClassFile {
  const pool = new Pool()
  const labels = new Map<string, number>()
  const lines: Line[] = []
  let bci = 0
  for (const part of assembly.code.split('|')) {
    let text = part.trim()
    for (let label = /^(\w+):\s*/.exec(text); label; label = /^(\w+):\s*/.exec(text)) {
      labels.set(label[1], bci)
      text = text.slice(label[0].length)
    }
    if (text === '') continue
    const [word, ...operands] = text.split(/\s+/)
    const [mnemonic, times = '1'] = word.split('*')
    const opcode = MNEMONICS.indexOf(mnemonic)
    if (opcode < 0) throw new Error(`no instruction ${mnemonic}`)
    for (let i = 0; i < Number(times); i++) {
      lines.push({ bci, opcode, operands })
      bci += lengthOf(bci, opcode, operands)
    }
  }
  labels.set('end', bci)
  const label = (name: string): number => {
    const at = name.startsWith('@') ? Number(name.slice(1)) : labels.get(name)
    if (at === undefined) throw new Error(`no label ${name}`)
    return at
  }

  const code = new Writer()
  for (const line of lines) writeLine(code, line, label, pool)

  const names = [assembly.method, ...(assembly.copies ?? [])].map((method) => {
    const [, name, descriptor] = /^([^(]+)(.+)$/.exec(method)!
    return [pool.utf8(name), pool.utf8(descriptor)] as const
  })
  const attributes = Object.entries(assembly.attributes ?? {}).map(([attribute, content]) => ({
    nameIndex: pool.utf8(attribute),
    content: content.flatMap((part) =>
      typeof part === 'number' ? [part] : [label(part) >>> 8, label(part) & 0xff],
    ),
  }))
  const [thisIndex, superIndex] = [pool.class(assembly.className ?? 'T'), pool.class('java/lang/Object')]
  const codeIndex = pool.utf8('Code')

  const bootstrap = assembly.bootstrap && [
    pool.utf8('BootstrapMethods'),
    pool.methodHandle(`${assembly.bootstrap}${BOOTSTRAP}`),
  ]

  const body = new Writer()
  body.u2(assembly.maxStack ?? 8)
  body.u2(assembly.maxLocals ?? 8)
  body.u4(code.length)
  body.copy(code.finish())
  const handlers = assembly.handlers?.split('|').map((row) => row.trim().split(/\.\.|\s*->\s*/)) ?? []
  body.u2(handlers.length)
  for (const row of handlers) {
    for (const mark of row) body.u2(label(mark))
    body.u2(0)
  }
  body.u2(attributes.length)
  for (const { nameIndex: index, content } of attributes) {
    body.u2(index)
    body.u4(content.length)
    body.copy(Uint8Array.from(content))
  }

  const out = new Writer()
  out.u4(0xcafebabe)
  out.u4(assembly.major ?? 48)
  out.u2(pool.count)
  out.copy(pool.writer.finish())
  for (const value of [0x21, thisIndex, superIndex, 0, 0, names.length]) out.u2(value)
  const content = body.finish()
  for (const [nameIndex, typeIndex] of names) {
    for (const value of [assembly.this ? 1 : 9, nameIndex, typeIndex, 1, codeIndex]) out.u2(value)
    out.u4(content.length)
    out.copy(content)
  }
  out.u2(bootstrap ? 1 : 0)
  if (bootstrap) {
    out.u2(bootstrap[0])
    out.u4(6)
    for (const value of [1, bootstrap[1], 0]) out.u2(value) // one method, no arguments
  }
  return parseClassFile(out.finish())
}

/** Returns the length of an instruction. For `tableswitch low a b default c`, the labels between `low` and `default` are the cases. */
function lengthOf(bci: number, opcode: number, operands: string[]): number {
  const padding = 3 - (bci & 3)
  const cases = operands.indexOf('default')
  if (opcode === TABLESWITCH) return 1 + padding + 12 + 4 * (cases - 1)
  if (opcode === LOOKUPSWITCH) return 1 + padding + 8 + 4 * cases
  if (LENGTHS[opcode] === 0) return MNEMONICS[MNEMONICS.indexOf(operands[0])] === 'iinc' ? 6 : 4
  return LENGTHS[opcode]
}

function writeLine(out: Writer, line: Line, label: (name: string) => number, pool: Pool): void {
  const { bci, opcode, operands } = line
  const mnemonic = MNEMONICS[opcode]
  out.u1(opcode)
  if (opcode === TABLESWITCH || opcode === LOOKUPSWITCH) {
    while (out.length & 3) out.u1(0)
    const cases = operands.indexOf('default')
    out.u4(label(operands[cases + 1]) - bci)
    if (opcode === TABLESWITCH) {
      out.u4(Number(operands[0]))
      out.u4(Number(operands[0]) + cases - 2)
      for (const target of operands.slice(1, cases)) out.u4(label(target) - bci)
    } else {
      out.u4(cases / 2)
      operands.slice(0, cases).forEach((operand, i) => {
        out.u4(i % 2 === 0 ? Number(operand) : label(operand) - bci)
      })
    }
  } else if (mnemonic === 'wide') {
    out.u1(MNEMONICS.indexOf(operands[0]))
    for (const operand of operands.slice(1)) out.u2(Number(operand))
  } else if (/^(if|goto$|jsr$)/.test(mnemonic)) {
    out.u2(label(operands[0]) - bci)
  } else if (/_w$/.test(mnemonic) && mnemonic !== 'ldc_w' && mnemonic !== 'ldc2_w') {
    out.u4(label(operands[0]) - bci)
  } else if (/^(new|checkcast|instanceof|anewarray)$/.test(mnemonic)) {
    out.u2(pool.class(operands[0]))
  } else if (/^(get|put|invoke)/.test(mnemonic)) {
    out.u2(pool.member(operands[0]))
  } else if (operands[0]?.startsWith('dynamic.')) {
    out.u2(pool.dynamic(operands[0]))
  } else if (LENGTHS[opcode] === 3 && mnemonic !== 'iinc') {
    out.u2(Number(operands[0]))
  } else {
    for (const operand of operands) out.u1(Number(operand))
  }
}

/**
 * Returns a method as text with one line per instruction. Probes are `enter 7`, `exit 7` and `resume 7`. Exception rows `[from, to) ->
 * handler` follow. Branches and rows use bytecode indexes.
 */
export function listing(classFile: ClassFile, methodIndex = 0): string[] {
  const { pool } = classFile
  const { bytecode, handlers } = parseCode(classFile, classFile.methods[methodIndex])
  const lines: string[] = []
  for (let bci = 0; bci < bytecode.length; ) {
    const probe = probeAt(classFile, bytecode, bci)
    if (probe) {
      lines.push(`${bci} ${probe.text}`)
      bci += probe.length
      continue
    }
    const opcode = bytecode[bci]
    const mnemonic = MNEMONICS[opcode]
    let operands = ''
    let length = LENGTHS[opcode]
    if (opcode === TABLESWITCH || opcode === LOOKUPSWITCH) {
      const at = (bci & ~3) + 4
      const targets: number[] = []
      const table = opcode === TABLESWITCH
      const count = table ? s4At(bytecode, at + 8) - s4At(bytecode, at + 4) + 1 : s4At(bytecode, at + 4)
      for (let i = 0; i < count; i++) {
        targets.push(bci + s4At(bytecode, table ? at + 12 + 4 * i : at + 12 + 8 * i))
      }
      operands = ` ${targets.join(' ')} default ${bci + s4At(bytecode, at)}`
      length = at + (table ? 12 + 4 * count : 8 + 8 * count) - bci
    } else if (mnemonic === 'wide') {
      length = MNEMONICS[bytecode[bci + 1]] === 'iinc' ? 6 : 4
      operands = ` ${MNEMONICS[bytecode[bci + 1]]} ${u2At(bytecode, bci + 2)}`
    } else if (/^(if|goto$|jsr$)/.test(mnemonic)) {
      operands = ` ${bci + s2At(bytecode, bci + 1)}`
    } else if (mnemonic === 'goto_w' || mnemonic === 'jsr_w') {
      operands = ` ${bci + s4At(bytecode, bci + 1)}`
    } else if (/^(get|put|invoke)/.test(mnemonic)) {
      const { owner, name } = pool.memberRef(u2At(bytecode, bci + 1))
      operands = ` ${owner}.${name}`
    }
    lines.push(`${bci} ${mnemonic}${operands}`)
    bci += length
  }
  for (const { startBci, endBci, handlerBci } of handlers) {
    lines.push(`[${startBci}, ${endBci}) -> ${handlerBci}`)
  }
  return lines
}

const RUNTIME = /^java\/lang\/JFluid1\.(?:method|root)(Entry|Exit|Thrown|Resume)$/
const WORDS: Readonly<Record<string, string>> = {
  Entry: 'enter',
  Exit: 'exit',
  Thrown: 'thrown',
  Resume: 'resume',
}

function probeAt(
  { pool }: ClassFile,
  bytecode: Uint8Array,
  bci: number,
): { text: string; length: number } | undefined {
  const reader = new Reader(bytecode, bci)
  const stack: number[] = []
  while (reader.at < bytecode.length) {
    const opcode = MNEMONICS[reader.u1()]
    if (opcode === 'bipush') stack.push((reader.u1() << 24) >> 24)
    else if (opcode === 'sipush') stack.push((reader.u2() << 16) >> 16)
    else if (/^iconst_\d$/.test(opcode)) stack.push(Number(opcode.at(-1)))
    else if (opcode === 'i2c') stack.push(stack.pop()! & 0xffff)
    else if (opcode === 'ishl') stack.push(stack.splice(-2, 1)[0] << stack.pop()!)
    else if (opcode === 'ior') stack.push(stack.pop()! | stack.pop()!)
    else if (opcode === 'invokestatic') {
      const { owner, name } = pool.memberRef(reader.u2())
      const way = RUNTIME.exec(`${owner}.${name}`)?.[1]
      if (way === undefined || stack.length !== 1) return undefined
      return { text: `${WORDS[way]} ${stack[0]}`, length: reader.at - bci }
    } else return undefined
  }
  return undefined
}
