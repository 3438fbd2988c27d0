// Traced calls in a `.jfluid` file: key `trace` of the body (file.ts), absent if no calls were traced.
//
//   {asked, cutAfter?, leftOut?, calls: [{startNs, state, tracks: [{id, name, events, times}]}]}
//
// is `Trace` with `thread` unfolded; `events` is an i32 array and `times` an f64 array, each as MessagePack `bin`. A reader
// checks what views rely on: ids have names, every frame is left, work is handed over once and by an earlier track, and
// times do not decrease. So does a writer, by the same code: a file that could not be opened would be a profile lost.

import {
  LEAVE,
  TRACE_STATES,
  type Trace,
  type TracedCall,
  type TraceState,
  type TraceTrack,
} from '../cct/trace.ts'
import type { Profile } from './profile.ts'

/** The profile without traced calls that a reader would refuse; itself if there are none, and with a warning otherwise. */
export function withSoundTrace(profile: Profile): Profile {
  const { trace, methodNames, warnings } = profile
  if (trace === undefined) return profile
  const faults = trace.calls.map((call) => faultOf(call, methodNames.length))
  const found = faults.find((it) => it !== null)
  if (found === undefined) return profile
  const calls = trace.calls.filter((_, i) => faults[i] === null)
  const without = trace.calls.length - calls.length
  const warning = `traced calls left out, as they contradict themselves (${found}): ${without}; please report this`
  const leftOut = (trace.leftOut ?? 0) + without
  return { ...profile, trace: { ...trace, leftOut, calls }, warnings: [...warnings, warning] }
}

export function packTrace({ calls, ...facts }: Trace): object {
  const bytes = (of: Int32Array | Float64Array) => new Uint8Array(of.buffer, of.byteOffset, of.byteLength)
  return {
    ...facts,
    calls: calls.map(({ tracks, ...call }) => ({
      ...call,
      tracks: tracks.map(({ thread, events, times }) => ({
        ...{ id: thread.id, name: thread.name },
        ...{ events: bytes(events), times: bytes(times) },
      })),
    })),
  }
}

/**
 * @param methods how many method names there are, [0] included
 * @param bad     the error that says what is wrong with the file
 */
export function readTrace(value: unknown, methods: number, bad: (what: string) => Error): Trace {
  const trace = fields(value, 'trace', bad)
  return {
    asked: whole(trace.asked, 'trace.asked', bad),
    calls: list(trace.calls, 'trace.calls', bad).map((each) => readCall(each, methods, bad)),
    ...(trace.cutAfter !== undefined && { cutAfter: whole(trace.cutAfter, 'trace.cutAfter', bad) }),
    ...(trace.leftOut !== undefined && { leftOut: whole(trace.leftOut, 'trace.leftOut', bad) }),
  }
}

type Bad = (what: string) => Error

function readCall(value: unknown, methods: number, bad: Bad): TracedCall {
  const call = fields(value, 'a traced call', bad)
  const state = TRACE_STATES.find((it): it is TraceState => it === call.state)
  if (state === undefined) throw bad(`the state of a traced call is none of ${TRACE_STATES.join(', ')}`)
  if (typeof call.startNs !== 'number') throw bad(NO_START)
  const tracks = list(call.tracks, 'tracks of a traced call', bad).map((each) => readTrack(each, bad))
  const read = { startNs: call.startNs, state, tracks }
  const fault = faultOf(read, methods)
  if (fault !== null) throw bad(fault)
  return read
}

const NOT_AS_MANY = 'a track of a traced call does not have as many times as events'
const NO_START = 'the start of a traced call is not a number'

/** What contradicts itself in a call, null if nothing does. */
function faultOf({ startNs, tracks }: TracedCall, methods: number): string | null {
  if (!Number.isFinite(startNs)) return NO_START
  if (tracks.length === 0) return 'a traced call has no track'
  const isHandedOver = new Uint8Array(tracks.length)
  for (const [at, track] of tracks.entries()) {
    const fault = faultOfTrack(track, at, methods, isHandedOver)
    if (fault !== null) return fault
  }
  return isHandedOver.subarray(1).includes(0) ? 'a track of a traced call comes from nowhere' : null
}

function readTrack(value: unknown, bad: Bad): TraceTrack {
  const { id, name, events, times } = fields(value, 'a track of a traced call', bad)
  if (typeof id !== 'number' || !Number.isSafeInteger(id) || typeof name !== 'string') {
    throw bad('a track of a traced call has no thread')
  }
  if (!(events instanceof Uint8Array) || !(times instanceof Uint8Array)) {
    throw bad('a track of a traced call has no events')
  }
  if (events.byteLength % 4 !== 0 || times.byteLength !== events.byteLength * 2) {
    throw bad(NOT_AS_MANY)
  }
  return {
    thread: { id, name },
    events: new Int32Array(copied(events)),
    times: new Float64Array(copied(times)),
  }
}

/** @param isHandedOver by track: whether one before it hands it over; this one adds its own */
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
    // Not `time < before`: that is false of what is no number.
    if (!(time >= before && time < Number.POSITIVE_INFINITY)) return 'a traced call runs backwards'
    before = time
    if (event >= methods) return 'a traced call has a method without a name'
    if (event > 0) depth++
    else if (event === LEAVE) {
      if (depth-- === 0) return 'a traced call leaves what it has not entered'
    } else {
      const to = -event
      if (to <= place || to >= isHandedOver.length || isHandedOver[to] === 1) {
        return 'a traced call hands over what is not there'
      }
      isHandedOver[to] = 1
    }
  }
  if (depth > 0) return 'a traced call does not leave what it has entered'
  return events.length === 0 ? 'a track of a traced call is empty' : null
}

/** Aligned, and no view into the file. */
function copied(bytes: Uint8Array): ArrayBuffer {
  const copy = new ArrayBuffer(bytes.byteLength)
  new Uint8Array(copy).set(bytes)
  return copy
}

function fields(value: unknown, what: string, bad: Bad): { readonly [key: string]: unknown } {
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) {
    throw bad(`${what} is not a map`)
  }
  return value as { readonly [key: string]: unknown }
}

function list(value: unknown, what: string, bad: Bad): readonly unknown[] {
  if (!Array.isArray(value)) throw bad(`${what} is not a list`)
  return value
}

function whole(value: unknown, what: string, bad: Bad): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0)
    throw bad(`${what} is not a count`)
  return value
}
