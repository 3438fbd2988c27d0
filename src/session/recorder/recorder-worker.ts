// The recording thread: reads the event buffer, builds the tree, answers the main thread. A round reads a limited number of chunks, so no
// answer is late. Events are also read while an answer is built. If chunks fill fast or few are free, the next round follows at once;
// otherwise after 2 ms, which is 500 wake-ups per second. With scheme adaptive, no thread of the target waits for a free chunk, and the
// next round follows after 10 ms, since each wake-up costs 40 µs of processor time. Every round and every chunk advances the heartbeat. If
// the heartbeat does not advance for 250 ms, target threads stop waiting, unless the recording thread is runnable but gets no processor.
// After an error, the heartbeat stays unchanged.

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { parentPort, receiveMessageOnPort } from 'node:worker_threads'
import { parseStartTicks } from '../../attach/target-process.ts'
import { debug, msText } from '../../base/debug.ts'
import { joinDebugLog } from '../../base/debug-log.ts'
import type { Activity } from '../../cct/activity.ts'
import { CctBuilder } from '../../cct/builder.ts'
import { Course, MAX_SECONDS } from '../../cct/course.ts'
import type { LatestCalls, RootCalls } from '../../cct/root-calls.ts'
import { RootsApart } from '../../cct/roots-apart.ts'
import { Segments, type SegmentsState } from '../../cct/segments.ts'
import { type SlowState, type SlowWant, slowStateOf, treesOf } from '../../cct/slow-times.ts'
import { type SnapshotOptions, snapshotOf, VIRTUAL } from '../../cct/snapshot.ts'
import { Survivors } from '../../cct/survivors.ts'
import { slowTraceOf, type Trace, type TraceOptions, traceOf } from '../../cct/trace.ts'
import { Tracer } from '../../cct/tracer.ts'
import type { Tree } from '../../cct/tree.ts'
import { openRing, type Ring } from '../../events/ring.ts'
import { RingReader } from '../../events/ring-reader.ts'
import { TreeBlocks } from '../../events/tree-blocks.ts'
import { SINKS } from '../../measures/sinks.ts'
import { RegionBuilder } from '../../regions/builder.ts'
import { MirrorFeed } from './mirror-feed.ts'
import {
  type AskedSegments,
  type AskedSnapshot,
  type CallOf,
  factsOf,
  type NumberedPicture,
  type RecorderCommand,
  type RecorderCommands,
  type RecorderData,
  type RecorderMessage,
  type RecorderRequests,
  type RecorderStats,
} from './recorder.ts'

/**
 * Maximum number of chunks per round. They contain 65,000 events, which take 1 to 2 ms, or several times longer if a dozen threads compete
 * for the processor.
 */
const MAX_CHUNKS_PER_ROUND = 16
/** Maximum number of chunks that are read every few milliseconds while a snapshot is built. It leaves time for building the snapshot. */
const MAX_CHUNKS_DURING_PICTURE = 64
const ROUND_INTERVAL_MS = 2
/**
 * Round interval with scheme adaptive, while half of the chunks are free. In the default buffer, these free chunks are enough for 100
 * million events per second.
 */
const LONG_ROUND_INTERVAL_MS = 10
const SCARCE_INTERVAL_MS = 50
/** Minimum duration of a round or answer that is listed in the debug log. */
const LOGGED_DURATION_MS = 5
/**
 * Time without a heartbeat after which threads of the target no longer wait for this thread (JFluid1Client.SILENT_CLIENT_TIMEOUT_NANOS).
 */
const HEARTBEAT_TIMEOUT_MS = 250
/** Interval at which rates are written to the debug log. */
const RATES_INTERVAL_MS = 1000
/** Minimum interval between two reads of the trees of threads. */
const TREES_INTERVAL_MS = 200
/** Minimum interval between two reads of the trees, as a multiple of the latest read's duration. Two million records take 0.2 s. */
const TREES_PAUSE_FACTOR = 4
/**
 * Interval between two reads of the trees while threads wait for a block or a chunk (one counter counts both waits). A read may cover 64
 * MiB.
 */
const SCARCE_TREES_INTERVAL_MS = 20
/** Length of the timeline (`Course`) in a live view. */
const MAX_LIVE_TIMELINE_SECONDS = 1200

if (parentPort === null) throw new Error('recorder-worker runs as a worker only')
const port = parentPort

/**
 * Requests that do not need to read the trees first. `finish` reads the trees itself, after the last events. `stats` is requested several
 * times a second and uses the result of the latest read.
 */
const WITHOUT_TREE_READ: ReadonlySet<keyof RecorderRequests> = new Set(['stop', 'finish', 'stats'])
const NO_CALLS: LatestCalls = { times: [], probes: [] }

class RecordingThread {
  readonly #alive = () => this.#atWork()
  readonly #builder: CctBuilder
  /** Replaces the builder if regions are timed. */
  readonly #regions: RegionBuilder | undefined
  /** Processes events before the builder if calls are traced. */
  readonly #tracer: Tracer | undefined
  readonly #reader: RingReader
  readonly #roots: RootsApart | null
  #treesAt = 0
  /** Duration of the latest read of the trees. */
  #treesMs = 0
  #starving = 0
  /** Builder for events after `endRows`, and the event counts at that time; undefined before `endRows`. */
  #after:
    | {
        readonly builder: CctBuilder
        readonly calls: RootCalls
        readonly events: number
        readonly gaps: number
      }
    | undefined
  /** Shared with the root calls and the segments. */
  readonly #calibration = { innerTicks: 0, outerTicks: 0 }
  /** Length of a tick; null if costs of segments are not times. */
  #nsPerTick: number | null = null
  /** Time of the latest event in ticks, and the time when it was read. */
  #latest = { ticks: 0, readAt: 0 }
  readonly #course = new Course(performance.now())
  #timer: NodeJS.Timeout | undefined
  #immediate: NodeJS.Immediate | undefined
  #running = true
  #isWaitedFor = true
  #beatAt = performance.now()
  #silentMs = 0
  #ended = 0
  #scarceAt = Number.NEGATIVE_INFINITY
  #eventsBeforeReset = 0
  /** Time and event count of the latest rates in the debug log. */
  #rates = { at: performance.now(), events: 0 }
  /** Commands that arrived while a snapshot was built. They are executed afterwards. */
  readonly #aside: RecorderCommand[] = []
  /** Buffers to transfer to the main thread with the current answer. */
  readonly #transfer = new Set<ArrayBuffer>()

  readonly #commands: RecorderCommands = {
    pause: (startTicks, endTicks) => this.#pause(startTicks, endTicks),
    noThreadWaits: () => {
      this.#isWaitedFor = false
    },
    probesCost: (calibration) => {
      Object.assign(this.#calibration, calibration)
    },
    timeRoots: () => this.#timeRoots(),
    keepSlow: (wanted) => this.#builder.keepSlow(wanted),
    keepSegments: (options, nsPerTick) => this.#keepSegments(options, nsPerTick),
    courseBegins: () => {
      this.#course.reset(performance.now(), this.#events(), this.#waitTicks)
      this.#builder.segments?.reset()
    },
    survivors: (news) => {
      this.#builder.survivors ??= new Survivors()
      this.#builder.survivors.hear(news)
    },
    openAllocations: (open) => this.#builder.openAllocations(open),
    markWarmup: () => {
      if (this.#after === undefined) this.#builder.markWarmup()
    },
    newRows: (nowTicks) => this.#newRows(nowTicks),
    reset: (nowTicks) => this.#reset(nowTicks),
  }

  readonly #answers: RecorderRequests = {
    snapshot: (options, slow) => this.#snapshot(options, slow),
    regions: () => this.#regions?.states() ?? [],
    trace: (options, slowest) => this.#trace(options, slowest),
    segments: (nowTicks) => this.#segments(nowTicks),
    stats: () => this.#stats(),
    called: (methods) => methods.filter((it) => this.#wasCalled(it)),
    endRows: (endTicks, fromTicks) => this.#endRows(endTicks, fromTicks),
    bareCalls: (fromTicks) => this.#after?.calls.latest(fromTicks) ?? NO_CALLS,
    finish: (endTicks) => this.#finish(endTicks),
    stop: () => this.#stop(),
  }

  constructor(
    data: RecorderData,
    private readonly ring: Ring,
    /** Receiver of an event buffer that is sent over a network; null if the buffer is a file. */
    private readonly feed: MirrorFeed | null,
    /** Trees of the threads; null if all calls are recorded as events. With trees, only root calls are events, which RootsApart reads. */
    private readonly trees: TreeBlocks | null,
  ) {
    const { executed = false, regions, trace = 0 } = data
    this.#builder = new CctBuilder({ ...data, alive: this.#alive })
    this.#regions = regions === true ? new RegionBuilder() : undefined
    this.#tracer = trace > 0 ? new Tracer(this.#builder, trace) : undefined
    this.#roots =
      trees === null ? null : new RootsApart(new CctBuilder({ alive: this.#alive, executed }), this.#builder)
    if (trees !== null) {
      this.#builder.onMoved = (moved) => trees.moved(moved, (it) => this.#builder.isContext(it))
    }
    const sink = this.#regions ?? this.#tracer ?? this.#roots ?? this.#builder
    this.#reader = new RingReader(this.ring, sink, () => this.#beat())
    debug.recorder?.(
      `reads ${ring.chunkCount} chunks, ${feed !== null ? 'sent over TCP' : ring.mapped ? 'mapped' : 'as a file'}`,
    )
    const stat = readFileSync('/proc/thread-self/stat', 'utf8')
    this.ring.sign({
      process: process.pid,
      thread: Number.parseInt(stat, 10),
      since: parseStartTicks(stat) ?? 0,
    })
  }

  round(): void {
    const begun = debug.recorder === undefined ? 0 : performance.now()
    if (!this.#poll(MAX_CHUNKS_PER_ROUND)) return
    if (debug.recorder !== undefined) this.#logRound(begun)
    const { chunkCount } = this.ring
    const { freeChunks, idleChunks, returnedChunks, complete } = this.#reader
    if (idleChunks > 0 && freeChunks <= chunkCount / 16) this.#tellScarce()
    if (this.#ended === 0) {
      this.#ended = this.ring.ended()
      if (this.#ended !== 0) {
        debug.recorder?.(`the target has stopped recording, code ${this.#ended}`)
        send({ kind: 'ended', why: this.#ended })
      }
    }
    const wereFree = freeChunks - returnedChunks
    if (!complete || returnedChunks > chunkCount / 8 || (returnedChunks > 0 && wereFree < chunkCount / 4)) {
      this.#immediate = setImmediate(() => this.round())
    } else {
      const isCalm = !this.#isWaitedFor && freeChunks > chunkCount / 2
      this.#timer = setTimeout(() => this.round(), isCalm ? LONG_ROUND_INTERVAL_MS : ROUND_INTERVAL_MS)
    }
  }

  /** Runs one round. @returns whether another round may follow */
  #poll(maxChunks: number): boolean {
    if (!this.#running) return false
    this.#beat()
    this.#tick()
    try {
      this.#reader.poll(maxChunks)
      if (this.trees !== null) this.#lookAtTrees()
    } catch (error) {
      this.#break(error)
    }
    return this.#running
  }

  #timeRoots(): void {
    const calls = this.#builder.timeRoots(this.#calibration, this.#course)
    this.#roots?.timeRoots(calls)
  }

  #keepSegments({ mode, ...asked }: AskedSegments, nsPerTick: number | null): void {
    const { metric, countsCalls = false } = SINKS[mode]
    const options = { ...asked, calibration: this.#calibration, isTime: metric.isTime === true, countsCalls }
    this.#nsPerTick = nsPerTick
    this.#builder.segments = new Segments(this.#builder, options, this.#alive)
  }

  /**
   * Returns the time in the target up to which a segment charges open frames: the time of the latest event, or a later time if no event has
   * come for a while.
   */
  get #nowTicks(): number | undefined {
    if (this.#nsPerTick === null) return undefined
    const idleMs = Math.max(0, performance.now() - this.#latest.readAt - LONG_ROUND_INTERVAL_MS)
    return this.#latest.ticks + (idleMs * 1e6) / this.#nsPerTick
  }

  #endSegment(): void {
    const { segments } = this.#builder
    if (segments?.isDue(this.#course.elapsedMs) !== true) return
    const begun = debug.recorder === undefined ? 0 : performance.now()
    this.#readTrees()
    segments.end(this.#course.elapsedMs, this.#nowTicks)
    debug.recorder?.(
      `a segment of ${this.#builder.contexts} contexts took ${msText(performance.now() - begun)}`,
    )
  }

  #newRows(nowTicks: number): void {
    const { segments } = this.#builder
    segments?.endEpoch(this.#course.elapsedMs, this.#nsPerTick === null ? undefined : nowTicks)
    this.#builder.reset(nowTicks, true)
    segments?.restarted()
  }

  /**
   * Reads the trees at intervals, which are shorter while threads wait. Once the buffer cannot get more blocks, no thread waits, but each
   * failed request still increments the counter. So the counter is ignored then.
   */
  #lookAtTrees(): void {
    const starving = this.ring.starving()
    const isScarce = starving !== this.#starving && this.trees?.full === null
    const everyMs = isScarce
      ? SCARCE_TREES_INTERVAL_MS
      : Math.max(TREES_INTERVAL_MS, TREES_PAUSE_FACTOR * this.#treesMs)
    if (performance.now() - this.#treesAt < everyMs) return
    this.#starving = starving
    this.#readTrees()
  }

  /** Reads the trees. An error ends the recording, but does not fail the request that needs the trees. */
  #readTrees(): void {
    if (!this.#running || this.trees === null) return
    const begun = performance.now()
    try {
      this.trees.read(this.#builder, this.#alive)
    } catch (error) {
      this.#break(error)
    }
    this.#treesAt = performance.now()
    this.#treesMs = this.#treesAt - begun
  }

  /**
   * Reads events while a snapshot is built. Building a snapshot of a million contexts takes so long that the buffer would become full and
   * threads would wait. `pause` commands are executed at once, since the builder must know a pause before it reads many later events.
   */
  #keepUp(): void {
    while (this.#aside.length === 0) {
      const next = receiveMessageOnPort(port) as { message: RecorderCommand } | undefined
      if (next === undefined) break
      if (next.message.kind === 'pause') this.command(next.message)
      else this.#aside.push(next.message)
    }
    this.#poll(MAX_CHUNKS_DURING_PICTURE)
  }

  /** Handles an uncaught error. The data built so far remain available. */
  fail(error: unknown): void {
    this.#break(error)
  }

  command(command: RecorderCommand): void {
    if (command.kind === 'request') this.#answer(command.id, command.request)
    else called(this.#commands, command)
  }

  #reset(nowTicks: number | undefined): void {
    this.#readTrees()
    this.#roots?.reset(nowTicks)
    this.#builder.reset(nowTicks)
    this.#regions?.reset()
    this.#tracer?.reset()
    this.#eventsBeforeReset = this.#allEvents
    this.#course.reset(performance.now(), this.#events(), this.#waitTicks)
    this.#builder.segments?.reset()
  }

  #pause(startTicks: number, endTicks: number): void {
    if (this.#after !== undefined) {
      this.#after.builder.pause(startTicks, endTicks)
      return
    }
    this.#builder.pause(startTicks, endTicks)
    this.#tracer?.pause(startTicks, endTicks)
    this.#course.pause(endTicks - startTicks)
  }

  #answer(id: number, request: CallOf<RecorderRequests>): void {
    const { kind } = request
    const begun = debug.recorder === undefined ? 0 : performance.now()
    try {
      if (!WITHOUT_TREE_READ.has(kind)) this.#readTrees()
      const value = called(this.#answers, request)
      send({ kind: 'reply', id, value }, [...this.#transfer])
      if (kind === 'stop') port.close()
    } catch (error) {
      debug.recorder?.(`${kind} has failed: ${String(error)}`)
      send({ kind: 'refused', id, error: factsOf(error) })
    }
    if (debug.recorder !== undefined && performance.now() - begun > LOGGED_DURATION_MS)
      debug.recorder(`${kind} took ${msText(performance.now() - begun)}`)
    this.#transfer.clear()
    for (const later of this.#aside.splice(0)) this.command(later)
  }

  #takeAlong({ method, parent, size, metrics }: Tree): void {
    for (const { buffer } of [method, parent, size, ...Object.values(metrics)])
      if (buffer instanceof ArrayBuffer) this.#transfer.add(buffer)
  }

  #snapshot({ mode, ...asked }: AskedSnapshot, wanted: SlowWant | undefined): NumberedPicture {
    const events = this.#events()
    const options = { ...asked, sink: SINKS[mode] }
    const snapshot = snapshotOf(
      this.#builder,
      options,
      () => this.#atWork(),
      () => this.#keepUp(),
    )
    const rootCalls = this.#builder.rootCalls?.state() ?? null
    const slow = this.#slowState(wanted, options)
    const trees = [snapshot.merged, ...snapshot.threads.map((it) => it.tree), ...(slow ? treesOf(slow) : [])]
    for (const tree of trees) this.#takeAlong(tree)
    // The class names are read after the trees are built, since events with more names may be read while the trees are built.
    const names = this.#builder.takeClassNames()
    const thrownNames = this.#builder.rootCalls?.thrownNames.take() ?? []
    const firstCalls = this.#builder.takeFirstCalls()
    const activities = snapshot.threads.map(({ number }) => this.#activityOf(number))
    const calls = this.#builder.callTable
    this.#tick()
    const course = this.#course.state(options.perThread === false ? MAX_LIVE_TIMELINE_SECONDS : MAX_SECONDS)
    return { snapshot, activities, events, names, firstCalls, calls, rootCalls, course, slow, thrownNames }
  }

  /** @param slowest  number of slow calls to trace; 0 if the first calls are traced */
  #trace(options: TraceOptions, slowest: number): Trace<number> | undefined {
    const alive = () => this.#keepUp()
    const slow = slowest > 0 ? this.#builder.rootCalls?.slow : null
    const trace = slow
      ? slowTraceOf(slow, slowest, options, alive)
      : this.#tracer && traceOf(this.#tracer, options, alive)
    for (const { tracks } of trace?.calls ?? [])
      for (const { events, times } of tracks)
        for (const { buffer } of [events, times]) this.#transfer.add(buffer as ArrayBuffer)
    return trace
  }

  /** @param nowTicks  time up to which open frames are charged; undefined if costs are not times, and after the end */
  #segments(nowTicks: number | undefined): SegmentsState | null {
    const { segments } = this.#builder
    if (segments === null) return null
    this.#tick()
    const state = segments.state(this.#course.elapsedMs, nowTicks)
    for (const { buffer } of [state.method, state.parent, state.size])
      this.#transfer.add(buffer as ArrayBuffer)
    for (const { row, calls, self } of state.segments)
      for (const { buffer } of [row, calls, self]) this.#transfer.add(buffer as ArrayBuffer)
    return state
  }

  #finish(endTicks: number | undefined): boolean {
    if (this.#running) this.#readTheRest()
    debug.recorder?.(
      `finished: ${this.#reader.events} events, ${this.#builder.contexts} contexts, ${this.ring.gaps()} gaps`,
    )
    if (this.trees !== null)
      debug.recorder?.(`${this.trees.blocks} blocks, given back ${this.trees.released} times`)
    if (this.#after === undefined) this.#closeOpen(endTicks ?? this.#reader.lastTicks)
    return this.feed?.ring.isWhole ?? true
  }

  #stop(): void {
    this.#halt()
    this.ring.close()
    this.trees?.close()
    this.feed?.close()
  }

  #activityOf(row: number): Activity {
    return row === VIRTUAL || this.#roots === null
      ? this.#builder.activityOf(row)
      : this.#roots.activityOf(row)
  }

  #closeOpen(endTicks: number): void {
    this.#roots?.closeOpen(endTicks)
    this.#builder.closeOpen(endTicks)
  }

  #endRows(endTicks: number, fromTicks: number): LatestCalls {
    if (!this.#running) return NO_CALLS
    try {
      this.#reader.catchUp()
    } catch (error) {
      this.#break(error)
      return NO_CALLS
    }
    const events = this.#events()
    this.#tick()
    this.#builder.closeOpen(endTicks)
    const builder = new CctBuilder()
    const calls = builder.timeRoots(this.#calibration, new Course(performance.now()))
    this.#after = { builder, calls, events, gaps: this.ring.gaps() }
    this.#reader.switchSink(builder)
    return this.#builder.rootCalls?.latest(fromTicks) ?? NO_CALLS
  }

  #slowState(want: SlowWant | undefined, options: SnapshotOptions): SlowState | null {
    const slow = this.#builder.rootCalls?.slow ?? null
    if (slow === null || want === undefined) return null
    return slowStateOf(
      slow,
      want,
      options,
      () => this.#atWork(),
      () => this.#keepUp(),
    )
  }

  #wasCalled(id: number): boolean {
    return this.#regions?.has(id) ?? this.#builder.isCalled(id)
  }

  #readTheRest(): void {
    this.#halt()
    this.feed?.ring.cut()
    try {
      this.#reader.drain()
      this.trees?.read(this.#builder)
    } catch (error) {
      this.#break(error)
    }
  }

  #stats(): RecorderStats {
    return {
      events: this.#events(),
      waitTicks: this.#waitTicks,
      healed: this.#builder.healed + (this.#roots?.healed ?? 0),
      overflows: this.#builder.overflows,
      followed: this.#builder.followed,
      orphans: this.#builder.orphans,
      openCalls: this.#builder.openCalls + (this.#roots?.openCalls ?? 0),
      purged: this.#builder.purged,
      collapsed: this.#builder.collapsed?.contexts ?? 0,
      samples: { ...this.#builder.samples },
      allocatedBytes: this.#builder.allocatedBytes,
      virtualRoots: this.#builder.virtualRoots,
      gaps: this.#after?.gaps ?? this.ring.gaps(),
      treesFull: this.trees?.full ?? null,
      nodes: this.#builder.contexts,
      calledMethods: this.#regions?.executed ?? this.#builder.methods,
      lastTicks: this.#reader.lastTicks,
      freeChunks: this.#reader.freeChunks,
      disordered: this.#reader.disordered,
      mapped: this.ring.mapped,
      ended: this.ring.ended(),
      silentMs: this.#silentMs,
      slowFromTicks: this.#builder.rootCalls?.slow?.detailsFromTicks ?? null,
    }
  }

  #events(): number {
    if (this.#after !== undefined) return this.#after.events
    return this.#allEvents - this.#eventsBeforeReset
  }

  /** Number of entry and exit events. A call that is only counted in a tree counts as two events. */
  get #allEvents(): number {
    return this.#reader.events - this.#builder.siteWords + 2 * (this.trees?.calls ?? 0)
  }

  get #waitTicks(): number {
    return this.#builder.waitTicks + (this.#regions?.waitTicks ?? 0)
  }

  /** Assigns the events read so far to the current second. */
  #tick(): void {
    if (this.#after !== undefined) return
    const now = performance.now()
    this.#builder.nowMs = performance.timeOrigin + now
    if (this.#roots !== null) this.#roots.nowMs = performance.timeOrigin + now
    this.#course.tick(now, this.#events(), this.#waitTicks)
    const { lastTicks } = this.#reader
    if (lastTicks !== this.#latest.ticks) this.#latest = { ticks: lastTicks, readAt: now }
    this.#endSegment()
  }

  #logRound(begun: number): void {
    const now = performance.now()
    if (now - begun > LOGGED_DURATION_MS) debug.recorder?.(`a round took ${msText(now - begun)}`)
    const sinceMs = now - this.#rates.at
    if (sinceMs < RATES_INTERVAL_MS) return
    const events = this.#reader.events
    const rate = ((events - this.#rates.events) * 1000) / sinceMs
    this.#rates = { at: now, events }
    const { freeChunks, idleChunks } = this.#reader
    debug.recorder?.(
      `${rate.toFixed(0)} events/s, ${freeChunks} chunks of ${this.ring.chunkCount} free, ${idleChunks} idle; ${this.#builder.contexts} contexts, ${this.ring.gaps()} gaps, ${this.#waitTicks} ticks waited`,
    )
  }

  #tellScarce(): void {
    const now = performance.now()
    if (now - this.#scarceAt < SCARCE_INTERVAL_MS) return
    this.#scarceAt = now
    debug.recorder?.(
      `${this.#reader.freeChunks} chunks free, ${this.#reader.idleChunks} idle: the agent is asked to take those back`,
    )
    send({ kind: 'scarce' })
  }

  /** Called at intervals during long work on the tree, while no events can be processed. Advances the heartbeat. */
  #atWork(): void {
    this.#beat()
    if (this.#running) this.#reader.setAside()
  }

  #beat(): void {
    if (!this.#running) return
    this.ring.beat()
    const now = performance.now()
    if (now - this.#beatAt > HEARTBEAT_TIMEOUT_MS) this.#silentMs += now - this.#beatAt
    this.#beatAt = now
  }

  #break(error: unknown): void {
    debug.recorder?.(`broken: ${String(error)}`)
    this.#halt()
    send({ kind: 'broken', error: factsOf(error) })
  }

  #halt(): void {
    this.#running = false
    clearTimeout(this.#timer)
    clearImmediate(this.#immediate)
  }
}

function send(message: RecorderMessage, transfer: ArrayBuffer[] = []): void {
  port.postMessage(message, transfer)
}

/** Calls the member that the message names. */
function called<T>(members: T, { kind, args }: CallOf<T>): unknown {
  return Reflect.apply(members[kind] as () => unknown, members, args)
}

try {
  // The message arrives when the event buffer exists. Until then, the thread is only preloaded.
  const [data]: [RecorderData] = (await once(port, 'message')) as [RecorderData]
  if (data.debugLog !== undefined) joinDebugLog(data.debugLog)
  let recording: RecordingThread
  let mirrorPort = 0
  if (typeof data.ring === 'string') {
    const ring = openRing(data.ring)
    recording = new RecordingThread(data, ring, null, data.trees === true ? TreeBlocks.open(data.ring) : null)
  } else {
    const feed: MirrorFeed = await MirrorFeed.listen(data.ring, (problem) => recording.fail(problem))
    recording = new RecordingThread(data, feed.ring, feed, null)
    mirrorPort = feed.port
  }
  port.on('message', (command: RecorderCommand) => recording.command(command))
  // The handler gets errors of this thread only. Without the handler, the thread would end and the tree would be lost.
  process.on('uncaughtException', (error) => recording.fail(error))
  send({ kind: 'ready', port: mirrorPort })
  recording.round()
} catch (error) {
  send({ kind: 'broken', error: factsOf(error) })
  port.close()
}
