// Probes that hide method handle calls from C1 fit the class files of every JDK. A JDK with different method handle classes fails here
// first.

import assert from 'node:assert/strict'
import { beforeAll, describe, it } from 'vitest'
import { type ClassFile, parseClassFile } from '../../../src/classfile/class-file.ts'
import { HANDLE_MEMBER_CLASS } from '../../../src/instrument/handle-members.ts'
import { handleTasks, mayKeepOriginalCode } from '../../../src/session/code/hidden-handles.ts'
import { Instrumenter, type Task } from '../../../src/session/code/instrumenter.ts'
import type { Agent, Body } from '../../../src/wire/agent.ts'
import { assemble } from '../../instrument/assembler.ts'
import { compileTools, imageClasses } from '../../instrument/jvm.ts'
import { forEachJdk } from '../../support/jdks.ts'

/** Returns an agent that has one class, with the number 0. */
function agentWith({ bytes }: ClassFile, sent: Body[]): Agent {
  const answers = {
    classBytes: async () => [bytes],
    extendConstantPool: async () => {},
    redefineMethods: async (bodies: Body[]) => {
      sent.push(...bodies)
      return { refused: [] }
    },
  }
  return answers as unknown as Agent
}

const IDS = new Map([[HANDLE_MEMBER_CLASS, 0]])

forEachJdk((jdk) => {
  let handles: ClassFile
  beforeAll(async () => {
    const image = await imageClasses(jdk, await compileTools(jdk), ['java.base'])
    handles = image
      .map(({ bytes }) => parseClassFile(bytes))
      .find(({ name }) => name === HANDLE_MEMBER_CLASS)!
  })

  it('every method handle probe passes the type check and is sent', async () => {
    const sent: Body[] = []
    const instrumenter = new Instrumenter(agentWith(handles, sent))
    const { tasks, isComplete } = await handleTasks(IDS, (ids) => instrumenter.classBytes(ids))
    assert.equal(isComplete, true)
    const { refusals } = await instrumenter.install(tasks, [])
    assert.deepEqual(refusals, [])
    assert.equal(sent.length, 3)
  })
})

it('a JDK with different method handle classes is reported', async () => {
  const other = assemble({ className: HANDLE_MEMBER_CLASS, method: 'memberOf()V', code: 'return' })
  assert.deepEqual(await handleTasks(IDS, async () => [other.bytes]), { tasks: [], isComplete: false })
  assert.deepEqual(await handleTasks(new Map(), async () => []), { tasks: [], isComplete: false })
})

describe('methods that C1 may have inlined in the code of method handles', () => {
  const methodOf = (instructions: number) => `${'nop | '.repeat(instructions - 2)}iconst_1 | ireturn`
  const task: Task = {
    ...{ id: 3, classId: 7, className: 'a/B', name: 'run', descriptor: '()I', probe: 'root' },
  }
  const classWith = (code: string) => assemble({ className: 'a/B', method: 'run()I', code }).bytes

  it.each([
    [35, true],
    [36, false],
  ])('a method of %i bytes of code: %s', async (bytes, may) => {
    assert.equal(await mayKeepOriginalCode([task], async () => [classWith(methodOf(bytes))]), may)
  })

  it('one short method among long ones is enough', async () => {
    const other: Task = { ...task, classId: 8 }
    const files = async () => [classWith(methodOf(99)), classWith(methodOf(2))]
    assert.equal(await mayKeepOriginalCode([task, other], files), true)
  })

  it('a method of which the code is not known may be inlined, and probes for other purposes do not count', async () => {
    const long = async () => [classWith(methodOf(99))]
    assert.equal(await mayKeepOriginalCode([{ ...task, name: 'unknown' }], long), true)
    assert.equal(await mayKeepOriginalCode([task], async () => [null]), true)
    assert.equal(await mayKeepOriginalCode([{ ...task, probe: 'handle-member' }], async () => [null]), false)
  })
})
