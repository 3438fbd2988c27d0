// Pictures (snapshots for the live view) of a session in a proxy, for the proxy's client. Each picture is encoded as the differences from
// the previous picture (remote/tree-writer.ts).
//
// A picture is an array:
//
//     generation   of the session: a new value means that the following parts are sent in full
//     status       as JSON, `LiveStatus`
//     facts        as JSON, `PictureFacts`
//     names        as JSON, `NameEntry` of methods that have not been sent before
//     merged       a tree
//     collapsed    collapsed methods of the merged tree, as a tree of single nodes; or null
//     threads      ids of ended threads; for each changed thread that is due: id, name, activity as JSON, and tree
//                  (name and activity are null if unchanged); or null if the client shows no threads
//
// where a tree consists of its columns (null if unchanged) and the bytes of the update.

import { getOrAdd } from '../base/maps.ts'
import type { Activity } from '../cct/activity.ts'
import type { CourseTimes, RootCallTimes } from '../cct/root-calls.ts'
import type { CollapsedMethods, MethodName, Snapshot, ThreadTree, Tree } from '../cct/tree.ts'
import { jsonText } from '../profile/json-text.ts'
import type { Value } from '../remote/desk.ts'
import type { Pace } from '../remote/pace.ts'
import { TreeWriter } from '../remote/tree-writer.ts'
import type { LiveSource } from '../tui/live-source.ts'
import type { ByHandRow } from '../tui/steering.ts'

export interface PictureFacts {
  readonly events: number
  readonly waitNs: number
  readonly healed: number
  /** Durations of root calls. Absent if unchanged since the previous picture; null if there are none. */
  readonly rootCalls?: RootCallTimes | null
  readonly course?: CourseTail
  /** Methods that the user excluded or added. Absent if unchanged since the previous picture. */
  readonly byHand?: ByHandFacts
  /** Number of contexts that are not sent yet, or are outdated in the sent trees. */
  readonly pending: number
}

/** Seconds that are new or may have changed, from second `from` of the recording on. */
export interface CourseTail {
  readonly first: number
  readonly from: number
  readonly rootCalls: Readonly<Record<string, readonly number[]>> | null
  readonly others: Readonly<Record<string, readonly number[]>>
}

/** Methods that the user excluded or added in the view. */
export interface ByHandFacts {
  readonly rows: readonly ByHandRow[]
  /** Ids of excluded methods among the ids sent so far. */
  readonly leftOut: readonly number[]
}

export interface NameEntry {
  readonly id: number
  readonly name: MethodName
  /** Id of the method without a call site. Present if call sites are recorded. */
  readonly methodOf?: number
}

/** Number of most recent seconds whose values may still change. */
const OPEN_DURATION_SECONDS = 3
/** Minimum interval between two requests for the durations of root calls. */
const ROOT_CALLS_INTERVAL_MS = 1000
/**
 * Minimum interval between two updates of the excluded methods. (Newly loaded classes may contain excluded methods.) A change by the user
 * is sent at once.
 */
const BY_HAND_INTERVAL_MS = 1000
/** Share of the budget for the merged tree, if the client shows threads too. */
const MERGED_SHARE = 0.5
/** Minimum budget, in bytes, for a thread whose turn it is. */
const MIN_THREAD_BUDGET = 256
/** Maximum number of bytes that MessagePack needs for the head of a text, byte string or list. MAX_NUMBER_BYTES: for a number. */
const MAX_HEAD_BYTES = 5
const MAX_NUMBER_BYTES = 9

interface ToldThread {
  readonly writer: TreeWriter
  name: string | null
  activity: string | null
}

/** State sent to the client for one generation of the session. */
class Told {
  readonly sent = new Set<number>()
  /** Methods of nodes that this picture sends for the first time. */
  readonly fresh: number[] = []
  readonly merged = this.writer()
  readonly collapsed = this.writer()
  readonly threads = new Map<number, ToldThread>()
  courseEnd = 0
  rootCallsAt = Number.NEGATIVE_INFINITY
  byHandAt = Number.NEGATIVE_INFINITY
  /** Last sent `byHand` facts, as JSON. */
  byHandRows = '[]'
  leftOut = '[]'

  writer(): TreeWriter {
    return new TreeWriter((id) => {
      if (this.sent.has(id)) return
      this.sent.add(id)
      this.fresh.push(id)
    })
  }
}

export class HostedView {
  #generation = -1
  #told = new Told()
  /** Index of the next thread to send. */
  #turn = 0
  #rootCalls = -1

  constructor(
    private readonly session: { readonly generation: number },
    private readonly source: LiveSource,
  ) {}

  async picture(args: unknown, pace: Pace): Promise<Value> {
    const { perThread } = args as { perThread: boolean }
    const snapshot = await this.source.snapshot(perThread === true)
    if (this.#generation !== this.session.generation) {
      this.#generation = this.session.generation
      this.#told = new Told()
    }
    const { room } = pace
    this.#told.fresh.length = 0
    let pending = 0
    const sent = (writer: TreeWriter, tree: Tree, budget: number): Value => {
      const update = writer.update(tree, budget)
      pending += update.pending
      return [update.columns, update.bytes]
    }
    const merged = sent(this.#told.merged, snapshot.merged, perThread ? room * MERGED_SHARE : room)
    const { collapsed } = snapshot.merged
    const rest =
      collapsed === undefined ? null : sent(this.#told.collapsed, flat(collapsed), room - sizeOf(merged))
    if (perThread !== true) this.#told.threads.clear()
    const threads =
      perThread === true ? this.#ofThreads(snapshot.threads, room - sizeOf(merged) - sizeOf(rest)) : null
    pending += threads?.pending ?? 0
    const names = jsonText(this.#names(snapshot))
    const facts = jsonText({ ...this.#facts(snapshot), pending } satisfies PictureFacts)
    const status = jsonText(this.source.status())
    const picture = [this.#generation, status, facts, names, merged, rest, threads?.told ?? null]
    pace.spend(sizeOf(picture))
    return picture
  }

  /** Sends threads in turn if the budget is too small for all threads. */
  #ofThreads(
    threads: readonly ThreadTree[],
    room: number,
  ): { readonly told: Value; readonly pending: number } {
    const alive = new Set(threads.map(({ id }) => id))
    const gone = [...this.#told.threads.keys()].filter((id) => !alive.has(id))
    for (const id of gone) this.#told.threads.delete(id)
    const entries: Value[] = []
    let left = room - sizeOf(gone)
    let pending = 0
    const count = threads.length
    const first = this.#turn
    for (let i = 0; i < count; i++) {
      const at = (first + i) % count
      const thread = threads[at]!
      if (left <= 0) {
        pending += thread.tree.count
        continue
      }
      this.#turn = (at + 1) % count
      const update = this.#ofThread(thread, Math.max(MIN_THREAD_BUDGET, left / (count - i)))
      pending += update.pending
      if (update.entry === null) continue
      left -= sizeOf(update.entry)
      entries.push(update.entry)
    }
    return { told: [gone, entries], pending }
  }

  /** `entry` is null if nothing has changed. */
  #ofThread({ id, name, tree, activity }: ThreadTree, budget: number): { entry: Value; pending: number } {
    const { threads } = this.#told
    const told = getOrAdd(threads, id, () => ({ writer: this.#told.writer(), name: null, activity: null }))
    const { columns, bytes, pending } = told.writer.update(tree, budget)
    const text = activityText(activity)
    const isOld = name === told.name && text === told.activity
    if (isOld && columns === null && bytes.every((it) => it === 0)) return { entry: null, pending }
    const entry = [id, name === told.name ? null : name, text === told.activity ? null : text, columns, bytes]
    told.name = name
    told.activity = text
    return { entry, pending }
  }

  #facts(snapshot: Snapshot): Omit<PictureFacts, 'pending'> {
    const { events, waitNs, healed, course } = snapshot
    const rootCalls = this.#newRootCalls(snapshot.rootCalls)
    const byHand = this.#newByHand()
    return {
      ...{ events, waitNs, healed },
      ...(rootCalls !== undefined && { rootCalls }),
      ...(course !== undefined && { course: this.#tail(course) }),
      ...(byHand !== undefined && { byHand }),
    }
  }

  #newRootCalls(times: RootCallTimes | undefined): RootCallTimes | null | undefined {
    if (times === undefined) return null
    const now = performance.now()
    // A smaller count means that the counts were reset.
    const isDue = now - this.#told.rootCallsAt >= ROOT_CALLS_INTERVAL_MS || times.count < this.#rootCalls
    if (!isDue || times.count === this.#rootCalls) return undefined
    this.#told.rootCallsAt = now
    this.#rootCalls = times.count
    return times
  }

  #newByHand(): ByHandFacts | undefined {
    const { steering } = this.source
    if (steering === undefined) return undefined
    const { byHand: rows } = steering
    const rowsText = jsonText(rows)
    const now = performance.now()
    const isOld = rowsText === this.#told.byHandRows
    if (isOld && (rows.length === 0 || now - this.#told.byHandAt < BY_HAND_INTERVAL_MS)) return undefined
    this.#told.byHandAt = now
    const leftOut = rows.length === 0 ? [] : [...this.#told.sent].filter((id) => steering.isLeftOut(id))
    const leftOutText = jsonText(leftOut)
    if (isOld && leftOutText === this.#told.leftOut) return undefined
    this.#told.byHandRows = rowsText
    this.#told.leftOut = leftOutText
    return { rows, leftOut }
  }

  #tail({ first, rootCalls, ...others }: CourseTimes): CourseTail {
    const end = first + others.events.length
    const from =
      end < this.#told.courseEnd ? first : Math.max(first, this.#told.courseEnd - OPEN_DURATION_SECONDS)
    this.#told.courseEnd = end
    const cut = (columns: Readonly<Record<string, Float64Array>>) =>
      Object.fromEntries(
        Object.entries(columns).map(([name, values]) => [name, [...values.subarray(from - first)]]),
      )
    return { first, from, rootCalls: rootCalls === undefined ? null : cut(rootCalls), others: cut(others) }
  }

  #names({ merged }: Snapshot): NameEntry[] {
    const { methodOf } = merged
    const entries: NameEntry[] = []
    for (const id of this.#told.fresh) {
      const stands = methodOf?.[id]
      if (stands !== undefined && !this.#told.sent.has(stands)) {
        this.#told.sent.add(stands)
        this.#told.fresh.push(stands) // this loop visits the new element as well
      }
      const name = this.source.methodName(id)
      entries.push({ id, name, ...(stands !== undefined && { methodOf: stands }) })
    }
    return entries
  }
}

/** Maximum encoded size in bytes. */
function sizeOf(value: Value): number {
  if (value instanceof Uint8Array) return MAX_HEAD_BYTES + value.length
  if (typeof value === 'string') return MAX_HEAD_BYTES + Buffer.byteLength(value)
  if (typeof value === 'number') return MAX_NUMBER_BYTES
  return Array.isArray(value)
    ? value.reduce<number>((sum, each: Value) => sum + sizeOf(each), MAX_HEAD_BYTES)
    : 1
}

function activityText(activity: Activity | undefined): string | null {
  if (activity === undefined) return null
  const { perSecond, inside } = activity
  return jsonText({ perSecond: [...perSecond], ...(inside !== undefined && { inside }) })
}

/** Returns a tree of single nodes. Its columns belong to no metric, so nothing is summed. */
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
