// Distribution of words between the two builders, if threads keep their own trees.

import { expect, it } from 'vitest'
import { CctBuilder } from '../../src/cct/builder.ts'
import { RootsApart } from '../../src/cct/roots-apart.ts'
import { decodeEvents, type ThreadGate, WriterState } from '../../src/events/decode.ts'
import { CONTROL_ADJUST, CONTROL_ROOT } from '../../src/events/event-layout.ts'
import { controlWord, enterWord, exitWord, threadWord } from '../events/fake-target.ts'
import { idOf, show, threadsOf, treeOf } from './notation.ts'

const CARRIER = 2
const VIRTUAL = 9
const MAIN = idOf('main')
const WORK = idOf('work')
const ROOT = controlWord(CONTROL_ROOT)
const OPEN: ThreadGate = { mayBegin: () => true, mayTakeUp: () => true }

function apart() {
  const [roots, all] = [new CctBuilder(), new CctBuilder()]
  const sink = new RootsApart(roots, all)
  const writer = new WriterState(CARRIER)
  const read = (...words: [number, number][]): void => {
    const flat = Uint32Array.from(words.flat())
    expect(decodeEvents(flat, 0, flat.length, writer, sink, OPEN)).toBe(flat.length)
  }
  return { roots, all, sink, read }
}

it("calls that a carrier thread makes inside a root are in the carrier's own tree; only calls of virtual threads are recorded by events", () => {
  const { roots, all, sink, read } = apart()
  read(
    ...[ROOT, enterWord(MAIN, 0)],
    ...[threadWord(VIRTUAL, 0), ROOT, enterWord(WORK, 10), exitWord(WORK, 12)],
    // The carrier's thread number is written again after the events of the virtual thread, as in a switch to any other thread.
    ...[threadWord(CARRIER, 0), exitWord(MAIN, 20)],
  )
  expect(show(treeOf(all))).toBe('work 1x 2ns')
  expect(show(treeOf(roots))).toBe('main 1x 20ns')
  expect(threadsOf(all)).not.toContain(CARRIER)
  expect([sink.openCalls, sink.healed, all.healed]).toEqual([0, 0, 0])
})

it("if a read ends within a virtual thread's segment, the next read continues in that segment", () => {
  const { roots, all, read } = apart()
  read(threadWord(VIRTUAL, 0), ROOT, enterWord(WORK, 10))
  read(exitWord(WORK, 12))
  expect(show(treeOf(all))).toBe('work 1x 2ns')
  expect(show(treeOf(roots))).toBe('')
})

it("the activity of a thread is read from the thread's tree, and events show whether the thread is inside a root", () => {
  const { roots, all, sink, read } = apart()
  for (const builder of [roots, all]) builder.nowMs = 0
  read(ROOT, enterWord(MAIN, 0))
  all.addTo(CARRIER, all.contextOf(CARRIER, 0, MAIN), 7, 0)
  for (const builder of [roots, all]) builder.nowMs = 1000
  const { inside, perSecond } = sink.activityOf(CARRIER)
  expect([inside, perSecond.at(-1)]).toEqual([1, 7])
  sink.reset(undefined)
  expect(sink.activityOf(CARRIER).inside).toBe(1) // the carrier's position is unchanged
})

it('time for which jfluid stalled threads is reported only once, in the total of all threads', () => {
  const { roots, all, read } = apart()
  read(ROOT, enterWord(MAIN, 0), controlWord(CONTROL_ADJUST, 5), exitWord(MAIN, 20))
  expect([roots.waitTicks, all.waitTicks]).toEqual([0, 5])
})
