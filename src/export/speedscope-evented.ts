// Traced calls as "evented" profiles of speedscope: for each call a profile of its own thread, and one for each piece of
// work that was handed over, all on the time of the call. What handed it over the format cannot say.
//
// Times are compensated nanoseconds since the call began, a whole number each.

import { LEAVE, type TraceTrack } from '../cct/trace.ts'
import { jsonText } from '../profile/json-text.ts'
import type { Profile } from '../profile/profile.ts'
import { clean } from '../profile/text.ts'
import type { FrameTable } from './speedscope.ts'

/** Events in a piece of text. */
const EVENTS = 256

/** One profile of the file each, without what separates them. */
export function* tracedProfiles({ trace }: Profile, frames: FrameTable): Generator<Iterable<string>> {
  for (const [i, call] of (trace?.calls ?? []).entries()) {
    for (const [place, track] of call.tracks.entries()) {
      yield evented(nameOf(i + 1, place, track), track, frames)
    }
  }
}

function nameOf(number: number, place: number, track: TraceTrack): string {
  return `call ${number}${place === 0 ? '' : `, task ${place}`} in ${clean(track.thread.name)}`
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
    if (event > 0) open.push(frames.ofMethod(event))
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
