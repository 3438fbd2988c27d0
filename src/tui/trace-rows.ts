// Rows of traced calls: for each call its critical path, the calls of its thread in time order, and the calls of its submitted tasks. Only
// visible rows are created.

import { getOrAdd } from '../base/maps.ts'
import type { TracedCall, TraceState, TraceTrack } from '../cct/trace.ts'
import type { MethodName } from '../cct/tree.ts'
import { criticalSteps, durationNs, pathOf, type Step } from '../profile/critical-path.ts'
import { type OrderedCalls, orderedCalls } from '../profile/ordered-calls.ts'
import { isWait, plural } from '../profile/text.ts'
import { kept } from './baseline.ts'
import { clean, count, time } from './format.ts'
import type { KeyedRow } from './views/keyed-view.ts'

export interface TraceRow extends KeyedRow {
  /** Time since the start of the traced call. */
  readonly startNs?: number
  readonly totalNs?: number
  /** Number of calls that begin within the row. */
  readonly calls?: number
  /** Duration of the traced call. */
  readonly wholeNs: number
  /** Text of a row that is not a method. */
  readonly text?: string
  readonly method?: number
  /** Text for the detail line. */
  readonly detail?: string
  /** Index of the traced call. */
  readonly call: number
  /** Track and node of the row, if the row is in the list in time order. */
  readonly place?: TracePlace
}

/** Position of a node within all traced calls. */
export interface Place extends TracePlace {
  readonly call: number
}

export interface TracePlace {
  readonly track: number
  /** Node in the tree of the track's ordered calls. */
  readonly node: number
}

/** Returns true if the user opened the row with this key, false if the user closed the row; undefined if neither. */
export type OpenState = (key: string) => boolean | undefined

/** Labels of states. `open`: the call or one of its tasks was unfinished at the end. `cut`: the event limit was reached. */
const STATES: Readonly<Record<TraceState, readonly [short: string, long: string]>> = {
  whole: ['', ''],
  open: [' (open)', 'call or one of its tasks was unfinished at the end; '],
  cut: [' (cut)', 'trace truncated, event limit reached; '],
}
/** A row is open by default if it has at least this share of the call's duration, and its depth is at most OPEN_DEPTH. */
const OPEN_SHARE = 0.1
const OPEN_DEPTH = 6
/** Maximum number of frames shown per step of the critical path: one half from each end. */
const MAX_FRAMES = 64
/** Maximum number of children per row: the longest calls, in time order. Search results are always added. */
const MAX_CHILDREN = 1000
const NONE = -1

/** Traced calls with their cached derived data. */
export class TraceRows {
  /** Index of the slowest call. */
  readonly slowest: number
  readonly #ordered = kept(orderedCalls)
  /** Nodes that always have a row, regardless of MAX_CHILDREN: search results and their callers. */
  readonly #kept = new WeakMap<TraceTrack, Set<number>>()
  readonly #stepsOf = kept((call: TracedCall) => {
    const waits = (method: number): boolean => isWait(this.nameOf(method))
    return criticalSteps(call, this.tellsWaits ? waits : undefined)
  })

  /** @param tellsWaits  whether waits are recorded as rows, so waiting times are known */
  constructor(
    private readonly calls: readonly TracedCall[],
    private readonly nameOf: (id: number) => MethodName,
    private readonly tellsWaits: boolean,
  ) {
    this.slowest = calls.reduce((most, it, i) => (durationNs(it) > durationNs(calls[most]!) ? i : most), 0)
  }

  /** Returns the visible rows. @param least  minimum share of a row in the call's duration, in percent */
  rows(isOpen: OpenState, least: number): TraceRow[] {
    return this.calls.flatMap((call, i) => [...this.#callRows(call, i, isOpen, least)])
  }

  ordered(call: number, track: number): OrderedCalls {
    return this.#ordered(this.calls[call]!.tracks[track]!)
  }

  /** Returns the positions of calls of these methods, ordered by traced call, thread and time. */
  places(isMeant: (method: number) => boolean): Place[] {
    const found: Place[] = []
    for (const [call, { tracks }] of this.calls.entries()) {
      for (const track of tracks.keys()) {
        const { method } = this.ordered(call, track).tree
        for (const [node, id] of method.entries()) if (isMeant(id)) found.push({ call, track, node })
      }
    }
    return found
  }

  /** Ensures that a place has a row. The row is visible if the rows with `keysAbove` are open, and no filter hides it. */
  keep({ call, track, node }: Place): void {
    const { parent } = this.ordered(call, track).tree
    const of = this.calls[call]!.tracks[track]!
    const kept = getOrAdd(this.#kept, of, () => new Set())
    for (let at = node; at >= 0; at = parent[at]!) kept.add(at)
  }

  /** Returns the keys of the rows that must be open to show a place. */
  keysAbove({ call, track, node }: Place): string[] {
    const { parent } = this.ordered(call, track).tree
    const keys = [`${call}`, track === 0 ? `${call} order` : `${call} task ${track}`]
    for (let at = parent[node]!; at >= 0; at = parent[at]!) keys.push(nodeKey(call, track, at))
    return keys
  }

  *#callRows(call: TracedCall, i: number, isOpen: OpenState, least: number): Generator<TraceRow> {
    const wholeNs = durationNs(call)
    const [short, long] = STATES[call.state]
    const thread = clean(call.tracks[0]?.thread.name ?? '')
    const events = call.tracks.reduce((sum, it) => sum + it.events.length, 0)
    const key = `${i}`
    const open = isOpen(key) ?? i === this.slowest
    yield {
      ...{ key, depth: 0, open, totalNs: wholeNs, wholeNs, call: i },
      text: `call ${i + 1}${call.slowCall === undefined ? '' : `, slow call ${call.slowCall}`}${short}, at ${time(call.startNs).trim()} in ${thread}`,
      detail: `${long}${plural(events, 'event')}, ${plural(call.tracks.length - 1, 'submitted task')}`,
    }
    if (!open) return
    yield* this.#pathRows(call, i, isOpen)
    const orderKey = `${i} order`
    const isOrderOpen = isOpen(orderKey) ?? true
    yield {
      key: orderKey,
      depth: 1,
      open: isOrderOpen,
      wholeNs,
      call: i,
      text: 'calls in time order',
      detail: 'nearby calls of one method are merged into one row, at the position of the first call',
    }
    if (isOrderOpen) yield* this.#orderRows(i, 0, 2, isOpen, least)
    for (const [track, { thread: of, times }] of call.tracks.entries()) {
      if (track === 0) continue
      const taskKey = `${i} task ${track}`
      const isTaskOpen = isOpen(taskKey) ?? false
      yield {
        ...{ key: taskKey, depth: 1, open: isTaskOpen, startNs: times[0]!, wholeNs, call: i },
        totalNs: times.at(-1)! - times[0]!,
        text: `submitted task, in ${clean(of.name)}`,
      }
      if (isTaskOpen) yield* this.#orderRows(i, track, 2, isOpen, least)
    }
  }

  *#pathRows(call: TracedCall, i: number, isOpen: OpenState): Generator<TraceRow> {
    const wholeNs = durationNs(call)
    const key = `${i} path`
    const steps = this.#stepsOf(call)
    const open = isOpen(key) ?? true
    const isAssumed = steps.length > 1 && !this.tellsWaits
    yield {
      ...{ key, depth: 1, open, wholeNs, call: i },
      text: `critical path, ${plural(steps.length, 'step')}`,
      detail: `steps that add up to the duration${isAssumed ? '; waits are guessed (--mode locks: measured)' : ''}`,
    }
    if (!open) return
    for (const [at, step] of steps.entries()) {
      const { fromNs, toNs, queuedNs } = step
      const stepKey = `${key} ${at}`
      const row = { wholeNs, call: i, depth: 2 } as const
      if (queuedNs > 0)
        yield {
          ...row,
          ...{ key: `${stepKey} queued`, startNs: fromNs - queuedNs, totalNs: queuedNs },
          text: '(task submitted, not started)',
        }
      const isAlone = steps.length === 1
      const isStepOpen = isAlone || (isOpen(stepKey) ?? toNs - fromNs >= wholeNs * OPEN_SHARE)
      if (!isAlone)
        yield {
          ...row,
          ...{ key: stepKey, open: isStepOpen, startNs: fromNs, totalNs: toNs - fromNs },
          text: `in ${clean(call.tracks[step.track]!.thread.name)}`,
        }
      if (isStepOpen) yield* frameRows(call, step, { ...row, depth: isAlone ? 2 : 3 }, stepKey)
    }
  }

  /** Yields the rows of a track in time order. Iterative, since a call can be 100,000 levels deep. */
  *#orderRows(
    call: number,
    track: number,
    depth: number,
    isOpen: OpenState,
    least: number,
  ): Generator<TraceRow> {
    const { tree, startNs } = this.ordered(call, track)
    const { size, method } = tree
    const { calls, totalNs } = tree.metrics as { readonly [name: string]: Float64Array }
    const wholeNs = durationNs(this.calls[call]!)
    const leastNs = (wholeNs * least) / 100
    const kept = this.#kept.get(this.calls[call]!.tracks[track]!)
    const stack: { next: number; readonly children: readonly number[]; readonly left: number; of: number }[] =
      []
    const below = (of: number): void => {
      const all: number[] = []
      const end = of === NONE ? tree.count : of + size[of]!
      for (let child = of + 1; child < end; child += size[child]!)
        if (totalNs![child]! >= leastNs) all.push(child)
      const children = largest(all, totalNs!, MAX_CHILDREN, kept)
      stack.push({ next: 0, children, left: all.length - children.length, of })
    }
    below(NONE)
    for (let level = stack.at(-1); level !== undefined; level = stack.at(-1)) {
      const deep = depth + stack.length - 1
      const node = level.children[level.next++]
      if (node === undefined) {
        stack.pop()
        if (level.left > 0)
          yield {
            ...{ key: `${nodeKey(call, track, level.of)} rest`, depth: deep, wholeNs, call },
            text: `… ${count(level.left)} smaller rows`,
          }
        continue
      }
      const key = nodeKey(call, track, node)
      const hasMore = size[node]! > 1
      const open =
        hasMore && (isOpen(key) ?? (totalNs![node]! >= wholeNs * OPEN_SHARE && stack.length <= OPEN_DEPTH))
      yield {
        ...{ key, depth: deep, wholeNs, call, method: method[node]!, place: { track, node } },
        ...{ startNs: startNs[node]!, totalNs: totalNs![node]!, calls: calls![node]! },
        ...(hasMore && { open }),
      }
      if (open) below(node)
    }
  }
}

function* frameRows(
  call: TracedCall,
  step: Step,
  row: Pick<TraceRow, 'wholeNs' | 'call' | 'depth'>,
  key: string,
): Generator<TraceRow> {
  const path = pathOf(call, step)
  const half = MAX_FRAMES / 2
  for (const [at, { method, calls, totalNs }] of path.entries()) {
    const depth = row.depth + at
    if (path.length <= MAX_FRAMES || at < half || at >= path.length - half)
      yield { ...row, key: `${key} frame ${at}`, depth, method, totalNs, ...(calls > 0 && { calls }) }
    else if (at === half)
      yield { ...row, key: `${key} frames`, depth, text: `… ${plural(path.length - MAX_FRAMES, 'frame')}` }
  }
}

function nodeKey(call: number, track: number, node: number): string {
  return `${call} ${track} ${node}`
}

/** Returns the `most` nodes with the largest total and the nodes in `wanted`, in their original order. */
function largest(
  nodes: readonly number[],
  total: Float64Array,
  most: number,
  wanted: ReadonlySet<number> | undefined,
): readonly number[] {
  if (nodes.length <= most) return nodes
  const kept = new Set(nodes.toSorted((a, b) => total[b]! - total[a]! || a - b).slice(0, most))
  return nodes.filter((it) => kept.has(it) || wanted?.has(it))
}
