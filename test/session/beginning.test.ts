// Warnings of a session before it records: here for a JDK with unknown method handle classes.

import { expect, it } from 'vitest'
import { HANDLE_MEMBER_CLASS } from '../../src/instrument/handle-members.ts'
import { beginBelowRoots, instrumentingPhase } from '../../src/session/beginning.ts'
import type { Task } from '../../src/session/code/instrumenter.ts'
import type { Engine } from '../../src/session/engine.ts'
import type { Pulse } from '../../src/session/pulse.ts'
import { Turns } from '../../src/session/turns.ts'
import { assemble } from '../instrument/assembler.ts'

/** A target whose only known class is the one that implements method handles. */
class FakeEngine {
  readonly warnings = new Set<string>()
  readonly first: Task[] = []
  readonly facts = { feature: 99, keepsCode: false }
  readonly options = { scheme: 'a', include: [], exclude: [] }
  readonly door = { woken: true }
  readonly byHand = { watchesJdk: false }
  readonly regionTable = null
  readonly timeRoots = () => {}
  readonly beginSlow = async () => {}
  readonly traceIds = { isDue: () => false }
  readonly agent = { enable: async () => {}, watch: async () => {}, go: async () => {} }
  readonly turns = new Turns((error) => expect.fail(String(error)))
  readonly classes = { bootClasses: new Map([[HANDLE_MEMBER_CLASS, 1]]) }
  readonly instrumenter: { classBytes(): Promise<Uint8Array[]> }
  readonly classLoads = { beforeRecording: (prepare: () => Promise<void>) => prepare() }
  readonly revealer = {
    start: async () => ({ instrument: [], ready: [], skipped: [], reflection: false }),
    roots: { progress: () => [] },
  }
  readonly installation = {
    ...{ refreshClasses: async () => {}, begin: async () => {}, catchUp: async () => {} },
    withFirst: (tasks: readonly Task[]) => this.first.push(...tasks),
  }

  constructor(handles: Uint8Array) {
    this.instrumenter = { classBytes: async () => [handles] }
  }
}

/** @param methods  methods of the class that implements method handles */
async function begin([method, ...copies]: readonly string[]): Promise<FakeEngine> {
  const handles = assemble({ className: HANDLE_MEMBER_CLASS, method, copies, code: 'aconst_null | areturn' })
  const engine = new FakeEngine(handles.bytes)
  const pulse = { readStatus: async () => {} } as unknown as Pulse
  let isRecording = false
  await beginBelowRoots(
    engine as unknown as Engine,
    pulse,
    () => {},
    () => {
      isRecording = true
    },
  )
  expect(isRecording).toBe(true)
  return engine
}

const MEMBERS = ['internalMemberName', 'internalMemberNameEnsureInit', 'constructorMethod'].map(
  (name) => `${name}(Ljava/lang/Object;)Ljava/lang/Object;`,
)
const WARNING = 'calls through method handles may be missing: jfluid does not know how JDK 99 implements them'

it('known method handle classes of a JDK are instrumented first, without a warning', async () => {
  const { first, warnings } = await begin(MEMBERS)
  expect(first.map(({ name, probe }) => [name, probe])).toEqual([
    ['internalMemberName', 'handle-member'],
    ['internalMemberNameEnsureInit', 'handle-member'],
    ['constructorMethod', 'handle-member'],
  ])
  expect([...warnings]).toEqual([])
})

it('if one of the known methods that resolve method handles is missing in a JDK, the other probes are installed, and a warning is shown', async () => {
  const { first, warnings } = await begin(MEMBERS.slice(0, 2))
  expect(first.map(({ name }) => name)).toEqual(['internalMemberName', 'internalMemberNameEnsureInit'])
  expect([...warnings]).toEqual([WARNING])
})

it('a warning is shown if the JDK has none of the known methods that resolve method handles', async () => {
  const { first, warnings } = await begin(['memberOf(Ljava/lang/Object;)Ljava/lang/Object;'])
  expect(first).toEqual([])
  expect([...warnings]).toEqual([WARNING])
})

it.each([
  [17, {}, / the JVM \(JDK 17\) discards all its compiled code now .*; this happens only once$/],
  [22, { hadAgent: false }, / the JVM \(JDK 22\) discards /],
  [
    17,
    { hadAgent: true },
    / the JVM \(JDK 17\) may discard .*, unless another agent has redefined a class before$/,
  ],
  [17, { woken: true, hadAgent: true }, / the JVM \(JDK 17\) discards /], // jfluid's own agent, which has redefined no class
  [17, { woken: true, hadAgent: true, keepsCode: true }, /^instrumenting$/],
  [23, {}, /^instrumenting$/],
])('JDK %s, %j: the effect of the first redefinition is announced', (feature, given, told) => {
  const { keepsCode = false, ...door } = given as { keepsCode?: boolean }
  const engine = { facts: { feature, keepsCode }, door: { woken: false, ...door }, options: {} }
  expect(instrumentingPhase(engine as unknown as Engine)).toMatch(told)
})
