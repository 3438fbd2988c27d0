// Traced calls for tests, in the notation of test/cct/trace.test.ts:
//
//   main> 0 hand 1 5 get> 5 get< 20 main< 22 | run> 6 run< 19
//
// is a call whose first track submits track 1 at 5 ns. Track k belongs to thread k + 1, named "t1", "t2" …

import type { Trace, TracedCall, TraceState } from '../../src/cct/trace.ts'
import type { Methods } from './trees.ts'

export function callOf(text: string, methods: Methods, startNs = 0, state: TraceState = 'whole'): TracedCall {
  const tracks = text.split('|').map((track, k) => {
    const events: number[] = []
    const times: number[] = []
    for (const [, name, mark, hand, time] of track.matchAll(
      /(?:([^\s<>]+)([<>])|hand (\d+)) (NaN|[\d.]+)/g,
    )) {
      events.push(hand !== undefined ? -Number(hand) : mark === '>' ? methods.id(name!) : 0)
      times.push(Number(time))
    }
    return {
      thread: { id: k + 1, name: `t${k + 1}` },
      events: Int32Array.from(events),
      times: Float64Array.from(times),
    }
  })
  return { startNs, state, tracks }
}

export function traceOf(methods: Methods, ...calls: readonly string[]): Trace {
  return { asked: calls.length, calls: calls.map((text, i) => callOf(text, methods, i * 1e6)) }
}
