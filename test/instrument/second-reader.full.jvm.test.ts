// An independent reader (java-class-tools) reads the class files that jfluid writes. It must find the same data as jfluid, and the original
// instructions in order, with probes between them.
//
// This reader parses each attribute by its structure and ignores attribute_length, so it would detect a wrong length. JFLUID_FULL=1 tests
// all modules of every JDK.

import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { beforeAll, it } from 'vitest'
import { type AttributeRef, type ClassFile, parseClassFile } from '../../src/classfile/class-file.ts'
import { parseCode } from '../../src/classfile/code.ts'
import {
  ATHROW,
  BIPUSH,
  GOTO_W,
  INVOKESTATIC,
  isShortBranch,
  JSR_W,
  LOOKUPSWITCH,
  TABLESWITCH,
} from '../../src/classfile/opcodes.ts'
import { jdks, newest } from '../support/jdks.ts'
import { FULL } from '../support/lane.ts'
import { compileTools, imageClasses, instrumentAll } from './jvm.ts'

const ID = 99

// The members of the package that are used here. The package's own type declarations need another package.
interface Attribute {
  attribute_name_index: number
  attribute_length: number
}
interface CodeAttribute extends Attribute {
  max_stack: number
  max_locals: number
  code: number[]
  exception_table: { start_pc: number; end_pc: number; handler_pc: number; catch_type: number }[]
  attributes: Attribute[]
}
interface SecondClass {
  constant_pool_count: number
  constant_pool: ({ bytes?: number[] } | undefined)[]
  methods: { name_index: number; descriptor_index: number; attributes: Attribute[] }[]
  attributes: Attribute[]
}
interface Instruction {
  opcode: number
  operands: number[]
}
interface Tools {
  JavaClassFileReader: new () => { read(bytes: Uint8Array): SecondClass }
  InstructionParser: { fromBytecode(bytecode: number[]): Instruction[] }
}
const tools = createRequire(import.meta.url)('java-class-tools') as Tools
const { InstructionParser } = tools
const reader = new tools.JavaClassFileReader()

const classes: { classFile: ClassFile; written: Uint8Array }[] = []
beforeAll(async () => {
  for (const jdk of FULL ? jdks : [newest]) {
    const image = await imageClasses(jdk, await compileTools(jdk), [FULL ? 'ALL' : 'java.base'])
    image.forEach(({ bytes }, i) => {
      if (!FULL && i % 4 !== 0) return
      const classFile = parseClassFile(bytes)
      classes.push({ classFile, written: instrumentAll(classFile, () => ID).bytes })
    })
  }
}, 120_000)

it("java-class-tools finds the same methods, code, handlers and attributes as jfluid's class file reader", () => {
  let bodies = 0
  for (const { written } of classes) {
    const ours = parseClassFile(written)
    const theirs = reader.read(written)
    assert.equal(theirs.constant_pool_count, ours.pool.count)
    assert.deepEqual(attributesOf(theirs, theirs.attributes), attributesOfOurs(ours.attributes), ours.name)
    assert.deepEqual(
      theirs.methods.map((it) => text(theirs, it.name_index) + text(theirs, it.descriptor_index)),
      ours.methods.map(({ name, descriptor }) => name + descriptor),
    )
    for (const method of ours.methods) {
      const what = `${ours.name}.${method.name}${method.descriptor}`
      const { attributes } = theirs.methods[method.index]
      assert.deepEqual(attributesOf(theirs, attributes), attributesOfOurs(method.attributes), what)
      if (method.code === undefined) continue
      const code = parseCode(ours, method)
      const their = codeOf(theirs, method.index)
      assert.deepEqual([their.max_stack, their.max_locals], [code.maxStack, code.maxLocals], what)
      assert.deepEqual(Buffer.from(their.code), Buffer.from(code.bytecode), what)
      assert.deepEqual(
        their.exception_table.map((it) => [it.start_pc, it.end_pc, it.handler_pc, it.catch_type]),
        code.handlers.map((it) => [it.startBci, it.endBci, it.handlerBci, it.catchType]),
        what,
      )
      assert.deepEqual(attributesOf(theirs, their.attributes), attributesOfOurs(code.attributes), what)
      bodies++
    }
  }
  console.info(`${classes.length} classes, ${bodies} bodies`)
  assert.ok(bodies > 10_000)
}, 300_000)

it('java-class-tools finds the original instructions in order, with only probes inserted', () => {
  let probes = 0
  for (const { classFile, written } of classes) {
    const before = reader.read(classFile.bytes)
    const after = reader.read(written)
    for (const { index, name, code } of classFile.methods) {
      if (code === undefined) continue
      const old = InstructionParser.fromBytecode(codeOf(before, index).code)
      const now = InstructionParser.fromBytecode(codeOf(after, index).code)
      const kept: Instruction[] = []
      let lastProbe = -1
      for (let i = 0; i < now.length; i++) {
        const call = isCallOfNew(now[i + 1], before.constant_pool_count)
        const probe = now[i].opcode === BIPUSH && now[i].operands[0] === ID && call
        if (!probe) kept.push(now[i])
        else {
          lastProbe = i++
          probes++
        }
      }
      // After all original code there may be only the `athrow` of one handler, or of a constructor's two handlers.
      const added = kept.length - old.length
      assert.ok(lastProbe < 0 ? added === 0 : added >= 0 && added <= 2, `${classFile.name}.${name}`)
      assert.ok(kept.slice(old.length).every(({ opcode }) => opcode === ATHROW))
      assert.deepEqual(kept.slice(0, old.length).map(shown), old.map(shown), `${classFile.name}.${name}`)
    }
  }
  assert.ok(probes > 2 * classes.length)
}, 300_000)

/** Returns whether the instruction is an invokestatic with an added constant. Original code may push the same id for its own call. */
function isCallOfNew(instruction: Instruction | undefined, oldConstants: number): boolean {
  if (instruction?.opcode !== INVOKESTATIC) return false
  const [high, low] = instruction.operands
  return high * 256 + low >= oldConstants
}

/** Returns the instruction without branch offsets, which change when code is moved. */
function shown({ opcode, operands }: Instruction): string {
  const moves = isShortBranch(opcode) || opcode === GOTO_W || opcode === JSR_W
  if (opcode === TABLESWITCH || opcode === LOOKUPSWITCH) return `${opcode} of ${operands.length} bytes`
  return moves ? `${opcode}` : `${opcode} ${operands}`
}

function codeOf(classFile: SecondClass, method: number): CodeAttribute {
  const found = classFile.methods[method].attributes.find((it) => 'max_stack' in it)
  assert.ok(found)
  return found as CodeAttribute
}

function attributesOf(classFile: SecondClass, attributes: readonly Attribute[]): string[] {
  return attributes.map((it) => `${text(classFile, it.attribute_name_index)} ${it.attribute_length}`)
}

function attributesOfOurs(attributes: readonly AttributeRef[]): string[] {
  return attributes.map(({ name, length }) => `${name} ${length}`)
}

function text(classFile: SecondClass, index: number): string {
  return Buffer.from(classFile.constant_pool[index]!.bytes!).toString('utf8')
}
