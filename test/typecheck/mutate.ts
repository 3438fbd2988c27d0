// Mutations of one method in the bytes of a class file, like the errors that a rewriter could make.

import type { ClassFile, MethodInfo } from '../../src/classfile/class-file.ts'
import { forEachInstruction, parseCode } from '../../src/classfile/code.ts'
import { LENGTHS, MNEMONICS } from '../../src/classfile/opcodes.ts'
import { s2At, u2At } from '../../src/classfile/reader.ts'

export type Random = (below: number) => number

/** Returns an xorshift32 generator, which is small and repeatable by its seed. */
export function randomFrom(seed: number): Random {
  let state = (seed * 2654435761) | 1
  return (below) => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % below
  }
}

export interface Mutant {
  /** Description of the change, for messages. */
  readonly what: string
  readonly methodIndex: number
  readonly bytes: Uint8Array
}

/** Returns a mutant, or undefined if the selected method has nothing of the selected kind. */
export function mutate(classFile: ClassFile, random: Random): Mutant | undefined {
  const withCode = classFile.methods.filter(({ code }) => code !== undefined)
  const constructors = withCode.filter(({ name }) => name === '<init>')
  const pick = random(4) === 0 && constructors.length > 0 ? constructors : withCode
  if (pick.length === 0) return undefined
  const method = pick[random(pick.length)]
  const bytes = Uint8Array.from(classFile.bytes)
  const [kind, damage] = DAMAGES[random(DAMAGES.length)]
  const at = new Site(classFile, method, bytes, random)
  if (!damage(at)) return undefined
  if (Buffer.compare(bytes, classFile.bytes) === 0) return undefined
  return {
    what: `${kind} in ${classFile.name}.${method.name}${method.descriptor}`,
    methodIndex: method.index,
    bytes,
  }
}

class Site {
  readonly start: number
  readonly length: number
  readonly code
  /** Start of each instruction. */
  readonly bcis: number[] = []

  constructor(
    readonly classFile: ClassFile,
    method: MethodInfo,
    readonly bytes: Uint8Array,
    readonly random: Random,
  ) {
    this.code = parseCode(classFile, method)
    this.start = method.code!.offset
    this.length = this.code.bytecode.length
    forEachInstruction(this.code.bytecode, (bci) => this.bcis.push(bci))
  }

  /** Returns the offset in the class file of the instruction at `bci`. */
  at(bci: number): number {
    return this.start + 8 + bci
  }

  one<T>(list: readonly T[]): T | undefined {
    return list.length === 0 ? undefined : list[this.random(list.length)]
  }

  instruction(matches: (mnemonic: string) => boolean): number | undefined {
    return this.one(this.bcis.filter((bci) => matches(MNEMONICS[this.code.bytecode[bci]])))
  }

  u2(offset: number, value: number): true {
    this.bytes[offset] = value >> 8
    this.bytes[offset + 1] = value
    return true
  }

  get frames(): { offset: number; length: number } | undefined {
    return this.code.attributes.find(({ name }) => name === 'StackMapTable')
  }
}

const OPCODES = [...MNEMONICS.keys()]
const BRANCH = /^(if|goto$)/
const WITH_CONSTANT = /^(get|put|invoke|new$|anewarray|checkcast|instanceof|ldc2?_w|multianewarray)/
const ON_LOCAL = /^([ilfda](load|store)|iinc|ret)$/

const DAMAGES: readonly [string, (site: Site) => boolean][] = [
  [
    'another opcode',
    (site) => {
      const bci = site.one(site.bcis)!
      const { bytecode } = site.code
      const same = OPCODES.filter((it) => LENGTHS[it] === LENGTHS[bytecode[bci]])
      site.bytes[site.at(bci)] = site.one(same)!
      return true
    },
  ],
  [
    'a neighbouring opcode',
    (site) => {
      const offset = site.at(site.one(site.bcis)!)
      site.bytes[offset] += site.random(2) === 0 ? 1 : -1
      return true
    },
  ],
  [
    'another local',
    (site) => {
      const bci = site.instruction((it) => ON_LOCAL.test(it))
      if (bci === undefined) return false
      site.bytes[site.at(bci) + 1] = site.random(3) === 0 ? site.random(256) : site.random(8)
      return true
    },
  ],
  [
    'another constant',
    (site) => {
      const bci = site.instruction((it) => WITH_CONSTANT.test(it))
      if (bci === undefined) return false
      const { pool } = site.classFile
      const tag = pool.tag(u2At(site.code.bytecode, bci + 1))
      const all = [...pool.offsets.keys()]
      const alike = site.random(4) === 0 ? all : all.filter((index) => pool.tag(index) === tag)
      return site.u2(site.at(bci) + 1, site.one(alike)!)
    },
  ],
  [
    'another branch target',
    (site) => {
      const bci = site.instruction((it) => BRANCH.test(it))
      if (bci === undefined) return false
      const target = site.random(4) === 0 ? bci + s2At(site.code.bytecode, bci + 1) + 1 : site.one(site.bcis)!
      return site.u2(site.at(bci) + 1, target - bci)
    },
  ],
  [
    'a byte of the frames',
    (site) => {
      const { frames } = site
      if (frames === undefined) return false
      const offset = frames.offset + site.random(frames.length)
      const old = site.bytes[offset]
      site.bytes[offset] = [old + 1, old - 1, site.random(9), site.random(256)][site.random(4)]
      return true
    },
  ],
  [
    'a type of the frames',
    (site) => {
      const { frames } = site
      if (frames === undefined) return false
      // Object types are a 7 and an index. Some bytes that match this pattern are types.
      const offsets = [...Array(frames.length - 2).keys()]
        .map((it) => frames.offset + it)
        .filter((it) => site.bytes[it] === 7 && site.classFile.pool.tag(u2At(site.bytes, it + 1)) === 7)
      const offset = site.one(offsets)
      if (offset === undefined) return false
      const classes = [...site.classFile.pool.offsets.keys()].filter(
        (it) => site.classFile.pool.tag(it) === 7,
      )
      return site.u2(offset + 1, site.one(classes)!)
    },
  ],
  [
    'max_stack',
    (site) => {
      const { maxStack } = site.code
      return site.u2(
        site.start,
        [maxStack - 1, 0, maxStack + 1, site.random(maxStack + 1)][site.random(4)] & 0xffff,
      )
    },
  ],
  [
    'max_locals',
    (site) => {
      const { maxLocals } = site.code
      return site.u2(
        site.start + 2,
        [maxLocals - 1, maxLocals + 1, site.random(maxLocals + 1)][site.random(3)] & 0xffff,
      )
    },
  ],
  [
    'the exception table',
    (site) => {
      const rows = site.code.handlers.length
      if (rows === 0) return false
      const row = site.start + 8 + site.length + 2 + 8 * site.random(rows)
      const column = site.random(4)
      const classes = [...site.classFile.pool.offsets.keys()].filter(
        (it) => site.classFile.pool.tag(it) === 7,
      )
      const value = column === 3 ? site.one(classes)! : (site.one([...site.bcis, site.length]) ?? 0)
      return site.u2(row + 2 * column, value)
    },
  ],
  [
    'two instructions in the other order',
    (site) => {
      const index = site.random(site.bcis.length)
      const [first, second, end] = [...site.bcis, site.length].slice(index, index + 3)
      if (end === undefined) return false
      const { bytecode } = site.code
      const swapped = [...bytecode.subarray(second, end), ...bytecode.subarray(first, second)]
      site.bytes.set(swapped, site.at(first))
      return true
    },
  ],
  [
    'an instruction left out',
    (site) => {
      const index = site.random(site.bcis.length)
      const [first, end] = [...site.bcis, site.length].slice(index, index + 2)
      site.bytes.fill(0, site.at(first), site.at(end))
      return true
    },
  ],
  [
    'a byte of the code',
    (site) => {
      site.bytes[site.at(site.random(site.length))] = site.random(256)
      return true
    },
  ],
]
