// Writes the format of https://www.speedscope.app: a table of frames, and a "sampled" profile for all threads or, with `threads`, one per
// thread. A sample is a context; its weight is the context's self cost. Traced calls follow as "evented" profiles. Each call has one
// profile for its own thread, and one for each submitted task. Times are whole nanoseconds since the start of the call, without the cost of
// probes. The format cannot show which thread submitted a task.
// As in collapsed stacks, contexts with a cost that rounds to zero or below are dropped. The schema is
// https://www.speedscope.app/file-format-schema.json.

import { Numbers } from '../base/numbers.ts'
import { metricOf } from '../cct/metric.ts'
import { LEAVE, type TraceTrack } from '../cct/trace.ts'
import type { Tree } from '../cct/tree.ts'
import { elements, jsonText } from '../profile/json-text.ts'
import type { Profile } from '../profile/profile.ts'
import { clean } from '../profile/text.ts'
import type { ExportFormat, ExportOptions } from './format.ts'
import { type FrameNames, frameNames, moveTo, ownCosts, shownFrames, threadTitle, treesOf } from './frames.ts'

/** Maximum number of events in a piece of text. */
const EVENTS = 256

export const speedscope: ExportFormat = {
  name: 'speedscope',
  extension: '.speedscope.json',
  description: 'flame graphs in a browser: https://www.speedscope.app',
  *pieces(profile, options) {
    const frames = new FrameTable(frameNames(profile))
    yield '{"$schema":"https://www.speedscope.app/file-format-schema.json",\n"exporter":"jfluid",\n'
    yield `"name":${jsonText(titleOf(profile))},\n"profiles":[`
    yield* elements(profilesOf(profile, options, frames), (pieces) => pieces)
    // Written after the samples, which determine the frames in use.
    yield '],\n"shared":{"frames":['
    yield* frames.pieces()
    yield ']}}\n'
  },
}

/** Returns a title that identifies the file: "com.acme.Main, 2026-11-21T08:00:00.000Z". */
export function titleOf({ target, startedAt }: Profile): string {
  return clean(`${target.mainClass}, ${startedAt}`)
}

function* sampled(tree: Tree, name: string, frames: FrameTable): Generator<string> {
  const { unit } = metricOf(tree)
  yield `{"type":"sampled","name":${jsonText(name)},"unit":"${unit === 'count' ? 'none' : unit}","samples":[`
  let separator = '\n'
  const path: number[] = []
  const costOf = ownCosts(tree, frames.names)
  const weightOf = (node: number): number => Math.round(costOf(node))
  const numberOf = (node: number): number => frames.of(tree.method[node]!)
  let sum = 0
  for (let i = 0; i < tree.count; i++) {
    moveTo(path, i, tree.size)
    if (weightOf(i) <= 0) continue
    sum += weightOf(i)
    yield `${separator}[${shownFrames(path, numberOf, (text) => frames.of(text)).join(',')}]`
    separator = ',\n'
  }
  yield '],"weights":['
  separator = '\n'
  for (let i = 0; i < tree.count; i++) {
    if (weightOf(i) <= 0) continue
    yield `${separator}${weightOf(i)}`
    separator = ','
  }
  yield `],"startValue":0,"endValue":${sum}}`
}

/** Yields the profiles of the file, each as pieces of text. */
function* profilesOf(
  profile: Profile,
  { threads }: ExportOptions,
  frames: FrameTable,
): Generator<Iterable<string>> {
  for (const { tree, thread } of treesOf(profile, threads)) {
    yield sampled(tree, thread === undefined ? 'all threads' : threadTitle(thread), frames)
  }
  for (const [i, call] of (profile.trace?.calls ?? []).entries()) {
    for (const [place, track] of call.tracks.entries()) {
      yield evented(callTitle(i + 1, place, track, call.slowCall), track, frames)
    }
  }
}

function callTitle(number: number, place: number, track: TraceTrack, slowCall?: number): string {
  const slow = slowCall === undefined ? '' : `, slow call ${slowCall}`
  return `call ${number}${slow}${place === 0 ? '' : `, task ${place}`} in ${clean(track.thread.name)}`
}

function* evented(name: string, { events, times }: TraceTrack, frames: FrameTable): Generator<string> {
  const end = Math.round(times.at(-1) ?? 0)
  yield `{"type":"evented","name":${jsonText(name)},"unit":"nanoseconds","startValue":${Math.round(times[0] ?? 0)},"endValue":${end},"events":[`
  const open: number[] = []
  let separator = '\n'
  let text = ''
  for (let i = 0; i < events.length; i++) {
    const event = events[i]!
    if (event < 0) continue
    if (event > 0) open.push(frames.of(event))
    const frame = open[open.length - 1]!
    if (event === LEAVE) open.pop()
    text += `${separator}{"type":"${event > 0 ? 'O' : 'C'}","frame":${frame},"at":${Math.round(times[i]!)}}`
    separator = ','
    if (i % EVENTS === 0) {
      yield text
      text = ''
    }
  }
  yield `${text}]}`
}

/** Frames, keyed by method or by the text for omitted frames. They are numbered in the order of first use. */
class FrameTable extends Numbers<number | string> {
  readonly names: FrameNames

  constructor(names: FrameNames) {
    super()
    this.names = names
  }

  /** Returns the elements of the list of frames. */
  pieces(): Iterable<string> {
    const nameOf = (frame: number | string) => (typeof frame === 'string' ? frame : this.names.frame(frame))
    return elements(this.keys(), (frame) => jsonText({ name: nameOf(frame) }))
  }
}
