// Cost in the client of further facts about root calls, besides their tree: the duration of each call, the trees of the slow calls, and the
// events of the first calls. The program is synthetic (program.mjs), and its events come from memory.
//
// The readers alternate within a round, so that other load on the machine affects all of them. Processor time is measured.

import { CHUNK_EVENTS, program } from './program.mjs'
import { load, spread } from './support.mjs'

const CONTEXTS = 10_000
const EVENTS = 4_000_000
const ROUNDS = 7
const COSTS = { innerTicks: 3, outerTicks: 2 }
const OPEN = { mayBegin: () => true, mayTakeUp: () => true }
const SECOND_TICKS = 1e9

export async function rootCalls() {
  const { CctBuilder } = await load('cct/builder.js')
  const { Course } = await load('cct/course.js')
  const { Tracer } = await load('cct/tracer.js')
  const { decodeEvents, WriterState } = await load('events/decode.js')

  const played = program(CONTEXTS)
  const reader = (name, set) => {
    const builder = new CctBuilder()
    const course = new Course()
    const sink = set(builder, course) ?? builder
    const states = Array.from({ length: played.threads + 1 }, (_, i) => new WriterState(i))
    const feed = (pieces) => {
      for (const [thread, words] of pieces)
        for (let from = 0; from < words.length; from += CHUNK_EVENTS * 2) {
          const to = Math.min(from + CHUNK_EVENTS * 2, words.length)
          if (decodeEvents(words, from, to, states[thread], sink, OPEN) !== to)
            throw new Error('unknown event')
        }
    }
    return { name, feed, builder, course, rates: [] }
  }
  const readers = [
    reader('the tree alone', () => undefined),
    reader('how long each call took', (it, course) => void it.timeRoots(COSTS, course)),
    reader('trees of calls above p99', (it, course) => {
      it.timeRoots(COSTS, course)
      it.keepSlow('p99')
    }),
    reader('trees of all calls (threshold 0)', (it, course) => {
      it.timeRoots(COSTS, course)
      it.keepSlow(0)
    }),
    reader('100 calls traced, which are over', (it, course) => {
      it.timeRoots(COSTS, course)
      return new Tracer(it, 100)
    }),
  ]
  const discovery = played.discover()
  for (const { feed } of readers) feed(discovery)
  for (let round = 0; round < ROUNDS + 1; round++) {
    const pieces = played.run(EVENTS)
    for (const { feed, rates, course, builder } of readers) {
      course.tick(round * 1000, 0, 0)
      const begun = process.cpuUsage()
      feed(pieces)
      const { user, system } = process.cpuUsage(begun)
      if (round > 0) rates.push((pieces.length * CHUNK_EVENTS) / (user + system))
      if (builder.contexts < CONTEXTS * 0.9) throw new Error('a context is missing')
    }
  }
  const timed = readers[1].builder.rootCalls.state()
  const events = (ROUNDS + 1) * EVENTS
  console.log(
    `  ${timed.count} root calls, ${Math.round(events / timed.count)} events each; M events a second, ${ROUNDS} rounds: min, median, max; against the tree alone`,
  )
  for (const { name, rates } of readers) {
    const ratios = rates.map((rate, round) => readers[0].rates[round] / rate)
    console.log(`  ${name.padEnd(34)} ${spread(rates, 1, 6)}    time x ${spread(ratios, 2, 5)}`)
  }
  if (timed.sum > SECOND_TICKS * 1e6) throw new Error('times are out of order')
}
