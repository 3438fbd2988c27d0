// Text report of traced calls: a list of the calls, the critical path, and the callees in order of time.

import type { TracedCall, TraceState } from '../cct/trace.ts'
import { tellsWaits } from '../cct/waits.ts'
import { criticalSteps, durationNs, type PathFrame, pathOf, type Step } from './critical-path.ts'
import { namesOf } from './hot-locks.ts'
import { type OrderedCalls, orderedCalls } from './ordered-calls.ts'
import type { Profile } from './profile.ts'
import { prune } from './prune.ts'
import type { Page } from './report/page.ts'
import {
  clean,
  count,
  cut,
  isWait,
  percent,
  plural,
  right,
  shortName,
  timeCell,
  timeText,
  width as widthOf,
} from './text.ts'

/** Maximum number of calls shown with their critical path, unless one call is selected. */
const PATHS = 5
/** Maximum number of rows of callees in order of time. The second value applies if one call is selected. */
const [ROWS, MORE_ROWS] = [20, 200]
/** Maximum number of tasks shown per call. Only the longest tasks are shown. */
const [TASKS, MORE_TASKS] = [3, 20]
const [STEPS, MORE_STEPS] = [12, 100]
/** Maximum number of frames shown of a path. Frames in the middle are omitted. STEP_FRAMES applies if the path has several steps. */
const FRAMES = 24
const STEP_FRAMES = 8
/** Minimum share of the call's duration for a row. */
const MIN_SHARE = 0.005
/** Width in cells of the columns before the name. */
const NUMBER_CELLS = 40
const HEADER = `${right('start', 10)}${right('total', 10)}${right('% call', 8)}${right('calls', 10)}  `

/** Mark after a call: `open` if its work was unfinished at the end of the recording, `cut` if its events exceeded the limit. */
const STATES: Readonly<Record<TraceState, string>> = {
  whole: '',
  open: ' (open)',
  cut: ' (cut)',
}

/** Returns the reason why slow calls have no trace. */
export const tooLongText = (calls: number): string =>
  `${plural(calls, 'slow call')} with too many events not traced`

/** Returns which slow call a traced call is; empty if the first calls are traced. */
const slowText = ({ slowCall }: TracedCall): string =>
  slowCall === undefined ? '' : ` (slow call ${slowCall})`

export function* traceSection(page: Page): Generator<string> {
  const { profile } = page
  const { trace } = profile
  if (trace === undefined) return
  const { calls, asked, cutAfter, leftOut = 0 } = trace
  const { paint, top, trace: only } = page
  const { tooLong = 0 } = trace.ofSlow ?? {}
  const longText = tooLong === 0 ? '' : `; ${tooLongText(tooLong)}`
  const cutText = `${longText}${cutAfter === undefined ? '' : `; cut after ${count(cutAfter)} events`}`
  const none =
    trace.ofSlow === undefined
      ? 'no root call began'
      : tooLong > 0
        ? tooLongText(tooLong)
        : 'no slow call ended'
  if (calls.length === 0) {
    yield `\n${paint('bold', 'Traced calls')}: ${leftOut > 0 ? `none can be shown, ${plural(leftOut, 'call')} left out` : none}\n`
    return
  }
  if (only !== undefined) {
    yield* oneCall(profile, calls[only - 1]!, only, page)
    return
  }
  const shown = calls.slice(0, top)
  const order = trace.ofSlow === undefined ? 'first' : 'slowest'
  const which =
    leftOut > 0
      ? `${calls.length} of the ${order} ${calls.length + leftOut}, ${leftOut} left out; ${asked} requested`
      : `the ${order} ${calls.length} of ${asked} requested`
  const rest = shown.length < calls.length ? `, ${shown.length} shown` : ''
  yield `\n${paint('bold', 'Traced calls')}${paint('dim', `, ${which}${rest}${cutText}`)}\n`
  yield `${paint('dim', `${right('call', 5)}${right('start', 11)}${right('total', 10)}${right('events', 9)}${right('tasks', 7)}  method, and its thread`)}\n`
  for (const [i, call] of shown.entries()) yield listed(profile, call, i + 1, page)
  for (const [i, call] of shown.slice(0, PATHS).entries()) yield* criticalPath(profile, call, i + 1, page)
  const slowest = calls.reduce((most, it, i) => (durationNs(it) > durationNs(calls[most]!) ? i : most), 0)
  yield* inOrder(profile, calls[slowest]!, slowest + 1, page)
  if (calls.length > 1) yield `${paint('dim', 'Another call: jfluid report <file> --trace <call>')}\n`
}

function listed({ methodNames }: Profile, call: TracedCall, number: number, { width }: Page): string {
  const { tracks, startNs, state } = call
  const events = tracks.reduce((sum, it) => sum + it.events.length, 0)
  const numbers =
    right(String(number), 5) +
    right(timeCell(startNs), 11) +
    right(timeCell(durationNs(call)), 10) +
    right(count(events, 8), 9) +
    right(count(tracks.length - 1, 6), 7)
  const room = width - widthOf(numbers) - 4 - STATES[state].length - slowText(call).length
  const thread = cut(clean(tracks[0]?.thread.name ?? ''), Math.max(6, room - 16))
  const name = shortName(namesOf(methodNames)(tracks[0]?.events[0] ?? 0), room - widthOf(thread))
  return `${numbers}  ${name}  ${thread}${slowText(call)}${STATES[state]}\n`
}

function* oneCall(profile: Profile, call: TracedCall, number: number, page: Page): Generator<string> {
  const thread = clean(call.tracks[0]?.thread.name ?? '')
  const text = `, started at ${timeText(call.startNs)} in ${thread}, duration ${timeText(durationNs(call))}${slowText(call)}${STATES[call.state]}`
  yield `\n${page.paint('bold', `Call ${number}`)}${cut(text, page.width - 8)}\n`
  yield* criticalPath(profile, call, number, page)
  yield* inOrder(profile, call, number, page)
}

function* criticalPath(
  profile: Profile,
  call: TracedCall,
  number: number,
  { width, paint, trace: only }: Page,
): Generator<string> {
  const names = namesOf(profile.methodNames)
  const isTold = tellsWaits(profile.merged)
  const steps = criticalSteps(call, isTold ? (method) => isWait(names(method)) : undefined)
  const whole = durationNs(call)
  const most = only === undefined ? STEPS : MORE_STEPS
  const shown = new Set(
    [...steps].sort((a, b) => stepNs(b) + b.queuedNs - stepNs(a) - a.queuedNs).slice(0, most),
  )
  const assumed = steps.length > 1 && !isTold ? '; waits are guessed (--mode locks: measured)' : ''
  yield `\n${paint('bold', `Call ${number}, critical path`)}${paint('dim', `, ${plural(steps.length, 'step')}${assumed}`)}\n`
  yield `${paint('dim', `${HEADER}method`)}\n`
  const nameCells = Math.max(16, width - NUMBER_CELLS)
  const row = (start: string, ns: number, calls: string, name: string) =>
    `${right(start, 10)}${right(timeCell(ns), 10)}${right(percent(ns, whole), 8)}${right(calls, 10)}  ${name}\n`
  let [left, leftNs] = [0, 0]
  const rest = function* (): Generator<string> {
    if (left > 0) yield row('', leftNs, '', paint('dim', `… ${plural(left, 'smaller step')}`))
    left = leftNs = 0
  }
  for (const step of steps) {
    if (!shown.has(step)) {
      left++
      leftNs += stepNs(step) + step.queuedNs
      continue
    }
    yield* rest()
    if (step.queuedNs > 0)
      yield row(
        timeCell(step.fromNs - step.queuedNs),
        step.queuedNs,
        '',
        paint('dim', '(task submitted, not started)'),
      )
    const isAlone = steps.length === 1
    if (!isAlone) {
      const thread = `in ${clean(call.tracks[step.track]!.thread.name)}`
      yield row(timeCell(step.fromNs), stepNs(step), '', paint('dim', cut(thread, nameCells)))
    }
    yield* frameRows(
      pathOf(call, step),
      isAlone ? FRAMES : STEP_FRAMES,
      ({ method, calls, totalNs }, depth) => {
        const indent = '  '.repeat(Math.min(depth + (isAlone ? 0 : 1), Math.floor(nameCells / 4)))
        const name = indent + shortName(names(method), nameCells - indent.length)
        const text = row('', totalNs, calls === 0 ? '' : count(calls, 9), name)
        return totalNs >= whole / 2 ? `${paint('heat', text.slice(0, -1))}\n` : text
      },
    )
  }
  yield* rest()
}

const stepNs = ({ fromNs, toNs }: Step): number => toNs - fromNs

function* frameRows(
  path: readonly PathFrame[],
  most: number,
  row: (frame: PathFrame, depth: number) => string,
): Generator<string> {
  const half = most / 2
  for (const [depth, frame] of path.entries()) {
    if (path.length <= most || depth < half || depth >= path.length - half) yield row(frame, depth)
    else if (depth === half) yield `${' '.repeat(NUMBER_CELLS)}… ${plural(path.length - most, 'frame')}\n`
  }
}

/** Yields the calls made in the thread of the root, and those made in the longest tasks of the traced call. */
function* inOrder(profile: Profile, call: TracedCall, number: number, page: Page): Generator<string> {
  const { paint, trace: only } = page
  const [rows, most] = only === undefined ? [ROWS, TASKS] : [MORE_ROWS, MORE_TASKS]
  const tasks = call.tracks
    .map(({ times }, track) => ({ track, ns: times.at(-1)! - times[0]! }))
    .slice(1)
    .sort((a, b) => b.ns - a.ns || a.track - b.track)
  const left = tasks.length > most ? `, with the ${most} longest of ${plural(tasks.length, 'task')}` : ''
  yield `\n${paint('bold', `Call ${number}, calls in time order`)}${paint('dim', left)}\n`
  yield `${paint('dim', `${HEADER}method`)}\n`
  const whole = durationNs(call)
  yield* orderedRows(profile, orderedCalls(call.tracks[0]!), rows, whole, page)
  for (const { track } of tasks.slice(0, most).sort((a, b) => a.track - b.track)) {
    const { thread, events, times } = call.tracks[track]!
    const title = `submitted task, in ${clean(thread.name)}`
    yield `${right(timeCell(times[0]!), 10)}${right(timeCell(times.at(-1)! - times[0]!), 10)}${' '.repeat(18)}  ${paint('dim', cut(title, page.width - NUMBER_CELLS))}\n`
    yield* orderedRows(profile, orderedCalls({ events, times }), Math.ceil(rows / 4), whole, page)
  }
}

function* orderedRows(
  { methodNames }: Profile,
  { tree, startNs }: OrderedCalls,
  most: number,
  whole: number,
  { width, paint }: Page,
): Generator<string> {
  const names = namesOf(methodNames)
  const { kept, keptCount } = prune(tree, MIN_SHARE, most)
  const { calls, totalNs } = tree.metrics as { readonly [name: string]: Float64Array }
  const nameCells = Math.max(16, width - NUMBER_CELLS)
  const depths = new Int32Array(tree.count)
  for (let node = 0; node < tree.count; node++) {
    const above = tree.parent[node]!
    depths[node] = above < 0 ? 0 : depths[above]! + 1
    if (kept[node] !== 1) continue
    const ns = totalNs![node]!
    const times = calls![node]! > 1 ? ` ×${count(calls![node]!)}` : ''
    const indent = '  '.repeat(Math.min(depths[node]!, Math.floor(nameCells / 4)))
    const name = indent + shortName(names(tree.method[node]!), nameCells - indent.length - times.length)
    const numbers = `${right(timeCell(startNs[node]!), 10)}${right(timeCell(ns), 10)}${right(percent(ns, whole), 8)}${right(count(calls![node]!, 9), 10)}`
    yield `${ns >= whole / 2 ? paint('heat', numbers) : numbers}  ${name}${times}\n`
  }
  if (keptCount < tree.count) {
    yield `${paint('dim', `${' '.repeat(NUMBER_CELLS)}… ${plural(tree.count - keptCount, 'smaller row')}`)}\n`
  }
}
