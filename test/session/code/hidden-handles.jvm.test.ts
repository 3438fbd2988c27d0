// Probes that hide method handle calls from C1 fit the class files of every JDK. A JDK with different method handle classes fails here
// first.

import assert from 'node:assert/strict'
import { beforeAll, it } from 'vitest'
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

const OTHER = 'invokestatic a/B.other()I'
it.each([
  ['run', 'iconst_1 | ireturn', true],
  ['run', `${OTHER} | ireturn`, false],
  ['run', 'invokestatic a/C.other()I | ireturn', true], // C1 may inline the callee
  ['run', 'aload_0 | invokeinterface a/C.other()I | ireturn', false],
  ['run', `iconst_1 | ifeq end | ${OTHER} | pop | end: iconst_1 | ireturn`, true], // C1 may remove the branch
  ['run', `${'nop | '.repeat(33)}iconst_1 | ireturn`, true],
  ['run', `${'nop | '.repeat(34)}iconst_1 | ireturn`, false],
  ['<init>', 'aload_0 | invokespecial java/lang/Object.<init>()V | return', true],
  ['<init>', `aload_0 | invokespecial java/lang/Object.<init>()V | ${OTHER} | pop | return`, false],
])(
  'a method %s with the code %s may keep its original code in code of method handles: %s',
  async (name, code, may) => {
    const descriptor = name === '<init>' ? '()V' : '()I'
    const { bytes } = assemble({ className: 'a/B', method: name + descriptor, code })
    const task: Task = { ...{ id: 3, classId: 7, className: 'a/B', name, descriptor }, probe: 'root' }
    assert.equal(await mayKeepOriginalCode([task], async () => [bytes]), may)
  },
)

it('a method of which the code is not known may keep its original code, and other probes have no effect', async () => {
  const { bytes } = assemble({ className: 'a/B', method: 'run()I', code: `${OTHER} | ireturn` })
  const task: Task = {
    ...{ id: 3, classId: 7, className: 'a/B', name: 'run', descriptor: '()I' },
    probe: 'root',
  }
  assert.equal(await mayKeepOriginalCode([{ ...task, name: 'unknown' }], async () => [bytes]), true)
  assert.equal(await mayKeepOriginalCode([task], async () => [null]), true)
  assert.equal(await mayKeepOriginalCode([{ ...task, probe: 'handle-member' }], async () => [null]), false)
})
