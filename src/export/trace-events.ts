// Writes traced calls in Chrome's trace event format, a JSON array "traceEvents", for https://ui.perfetto.dev, chrome://tracing and the
// Firefox Profiler. The file contains traced calls only, since the format consists of events with times, and has no sums.
// A thread is a row, named by an "M" event. A call of a method is a pair of "B" and "E". A submitted task is an arrow, from "s" at the
// submission to "f" at the start of the task ("bp":"e" binds the arrow to the enclosing slice). Times are microseconds since the start of
// the recording with three decimals, without the cost of probes. Each root call has its own clock. The second of two consecutive tasks of a
// thread may therefore appear to begin some microseconds before the end of the first. It is then moved to the end of the first task.

import { LEAVE, type TracedCall } from '../cct/trace.ts'
import { jsonText } from '../profile/json-text.ts'
import type { Profile } from '../profile/profile.ts'
import { clean } from '../profile/text.ts'
import type { ExportFormat } from './format.ts'
import { frameNames } from './frames.ts'
import { titleOf } from './speedscope.ts'

export const traceEvents: ExportFormat = {
  name: 'trace-events',
  extension: '.trace.json',
  description: 'traced calls over time: https://ui.perfetto.dev, chrome://tracing',
  needsTrace: true,
  *pieces(profile) {
    const { pid } = profile.target
    yield '{"displayTimeUnit":"ns","traceEvents":[\n'
    yield `{"ph":"M","name":"process_name","pid":${pid},"tid":0,"args":{"name":${jsonText(titleOf(profile))}}}`
    for (const { id, name } of threadsOf(profile)) {
      yield `,\n{"ph":"M","name":"thread_name","pid":${pid},"tid":${id},"args":{"name":${jsonText(clean(name))}}}`
    }
    yield* events(profile)
    yield '\n]}\n'
  },
}

function threadsOf({ trace }: Profile): Iterable<{ id: number; name: string }> {
  const found = new Map<number, { id: number; name: string }>()
  for (const { tracks } of trace?.calls ?? []) {
    for (const { thread } of tracks) found.set(thread.id, { id: numberOf(thread.id), name: thread.name })
  }
  return found.values()
}

/** Returns a nonnegative id for the file, since a thread without a name has a negative id. */
function numberOf(id: number): number {
  return id < 0 ? 2 ** 31 - 1 + id : id
}

function* events(profile: Profile): Generator<string> {
  const { pid } = profile.target
  const { frame } = frameNames(profile)
  const { calls = [] } = profile.trace ?? {}
  /** Per call: number of its first arrow. */
  const arrows = new Map<TracedCall, number>()
  let before = 0
  for (const call of calls) {
    arrows.set(call, before)
    before += call.tracks.length
  }
  const tracks = calls
    .flatMap((call) => call.tracks.map((track, place) => ({ call, track, place })))
    .sort((a, b) => a.call.startNs + a.track.times[0]! - b.call.startNs - b.track.times[0]!)
  /** Per thread: end of its latest event. */
  const ends = new Map<number, number>()
  for (const { call, track, place } of tracks) {
    const { thread, events: codes, times } = track
    const where = `"pid":${pid},"tid":${numberOf(thread.id)}`
    const base = arrows.get(call) ?? 0
    const arrow = (to: number) => `"id":${base + to},"name":"handed over","cat":"task"`
    const open: string[] = []
    let last = ends.get(thread.id) ?? 0
    for (let i = 0; i < codes.length; i++) {
      const code = codes[i]!
      last = Math.max(last, call.startNs + times[i]!)
      const when = `"ts":${(last / 1000).toFixed(3)},${where}`
      if (code > 0) {
        const name = jsonText(frame(code))
        open.push(name)
        const isSlow = i === 0 && place === 0 && call.slowCall !== undefined
        const slow = isSlow ? `,"args":{"slow call":${call.slowCall}}` : ''
        yield `,\n{"ph":"B","name":${name},${when}${slow}}`
        if (i === 0 && place > 0) yield `,\n{"ph":"f","bp":"e",${arrow(place)},${when}}`
      } else if (code === LEAVE) yield `,\n{"ph":"E","name":${open.pop()},${when}}`
      else yield `,\n{"ph":"s",${arrow(-code)},${when}}`
    }
    ends.set(thread.id, last)
  }
}
