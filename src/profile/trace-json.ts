// Traced calls as members of the profile's JSON (json.ts), in pieces.

import type { TracedCall } from '../cct/trace.ts'
import { tellsWaits } from '../cct/waits.ts'
import { criticalSteps, durationNs, pathOf } from './critical-path.ts'
import { namesOf } from './hot-locks.ts'
import { elements, jsonText } from './json-text.ts'
import { nameOf, type Profile } from './profile.ts'
import { fullName, isWait } from './text.ts'

/** Maximum number of array elements per piece of text. */
const NUMBERS = 1000
/** Maximum number of critical path steps with details. Only the longest steps have details. */
const STEPS = 100

/** Yields the value of `trace`. @param withEvents whether to include all events; a report contains only derived data */
export function* tracePieces(profile: Profile, withEvents: boolean): Generator<string> {
  const { trace, methodNames } = profile
  if (trace === undefined) return
  const { asked, ofSlow, cutAfter, leftOut, calls } = trace
  const slow = ofSlow === undefined ? '' : `"ofSlow":{"tooLong":${ofSlow.tooLong}},`
  yield `{"asked":${asked},${slow}"cutAfter":${cutAfter ?? 0},"leftOut":${leftOut ?? 0},"calls":[`
  yield* elements(calls, function* (call) {
    const { startNs, state, slowCall, tracks } = call
    const slow = slowCall === undefined ? '' : `"slowCall":${slowCall},`
    yield `{"startNs":${startNs},"durationNs":${durationNs(call)},"state":"${state}",${slow}"criticalPath":[`
    yield* pathPieces(profile, call)
    yield '],"tracks":['
    for (const [i, { thread, events, times }] of tracks.entries()) {
      yield `${i > 0 ? ',\n' : ''}{"id":${thread.id},"name":${jsonText(thread.name)}`
      if (withEvents) {
        yield ',"events":['
        yield* numberPieces(events)
        yield '],"times":['
        yield* numberPieces(times)
        yield ']'
      }
      yield '}'
    }
    yield ']}'
  })
  yield ']'
  if (withEvents) {
    yield ',"methods":['
    const most = Math.max(0, methodNames.length - 1)
    for (let id = 1; id <= most; id++) {
      yield (id > 1 ? ',' : '') + jsonText(fullName(nameOf(methodNames, id)))
    }
    yield ']'
  }
  yield '}'
}

function* pathPieces(profile: Profile, call: TracedCall): Generator<string> {
  const names = namesOf(profile.methodNames)
  const isTold = tellsWaits(profile.merged)
  const steps = criticalSteps(call, isTold ? (method) => isWait(names(method)) : undefined)
  const longest = new Set([...steps].sort((a, b) => b.toNs - b.fromNs - a.toNs + a.fromNs).slice(0, STEPS))
  for (const [i, step] of steps.entries()) {
    const frames = longest.has(step) ? pathOf(call, step) : []
    const methods = frames.map(({ method, ...frame }) => {
      const { class: className, method: name, descriptor } = names(method)
      return { class: className, method: name, descriptor, ...frame }
    })
    yield (i > 0 ? ',\n' : '') + jsonText({ ...step, methods })
  }
}

function* numberPieces(numbers: Int32Array | Float64Array): Generator<string> {
  for (let from = 0; from < numbers.length; from += NUMBERS) {
    yield (from > 0 ? ',' : '') + numbers.subarray(from, from + NUMBERS).join(',')
  }
}
