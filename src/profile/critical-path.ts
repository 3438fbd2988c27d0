// The critical path of a traced call: the parts of its duration (JFluid report, sections 1 and 5.2).
//
// The path is computed backwards from the end. While the thread that called the root does not wait for work submitted within the call, the
// path is on that thread. If a task of the call ended during a wait of the thread, the path continues with the task that ended last: back
// to the task's start, and from there to the time and thread of its submission. A task may itself have waited for another task. The path is
// thus one chain from the root's end to its start. Each step is on one thread, and the steps sum to the root's duration.
//
// The target does not report the cause of a wait. The cause is assumed to be the task that ended last within the wait, or, if none ended,
// the running task that ended first. If waits are not recorded, any interval between two events of a thread is assumed to be a wait if a
// task ended in the interval. Waits for threads outside the call are steps of the waiting thread.

import { LEAVE, type TracedCall, type TraceTrack } from '../cct/trace.ts'
import type { Tree } from '../cct/tree.ts'
import { type OrderedCalls, orderedCalls } from './ordered-calls.ts'

export interface Step {
  /** Index of the track among the call's tracks. */
  readonly track: number
  /** Start of the step, as time since the start of the call. */
  readonly fromNs: number
  readonly toNs: number
  /** Queueing time before this step, from the submission of the task to its start; 0 if the step continues a track. */
  readonly queuedNs: number
}

export interface PathFrame {
  readonly method: number
  /** Number of calls that began in the step; 0 if the only call began earlier. */
  readonly calls: number
  readonly totalNs: number
  readonly selfNs: number
}

/** Returns the time from the start of a call to the end of its root. */
export function durationNs({ tracks }: TracedCall): number {
  return tracks[0]?.times.at(-1) ?? 0
}

/**
 * Returns the steps, oldest first. Their durations plus their queueing times equal the duration of the root.
 * @param isWait whether a method id is a wait; undefined if waits are not recorded
 */
export function criticalSteps(call: TracedCall, isWait?: (method: number) => boolean): Step[] {
  const { tracks } = call
  const family = new Family(call)
  const isUsed = new Uint8Array(tracks.length)
  const steps: Step[] = []
  let at = 0
  let until = durationNs(call)
  for (;;) {
    const join = family.joinBefore(at, until, isUsed, isWait)
    if (join !== null) {
      steps.push({ track: at, fromNs: join.endNs, toNs: until, queuedNs: 0 })
      isUsed[join.task] = 1
      at = join.task
      until = join.endNs
      continue
    }
    const { from, handedNs } = family.origin(at)
    const begin = Math.min(until, tracks[at]!.times[0]!)
    steps.push({ track: at, fromNs: begin, toNs: until, queuedNs: from < 0 ? 0 : begin - handedNs })
    if (from < 0) break
    at = from
    until = Math.min(begin, handedNs)
  }
  return steps.reverse().filter((it) => it.toNs > it.fromNs || it.queuedNs > 0 || steps.length === 1)
}

/**
 * Returns the hottest path of a step. It begins at the outermost frame and continues with the callee with the most time. The path ends
 * at a method with more self time than the time of any callee.
 */
export function pathOf(call: TracedCall, { track, fromNs, toNs }: Step): PathFrame[] {
  const { tree } = orderedCalls(call.tracks[track]!, fromNs, toNs, Number.POSITIVE_INFINITY)
  const path: PathFrame[] = []
  const { calls, selfNs, totalNs } = tree.metrics as OrderedCalls['tree']['metrics'] & TimeColumns
  for (let node = largestChild(tree, -1); node >= 0; node = largestChild(tree, node)) {
    const above = path.at(-1)
    if (above !== undefined && totalNs[node]! < above.selfNs) break
    path.push({
      ...{ method: tree.method[node]!, calls: calls[node]! },
      ...{ totalNs: totalNs[node]!, selfNs: selfNs[node]! },
    })
  }
  return path
}

type TimeColumns = Record<'calls' | 'selfNs' | 'totalNs', Float64Array>

function largestChild(tree: Tree, of: number): number {
  const { totalNs } = tree.metrics as TimeColumns
  const end = of < 0 ? tree.count : of + tree.size[of]!
  let largest = -1
  for (let child = of + 1; child < end; child += tree.size[child]!) {
    if (largest < 0 || totalNs[child]! > totalNs[largest]!) largest = child
  }
  return largest
}

interface Join {
  readonly task: number
  /** Time up to which the path is on this task. */
  readonly endNs: number
}

/** Maximum number of tasks checked among the tasks that end after a wait. */
const MAX_CHECKED_TASKS = 64

/** Relations between the tracks of a call, and the waits of their threads. */
class Family {
  readonly #tracks: readonly TraceTrack[]
  /** Submitting track of each track (-1 for the first), and the time of submission. */
  readonly #from: Int32Array
  readonly #handedNs: Float64Array
  /** Preorder position of each track in the tree of submissions, and the size of its subtree, including itself. */
  readonly #place: Int32Array
  readonly #size: Int32Array
  /** Tasks, sorted by end time. */
  readonly #byEnd: Int32Array
  /** Possible waits, keyed by track: pairs of start and end, sorted by time. */
  readonly #stretches = new Map<number, Float64Array>()

  constructor({ tracks }: TracedCall) {
    this.#tracks = tracks
    const count = tracks.length
    this.#from = new Int32Array(count).fill(-1)
    this.#handedNs = new Float64Array(count)
    for (const [place, { events, times }] of tracks.entries()) {
      for (let i = 0; i < events.length; i++) {
        if (events[i]! >= 0) continue
        this.#from[-events[i]!] = place
        this.#handedNs[-events[i]!] = times[i]!
      }
    }
    // The index of a track is larger than the index of the track that submitted it.
    this.#size = new Int32Array(count).fill(1)
    for (let i = count - 1; i > 0; i--) this.#size[this.#from[i]!]! += this.#size[i]!
    this.#place = new Int32Array(count)
    const room = new Int32Array(count).fill(1)
    for (let i = 1; i < count; i++) {
      const above = this.#from[i]!
      this.#place[i] = this.#place[above]! + room[above]!
      room[above]! += this.#size[i]!
    }
    this.#byEnd = Int32Array.from({ length: count - 1 }, (_, i) => i + 1).sort(
      (a, b) => this.#end(a) - this.#end(b),
    )
  }

  origin(track: number): { from: number; handedNs: number } {
    return { from: this.#from[track]!, handedNs: this.#handedNs[track]! }
  }

  /** Returns the task that ended the latest wait of a track before `until`. Ignores waits for tasks that are already on the path. */
  joinBefore(
    track: number,
    until: number,
    isUsed: Uint8Array,
    isWait?: (method: number) => boolean,
  ): Join | null {
    if (this.#tracks.length === 1) return null
    const stretches = this.#stretchesOf(track, isWait)
    for (let i = firstNotBefore(stretches.length / 2, (it) => stretches[2 * it]! >= until) - 1; i >= 0; i--) {
      const begin = stretches[2 * i]!
      const end = Math.min(stretches[2 * i + 1]!, until)
      const join =
        this.#endedIn(begin, end, track, isUsed) ??
        // If waits are recorded, the end of a wait may be recorded before the end of the task that ended the wait.
        (isWait === undefined || end < stretches[2 * i + 1]!
          ? null
          : this.#runningAt(begin, end, track, isUsed))
      if (join !== null) return join
    }
    return null
  }

  #endedIn(begin: number, end: number, by: number, isUsed: Uint8Array): Join | null {
    const tasks = this.#byEnd
    const after = firstNotBefore(tasks.length, (it) => this.#end(tasks[it]!) > end)
    for (let i = after - 1; i >= 0 && this.#end(tasks[i]!) > begin; i--) {
      if (this.#mayBe(tasks[i]!, by, isUsed)) return { task: tasks[i]!, endNs: this.#end(tasks[i]!) }
    }
    return null
  }

  #runningAt(begin: number, end: number, by: number, isUsed: Uint8Array): Join | null {
    const tasks = this.#byEnd
    const after = firstNotBefore(tasks.length, (it) => this.#end(tasks[it]!) > end)
    for (let i = after; i < Math.min(tasks.length, after + MAX_CHECKED_TASKS); i++) {
      const task = tasks[i]!
      const isRunning = this.#tracks[task]!.times[0]! < end
      if (isRunning && end > begin && this.#mayBe(task, by, isUsed)) return { task, endNs: end }
    }
    return null
  }

  /** Excludes tasks already on the path, and the tasks that directly or indirectly submitted the waiting task. */
  #mayBe(task: number, by: number, isUsed: Uint8Array): boolean {
    const [place, size] = [this.#place[task]!, this.#size[task]!]
    const isAbove = this.#place[by]! >= place && this.#place[by]! < place + size
    return isUsed[task] === 0 && !isAbove
  }

  #end(track: number): number {
    return this.#tracks[track]!.times.at(-1)!
  }

  #stretchesOf(track: number, isWait?: (method: number) => boolean): Float64Array {
    const known = this.#stretches.get(track)
    if (known !== undefined) return known
    const { events, times } = this.#tracks[track]!
    const found: number[] = []
    const open: number[] = []
    for (let i = 0; i < events.length; i++) {
      const event = events[i]!
      const isInside = open.length > 0 && times[i]! > times[i - 1]!
      if (isInside && (isWait === undefined || isWait(open[open.length - 1]!))) {
        const before = found.length - 1
        // A task submitted during a wait does not end the wait.
        if (isWait !== undefined && events[i - 1]! < 0 && found[before] === times[i - 1])
          found[before] = times[i]!
        else found.push(times[i - 1]!, times[i]!)
      }
      if (event > 0) open.push(event)
      else if (event === LEAVE) open.pop()
    }
    const stretches = Float64Array.from(found)
    this.#stretches.set(track, stretches)
    return stretches
  }
}

/** Returns the first index below `count` for which the predicate is true, by binary search. Returns `count` if there is none. */
function firstNotBefore(count: number, isNotBefore: (at: number) => boolean): number {
  let [low, high] = [0, count]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (isNotBefore(middle)) high = middle
    else low = middle + 1
  }
  return low
}
