// The live view of a session in a proxy on another machine. The view shows the received data, which `hosted-view.ts` sends. While there is
// no connection, the view shows the last received data.

import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Activity } from '../cct/activity.ts'
import type { CourseTimes, RootCallTimes } from '../cct/root-calls.ts'
import type { CollapsedMethods, MethodName, Snapshot, ThreadTree, Tree } from '../cct/tree.ts'
import { NotAProxy } from '../remote/errors.ts'
import { TreeMirror } from '../remote/tree-mirror.ts'
import type { JvmThreads } from '../session/why/jvm-threads.ts'
import { SNAPSHOT } from '../tui/keeper.ts'
import type { LiveSource, LiveStatus } from '../tui/live-source.ts'
import type { Steering } from '../tui/steering.ts'
import { Malformed } from '../wire/unpack.ts'
import { nameNow } from './file-name.ts'
import type { ByHandFacts, CourseTail, NameEntry, PictureFacts } from './hosted-view.ts'
import { sessionKeeper, sessionRanges } from './keeper.ts'
import { keepIn } from './place.ts'
import { parsed, type RemoteSession } from './remote-session.ts'
import { steeredText } from './steering.ts'
import { threadText } from './threads.ts'

/** Minimum interval between two pictures: five per second. */
const PICTURE_INTERVAL_MS = 200
/** Interval between two checks while the view waits for a picture: whether the picture is late, or the connection is lost. */
const CHECK_INTERVAL_MS = 100
/** Delay after which the previous picture is drawn until the new picture arrives. */
const LATE_TIMEOUT_MS = 500

/** Limit for ids, since a received id is an index of a local table. The limit exceeds the number of methods and call sites of any tree. */
const MAX_ID = 2 ** 24
/** Maximum number of threads that the client accepts. A JVM has fewer threads. */
const MAX_THREADS = 2 ** 20
/** Maximum number of seconds that the client accepts: 48 days. A recording is shorter. */
const MAX_SECONDS = 2 ** 22

const UNKNOWN: MethodName = { class: '', method: '(not received yet)', descriptor: '', loader: '' }

/** @param directory  directory for a profile that would otherwise be lost */
export function remoteSource(session: RemoteSession, directory = '.'): LiveSource {
  const view = new RemoteView(session)
  return {
    snapshot: (perThread) => view.snapshot(perThread),
    methodName: (id) => view.nameOf(id),
    status: () => view.status(),
    dumpThreads: async (isConfirmed) =>
      threadText(parsed<JvmThreads>(session, await session.ask('threads', { isConfirmed }))),
    reset: () => {
      session.ask('reset').catch(() => {}) // `ended` reports the error
    },
    keeper: sessionKeeper(session),
    ranges: sessionRanges(session, () => view.status().mode),
    steering: remoteSteering(session, view, directory),
    ended: session.ended,
  }
}

/** The requests contain texts instead of ids, since ids may have changed when a request arrives. */
function remoteSteering(session: RemoteSession, view: RemoteView, directory: string): Steering {
  return {
    get generation() {
      return view.generation
    },
    get byHand() {
      return view.byHand
    },
    isLeftOut: (id) => view.isLeftOut(id),
    textOf: (id, extent) => steeredText(view.nameOf(id), extent),
    async changeRoot(text, onPhase) {
      onPhase(`requested via ${session.where}`)
      const name = nameNow(session.pid, SNAPSHOT.extension)
      const { generation } = view
      const told = await session.changeRoot(text, join(directory, name), (profile) =>
        keepIn(directory, name, profile),
      )
      // The answer arrives before a new picture. Until then, the shown picture belongs to the old root.
      await view.waitForOtherThan(generation)
      return told
    },
    leaveOut: (text) => view.after(session.steer('leaveOut', text)),
    add: (text) => view.after(session.steer('add', text)),
    costToTime: (text) => session.steer('costToTime', text),
    time: (text) => view.after(session.steer('time', text)),
    takeBack: (text) => view.after(session.steer('takeBack', text)),
  }
}

class RemoteView {
  #known: Known
  #status: LiveStatus
  #pending = 0
  #last: Snapshot | undefined
  /** Whether the view shows threads. */
  #perThread = false
  #asked: { readonly perThread: boolean; readonly picture: Promise<Snapshot> } | undefined
  #askedAt = Number.NEGATIVE_INFINITY

  constructor(private readonly session: RemoteSession) {
    this.#known = new Known(session, -1)
    this.#status = {
      ...{ pid: session.pid, mainClass: '', jdk: '', scheme: 'b', mode: 'exact', roots: [] },
      ...{ instrumentedMethods: 0, calledMethods: 0, events: 0, eventsPerSecond: 0, waitPercent: 0 },
      ...{ elapsedMs: 0, phase: 'starting', warnings: [] },
    }
  }

  /** Generation of the shown picture. */
  get generation(): number {
    return this.#known.generation
  }

  /** Waits until the shown picture has another generation. */
  async waitForOtherThan(generation: number): Promise<void> {
    while (this.generation === generation) await this.snapshot(false)
  }

  /** Fetches a picture after a steering request, so that the list of the user's changes is current even if the view is frozen. */
  async after(steered: Promise<string>): Promise<string> {
    const told = await steered
    // A pending picture may be older than the change. The view that requested this picture receives its errors.
    await this.#asked?.picture.catch(() => {})
    await this.snapshot(this.#perThread).catch(() => {})
    return told
  }

  get byHand(): ByHandFacts['rows'] {
    return this.#known.byHand
  }

  isLeftOut(id: number): boolean {
    return this.#known.leftOut.has(id)
  }

  nameOf(id: number): MethodName {
    return this.#known.names.get(id)?.name ?? UNKNOWN
  }

  status(): LiveStatus {
    const { where, lostForMs, problem } = this.session
    return { ...this.#status, remote: { where, lostForMs, problem, pending: this.#pending } }
  }

  /**
   * Requests one picture at a time, since each picture is a difference from the previous picture. If the picture is late, returns the
   * previous picture, so that the view is not blocked.
   */
  async snapshot(perThread: boolean): Promise<Snapshot> {
    this.#perThread = perThread
    const late = performance.now() + LATE_TIMEOUT_MS
    for (;;) {
      const asked = this.#asked ?? this.#ask(perThread)
      const picture = await this.#inTime(asked.picture, late)
      if (picture === null) return this.#last!
      if (asked.perThread || !perThread) return picture
    }
  }

  #ask(perThread: boolean): { readonly perThread: boolean; readonly picture: Promise<Snapshot> } {
    const picture = this.#picture(perThread).finally(() => {
      this.#asked = undefined
    })
    this.#asked = { perThread, picture }
    return this.#asked
  }

  /** @returns null if the picture is late and an earlier picture exists */
  async #inTime(picture: Promise<Snapshot>, late: number): Promise<Snapshot | null> {
    for (;;) {
      const first = await Promise.race([picture, sleep(CHECK_INTERVAL_MS, null)])
      if (first !== null) return first
      const isLate = this.session.lostForMs !== null || performance.now() > late
      if (isLate && this.#last !== undefined) return null
    }
  }

  async #picture(perThread: boolean): Promise<Snapshot> {
    const early = this.#askedAt + PICTURE_INTERVAL_MS - performance.now()
    if (early > 0) await sleep(early)
    this.#askedAt = performance.now()
    const message = await this.session.ask('picture', { perThread })
    try {
      this.#last = this.#take(message)
      return this.#last
    } catch (error) {
      if (!(error instanceof Malformed)) throw error
      throw new NotAProxy(this.session.where, error.message)
    }
  }

  #take(message: unknown): Snapshot {
    const [generation, status, facts, ...parts] = listOf(message, 7)
    if (typeof generation !== 'number') throw new Malformed('a snapshot without a generation')
    if (generation !== this.generation) this.#known = new Known(this.session, generation)
    this.#status = parsed<LiveStatus>(this.session, status)
    const read = parsed<PictureFacts>(this.session, facts)
    this.#pending = read.pending
    return this.#known.take(read, parts)
  }
}

interface KnownThread {
  readonly mirror: TreeMirror
  readonly name: string
  readonly activity: Activity | undefined
  readonly tree: Tree
}

/** Data of one generation: ids of methods and nodes are valid within one generation. */
class Known {
  readonly names = new Map<number, NameEntry>()
  byHand: ByHandFacts['rows'] = []
  leftOut: ReadonlySet<number> = new Set()
  #mostId = 0
  /** Methods of all received ids, if call sites are recorded. */
  #methodOf: Int32Array | undefined
  readonly #merged = new TreeMirror()
  readonly #collapsed = new TreeMirror()
  readonly #threads = new Map<number, KnownThread>()
  #rootCalls: RootCallTimes | undefined
  #course: CourseTimes | undefined

  constructor(
    readonly session: RemoteSession,
    readonly generation: number,
  ) {}

  take(facts: PictureFacts, [names, merged, collapsed, threads]: readonly unknown[]): Snapshot {
    const { events, waitNs, healed, rootCalls, course, byHand } = facts
    for (const entry of parsed<NameEntry[]>(this.session, names)) this.#name(entry)
    if (rootCalls !== undefined) this.#rootCalls = rootCalls ?? undefined
    if (course !== undefined) this.#course = grown(this.#course, course)
    if (byHand !== undefined) {
      this.byHand = byHand.rows
      this.leftOut = new Set(byHand.leftOut)
    }
    const tree = this.#withMethods(updated(this.#merged, merged))
    const rest = collapsed === null ? undefined : collapsedOf(updated(this.#collapsed, collapsed))
    return {
      merged: rest === undefined ? tree : { ...tree, collapsed: rest },
      threads: this.#takeThreads(threads),
      ...{ events, waitNs, healed },
      ...(this.#rootCalls !== undefined && { rootCalls: this.#rootCalls }),
      ...(this.#course !== undefined && { course: this.#course }),
    }
  }

  #name(entry: NameEntry): void {
    for (const id of [entry.id, entry.methodOf ?? 0]) {
      if (!Number.isInteger(id) || id < 0 || id >= MAX_ID) throw new Malformed(`a method ${id}`)
      this.#mostId = Math.max(this.#mostId, id)
    }
    this.names.set(entry.id, entry)
    if (entry.methodOf === undefined && this.#methodOf === undefined) return
    this.#methodOf = grownTo(this.#methodOf, this.#mostId + 1)
    this.#methodOf[entry.id] = entry.methodOf ?? entry.id
  }

  #withMethods(tree: Tree): Tree {
    return this.#methodOf === undefined ? tree : { ...tree, methodOf: this.#methodOf }
  }

  #takeThreads(told: unknown): ThreadTree[] {
    if (told === null) {
      this.#threads.clear()
      return []
    }
    const [gone, entries] = listOf(told, 2)
    for (const id of listOf(gone)) this.#threads.delete(Number(id))
    for (const entry of listOf(entries)) this.#takeThread(listOf(entry, 5))
    if (this.#threads.size > MAX_THREADS) throw new Malformed(`${this.#threads.size} threads`)
    return [...this.#threads].map(
      ([id, { name, tree, activity }]): ThreadTree => ({
        ...{ id, name, tree: this.#withMethods(tree) },
        ...(activity !== undefined && { activity }),
      }),
    )
  }

  #takeThread([id, name, activity, columns, bytes]: unknown[]): void {
    const known = typeof id === 'number' ? this.#threads.get(id) : undefined
    const called = name ?? known?.name
    if (typeof id !== 'number' || typeof called !== 'string') throw new Malformed('a thread without a name')
    const mirror = known?.mirror ?? new TreeMirror()
    const tree = updated(mirror, [columns, bytes])
    const active = typeof activity === 'string' ? activityOf(activity, this.session) : known?.activity
    this.#threads.set(id, { mirror, name: called, activity: active, tree })
  }
}

/** Grows the table. A new id maps to itself until its method is known. Ids arrive in bursts, so the table grows by half. */
function grownTo(old: Int32Array | undefined, length: number): Int32Array {
  if (old !== undefined && length <= old.length) return old
  const ids = new Int32Array(length + (length >> 1))
  for (let id = 0; id < ids.length; id++) ids[id] = id
  if (old !== undefined) ids.set(old)
  return ids
}

function listOf(value: unknown, length?: number): unknown[] {
  if (!Array.isArray(value) || (length !== undefined && value.length !== length))
    throw new Malformed('an incomplete snapshot')
  return value
}

/** Returns the tree after applying an update. */
function updated(mirror: TreeMirror, update: unknown): Tree {
  const [columns, bytes] = listOf(update, 2)
  if (!(bytes instanceof Uint8Array)) throw new Malformed('a tree without bytes')
  const names = columns === null ? null : listOf(columns).map(String)
  mirror.apply({ columns: names, bytes })
  return mirror.tree()
}

function collapsedOf({ method, metrics }: Tree): CollapsedMethods {
  const of = (name: string): Float64Array => {
    const values = metrics[name]
    if (values === undefined) throw new Malformed(`collapsed methods without ${name}`)
    return values
  }
  return { method, calls: of('calls'), self: of('self'), total: of('total') }
}

function activityOf(text: string, where: RemoteSession): Activity {
  const { perSecond, inside } = parsed<{ perSecond: number[]; inside?: number }>(where, text)
  return { perSecond: Uint32Array.from(perSecond), ...(inside !== undefined && { inside }) }
}

const CALL_COLUMNS = ['calls', 'mean', 'p50', 'p95', 'max'] as const
const OTHER_COLUMNS = ['events', 'waitNs', 'pauses', 'pauseNs'] as const

/** Keeps the seconds before `from`, and appends the received seconds. */
function grown(old: CourseTimes | undefined, { first, from, rootCalls, others }: CourseTail): CourseTimes {
  if (!(first >= 0 && from >= first && from - first <= MAX_SECONDS))
    throw new Malformed('a timeline without seconds')
  const oldFirst = old?.first ?? first
  const joined = (
    before: Float64Array | undefined,
    told: readonly number[] | null | undefined,
  ): Float64Array => {
    const tail = told ?? []
    const values = new Float64Array(from - first + tail.length)
    if (before !== undefined) values.set(before.subarray(Math.max(0, first - oldFirst), from - oldFirst))
    values.set(tail, from - first)
    return values
  }
  const columns = <N extends string>(
    names: readonly N[],
    before: { readonly [name in N]?: Float64Array } | undefined,
    tails: CourseTail['others'],
  ) =>
    Object.fromEntries(names.map((name) => [name, joined(before?.[name], tails[name])])) as Record<
      N,
      Float64Array
    >
  return {
    first,
    ...(rootCalls !== null && { rootCalls: columns(CALL_COLUMNS, old?.rootCalls, rootCalls) }),
    ...columns(OTHER_COLUMNS, old, others),
  }
}
