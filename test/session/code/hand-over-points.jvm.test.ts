// Probes for tasks passed between threads fit the class files of every JDK. A JDK with different executor classes fails here first.

import assert from 'node:assert/strict'
import { beforeAll, it } from 'vitest'
import { type ClassFile, parseClassFile } from '../../../src/classfile/class-file.ts'
import { HAND_OVER_CLASSES } from '../../../src/instrument/hand-over.ts'
import { handOverTasks } from '../../../src/session/code/hand-over-points.ts'
import { Instrumenter } from '../../../src/session/code/instrumenter.ts'
import type { Agent, Body } from '../../../src/wire/agent.ts'
import { compileTools, imageClasses } from '../../instrument/jvm.ts'
import { forEachJdk } from '../../support/jdks.ts'

/** Returns an agent whose classes are the classes of an image, numbered from 0. */
function agentWith(classes: readonly ClassFile[], sent: Body[]): Agent {
  const answers = {
    classBytes: async (ids: readonly number[]) => ids.map((id) => classes[id]?.bytes ?? null),
    extendConstantPool: async () => {},
    redefineMethods: async (bodies: Body[]) => {
      sent.push(...bodies)
      return { refused: [] }
    },
  }
  return answers as unknown as Agent
}

forEachJdk((jdk) => {
  let classes: ClassFile[]
  beforeAll(async () => {
    const image = await imageClasses(jdk, await compileTools(jdk), ['java.base'])
    classes = image
      .map(({ bytes }) => parseClassFile(bytes))
      .filter(({ name }) => HAND_OVER_CLASSES.has(name))
  })

  it('every probe in an executor class passes the type check and is sent, and all executor classes are known', async () => {
    const sent: Body[] = []
    const instrumenter = new Instrumenter(agentWith(classes, sent))
    const ids = new Map(classes.map(({ name }, id) => [name, id]))
    const { tasks, unknown } = await handOverTasks(ids, (wanted) => instrumenter.classBytes(wanted))
    assert.deepEqual(unknown, [])
    assert.ok(tasks.length >= 14, String(tasks.length))
    const { refusals } = await instrumenter.install(tasks, [])
    assert.deepEqual(refusals, [])
    assert.equal(sent.length, tasks.length)
  })

  it('a JDK with different executor classes is reported', async () => {
    const without = classes.filter(({ name }) => !name.endsWith('/ForkJoinTask'))
    const ids = new Map(without.map(({ name }, id) => [name, id]))
    const bytes = async (wanted: readonly number[]) => wanted.map((id) => without[id]!.bytes)
    assert.deepEqual((await handOverTasks(ids, bytes)).unknown, ['fork/join'])
  })
})
