// Manually created class files in which no probe can be inserted. Each refusal is a result, not an exception, and `skipped` shows its
// reason.

import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { type ClassFile, parseClassFile } from '../../src/classfile/class-file.ts'
import { parseCode } from '../../src/classfile/code.ts'
import { MAX_POOL_COUNT } from '../../src/classfile/constant-pool.ts'
import { Instrumenter, type Task } from '../../src/session/code/instrumenter.ts'
import type { Agent } from '../../src/wire/agent.ts'
import { half, lies, withEntries } from './refused-classes.ts'

const TASK: Task = {
  id: 1,
  classId: 7,
  className: 'T',
  name: 'half',
  descriptor: '(I)I',
  probe: 'method',
}
/** Number of pool entries added to a class (see `method.test.ts`). Three of them are for the exit of a method that returns an int. */
const BLOCK = 35

/** Returns the session's answer to the load of a class: the number of bodies and the reasons for refusals. */
function asked(bytes: Uint8Array): { bodies: number; reasons: string[] } {
  const instrumenter = new Instrumenter({} as Agent) // no request is sent to the agent at load
  const { answer, refusals } = instrumenter.atLoad(TASK.classId, bytes, [TASK], [])
  assert.ok(refusals.every(({ task }) => task === TASK))
  return { bodies: answer.bodies.length, reasons: refusals.map(({ reason }) => reason) }
}

it('the class that these tests damage gets probes if it is undamaged', () => {
  assert.deepEqual(asked(half().bytes), { bodies: 1, reasons: [] })
})

describe('a constant pool of 65,535 entries', () => {
  it('a full constant pool has no space for the names of probes', () => {
    const full = withEntries(half(), MAX_POOL_COUNT)
    assert.equal(parseClassFile(full).pool.count, 65535)
    assert.deepEqual(asked(full), { bodies: 0, reasons: ['no room in the constant pool'] })
    const short = withEntries(half(), MAX_POOL_COUNT - blockOf(half()) + 1)
    assert.deepEqual(asked(short).reasons, ['no room in the constant pool'])
  })

  it('if the names of probes fit exactly, the constant pool is filled to its last entry', () => {
    assert.deepEqual(asked(withEntries(half(), MAX_POOL_COUNT - blockOf(half()))), { bodies: 1, reasons: [] })
  })
})

/** Returns the number of added entries. If the class already has the string `StackMapTable`, one entry less is added. */
function blockOf({ pool }: ClassFile): number {
  for (let index = 1; index < pool.count; index++) {
    if (pool.tag(index) === 1 && pool.utf8(index) === 'StackMapTable') return BLOCK - 1
  }
  return BLOCK
}

describe('a method of 65,535 bytes', () => {
  const largest = half('nop*65528 |')
  it('a method of 65,535 bytes cannot grow', () => {
    assert.equal(parseCode(largest, largest.methods[0]).bytecode.length, 65535)
    assert.deepEqual(asked(largest.bytes), { bodies: 0, reasons: ['would exceed 65535 bytes'] })
  })
})

describe('an attribute with a wrong length', () => {
  it('a class with a wrong attribute length gets no probes, and the session continues', () => {
    for (const { what, bytes } of lies()) {
      const { bodies, reasons } = asked(bytes)
      assert.equal(bodies, 0, what)
      assert.equal(reasons.length, 1, what)
      assert.match(
        reasons[0],
        /truncated|too many|is not of tag|no Code attribute|bytes of code|type-check/,
        what,
      )
    }
  })

  it('a class with a wrong number of rows in an attribute gets no probes', () => {
    const classFile = half()
    const [method] = classFile.methods
    for (const { name, offset } of parseCode(classFile, method).attributes) {
      const bytes = Uint8Array.from(classFile.bytes)
      bytes.set([0xff, 0xff], offset)
      assert.match(asked(bytes).reasons[0], /^malformed: truncated/, name)
    }
  })
})
