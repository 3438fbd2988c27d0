// The critical path of a traced call: what its time consisted of (JFluid report, sections 1 and 5.2).
//
// It is found from the end backwards. As long as the thread that called the root does not wait for work that was handed
// over inside the call, the path is that thread's. Where it waited, and a task of the call ended meanwhile, the path goes
// on with the task that ended last: back to where that had begun, and from there to the moment and the thread that handed
// it over. A task may have waited for another one in turn. So the path is one chain from the root's end to its
// beginning, each step of it in one thread, and its steps make the root's duration.
//
// What a thread waited for nobody tells: it is taken to be the task that ended last in the wait; if none did, the one that
// was running then and ended first. Without rows of waits it is not known when a thread waits either; any stretch without a
// call is taken for a wait if a task ended in it. Waiting for threads outside of the call is a step of the waiting thread.

import { LEAVE, type TracedCall, type TraceTrack } from '../cct/trace.ts'
import type { Tree } from '../cct/tree.ts'
import { type OrderedCalls, orderedCalls } from './ordered-calls.ts'

export interface Step {
  /** Index of the track among the call's. */
  readonly track: number
  /** Since the call's beginning. */
  readonly fromNs: number
  readonly toNs: number
  /** How long the track's work waited before the step, from when it was handed over; 0 for what goes on. */
  readonly queuedNs: number
}

export interface PathFrame {
  readonly method: number
  /** Calls that began in the step; 0 for one that had begun before. */
  readonly calls: number
  readonly totalNs: number
  readonly selfNs: number
}

/** Of a call: since its beginning, up to when its root had ended. */
export function durationNs({ tracks }: TracedCall): number {
  return tracks[0]?.times.at(-1) ?? 0
}

/**
 * Oldest first. Their times and those for which work was queued make the duration of the root.
 *
 * @param isWait of a method id; undefined if waiting is not told apart
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
 * Where the time of a step is: from its outermost frame on, at each level the method whose calls took most of the time of
 * all calls of the level above, as long as they took more than these did by themselves.
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
  /** Up to when the path is the task's. */
  readonly endNs: number
}

/** How many of the tasks that end after a wait are looked at. */
const LOOKED_AT = 64

/** How the tracks of a call hang together, and when their threads waited. */
class Family {
  readonly #tracks: readonly TraceTrack[]
  /** By track: the one that handed it over, -1 for the first, and when. */
  readonly #from: Int32Array
  readonly #handedNs: Float64Array
  /** By track, in preorder of who handed what over: its place, and how many it has below itself, with itself. */
  readonly #place: Int32Array
  readonly #size: Int32Array
  /** Tasks by their ends. */
  readonly #byEnd: Int32Array
  /** By track: begin and end of each stretch in which it may have waited, in their order. */
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
    // A track comes after the one that handed it over.
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

  /** The latest wait of a track before a time, for a task that has not been waited for. */
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
        // That a thread waited is known then, and by whom it was woken may be told before that has ended.
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
    for (let i = after; i < Math.min(tasks.length, after + LOOKED_AT); i++) {
      const task = tasks[i]!
      const isRunning = this.#tracks[task]!.times[0]! < end
      if (isRunning && end > begin && this.#mayBe(task, by, isUsed)) return { task, endNs: end }
    }
    return null
  }

  /** Not again, and not what has handed over the one that waits: that goes on only after it. */
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
        // What a wait hands over does not end it.
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

/** The first of `count` for which it is true that it is not before; `count` if none. */
function firstNotBefore(count: number, isNotBefore: (at: number) => boolean): number {
  let [low, high] = [0, count]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (isNotBefore(middle)) high = middle
    else low = middle + 1
  }
  return low
}
