// Traced calls: the critical path of each call, and its calls in the order of time.

import type { TracedCall, TraceState, TraceTrack } from '../../../cct/trace.ts'
import { tellsWaits } from '../../../cct/waits.ts'
import { criticalSteps, durationNs, pathOf } from '../../../profile/critical-path.ts'
import { namesOf } from '../../../profile/hot-locks.ts'
import { orderedCalls } from '../../../profile/ordered-calls.ts'
import type { Profile } from '../../../profile/profile.ts'
import { prune } from '../../../profile/prune.ts'
import { clean, count, isWait, plural } from '../../../profile/text.ts'
import { tooLongText } from '../../../profile/trace-report.ts'
import type { PageList, PageRow } from '../page-data.ts'

/** Maximum number of rows of calls in the order of time, of all traced calls together. */
const MAX_ROWS = 20_000
/** Maximum number of traced calls, of steps of a critical path with their methods, and of tasks with their calls, per traced call. */
const [MAX_CALLS, MAX_STEPS, MAX_TASKS] = [200, 50, 20]

const STATES: Readonly<Record<TraceState, string>> = {
  whole: '',
  open: ', unfinished at the end of the recording',
  cut: ', cut at the limit of events',
}

/** @param nameOf  returns the number of a method id's name on the page */
export function traceLists(profile: Profile, nameOf: (id: number) => number): PageList[] {
  const { trace } = profile
  if (trace === undefined || trace.calls.length === 0) return []
  const { calls, asked, cutAfter, leftOut = 0 } = trace
  const shown = calls.slice(0, MAX_CALLS)
  const most = Math.floor(MAX_ROWS / shown.length)
  return [
    {
      title: `${plural(calls.length, trace.ofSlow ? 'traced slow call' : 'traced call')} of ${count(asked)} requested`,
      notes: [
        'Rows are in the order of time. Repeated calls are one row, at the time of the first call.',
        ...(trace.ofSlow && trace.ofSlow.tooLong > 0 ? [`${tooLongText(trace.ofSlow.tooLong)}.`] : []),
        ...(cutAfter === undefined ? [] : [`The traces were cut after ${plural(cutAfter, 'event')}.`]),
        ...(leftOut > 0 ? [`${plural(leftOut, 'call')} with inconsistent data left out.`] : []),
        ...(shown.length < calls.length
          ? [`${plural(calls.length - shown.length, 'later call')} not in this page.`]
          : []),
      ],
      columns: [
        [
          'start',
          'of a traced call: since the start of the recording; below it: since the start of the call',
          'ns',
        ],
        ['total', 'duration', 'ns'],
        ['% call', 'share of the traced call', 'percent'],
        ['calls', 'how often', 'count'],
      ],
      head: 'method',
      rows: shown.flatMap((call, i) => callRows(profile, call, i + 1, most, nameOf)),
      bar: 2,
    },
  ]
}

function callRows(
  profile: Profile,
  call: TracedCall,
  number: number,
  most: number,
  nameOf: (id: number) => number,
): PageRow[] {
  const whole = durationNs(call)
  const row = (
    depth: number,
    name: number | string,
    note: string,
    start: number,
    ns: number,
    calls: number | '' = '',
  ): PageRow => [depth, name, note, start, ns, whole > 0 ? (100 * ns) / whole : 0, calls]
  const first = call.tracks[0]!
  const thread = clean(first.thread.name)
  const rows = [
    row(
      0,
      nameOf(first.events[0]!),
      `call ${number}${call.slowCall === undefined ? '' : `, slow call ${call.slowCall}`}, ${thread}${STATES[call.state]}`,
      call.startNs,
      whole,
      1,
    ),
  ]
  const names = namesOf(profile.methodNames)
  const isWaitId = tellsWaits(profile.merged) ? (id: number) => isWait(names(id)) : undefined
  const steps = criticalSteps(call, isWaitId)
  if (steps.length > 1) {
    const guessed = isWaitId === undefined ? '; waits are guessed' : ''
    rows.push(row(1, 'critical path', `${plural(steps.length, 'step')}${guessed}`, 0, whole))
    const longest = new Set(
      [...steps].sort((a, b) => b.toNs - b.fromNs - (a.toNs - a.fromNs)).slice(0, MAX_STEPS),
    )
    for (const step of steps) {
      const { fromNs, toNs, queuedNs, track } = step
      if (queuedNs > 0) rows.push(row(2, 'task submitted, not started', '', fromNs - queuedNs, queuedNs))
      rows.push(row(2, `in ${clean(call.tracks[track]!.thread.name)}`, '', fromNs, toNs - fromNs))
      if (!longest.has(step)) continue
      for (const [depth, frame] of pathOf(call, step).entries())
        rows.push(row(3 + depth, nameOf(frame.method), '', fromNs, frame.totalNs, frame.calls || ''))
    }
  }
  const ordered = function* (track: TraceTrack, depth: number, mostRows: number): Generator<PageRow> {
    const { tree, startNs } = orderedCalls(track)
    const { kept } = prune(tree, 0, mostRows)
    const { calls, totalNs } = tree.metrics as Readonly<Record<'calls' | 'totalNs', Float64Array>>
    const depths = new Int32Array(tree.count)
    for (let node = 0; node < tree.count; node++) {
      const above = tree.parent[node]!
      depths[node] = above < 0 ? depth : depths[above]! + 1
      if (kept[node] === 1 && depths[node]! > 0)
        yield row(depths[node]!, nameOf(tree.method[node]!), '', startNs[node]!, totalNs[node]!, calls[node]!)
    }
  }
  const tasks = call.tracks.slice(1)
  const spent = ({ times }: TraceTrack) => times.at(-1)! - times[0]!
  const longTasks = new Set([...tasks].sort((a, b) => spent(b) - spent(a)).slice(0, MAX_TASKS))
  const share = Math.ceil(most / (longTasks.size + 1))
  // The row of the traced call is the row of its root.
  for (const it of ordered(first, 0, share)) rows.push(it)
  for (const track of tasks) {
    if (!longTasks.has(track)) continue
    rows.push(row(1, `submitted task, in ${clean(track.thread.name)}`, '', track.times[0]!, spent(track)))
    for (const it of ordered(track, 2, share)) rows.push(it)
  }
  if (longTasks.size < tasks.length)
    rows.push(row(1, `${plural(tasks.length - longTasks.size, 'shorter task')} not in this page`, '', 0, 0))
  return rows
}
