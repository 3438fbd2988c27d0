// Methods that sample themselves: where the count is looked at, and that HotSpot's types hold in all of java.base.

import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { type ClassFile, parseClassFile } from '../../src/classfile/class-file.ts'
import { instructionLength, parseCode } from '../../src/classfile/code.ts'
import { ATHROW, INVOKEDYNAMIC, INVOKEVIRTUAL, isReturn } from '../../src/classfile/opcodes.ts'
import { blocksOf, defaultBlocks } from '../../src/instrument/blocks.ts'
import { instrumentClass } from '../../src/instrument/class.ts'
import { successors } from '../../src/instrument/flow.ts'
import { MAX_PATH, withChecks } from '../../src/instrument/sampling.ts'
import { refusedBodies } from '../../src/typecheck/rewritten.ts'
import { jdks } from '../support/jdks.ts'
import { assemble } from './assembler.ts'
import { compileTools, imageClasses } from './jvm.ts'

function checksOf(classFile: ClassFile, index = 0) {
  const code = parseCode(classFile, classFile.methods[index]!)
  return { code, ...withChecks(code, blocksOf(code, classFile.pool, defaultBlocks)) }
}

/** Positions of the blocks, "!" behind those where the count is looked at. */
function marks(code: string): string {
  const { sizes, checks } = checksOf(assemble({ method: 'f(I)I', code }))
  const found = [...sizes.keys()].filter((bci) => sizes[bci]! > 0)
  return found.map((bci) => `${bci}:${sizes[bci]}${checks[bci] === 1 ? '!' : ''}`).join(' ')
}

describe('where the count is looked at', () => {
  it('in blocks that return, call or begin a loop', () => {
    assert.equal(marks('iconst_0 | ireturn'), '0:2!')
    assert.equal(marks('iload_0 | ifeq out | iinc 0 1 | out: iload_0 | ireturn'), '0:2 4:1 7:2!')
    assert.equal(
      marks('iload_0 | ifeq out | iload_0 | invokestatic T.g(I)V | out: iload_0 | ireturn'),
      '0:2 4:2! 8:2!',
    )
    assert.equal(
      marks('iinc 0 1 | top: iinc 0 -1 | iload_0 | ifgt top | iload_0 | ireturn'),
      '0:1 3:3! 10:2!',
    )
  })

  it('often enough: long blocks are split, and long paths looked at', () => {
    assert.equal(marks(`${'nop | '.repeat(119)}iload_0 | ireturn`), '0:50 50:50! 100:21!')
    const branch = (label: string) => `iload_0 | ifeq ${label} | iinc 0 1 | ${label}: ${'nop | '.repeat(20)}`
    // 2 + 1 + 22 + 1 + 22 + 1 to the third that all pass: its 22 would be too many.
    assert.equal(
      marks(`${branch('a')}${branch('b')}${branch('c')}${branch('d')}iload_0 | ireturn`),
      '0:2 4:1 7:22 31:1 34:22 58:1 61:22! 85:1 88:22!',
    )
  })
})

/** The most instructions that can be executed from one look to the next, following all ways forward. */
function longestPath({ code, sizes, checks }: ReturnType<typeof checksOf>): number {
  const { bytecode } = code
  const since = new Int32Array(bytecode.length + 1)
  let longest = 0
  let count = 0
  for (let bci = 0; bci < bytecode.length; ) {
    if (sizes[bci]! > 0) {
      longest = Math.max(longest, since[bci]!)
      count = checks[bci] === 1 ? 0 : since[bci]!
    }
    count++
    longest = Math.max(longest, count)
    const next = bci + instructionLength(bytecode, bci)
    for (const target of successors(bytecode, bci)) {
      if (target > bci && target < bytecode.length) since[target] = Math.max(since[target]!, count)
    }
    bci = next
  }
  return longest
}

describe.each(jdks)('JDK $version, every 16th class of java.base', (jdk) => {
  it('no path is longer than it may be, no call or return unseen, and types hold', async () => {
    const images = await imageClasses(jdk, await compileTools(jdk), ['java.base'])
    let methods = 0
    for (let i = 0; i < images.length; i += 16) {
      const classFile = parseClassFile(images[i]!.bytes)
      const withCode = classFile.methods.filter(({ code }) => code !== undefined)
      for (const method of withCode) {
        const checked = checksOf(classFile, method.index)
        assert.ok(longestPath(checked) <= MAX_PATH, `${classFile.name}.${method.name}`)
        let isChecked = false
        const { bytecode } = checked.code
        for (let bci = 0; bci < bytecode.length; bci += instructionLength(bytecode, bci)) {
          if (checked.sizes[bci]! > 0) isChecked = checked.checks[bci] === 1
          const opcode = bytecode[bci]!
          const isCall = opcode >= INVOKEVIRTUAL && opcode <= INVOKEDYNAMIC
          if (isCall || isReturn(opcode) || opcode === ATHROW) assert.ok(isChecked, `${method.name} ${bci}`)
        }
        methods++
      }
      for (const due of ['bytecodes', 'time'] as const) {
        const tasks = withCode.map(({ index }, at) => ({
          ...{ methodIndex: index, id: 1 + (at % 3) * 70_000 },
          probe: at % 4 === 0 ? ('root' as const) : ('method' as const),
        }))
        const rewritten = instrumentClass(classFile, tasks, { tells: 'samples', due })
        assert.deepEqual([...refusedBodies(classFile, rewritten, false)], [], `${classFile.name} by ${due}`)
      }
    }
    assert.ok(methods > 3000, `${methods} methods`)
  }, 60_000)
})
