// Traced calls in a `.jfluid` file: key `trace` of the body (file.ts), absent if no calls were traced.
//
//   {asked, ofSlow?: {tooLong}, cutAfter?, leftOut?, calls: [{startNs, state, slowCall?, tracks: [{id, name, events, times}]}]}
//
// This is `Trace` with the members of `thread` inlined. `events` is an i32 array and `times` an f64 array, each as MessagePack `bin`. The
// reader checks the invariants that views rely on: ids have names, every frame has an exit, work is submitted once and by an earlier track,
// and times do not decrease. The writer makes the same checks, since a profile is lost if its file cannot be read.

import { LEAVE, TRACE_STATES, type Trace, type TracedCall, type TraceTrack } from '../cct/trace.ts'
import type { Profile } from './profile.ts'
import {
  bytesOf,
  count,
  fields,
  floats,
  integers,
  list,
  number,
  oneOf,
  optional,
  type Read,
  shape,
  string,
  Unsound,
} from './shape.ts'

/** Removes traced calls that a reader would reject, and adds a warning. Returns the same profile if no call is removed. */
export function withSoundTrace(profile: Profile): Profile {
  const { trace, methodNames, warnings } = profile
  if (trace === undefined) return profile
  const faults = trace.calls.map((call) => faultOf(call, methodNames.length))
  const found = faults.find((it) => it !== null)
  if (found === undefined) return profile
  const calls = trace.calls.filter((_, i) => faults[i] === null)
  const without = trace.calls.length - calls.length
  const warning = `traced calls left out because their events are inconsistent (${found}): ${without}; please report this`
  const leftOut = (trace.leftOut ?? 0) + without
  return { ...profile, trace: { ...trace, leftOut, calls }, warnings: [...warnings, warning] }
}

export function packTrace({ calls, ...facts }: Trace): object {
  return {
    ...facts,
    calls: calls.map(({ tracks, ...call }) => ({
      ...call,
      tracks: tracks.map(({ thread, events, times }) => ({
        ...{ id: thread.id, name: thread.name },
        events: bytesOf(events),
        times: bytesOf(times),
      })),
    })),
  }
}

/** Returns the reader of a trace. @param methods number of method names, including [0] */
export function readTrace(methods: number): Read<Trace> {
  return shape({
    asked: count,
    ofSlow: optional(shape({ tooLong: count })),
    calls: list((value, what) => {
      const call = readCall(value, what)
      const fault = faultOf(call, methods)
      if (fault !== null) throw new Unsound(fault)
      return call
    }),
    cutAfter: optional(count),
    leftOut: optional(count),
  })
}

const readCall: Read<TracedCall> = shape({
  startNs: (value) => (typeof value === 'number' ? value : Number.NaN),
  state: oneOf(TRACE_STATES),
  slowCall: optional(count),
  tracks: list(readTrack),
})

function readTrack(value: unknown, what: string): TraceTrack {
  const { events, times } = fields(value, what)
  const lengthOf = (of: unknown, each: number) => (of instanceof Uint8Array ? of.byteLength / each : 0)
  return {
    thread: shape({ id: number, name: string })(value, what),
    events: integers(Math.floor(lengthOf(events, 4)))(events, `${what}.events`),
    times: floats(Math.floor(lengthOf(times, 8)))(times, `${what}.times`),
  }
}

const NOT_AS_MANY = 'a track of a traced call does not have as many times as events'
const NO_START = 'the start of a traced call is not a number'

/** Returns an inconsistency in a call, or null if there is none. */
function faultOf({ startNs, tracks }: TracedCall, methods: number): string | null {
  if (!Number.isFinite(startNs)) return NO_START
  if (tracks.length === 0) return 'a traced call has no track'
  const isHandedOver = new Uint8Array(tracks.length)
  for (const [at, track] of tracks.entries()) {
    const fault = faultOfTrack(track, at, methods, isHandedOver)
    if (fault !== null) return fault
  }
  return isHandedOver.subarray(1).includes(0) ? 'a track of a traced call has no origin' : null
}

/**
 * Returns a fault of one track, or null. @param isHandedOver  array with 1 for each track that an earlier track has submitted; updated by
 * this function
 */
function faultOfTrack(
  { events, times }: TraceTrack,
  place: number,
  methods: number,
  isHandedOver: Uint8Array,
): string | null {
  if (times.length !== events.length) return NOT_AS_MANY
  let depth = 0
  let before = 0
  for (let i = 0; i < events.length; i++) {
    const event = events[i]!
    const time = times[i]!
    // The negated condition also rejects NaN, unlike `time < before`.
    if (!(time >= before && time < Number.POSITIVE_INFINITY)) return 'the times of a traced call decrease'
    before = time
    if (event >= methods) return 'a traced call has a method without a name'
    if (event > 0) depth++
    else if (event === LEAVE) {
      if (depth-- === 0) return 'a traced call has an exit without an entry'
    } else {
      const to = -event
      if (to <= place || to >= isHandedOver.length || isHandedOver[to] === 1) {
        return 'a traced call submits a task that does not exist'
      }
      isHandedOver[to] = 1
    }
  }
  if (depth > 0) return 'a traced call has an entry without an exit'
  return events.length === 0 ? 'a track of a traced call is empty' : null
}
