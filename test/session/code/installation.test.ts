// Classes and methods found while the first probes are installed get their probes before recording starts.

import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it, vi } from 'vitest'
import type { ClassInfo } from '../../../src/base/class-info.ts'
import type { MethodTarget } from '../../../src/reveal/method-ids.ts'
import type { Revelation } from '../../../src/reveal/revealer.ts'
import { Installation, type Workshop } from '../../../src/session/code/installation.ts'
import { Instrumenter, type Task } from '../../../src/session/code/instrumenter.ts'
import { TargetClasses } from '../../../src/session/target-classes.ts'
import { Turns } from '../../../src/session/turns.ts'
import type { Agent } from '../../../src/wire/agent.ts'

const method = (classId: number, id: number): MethodTarget => ({
  ...{ id, classId, methodIndex: 0, className: `c/C${classId}` },
  ...{ name: `m${id}`, descriptor: '()V', root: false },
})
const found = (...instrument: MethodTarget[]): Revelation => ({
  ...{ instrument, ready: instrument.map(({ id }) => id), skipped: [], reflection: false },
})
const loaded = (id: number): ClassInfo => ({
  ...{ id, name: `c/C${id}`, loader: 7, superId: 0, interfaceIds: [], access: 0, flags: 0, nestHost: 0 },
})

describe('the installation of probes before recording begins', () => {
  let installed: number[][]
  /** Reason for which the JVM refuses the bodies; undefined if it accepts them. */
  let refusal: string | undefined
  /** Successive answers to the requests for new classes; later answers are empty. */
  let answers: Revelation[]
  /** Contents of each list of loaded classes. */
  let lists: ClassInfo[][]
  let classes: TargetClasses
  let installation: Installation

  beforeEach(() => {
    vi.useFakeTimers()
    installed = []
    refusal = undefined
    answers = []
    lists = []
    const listClasses = async () => ({ loaders: [], classes: lists.shift() ?? [] })
    const instrumenter = Object.assign(new Instrumenter({} as unknown as Agent), {
      install: async (tasks: readonly Task[]) => {
        installed.push(tasks.map(({ id }) => id))
        const reason = refusal
        return { refusals: reason === undefined ? [] : tasks.map((task) => ({ task, reason })), results: [] }
      },
    })
    classes = new TargetClasses()
    installation = new Installation({
      ...{ listClasses, followsLoads: true, instrumenter, classes },
      turns: new Turns((error) => assert.fail(String(error))),
      revealer: {
        ...{ addClasses: () => {}, refused: () => {} },
        classesAppeared: async () => answers.shift() ?? found(),
      },
    } as unknown as Workshop)
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  it('callees of a method that the JVM refuses are instrumented', async () => {
    await installation.begin([found(method(1, 1))])
    answers = [found(method(1, 2)), found(method(1, 3))]
    await installation.catchUp()
    assert.deepEqual(installed, [[1], [2], [3]])
  })

  it('priority probes are part of the first redefinition only', async () => {
    const first: Task = { ...method(9, 9), probe: 'handle-member' }
    installation.withFirst([first])
    await installation.begin([found(method(1, 1))])
    answers = [found(method(1, 2))]
    await installation.catchUp()
    assert.deepEqual(installed, [[9, 1], [2]])
  })

  it('priority probes with a condition are part of the first redefinition that needs them', async () => {
    const first: Task = { ...method(9, 9), probe: 'handle-member' }
    installation.withFirst([first], async (tasks) => tasks.some(({ id }) => id === 2))
    await installation.apply([found(method(1, 1))])
    await installation.apply([found(method(1, 2))])
    await installation.apply([found(method(1, 2))])
    assert.deepEqual(installed, [[1], [9, 2], [2]])
  })

  it('priority probes are installed alone if there is nothing else to instrument', async () => {
    installation.withFirst([{ ...method(9, 9), probe: 'handle-member' }])
    await installation.begin([])
    assert.deepEqual(installed, [[9]])
  })

  it('if the JVM refuses probes for method handle calls, a warning reports that such calls may be missing', async () => {
    refusal = 'its bytes have changed since it was analysed'
    installation.withFirst([{ ...method(9, 9), probe: 'handle-member' }])
    await installation.begin([])
    assert.ok(
      installation.warnings.includes(
        `calls through method handles may be missing: the JDK classes for them could not be changed (${refusal})`,
      ),
      installation.warnings.join('\n'),
    )
  })

  it('no warning mentions method handles if the JVM refuses another method', async () => {
    refusal = 'its bytes have changed since it was analysed'
    await installation.begin([found(method(1, 1))])
    assert.deepEqual(
      installation.warnings.filter((it) => it.includes('method handles')),
      [],
    )
  })

  it('methods of a class that is not yet completely defined are instrumented later and not counted as missing', async () => {
    classes.comes(2, 7)
    await installation.begin([found(method(1, 1), method(2, 2))])
    assert.deepEqual(installed, [[1]])
    lists = [[loaded(2)]]
    await installation.catchUp()
    assert.deepEqual(installed, [[1], [2]])
    await vi.advanceTimersByTimeAsync(10)
    assert.deepEqual(installed, [[1], [2]])
    assert.equal(installation.lateClasses, 0)
  })

  it('methods found for a class whose load hook returned out of order are instrumented', async () => {
    await installation.begin([])
    installation.addRest(found(method(1, 4)), [])
    await installation.catchUp()
    assert.deepEqual(installed, [[4]])
  })

  it('a program that constantly loads classes does not delay the start forever', async () => {
    await installation.begin([])
    answers = Array.from({ length: 100 }, (_, i) => found(method(1, i + 1)))
    await installation.catchUp()
    assert.ok(installed.length > 1 && installed.length < 20, `${installed.length} rounds`)
  })
})
