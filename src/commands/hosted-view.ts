// What a proxy's client sees of a session: pictures, as differences from the picture before (remote/tree-writer.ts).
//
// A picture is an array:
//
//     generation   of the session: with another one, all below begins anew
//     status       as JSON, `LiveStatus`
//     facts        as JSON, `PictureFacts`
//     names        as JSON, `NameEntry` of methods that had not been sent
//     merged       a tree
//     collapsed    its collapsed methods as a tree of single nodes, or null
//     threads      of each id, name, activity and tree; or null if nobody looks at them
//
// where a tree is its columns, null if they are those of the picture before, and the bytes of the update.

import type { Activity } from '../cct/activity.ts'
import type { CourseTimes, RootCallTimes } from '../cct/root-calls.ts'
import type { CollapsedMethods, MethodName, Snapshot, Tree } from '../cct/tree.ts'
import { jsonText } from '../profile/json-text.ts'
import type { Value } from '../remote/desk.ts'
import type { Pace } from '../remote/pace.ts'
import { TreeWriter } from '../remote/tree-writer.ts'
import type { Session } from '../session/session.ts'
import type { LiveSource } from '../tui/live-source.ts'
import { liveSource } from './live.ts'

export interface PictureFacts {
  readonly events: number
  readonly waitNs: number
  readonly healed: number
  /** Absent where they are those of the picture before; null where there are none. */
  readonly rootCalls?: RootCallTimes | null
  readonly course?: CourseTail
  /** Contexts that are not, or not as they are, in the trees. */
  readonly pending: number
}

/** Seconds that are new, or may have changed, from second `from` of the recording on. */
export interface CourseTail {
  readonly first: number
  readonly from: number
  readonly rootCalls: Readonly<Record<string, readonly number[]>> | null
  readonly others: Readonly<Record<string, readonly number[]>>
}

export interface NameEntry {
  readonly id: number
  readonly name: MethodName
  /** Where call sites are told: the id that stands for the method. */
  readonly methodOf?: number
}

/** Seconds that are not settled yet. */
const OPEN_SECONDS = 3
/** How long calls of roots took is asked for no more often. */
const ROOT_CALLS_MS = 1000
/** Of what there is room for, where trees of threads are wanted, too. */
const PART_MERGED = 0.5
/** Of a thread whose turn it is not. */
const LEAST_OF_THREAD = 32

export class HostedView {
  readonly #session: Session
  readonly #source: LiveSource
  #generation = -1
  #sent = new Set<number>()
  /** Methods of nodes that are sent with this picture. */
  #fresh: number[] = []
  #merged = this.#writer()
  #collapsed = this.#writer()
  #threads = new Map<number, TreeWriter>()
  #courseEnd = 0
  #rootCallsAt = Number.NEGATIVE_INFINITY
  #rootCalls = -1

  constructor(session: Session) {
    this.#session = session
    this.#source = liveSource(session)
  }

  #writer(): TreeWriter {
    return new TreeWriter((id) => {
      if (this.#sent.has(id)) return
      this.#sent.add(id)
      this.#fresh.push(id)
    })
  }

  async picture(args: unknown, pace: Pace): Promise<Value> {
    const { perThread } = args as { perThread: boolean }
    const snapshot = await this.#source.snapshot(perThread === true)
    if (this.#generation !== this.#session.generation) this.#begin()
    const { room } = pace
    this.#fresh = []
    let pending = 0
    const sent = (writer: TreeWriter, tree: Tree, budget: number): Value[] => {
      const update = writer.update(tree, budget)
      pending += update.pending
      return [update.columns, update.bytes]
    }
    const merged = sent(this.#merged, snapshot.merged, perThread ? room * PART_MERGED : room)
    const { collapsed } = snapshot.merged
    const rest =
      collapsed === undefined ? null : sent(this.#collapsed, flat(collapsed), room - sizeOf(merged))
    let left = room - sizeOf(merged) - sizeOf(rest)
    const threads = this.#ofThreads(perThread === true, snapshot, (writer, tree, others) => {
      const value = sent(writer, tree, Math.max(LEAST_OF_THREAD, left / (others + 1)))
      left -= sizeOf(value)
      return value
    })
    const facts = jsonText({ ...this.#facts(snapshot), pending } satisfies PictureFacts)
    const names = jsonText(this.#names(snapshot))
    const status = jsonText(this.#source.status())
    pace.spend(room - left + facts.length + names.length + status.length)
    return [this.#generation, status, facts, names, merged, rest, threads]
  }

  #begin(): void {
    this.#generation = this.#session.generation
    this.#sent = new Set()
    this.#merged = this.#writer()
    this.#collapsed = this.#writer()
    this.#threads.clear()
    this.#courseEnd = 0
    this.#rootCallsAt = Number.NEGATIVE_INFINITY
  }

  #ofThreads(
    isWanted: boolean,
    { threads }: Snapshot,
    sent: (writer: TreeWriter, tree: Tree, others: number) => Value[],
  ): Value {
    if (!isWanted) {
      this.#threads.clear()
      return null
    }
    const before = this.#threads
    this.#threads = new Map()
    return threads.map(({ id, name, tree, activity }, i) => {
      const writer = before.get(id) ?? this.#writer()
      this.#threads.set(id, writer)
      return [id, name, activityText(activity), ...sent(writer, tree, threads.length - i - 1)]
    })
  }

  #facts(snapshot: Snapshot): Omit<PictureFacts, 'pending'> {
    const { events, waitNs, healed, course } = snapshot
    const rootCalls = this.#newRootCalls(snapshot.rootCalls)
    return {
      ...{ events, waitNs, healed },
      ...(rootCalls !== undefined && { rootCalls }),
      ...(course !== undefined && { course: this.#tail(course) }),
    }
  }

  #newRootCalls(times: RootCallTimes | undefined): RootCallTimes | null | undefined {
    if (times === undefined) return null
    const now = performance.now()
    // Fewer than before: all has begun at zero.
    const isDue = now - this.#rootCallsAt >= ROOT_CALLS_MS || times.count < this.#rootCalls
    if (!isDue || times.count === this.#rootCalls) return undefined
    this.#rootCallsAt = now
    this.#rootCalls = times.count
    return times
  }

  #tail({ first, rootCalls, ...others }: CourseTimes): CourseTail {
    const end = first + others.events.length
    const from = end < this.#courseEnd ? first : Math.max(first, this.#courseEnd - OPEN_SECONDS)
    this.#courseEnd = end
    const cut = (columns: Readonly<Record<string, Float64Array>>) =>
      Object.fromEntries(
        Object.entries(columns).map(([name, values]) => [name, [...values.subarray(from - first)]]),
      )
    return { first, from, rootCalls: rootCalls === undefined ? null : cut(rootCalls), others: cut(others) }
  }

  #names({ merged }: Snapshot): NameEntry[] {
    const { methodOf } = merged
    const entries: NameEntry[] = []
    for (const id of this.#fresh) {
      const stands = methodOf?.[id]
      if (stands !== undefined && !this.#sent.has(stands)) {
        this.#sent.add(stands)
        this.#fresh.push(stands) // heard by this very loop
      }
      const name = this.#source.methodName(id)
      entries.push({ id, name, ...(stands !== undefined && { methodOf: stands }) })
    }
    return entries
  }
}

function sizeOf(value: Value): number {
  if (value instanceof Uint8Array) return value.length
  return Array.isArray(value) ? value.reduce<number>((sum, each: Value) => sum + sizeOf(each), 0) : 1
}

function activityText(activity: Activity | undefined): string | null {
  if (activity === undefined) return null
  const { perSecond, inside } = activity
  return jsonText({ perSecond: [...perSecond], ...(inside !== undefined && { inside }) })
}

/** As a tree of single nodes. Its columns are no metric's: nothing is summed. */
function flat({ method, calls, self, total }: CollapsedMethods): Tree {
  const count = method.length
  return {
    count,
    method,
    parent: new Int32Array(count).fill(-1),
    size: new Int32Array(count).fill(1),
    metrics: { calls, self, total },
  }
}
