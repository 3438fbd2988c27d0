// Methods that sample themselves, in every 16th class of java.base: the counter is checked often enough, and the code passes the type
// checker.

import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { parseClassFile } from '../../src/classfile/class-file.ts'
import { instructionLength } from '../../src/classfile/code.ts'
import { ATHROW, INVOKEDYNAMIC, INVOKEVIRTUAL, isReturn } from '../../src/classfile/opcodes.ts'
import { instrumentClass } from '../../src/instrument/class.ts'
import { successors } from '../../src/instrument/flow.ts'
import { MAX_PATH } from '../../src/instrument/sampling.ts'
import { refusedBodies } from '../../src/typecheck/rewritten.ts'
import { newestOrAll } from '../support/jdks.ts'
import { checksOf } from './checks.ts'
import { compileTools, imageClasses } from './jvm.ts'

/** Returns the maximum number of instructions between two checks of the counter, over all forward paths. */
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

describe.each(newestOrAll)('counter checks on JDK $version, in every 16th class of java.base', (jdk) => {
  it('no path between two counter checks is longer than the limit, each call and return has a check, and the type checker accepts the code', async () => {
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
      const tasks = withCode.map(({ index }, at) => ({
        ...{ methodIndex: index, id: 1 + (at % 3) * 70_000 },
        probe: at % 4 === 0 ? ('root' as const) : ('method' as const),
      }))
      const rewritten = instrumentClass(classFile, tasks, { tells: 'samples' })
      assert.deepEqual([...refusedBodies(classFile, rewritten, false)], [], classFile.name)
    }
    assert.ok(methods > 3000, `${methods} methods`)
  }, 60_000)
})
