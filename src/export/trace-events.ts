// Traced calls in Chrome's trace event format, JSON array of "traceEvents": https://ui.perfetto.dev, chrome://tracing and
// the Firefox Profiler open it. Only the traced calls are in it: the format knows moments, and no sums.
//
// A thread is a row, named by an "M" event; a call of a method is a pair of "B" and "E"; a hand-over is an arrow, "s" where the
// work was handed over and "f" (bound to the enclosing slice, "bp":"e") where it began. Times are microseconds since
// recording began, with three decimals, compensated. Of two tasks that a thread does one after the other, clocks of different
// calls may make the second begin before the first has ended by some microseconds: then it is put at that end.

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

/** Not negative, as the id of a thread without a name is. */
function numberOf(id: number): number {
  return id < 0 ? 2 ** 31 - 1 + id : id
}

function* events(profile: Profile): Generator<string> {
  const { pid } = profile.target
  const { frame } = frameNames(profile)
  const { calls = [] } = profile.trace ?? {}
  /** By call: numbers of its arrows begin here. */
  const arrows = new Map<TracedCall, number>()
  let before = 0
  for (const call of calls) {
    arrows.set(call, before)
    before += call.tracks.length
  }
  const tracks = calls
    .flatMap((call) => call.tracks.map((track, place) => ({ call, track, place })))
    .sort((a, b) => a.call.startNs + a.track.times[0]! - b.call.startNs - b.track.times[0]!)
  /** By thread: up to when it has events. */
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
        yield `,\n{"ph":"B","name":${name},${when}}`
        if (i === 0 && place > 0) yield `,\n{"ph":"f","bp":"e",${arrow(place)},${when}}`
      } else if (code === LEAVE) yield `,\n{"ph":"E","name":${open.pop()},${when}}`
      else yield `,\n{"ph":"s",${arrow(-code)},${when}}`
    }
    ends.set(thread.id, last)
  }
}
