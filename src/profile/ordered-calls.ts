// Converts an interval of a traced call to a tree with children in the order of their first calls, and with loops folded.
//
// Repeated calls of a method by one row form a loop if only a few other rows are between the calls. A loop becomes one row, `find ×12`, at
// the position of its first call. The children of this row are the callees of all calls of the loop.

import { LEAVE, type TraceTrack } from '../cct/trace.ts'
import type { Tree } from '../cct/tree.ts'

/** Maximum number of rows between two calls of one loop. */
const LOOP_ROWS = 8

export interface OrderedCalls {
  /** Tree with the columns of times. `calls` excludes calls that began before the interval. */
  readonly tree: Tree
  /** Start of the first call of each node. */
  readonly startNs: Float64Array
}

const NONE = -1

/**
 * Returns the calls between two times of a track. Calls that began earlier or end later are clipped to the interval.
 * Time and memory are proportional to the track's events. Not recursive.
 * @param loopRows  maximum number of rows between two calls of one loop; Infinity: all calls of a method by one row become one row
 */
export function orderedCalls(
  { events, times }: Pick<TraceTrack, 'events' | 'times'>,
  fromNs = Number.NEGATIVE_INFINITY,
  toNs = Number.POSITIVE_INFINITY,
  loopRows = LOOP_ROWS,
): OrderedCalls {
  const rows = new Rows(loopRows)
  let at = 0
  const open: number[] = []
  for (; at < events.length && times[at]! < fromNs; at++) {
    if (events[at]! > 0) open.push(events[at]!)
    else if (events[at] === LEAVE) open.pop()
  }
  let last = Math.max(fromNs, times[0] ?? 0)
  let row = NONE
  for (const method of open) row = rows.child(row, method, last)
  for (; at < events.length; at++) {
    const event = events[at]!
    const time = Math.min(times[at]!, toNs)
    if (row !== NONE) rows.self[row]! += time - last
    last = time
    if (times[at]! > toNs) break
    if (event > 0) {
      row = rows.child(row, event, time)
      rows.calls[row]!++
    } else if (event === LEAVE) {
      row = rows.parent[row]!
    }
  }
  return rows.laidOut()
}

/** Rows under construction: a parent precedes its children, and children are linked in order. */
class Rows {
  readonly method: number[] = []
  readonly parent: number[] = []
  readonly calls: number[] = []
  readonly self: number[] = []
  readonly #start: number[] = []
  readonly #first: number[] = []
  readonly #next: number[] = []
  readonly #previous: number[] = []
  readonly #last: number[] = []
  /** Most recently entered child of each row. */
  readonly #latest: number[] = []
  readonly #tops = { first: NONE, last: NONE, latest: NONE }
  /** Rows keyed by parent and method; null unless `loopRows` is Infinity. */
  readonly #known: Map<number, number> | null

  constructor(private readonly loopRows: number) {
    this.#known = loopRows === Number.POSITIVE_INFINITY ? new Map() : null
  }

  child(of: number, method: number, time: number): number {
    const found = this.#known === null ? this.#near(of, method) : this.#anywhere(of, method)
    const row = found === NONE ? this.#add(of, method, time) : found
    if (of === NONE) this.#tops.latest = row
    else this.#latest[of] = row
    // In a repeated call, the search for the rows of callees begins at the first callee again.
    if (found !== NONE) this.#latest[row] = NONE
    return row
  }

  #anywhere(of: number, method: number): number {
    return this.#known?.get((of + 1) * 2 ** 22 + method) ?? NONE
  }

  #near(of: number, method: number): number {
    const latest = of === NONE ? this.#tops.latest : this.#latest[of]!
    if (latest !== NONE && this.method[latest] === method) return latest
    let ahead = latest !== NONE ? this.#next[latest]! : of === NONE ? this.#tops.first : this.#first[of]!
    let behind = latest !== NONE ? this.#previous[latest]! : NONE
    for (let steps = 0; steps < this.loopRows && (ahead !== NONE || behind !== NONE); steps++) {
      if (ahead !== NONE) {
        if (this.method[ahead] === method) return ahead
        ahead = this.#next[ahead]!
      }
      if (behind !== NONE) {
        if (this.method[behind] === method) return behind
        behind = this.#previous[behind]!
      }
    }
    return NONE
  }

  #add(of: number, method: number, time: number): number {
    const row = this.method.length
    this.method.push(method)
    this.parent.push(of)
    this.calls.push(0)
    this.self.push(0)
    this.#start.push(time)
    for (const links of [this.#first, this.#next, this.#last, this.#latest]) links.push(NONE)
    const before = of === NONE ? this.#tops.last : this.#last[of]!
    this.#previous.push(before)
    if (before !== NONE) this.#next[before] = row
    else if (of === NONE) this.#tops.first = row
    else this.#first[of] = row
    if (of === NONE) this.#tops.last = row
    else this.#last[of] = row
    this.#known?.set((of + 1) * 2 ** 22 + method, row)
    return row
  }

  laidOut(): OrderedCalls {
    const count = this.method.length
    const order = new Int32Array(count)
    const place = new Int32Array(count)
    let made = 0
    for (let row = this.#tops.first; row !== NONE; ) {
      place[row] = made
      order[made++] = row
      let next = this.#first[row]!
      for (let at = row; next === NONE && at !== NONE; at = this.parent[at]!) next = this.#next[at]!
      row = next
    }
    const column = (of: readonly number[]) => Float64Array.from(order, (row) => of[row]!)
    const self = column(this.self)
    const total = self.slice()
    const size = new Int32Array(count).fill(1)
    const parent = Int32Array.from(order, (row) => {
      const above = this.parent[row]!
      return above === NONE ? NONE : place[above]!
    })
    for (let i = count - 1; i >= 0; i--) {
      const above = parent[i]!
      if (above === NONE) continue
      size[above]! += size[i]!
      total[above]! += total[i]!
    }
    return {
      tree: {
        count,
        method: Int32Array.from(order, (row) => this.method[row]!),
        parent,
        size,
        metrics: { calls: column(this.calls), selfNs: self, totalNs: total },
      },
      startNs: column(this.#start),
    }
  }
}
