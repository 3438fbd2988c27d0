// The order of answers and redefinitions when classes are loaded during a redefinition, as a log of requests to the target.

import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it, vi } from 'vitest'
import type { MethodTarget } from '../../../src/reveal/method-ids.ts'
import type { Revelation } from '../../../src/reveal/revealer.ts'
import { ClassLoads } from '../../../src/session/code/class-loads.ts'
import { Installation, type Workshop } from '../../../src/session/code/installation.ts'
import { Instrumenter, type Task } from '../../../src/session/code/instrumenter.ts'
import { TargetClasses } from '../../../src/session/target-classes.ts'
import { Turns } from '../../../src/session/turns.ts'
import type { Agent, LoadAnswer } from '../../../src/wire/agent.ts'

/** The class that is redefined for calls of other methods; it was loaded before the session. */
const OLD = 1

const method = (classId: number, id: number): MethodTarget => ({
  ...{
    id,
    classId,
    methodIndex: 0,
    className: `c/C${classId}`,
    name: `m${id}`,
    descriptor: '()V',
    root: false,
  },
})
/** Revelation of a loaded class: its method 10 + classId calls method 100 + classId of OLD. */
const leadingOn = (classId: number, ...more: Partial<Revelation>[]): Revelation =>
  Object.assign(
    {
      instrument: [method(classId, 10 + classId), method(OLD, 100 + classId)],
      ready: [10 + classId, 100 + classId],
      ...{ skipped: [], reflection: false },
    },
    ...more,
  )

describe('a class that waits in its load hook', () => {
  let log: string[]
  let revelations: Map<number, Revelation>
  let inherits: boolean
  let redefined: () => void
  let slow: () => void
  let turns: Turns
  let installation: Installation
  let loads: ClassLoads

  beforeEach(() => {
    vi.useFakeTimers()
    log = []
    revelations = new Map()
    inherits = false
    redefined = () => assert.fail('nothing is being redefined')
    const agent = {
      swapIsSlow: false,
      whenSwapIsSlow(told: () => void) {
        slow = () => {
          this.swapIsSlow = true
          told()
        }
      },
      loadHook: (hook: number, answer: LoadAnswer | null) =>
        log.push(answer === null ? `hook ${hook} as it is` : `hook ${hook}, ready: ${answer.ready}`),
      loadedClasses: async () => ({ loaders: [], classes: [] }),
    }
    const instrumenter = Object.assign(new Instrumenter(agent as unknown as Agent), {
      atLoad: (_id: number, _bytes: Uint8Array, _own: readonly Task[], ready: readonly number[]) => ({
        answer: { poolEntries: 0, poolBytes: new Uint8Array(0), bodies: [], ready, highestId: 0 },
        refusals: [],
      }),
      // A redefinition lasts until the test ends it; the other steps take no time.
      install: async (tasks: readonly Task[], ready: readonly number[]) => {
        if (tasks.length > 0) {
          log.push(`redefining for ${tasks.map((it) => it.id)}`)
          await new Promise<void>((resolve) => {
            redefined = resolve
          })
          agent.swapIsSlow = false
        }
        log.push(`${tasks.length > 0 ? 'redefined, ' : ''}ready: ${ready}`)
        return { refusals: [], results: [] }
      },
    })
    turns = new Turns((error) => log.push(String(error)))
    const workshop = {
      ...{ agent, instrumenter, turns, classes: new TargetClasses() },
      revealer: {
        classLoading: ({ id }: { id: number }) => {
          const revelation = revelations.get(id)
          if (revelation === undefined) throw new Error(`nothing is known of ${id}`)
          return revelation
        },
        classes: { inherits: () => inherits },
      },
    } as unknown as Workshop
    installation = new Installation(workshop)
    loads = new ClassLoads(workshop, installation, (error) => log.push(String(error)))
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  const settled = () => vi.advanceTimersByTimeAsync(1)
  const load = (id: number, urgent = false): Promise<unknown> => {
    loads.loading({ hook: id, id, loader: 7, name: `c/C${id}`, bytes: new Uint8Array(0), urgent })
    return settled()
  }

  it('the load hook of a class returns after callees of the class in other classes are instrumented', async () => {
    revelations.set(2, leadingOn(2))
    await load(2)
    assert.deepEqual(log, ['redefining for 102'])
    redefined()
    await settled()
    assert.deepEqual(log, ['redefining for 102', 'redefined, ready: 102', 'hook 2, ready: 12'])
    assert.equal(installation.lateClasses, 0)
  })

  it('the load hook of a class returns early during a slow redefinition, and the first calls of methods of this class wait', async () => {
    revelations.set(2, leadingOn(2))
    await load(2)
    slow()
    await settled()
    assert.deepEqual(log, ['redefining for 102', 'hook 2, ready: '])
    redefined()
    await settled()
    assert.deepEqual(log.slice(2), ['redefined, ready: 102', 'ready: 12'])
    assert.equal(installation.lateClasses, 0)
  })

  it('the load hook waits longer for a class that inherits methods, and reports the class as late after a timeout', async () => {
    inherits = true
    revelations.set(2, leadingOn(2))
    await load(2)
    slow()
    await vi.advanceTimersByTimeAsync(140)
    assert.deepEqual(log, ['redefining for 102'])
    await vi.advanceTimersByTimeAsync(20)
    assert.deepEqual(log, ['redefining for 102', 'hook 2, ready: '])
    assert.equal(installation.lateClasses, 1)
    redefined()
    await settled()
  })

  it('the load hook of a class returns before earlier requests finish if a slow redefinition may wait for that class', async () => {
    revelations.set(2, leadingOn(2))
    revelations.set(3, leadingOn(3))
    await load(2)
    await load(3)
    assert.deepEqual(log, ['redefining for 102'])
    slow()
    await settled()
    assert.deepEqual(log, ['redefining for 102', 'hook 2, ready: ', 'hook 3, ready: '])
    // The callees of classes 3 and 4 are installed before methods 13 and 14 are ready, and before another redefinition begins.
    revelations.set(4, leadingOn(4))
    await load(4)
    redefined()
    await settled()
    assert.deepEqual(log.slice(3), [
      'hook 4, ready: ',
      ...['redefined, ready: 102', 'ready: 12', 'redefining for 103,104'],
    ])
    redefined()
    await settled()
    assert.deepEqual(log.slice(7), ['redefined, ready: 13,14,103,104'])
    redefined()
    await settled()
    assert.equal(installation.lateClasses, 0)
  })

  it('the load hook of a class does not wait before recording starts', async () => {
    inherits = true
    let goOn = () => {}
    const turn = turns.enqueue(() => new Promise((resolve) => (goOn = resolve)))
    revelations.set(2, leadingOn(2))
    revelations.set(3, leadingOn(3))
    await load(2)
    assert.deepEqual(log, [])
    let begin = () => {}
    const begun = loads.beforeRecording(() => new Promise((resolve) => (begin = resolve)))
    await load(3)
    assert.deepEqual(log, ['hook 2, ready: ', 'hook 3, ready: '])
    begin()
    await begun
    goOn()
    await turn
    await settled()
    assert.deepEqual(log.slice(2), ['redefining for 102,103'])
    redefined()
    await settled()
    assert.equal(installation.lateClasses, 0)
  })

  it('the load hook of a class does not wait if the redefinition itself loads the class', async () => {
    inherits = true
    revelations.set(2, leadingOn(2))
    revelations.set(3, leadingOn(3))
    await load(2)
    await load(3, true)
    assert.deepEqual(log, ['redefining for 102', 'hook 3, ready: '])
    redefined()
    await settled()
    // The thread that runs the method waits for the redefinition that loaded the class, so no call is missed.
    assert.equal(installation.lateClasses, 0)
  })

  it('a class whose analysis fails is loaded unchanged', async () => {
    await load(5)
    assert.deepEqual(log, ['hook 5 as it is', 'Error: nothing is known of 5'])
    // The load-hook request of the next class is answered as usual.
    revelations.set(2, leadingOn(2, { instrument: [method(2, 12)], ready: [12] }))
    await load(2)
    assert.deepEqual(log.slice(2), ['hook 2, ready: 12'])
  })
})
