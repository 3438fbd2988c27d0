// Code for classes that the JVM does not verify is type-checked before it is sent. A bug in the rewriter loses methods and does not crash
// the target.

import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import type { ClassFile } from '../../../src/classfile/class-file.ts'
import { instrumentClass } from '../../../src/instrument/class.ts'
import { Instrumenter, type InstrumenterOptions, type Task } from '../../../src/session/code/instrumenter.ts'
import type { Agent, Body } from '../../../src/wire/agent.ts'
import { assemble } from '../../instrument/assembler.ts'

const CLASS_ID = 7
const TASK: Task = {
  id: 1,
  classId: CLASS_ID,
  className: 'T',
  name: 'half',
  descriptor: '(I)I',
  probe: 'method',
}

const half = (major = 61): ClassFile =>
  assemble({
    method: 'half(I)I',
    code: 'iload_0 | iconst_2 | idiv | ireturn',
    major,
    maxStack: 2,
    maxLocals: 1,
  })

/** Returns an agent that has one class and keeps the received bodies. */
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

/** Replaces the first instruction, which loads an operand of the division, by a nop. */
const broken: typeof instrumentClass = (classFile, tasks) => {
  const result = instrumentClass(classFile, tasks)
  const bodies = result.bodies.map((body) => {
    const code = Uint8Array.from(body.code)
    code[code.indexOf(0x1a)] = 0 // iload_0
    return { ...body, code }
  })
  return { ...result, bodies }
}

describe('code for a class that the JVM does not verify', () => {
  it('code for a class that the JVM does not verify is sent if its type check passes', async () => {
    const sent: Body[] = []
    const { refusals } = await new Instrumenter(agentWith(half(), sent)).install([TASK], [])
    assert.deepEqual(refusals, [])
    assert.equal(sent.length, 1)
  })

  it('code for a class that the JVM does not verify is not sent if its type check fails, and the method is skipped with the reason', async () => {
    const sent: Body[] = []
    const instrumenter = new Instrumenter(agentWith(half(), sent), { rewriter: broken })
    const { refusals } = await instrumenter.install([TASK], [])
    assert.deepEqual(sent, [])
    assert.equal(refusals.length, 1)
    assert.equal(refusals[0].task, TASK)
    assert.match(
      refusals[0].reason,
      /^the rewritten code does not type-check: the operand stack is empty, at bci \d+$/,
    )
    assert.equal(instrumenter.instrumentedClasses, 0)
  })

  it('code for a class that the JVM does not verify is not sent at class load if its type check fails', () => {
    const classFile = half()
    const instrumenter = new Instrumenter(agentWith(classFile, []), { rewriter: broken })
    const { answer, refusals } = instrumenter.atLoad(CLASS_ID, classFile.bytes, [TASK], [])
    assert.deepEqual(answer.bodies, [])
    assert.match(refusals[0].reason, /does not type-check/)
  })

  it('code for a class that the JVM does not verify is not sent if jfluid cannot type-check it', async () => {
    const sent: Body[] = []
    const subroutine = assemble({
      method: 'half(I)I',
      code: 'jsr sub | iload_0 | ireturn | sub: astore_1 | ret 1',
      major: 48,
    })
    const { refusals } = await new Instrumenter(agentWith(subroutine, sent)).install([TASK], [])
    assert.deepEqual(sent, [])
    assert.equal(refusals[0].reason, 'the code cannot be type-checked: it has subroutines')
  })
})

describe('code for a class that the JVM verifies', () => {
  it('code for a class that the JVM verifies is checked by the JVM only', async () => {
    const sent: Body[] = []
    const unverified = (classId: number) => classId !== CLASS_ID
    const instrumenter = new Instrumenter(agentWith(half(48), sent), { unverified })
    const { refusals } = await instrumenter.install([TASK], [])
    assert.deepEqual(refusals, [])
    assert.equal(sent.length, 1)
  })
})

describe('code that is inserted when a class is loaded', () => {
  const verified = { unverified: () => false }

  it('code that is inserted when a class is loaded is also checked by jfluid, since the application would get the VerifyError', () => {
    const { bytes } = half()
    const instrumenter = new Instrumenter(agentWith(half(), []), { ...verified, rewriter: broken })
    const { answer, refusals } = instrumenter.atLoad(CLASS_ID, bytes, [TASK], [TASK.id])
    assert.deepEqual(answer.bodies, [])
    assert.deepEqual(answer.ready, [TASK.id])
    assert.deepEqual(
      refusals.map(({ task }) => task),
      [TASK],
    )
    assert.match(refusals[0].reason, /^the rewritten code does not type-check: .*, at bci \d+$/)
    assert.equal(instrumenter.instrumentedClasses, 0)
  })

  it('code that is inserted when a class is loaded is sent at class load if its type check passes', () => {
    const { bytes } = half()
    const { answer, refusals } = new Instrumenter(agentWith(half(), []), verified).atLoad(
      CLASS_ID,
      bytes,
      [TASK],
      [],
    )
    assert.deepEqual(refusals, [])
    assert.equal(answer.bodies.length, 1)
  })

  it('jfluid does not type-check code for a class being loaded if only the JVM can verify that code', () => {
    const { bytes } = assemble({
      method: 'half(I)I',
      code: 'jsr sub | iload_0 | ireturn | sub: astore_1 | ret 1',
      major: 48,
    })
    const load = (options: InstrumenterOptions) =>
      new Instrumenter(agentWith(half(), []), options).atLoad(CLASS_ID, bytes, [TASK], [])
    assert.equal(load(verified).answer.bodies.length, 1)
    assert.equal(load({}).answer.bodies.length, 0)
  })
})

/** Removes an operand of the division in the method of this name. */
const brokenIn =
  (name: string): typeof instrumentClass =>
  (classFile, tasks) => {
    const [good, bad] = [instrumentClass(classFile, tasks), broken(classFile, tasks)]
    const bodies = good.bodies.map((body, i) =>
      classFile.methods[body.methodIndex].name === name ? bad.bodies[i] : body,
    )
    return { ...good, bodies }
  }

describe('a method body that the JVM refuses', () => {
  /** Returns an agent that refuses a class as a whole, like HotSpot, and keeps the earlier bodies, like the real agent. */
  function verifyingAgent(bytes: Uint8Array, isBad: (code: Uint8Array) => boolean, sizes: number[]) {
    const held = new Map<number, Uint8Array>()
    const agent = {
      classBytes: async () => [bytes],
      extendConstantPool: async () => {},
      redefineMethods: async (bodies: Body[]) => {
        sizes.push(bodies.length)
        if (bodies.some(({ code }) => isBad(code))) {
          return { refused: [{ classId: CLASS_ID, reason: 'java.lang.VerifyError' }] }
        }
        for (const { methodIndex, code } of bodies) held.set(methodIndex, code)
        return { refused: [] }
      },
    }
    return { agent: agent as unknown as Agent, held }
  }

  it('a method body that the JVM refuses does not affect other methods of its class, which are retried one by one', async () => {
    const { bytes } = assemble({
      method: 'half(I)I',
      code: 'iload_0 | iconst_2 | idiv | ireturn',
      major: 61,
      maxStack: 2,
      maxLocals: 1,
      copies: ['third(I)I', 'quarter(I)I'],
    })
    const names = ['half', 'third', 'quarter']
    const tasks = names.map((name, i): Task => ({ ...TASK, id: i + 1, name }))
    const sizes: number[] = []
    const { agent, held } = verifyingAgent(bytes, (code) => !code.includes(0x1a), sizes)
    const instrumenter = new Instrumenter(agent, { unverified: () => false, rewriter: brokenIn('third') })
    const { refusals, results } = await instrumenter.install(tasks, [])
    assert.deepEqual(refusals, [{ task: tasks[1], reason: 'java.lang.VerifyError' }])
    assert.deepEqual([...held.keys()], [0, 2])
    assert.deepEqual(sizes, [3, 1, 1, 1])
    assert.equal(results.length, 4)
    assert.equal(instrumenter.instrumentedClasses, 1)
    // The instrumenter still treats these methods as installed: `takeBack` returns them, so they can be installed again.
    assert.deepEqual(instrumenter.takeBack([CLASS_ID]), [tasks[0], tasks[2]])
  })

  it('a class is marked as refused if the JVM refuses the body of its only instrumented method', async () => {
    const { bytes } = half()
    const { agent } = verifyingAgent(bytes, () => true, [])
    const instrumenter = new Instrumenter(agent, { unverified: () => false })
    const { refusals } = await instrumenter.install([TASK], [])
    assert.deepEqual(refusals, [
      { task: TASK, reason: 'its class was refused: the JVM says "java.lang.VerifyError"' },
    ])
  })

  it('a method body that the JVM refuses is not retried if another agent has changed the class', async () => {
    const reason =
      'java.lang.UnsupportedOperationException: class redefinition failed: attempted to delete a method'
    const { refusals, calls } = await refusedFor(reason)
    const told = 'its class was refused: the JVM says "attempted to delete a method"'
    assert.deepEqual(refusals, [told, told, told])
    assert.equal(calls, 1)
  })

  it('a method body that the JVM refuses is not retried if the class cannot be linked', async () => {
    const reason = 'java.lang.InternalError: class redefinition failed: invalid class'
    const { refusals, calls } = await refusedFor(reason)
    assert.deepEqual(refusals, [reason, reason, reason])
    assert.equal(calls, 1)
  })

  /** Requests two methods of a class at once and then a third method, from an agent that refuses the class. */
  async function refusedFor(reason: string): Promise<{ refusals: string[]; calls: number }> {
    const { bytes } = assemble({
      method: 'half(I)I',
      code: 'iload_0 | iconst_2 | idiv | ireturn',
      major: 61,
      maxStack: 2,
      maxLocals: 1,
      copies: ['third(I)I', 'quarter(I)I'],
    })
    let calls = 0
    const agent = {
      classBytes: async () => [bytes],
      extendConstantPool: async () => {},
      redefineMethods: async () => {
        calls++
        return { refused: [{ classId: CLASS_ID, reason }] }
      },
    }
    const tasks = ['half', 'third', 'quarter'].map((name, i): Task => ({ ...TASK, id: i + 1, name }))
    const instrumenter = new Instrumenter(agent as unknown as Agent, { unverified: () => false })
    const first = await instrumenter.install(tasks.slice(0, 2), [])
    const later = await instrumenter.install(tasks.slice(2), [])
    const all = [...first.refusals, ...later.refusals]
    assert.deepEqual(
      all.map((it) => it.task),
      tasks,
    )
    return { refusals: all.map((it) => it.reason), calls }
  }
})

describe('a redefinition of very many classes', () => {
  it.each([
    ['methods are reported as installed with the last part', [], [7, 8]],
    ['no method is reported as installed if a part has loaded classes that are not analysed yet', [0], []],
    ['the agent delays the report of installed methods if the last part has loaded classes', [1], [7, 8]],
  ])(
    'a redefinition of very many classes is split into parts of whole classes: %s',
    async (_, loading: number[], told) => {
      const { bytes } = assemble({
        method: 'half(I)I',
        code: 'iload_0 | iconst_2 | idiv | ireturn',
        major: 61,
        maxStack: 2,
        maxLocals: 1,
        copies: ['third(I)I'],
      })
      const parts: [number, number, readonly number[]][] = []
      const agent = {
        classBytes: async (ids: readonly number[]) => ids.map(() => bytes),
        extendConstantPool: async () => {},
        redefineMethods: async (bodies: Body[], ready: readonly number[]) => {
          parts.push([bodies.length, new Set(bodies.map((it) => it.classId)).size, ready])
          return { refused: [], loadedClasses: loading.includes(parts.length - 1) }
        },
      }
      const tasks = Array.from({ length: 2_400 }, (_, i): Task => {
        return { ...TASK, id: i + 1, classId: 1 + (i % 1_200), name: i < 1_200 ? 'half' : 'third' }
      })
      await new Instrumenter(agent as unknown as Agent, { unverified: () => false }).install(tasks, [7, 8])
      assert.deepEqual(parts, [
        [2_000, 1_000, []],
        [400, 200, told],
      ])
    },
  )
})

describe('a method that is timed and hooked for reflection', () => {
  const hook: Task = { ...TASK, id: 0, descriptor: '()I', probe: 'reflection' }
  const timed: Task = { ...TASK, descriptor: '()I' }
  const virtual = assemble({
    method: 'half()I',
    this: true,
    code: 'iconst_2 | ireturn',
    major: 61,
    maxStack: 2,
    maxLocals: 1,
  })
  const installed = async (...batches: Task[][]): Promise<Body | undefined> => {
    const sent: Body[] = []
    const instrumenter = new Instrumenter(agentWith(virtual, sent), { unverified: () => false })
    for (const batch of batches) assert.deepEqual((await instrumenter.install(batch, [])).refusals, [])
    return sent.at(-1)
  }

  it('a method that is timed and hooked for reflection has both probes, whichever probe is installed first', async () => {
    const both = await installed([hook, timed])
    assert.ok(both !== undefined)
    assert.deepEqual(await installed([hook], [timed]), both)
    assert.deepEqual(await installed([timed], [hook]), both)
    assert.notDeepEqual((await installed([timed]))?.code, both.code)
  })
})

describe('a method with probes of two kinds', () => {
  const classFile = () => assemble({ method: 'get(Ljava/lang/Object;)V', code: 'return', maxLocals: 1 })
  const timed: Task = { ...TASK, name: 'get', descriptor: '(Ljava/lang/Object;)V' }
  const told: Task = { ...timed, id: 0, probe: 'reflection' }

  it.each([
    ['requested together', [[timed, told]]],
    ['requested one after the other', [[timed], [told]]],
  ])('a method with probes of two kinds gets both probes: %s', async (_, rounds) => {
    const sent: Body[] = []
    const instrumenter = new Instrumenter(agentWith(classFile(), sent))
    for (const tasks of rounds) assert.deepEqual((await instrumenter.install(tasks, [])).refusals, [])
    assert.deepEqual(instrumenter.takeBack([CLASS_ID]), [timed, told])
    await instrumenter.install([timed, told], [])
    assert.deepEqual(sent.at(-1)!.code, sent[rounds.length - 1]!.code)
  })

  it('a method with probes of two kinds loses both probes if the JVM refuses its code', async () => {
    const instrumenter = new Instrumenter(agentWith(classFile(), []), {
      rewriter: (file, [first]) => ({
        ...instrumentClass(file, []),
        skipped: [{ methodIndex: first!.methodIndex, id: 1, reason: 'no' }],
      }),
    })
    const { refusals } = await instrumenter.install([timed, told], [])
    assert.deepEqual(refusals, [
      { task: timed, reason: 'no' },
      { task: told, reason: 'no' },
    ])
  })
})

describe('an excluded method', () => {
  it('an excluded method gets its original code, and is timed again after the user adds the method', async () => {
    const sent: Body[] = []
    const instrumenter = new Instrumenter(agentWith(half(), sent))
    await instrumenter.install([TASK], [])
    const out = instrumenter.leaveOut(new Set([TASK.id]))
    assert.deepEqual(out, [TASK])
    await instrumenter.install(out, [])
    assert.equal(sent[1]!.code.length, 0)
    assert.deepEqual(instrumenter.leaveOut(new Set([TASK.id])), [])
    // Another agent has redefined the class.
    await instrumenter.install(instrumenter.takeBack([CLASS_ID]), [])
    assert.equal(sent[2]!.code.length, 0)
    await instrumenter.install(instrumenter.leaveOut(new Set()), [])
    assert.deepEqual(sent[3]!.code, sent[0]!.code)
  })

  it('a method that the user excludes stays instrumented if the JVM refuses the change', async () => {
    const sent: Body[] = []
    const instrumenter = new Instrumenter(agentWith(half(), sent))
    await instrumenter.install([TASK], [])
    const before = instrumenter.leftOutMethods
    instrumenter.keepIn(instrumenter.leaveOut(new Set([TASK.id])), before)
    await instrumenter.install(instrumenter.takeBack([CLASS_ID]), [])
    assert.ok(sent[1]!.code.length > 0)
  })

  it('an excluded method stays excluded if the JVM refuses another method of its class', async () => {
    const sent: Body[] = []
    const instrumenter = new Instrumenter(agentWith(half(), sent))
    await instrumenter.install([TASK], [])
    const before = instrumenter.leftOutMethods
    assert.deepEqual(instrumenter.leaveOut(new Set([TASK.id + 1])), [])
    instrumenter.keepIn(instrumenter.takeBack([CLASS_ID]), before)
    assert.equal(instrumenter.leftOutMethods.has(TASK.id), false)
  })
})
