// Builds calling context trees from events (JFluid report, section 5.3): at an entry the caller's
// clock stops and the callee's starts, at an exit the other way round.
//
// This module owns the growing trees, the threads' places in them, and what must be taken out of
// measured time later. It measures and counts; correcting for the probes is `compensation.ts`,
// a tree that others can read is `snapshot.ts`.
//
// There is no simulated stack: a node of a CCT is a context, so a thread's stack is the path from its
// current node to the top. A thread's top is a pseudo node, so that "outside all roots" is a place
// like any other: time spent there is charged to it and never shown. All virtual threads share one.
//
// Work that a thread takes up for another (SUBMIT, BEGIN) hangs in the tree of the thread that does it,
// below a pseudo node that names the context it was handed over from. As with a top, time spent there is
// nobody's. `handover.ts` puts that context's path in its place when a picture is made.

import { EX_UNAVAILABLE, JfluidError } from '../base/errors.ts'
import type { EventSink } from '../events/decode.ts'
import { HIGH_TICKS_MASK, KIND_SHIFT, METHOD_MASK, METHOD_SHIFT } from '../events/event-halves.ts'
import { CONTROL_COUNTED, CONTROL_SITE, KIND_CONTROL, KIND_ENTER, KIND_EXIT } from '../events/event-layout.ts'
import { type Activity, ThreadActivity } from './activity.ts'
import { CallIds, type CallTable } from './call-ids.ts'
import type { Course } from './course.ts'
import { purge } from './purge.ts'
import { type ProbeCosts, RootCalls, type RootClock } from './root-calls.ts'
import type { SlowCalls, SlowThreshold } from './slow-calls.ts'
import { Survivors } from './survivors.ts'
import { Weights } from './weights.ts'

// A node is a record of 32 bytes, so that an event touches one cache line per node:
//
//   offset  size  type  field
//        0     4  i32   method     id, of a method or of a method and a call site (call-ids.ts); of a top: minus its
//                                  thread's number, or VIRTUAL_TOP; of work handed over: HANDED_OVER minus the
//                                  node it comes from
//        4     4  i32   parent     node, -1 for a top
//        8     4  i32   recent     child entered latest; 0: none
//       12     4  i32   successor  sibling entered after this node the last time; 0: none
//       16     8  f64   calls
//       24     8  f64   ticks      measured, callees excluded
//
// Node 0 is nobody: its method is never asked for. A node's index is higher than its parent's.
//
// Constants that are exported or imported are not constant to V8: each use loads a cell. Those of the loop in
// `calls` are this module's own, which makes it a third faster.
const INTS = 8
const FLOATS = 4
const METHOD = 0
const PARENT = 1
const RECENT = 2
const SUCCESSOR = 3
const CALLS = 2
const TICKS = 3
const ENTER = KIND_ENTER
const EXIT = KIND_EXIT
const CONTROL = KIND_CONTROL
const SITE = CONTROL_SITE
const COUNTED = CONTROL_COUNTED
const ID_SHIFT = METHOD_SHIFT
const ID_MASK = METHOD_MASK
const HIGH_TICKS = HIGH_TICKS_MASK
const SHIFT = KIND_SHIFT
const TWO_32 = 2 ** 32

export const NODE_INTS = INTS
export const NODE_FLOATS = FLOATS
export const NODE_METHOD = METHOD
export const NODE_PARENT = PARENT
export const NODE_CALLS = CALLS
export const NODE_TICKS = TICKS

/** The method field of the top that virtual threads share: no thread has this number. */
export const VIRTUAL_TOP = -(2 ** 24)
/** The method field of a pseudo node for work from node n is this minus n: nodes are below 2^26. */
export const HANDED_OVER = VIRTUAL_TOP - 1

/** The node that a pseudo node's method field names, -1 if it is another kind of node. */
export function handedOverFrom(method: number): number {
  return method <= HANDED_OVER ? HANDED_OVER - method : -1
}

/**
 * Time between two events of a thread from which on it is remembered for a while, because it may
 * contain a pause: 50 us of nanoTime, 20 us of a 2.5 GHz counter.
 */
const GAP_TICKS = 50_000
/** No word has said from where the next call comes. */
const UNTOLD = -1
const GAPS = 65_536
/** Pauses that a thread may still have to live through: those of the last minutes, at least. */
const PAUSES = 256

/**
 * Tokens whose work may still begin. The target holds at most a quarter of that many tasks; the others are
 * of tasks that were dropped without a word, and the oldest of them are forgotten first.
 */
const TOKENS = 2 ** 18

const HASH_FULL = 0.7
const GROWTH = 1.5
const FIRST_NODES = 1024
/** Contexts of samples, from which on those with few of them are given up: 64 MiB with the table. */
const MOST_SAMPLED = 2 ** 20
/** A loop over all nodes shows that we live at every node whose low bits are these: 65,536 apart. */
export const ALIVE_NODES = 0xffff
/** So many are copied at once when the records grow: 4 MiB, a few milliseconds. */
const COPIED_INTS = 1 << 20

/** More contexts than we are willing to hold. What was built before stays as it is. */
export class TreeTooLarge extends JfluidError {
  readonly exitCode = EX_UNAVAILABLE
  readonly hint = 'Choose a root that does less, or exclude what recurses.'
  constructor(contexts: number) {
    super(`the calling context tree has outgrown memory at ${contexts} contexts`)
  }
}

/** A stop-the-world redefinition, and what it was taken out of. */
interface Pause {
  readonly start: number
  readonly end: number
  /** By thread number: at most one gap each, the one that the pause fills most of. */
  readonly taken: Map<number, { node: number; ticks: number; at: number; beforeWarm: boolean }>
}

/** Calls, ticks and `probeHalves` of each node when the last redefinition had settled. */
export interface WarmUp {
  readonly count: number
  readonly calls: Float64Array
  readonly ticks: Float64Array
  readonly probeHalves: ReadonlyMap<number, number>
}

const NO_WARM_UP: WarmUp = {
  count: 0,
  calls: new Float64Array(0),
  ticks: new Float64Array(0),
  probeHalves: new Map(),
}

const toText = (unit: number | undefined): string => String.fromCharCode(unit ?? 0x3f)

export class CctBuilder implements EventSink {
  /** Records of all nodes. Replaced when they grow. */
  ints: Int32Array
  floats: Float64Array
  /** Nodes, node 0 included. */
  count = 1
  /** Frames closed at the exit of one below them, or at a root, and exits without a frame. */
  healed = 0
  /** Ticks that threads waited for us, charged to nobody. */
  waitTicks = 0
  /** Ticks of threads inside roots that pauses were taken out of. */
  pauseTicks = 0
  /** Work taken up below the context it comes from. */
  followed = 0
  /** Work whose SUBMIT was lost: what it called stands for itself. */
  orphans = 0
  /** Contexts with few samples that have become part of their callers, see purge.ts. */
  purged = 0
  /** By node, as far as it goes: calls that were only counted, without a time. They are not among the node's calls. */
  countedCalls = new Float64Array(0)
  /** Those of samples. */
  readonly weights = new Weights()
  /** What the JVM says that roots have allocated: those that have ended. */
  allocatedBytes = 0
  /** By thread: how often it has said so. */
  readonly allocatedTold = new Map<number, number>()
  /** Null while no object is looked after. */
  survivors: Survivors | null = null
  /** Calls of roots by virtual threads, of which the JVM does not say. */
  virtualRoots = 0
  /** Where events tell what was executed: calls that had not ended at the end, and what they executed themselves is lost. */
  openCalls = 0
  /** Words that told of call sites and were taken as if they were calls. */
  siteWords = 0
  /** When what comes was read, in ms of any clock; negative while nobody asks when methods are called for the first time. */
  nowMs = -1

  /**
   * By node: how many halves of a probe pair its ticks hold that no call of its own or its callees stands for,
   * negative if some are missing. Only handlers make any, so few nodes are here.
   */
  readonly probeHalves = new Map<number, number>()

  // The thread whose events come; `nodes`, `lasts` hold those of the others.
  #thread = 0
  #node = 0
  #last = 0.5 // a fraction, so that the field holds doubles from the start
  /** Where the next call comes from, where calls are told apart by that. */
  #site = UNTOLD
  /** `last` as the latest ADJUST left it, and its ticks: they belong to the gap that starts there. */
  #adjustedLast = -0.5
  #adjusted = 0.5

  // By thread number.
  #tops = new Int32Array(64)
  #nodes = new Int32Array(64)
  #lasts = new Float64Array(64)
  #sites = new Int32Array(64).fill(UNTOLD)
  #suspended = new Uint8Array(64)
  #virtual = new Uint8Array(64)
  /** Numbers of threads seen, in the order they came. */
  readonly #threads: number[] = []
  #virtualTop = 0
  /** By token: the node that handed work over. */
  readonly #tokens = new Map<number, number>()
  /** By node that has handed work over: the node that stands for it, see #origin. */
  readonly #origins = new Map<number, number>()
  /** UTF-16 units of names of classes that were allocated, by id. */
  readonly #classNames = new Map<number, number[]>()
  readonly #renamed = new Set<number>()
  #pseudoNodes = 0
  /** Null unless calls of roots are timed. */
  rootCalls: RootCalls | null = null
  /** Of the present thread. */
  #clock: RootClock | null = null
  /** Where the words begin that its clock has not heard of. */
  #unheard = 0

  readonly #executed: boolean
  #mostSampled: number
  readonly #firstMethod: number
  /** Ids below have no place. */
  readonly #firstPlaced: number
  /** Null where a method is the same wherever it is called from. */
  #ids: CallIds | null
  /** By method: it has been called. */
  #called = new Uint8Array(1024)
  /** Methods that have been called for the first time, and when. */
  #firstCalls: [method: number, ms: number][] = []
  /** By thread number; that of all virtual ones is 0. */
  readonly #activities = new Map<number, ThreadActivity>()
  /** Of the present thread. */
  #activity = new ThreadActivity()
  /** Threads tell where they are in samples, and not when they come and go. */
  #isSampled = false
  readonly #maxNodes: number
  readonly #alive: () => void

  /** (parent, method) to node: open addressing, 0 is empty. */
  #table = new Int32Array(2048)
  /** By method: 1, 2, 3 … in the order they were first seen. */
  #ranks = new Int32Array(1024)
  #ranked = 0
  #methods = 0

  readonly #gapThreads = new Int32Array(GAPS)
  readonly #gapNodes = new Int32Array(GAPS)
  readonly #gapStarts = new Float64Array(GAPS)
  readonly #gapEnds = new Float64Array(GAPS)
  /** Gaps so far; the latest GAPS of them are remembered. */
  #gaps = 0
  #forgottenGaps = 0
  #pauses: Pause[] = []
  #pausesEnd = -1
  #warm = NO_WARM_UP
  #warmGaps = 0

  /**
   * @param maxNodes 2 GiB of records, unless said otherwise; events beyond it throw TreeTooLarge, and
   *                 so do those that memory has no room for
   * @param alive    called now and then during work that takes long: growing a tree of millions of
   *                 nodes does, and a target that waits for us must see that we live
   * @param mostSampled contexts of a tree of samples, about
   * @param executed events tell what was executed, and not the time: waiting takes nothing of it
   * @param firstMethod ids below stand for waiting (events/wait-ids.ts)
   * @param firstPlaced the same method called from two places is two contexts, but for ids below, which stand for waiting or
   *   for classes; null: it is one
   */
  constructor(
    maxNodes = 2 ** 26,
    alive: () => void = () => {},
    executed = false,
    firstMethod = 1,
    mostSampled = MOST_SAMPLED,
    firstPlaced: number | null = null,
  ) {
    this.#mostSampled = mostSampled
    this.#executed = executed
    this.#firstMethod = firstMethod
    this.#firstPlaced = firstPlaced ?? firstMethod
    this.#ids = firstPlaced === null ? null : new CallIds(firstPlaced)
    this.#maxNodes = maxNodes
    this.#alive = alive
    const bytes = new ArrayBuffer(FIRST_NODES * INTS * 4)
    this.ints = new Int32Array(bytes)
    this.floats = new Float64Array(bytes)
    this.ints[METHOD] = -1
    this.ints[PARENT] = -1
  }

  // ---- events ----

  /**
   * Hot: once per method call in the target. The thread's place is in local variables, no event is a call, and
   * nothing is allocated; a new context or another child than expected is a slower function.
   * Speed: test/bench/decode.mjs.
   */
  calls(words: Uint32Array, from: number, to: number, base: number): number {
    this.#unheard = from
    if (this.#ids !== null) return this.#callsFromSites(this.#ids, words, from, to, base)
    let { ints, floats } = this
    let node = this.#node
    let last = this.#last
    let at = from
    for (; at < to; at += 2) {
      const high = words[at + 1]
      const kind = high >>> SHIFT
      const method = (high >>> ID_SHIFT) & ID_MASK
      if (kind === ENTER) {
        const ticks = base + (high & HIGH_TICKS) * TWO_32 + words[at]
        const recent = ints[node * INTS + RECENT]
        let callee = recent
        if (ints[recent * INTS + METHOD] !== method) {
          // Without room for another context, what was built up to here can still be shown.
          this.#node = node
          this.#last = last
          callee = this.#callee(node, recent, method)
          ints = this.ints // which it may have replaced
          floats = this.floats
          if (ints[node * INTS + PARENT] < 0) this.#enterRoot(callee, ticks, words, at, base)
        }
        const net = ticks - last
        if (net >= GAP_TICKS) this.#noteGap(node, last, ticks)
        floats[node * FLOATS + TICKS] += net
        floats[callee * FLOATS + CALLS]++
        node = callee
        last = ticks
      } else if (kind === EXIT) {
        const ticks = base + (high & HIGH_TICKS) * TWO_32 + words[at]
        if (ints[node * INTS + METHOD] !== method) {
          this.#node = node
          this.#last = last
          this.#heal(method, ticks)
          node = this.#node
          last = this.#last
          continue
        }
        const net = ticks - last
        if (net >= GAP_TICKS) this.#noteGap(node, last, ticks)
        floats[node * FLOATS + TICKS] += net
        node = ints[node * INTS + PARENT]
        last = ticks
      } else if (kind === CONTROL && method === COUNTED) {
        this.#node = node
        this.#last = last
        this.#count(words[at])
        this.#noHalf()
        ints = this.ints
        floats = this.floats
      } else break
    }
    this.#node = node
    this.#last = last
    this.#tell((at - from) / 2)
    if (this.#clock !== null) this.#hear(this.#clock, words, at, base)
    return at
  }

  /** Not at a top: a thread whose stack was lost does not say from where it calls. */
  counted(method: number): void {
    this.#openSlow()?.counted(this.#clock!, method)
    this.#count(method)
  }

  #count(method: number): void {
    const { ints } = this
    const caller = this.#node
    if (ints[caller * INTS + PARENT] < 0) return
    const recent = ints[caller * INTS + RECENT]
    const callee = ints[recent * INTS + METHOD] === method ? recent : this.#callee(caller, recent, method)
    if (callee >= this.countedCalls.length) this.countedCalls = enlarged(this.countedCalls, this.count)
    this.countedCalls[callee]++
    if (this.#clock !== null) this.#clock.counted++
  }

  /** The same where calls are told apart by where they come from: a loop of its own, as the other must know nothing of it. */
  #callsFromSites(ids: CallIds, words: Uint32Array, from: number, to: number, base: number): number {
    let { ints, floats } = this
    let { methods, sites } = ids
    let node = this.#node
    let last = this.#last
    let site = this.#site
    const sitesBefore = this.siteWords
    let at = from
    for (; at < to; at += 2) {
      const high = words[at + 1]
      const kind = high >>> SHIFT
      const method = (high >>> ID_SHIFT) & ID_MASK
      if (kind === ENTER) {
        const ticks = base + (high & HIGH_TICKS) * TWO_32 + words[at]
        const recent = ints[node * INTS + RECENT]
        const known = recent === 0 ? 0 : ints[recent * INTS + METHOD]
        let callee = recent
        if (recent === 0 || methods[known] !== method || (site !== sites[known] && site !== UNTOLD)) {
          this.#node = node
          this.#last = last
          this.#site = site
          callee = this.#calleeFrom(ids, node, recent, method, site)
          ints = this.ints
          floats = this.floats
          if (ints[node * INTS + PARENT] < 0) this.#enterRoot(callee, ticks, words, at, base)
          methods = ids.methods
          sites = ids.sites
        }
        // A wait before the callee has its monitor is no call.
        if (method >= this.#firstPlaced) site = UNTOLD
        const net = ticks - last
        if (net >= GAP_TICKS) this.#noteGap(node, last, ticks)
        floats[node * FLOATS + TICKS] += net
        floats[callee * FLOATS + CALLS]++
        node = callee
        last = ticks
      } else if (kind === EXIT) {
        const ticks = base + (high & HIGH_TICKS) * TWO_32 + words[at]
        if (method >= this.#firstPlaced) site = UNTOLD
        const here = ints[node * INTS + METHOD]
        if (here <= 0 || methods[here] !== method) {
          this.#node = node
          this.#last = last
          this.#heal(method, ticks)
          node = this.#node
          last = this.#last
          continue
        }
        const net = ticks - last
        if (net >= GAP_TICKS) this.#noteGap(node, last, ticks)
        floats[node * FLOATS + TICKS] += net
        node = ints[node * INTS + PARENT]
        last = ticks
      } else if (kind === CONTROL && method === SITE) {
        // The last that is taken here must be a call: whoever feeds us looks at its time.
        if (at + 2 >= to || words[at + 3] >>> SHIFT !== ENTER) break
        site = words[at]
        this.siteWords++
        this.#noHalf()
      } else break
    }
    this.#node = node
    this.#last = last
    this.#site = site
    this.#tell((at - from) / 2 - (this.siteWords - sitesBefore))
    if (this.#clock !== null) this.#hear(this.#clock, words, at, base)
    return at
  }

  site(site: number): void {
    this.#site = site
    this.#openSlow()?.site(this.#clock!, site)
  }

  /**
   * Frames above the handler's have ended without an exit event, as a constructor does whose super() throws.
   * They and their time end here, as at an exit. Mostly there are none. A method that is not on the stack was
   * entered when nothing was recorded, and has no place here.
   *
   * The probe in the handler is half a pair. Where it stands for the exit of one frame all halves have their
   * place; of several frames, all but the one on top lack theirs; of none, it is one too many.
   */
  caught(method: number, ticks: number): void {
    const { ints } = this
    const top = this.#tops[this.#thread]
    let node = this.#node
    this.#site = UNTOLD
    while (this.#methodOf(node) !== method) {
      if (node === top) return
      node = ints[node * INTS + PARENT]
    }
    if (this.#clock !== null) this.#clock.halves++
    this.#openSlow()?.caught(this.#clock!, method, ticks)
    if (node === this.#node) {
      this.#addProbeHalf(node, 1)
      return
    }
    this.#charge(ticks)
    let closed = ints[this.#node * INTS + PARENT]
    for (; closed !== node; closed = ints[closed * INTS + PARENT]) this.#addProbeHalf(closed, -1)
    this.#node = node
  }

  thread(number: number, segment: number): void {
    if (number === this.#thread) return
    this.#putDown()
    if (number >= this.#tops.length) this.#growThreads(number)
    if (this.#tops[number] === 0) this.#newThread(number, segment >= 0)
    this.#thread = number
    this.#node = this.#nodes[number]
    this.#last = this.#lasts[number]
    this.#site = this.#sites[number]
    this.#clock = this.rootCalls?.clockOf(number) ?? null
    this.#activity = this.#activityOf(this.#tops[number] === this.#virtualTop ? 0 : number)
    this.#adjustedLast = -1
  }

  #activityOf(row: number): ThreadActivity {
    const known = this.#activities.get(row)
    if (known !== undefined) return known
    const made = new ThreadActivity()
    this.#activities.set(row, made)
    return made
  }

  /** The present thread has told so many events at once. */
  #tell(events: number): void {
    if (!this.#isSampled) this.#activity.add(this.#second, events)
  }

  get #second(): number {
    return Math.max(0, Math.floor(this.nowMs / 1000))
  }

  adjust(ticks: number): void {
    this.waitTicks += ticks
    if (this.#executed || this.#node === this.#tops[this.#thread]) return
    this.#adjusted = this.#last === this.#adjustedLast ? this.#adjusted + ticks : ticks
    this.#last += ticks
    this.#adjustedLast = this.#last
    if (this.#clock !== null) this.#clock.excluded += ticks
    this.#openSlow()?.adjust(this.#clock!, ticks)
  }

  suspend(ticks: number): void {
    this.#openSlow()?.suspend(this.#clock!, ticks)
    this.#charge(ticks)
    this.#suspended[this.#thread] = 1
  }

  resume(ticks: number): void {
    if (this.#clock !== null) this.#clock.excluded += ticks - this.#last
    this.#openSlow()?.resume(this.#clock!, ticks)
    this.#last = ticks
    this.#suspended[this.#thread] = 0
  }

  root(): void {
    const { ints } = this
    const top = this.#tops[this.#thread]
    if (top === this.#virtualTop) this.virtualRoots++
    for (; this.#node !== top; this.#node = ints[this.#node * INTS + PARENT]) {
      if (ints[this.#node * INTS + METHOD] > HANDED_OVER) this.healed++
    }
    this.#suspended[this.#thread] = 0
    this.#site = UNTOLD
    if (this.#clock !== null) this.#endRoot(this.#clock)
  }

  unwind(frames: number): void {
    const top = this.#tops[this.#thread]
    for (let left = frames; left > 0 && this.#node !== top; left--) {
      this.#node = this.ints[this.#node * INTS + PARENT]
    }
  }

  sample(weight: number): void {
    if (this.#node === this.#tops[this.#thread]) return
    this.#isSampled = true
    this.#activity.add(this.#second, 1)
    this.floats[this.#node * FLOATS + TICKS]++
    this.weights.add(weight)
    if (this.count > this.#mostSampled) this.#purge()
  }

  submit(token: number): void {
    this.#tokens.set(token, this.#origin(this.#node))
    if (this.#tokens.size <= TOKENS) return
    for (const oldest of this.#tokens.keys()) {
      this.#tokens.delete(oldest)
      return
    }
  }

  knows(token: number): boolean {
    return token === 0 || this.#tokens.has(token)
  }

  begin(token: number): void {
    if (token === 0) {
      this.#node = this.#tops[this.#thread]
      return
    }
    this.root()
    const from = this.#tokens.get(token)
    if (from === undefined) {
      this.orphans++
      return
    }
    this.#tokens.delete(token)
    this.followed++
    this.#node = this.#find(this.#tops[this.#thread], HANDED_OVER - from)
  }

  drop(token: number): void {
    this.#tokens.delete(token)
  }

  className(id: number, at: number, unit: number): void {
    const name = this.#classNames.get(id) ?? []
    this.#classNames.set(id, name)
    this.#renamed.add(id)
    name[at] = unit
  }

  allocated(bytes: number): void {
    this.allocatedBytes += bytes
    this.allocatedTold.set(this.#thread, (this.allocatedTold.get(this.#thread) ?? 0) + 1)
  }

  track(classId: number, token: number): void {
    if (this.#node === this.#tops[this.#thread]) return
    this.survivors ??= new Survivors()
    this.survivors.place(token, this.#find(this.#node, classId))
  }

  /** Names of classes as the target tells them, by id: those of which more is known than at the last call. */
  takeClassNames(): (readonly [id: number, name: string])[] {
    const ids = [...this.#renamed]
    this.#renamed.clear()
    // A unit may not have come yet.
    return ids.map((id) => [id, Array.from(this.#classNames.get(id)!, toText).join('')])
  }

  // ---- what the session tells ----

  /** A thread's events go to the virtual threads' tree. To be called before its first event. */
  markVirtual(number: number): void {
    if (number >= this.#virtual.length) this.#growThreads(number)
    this.#virtual[number] = 1
  }

  /**
   * Takes a stop-the-world pause out of the time of every thread that was inside a root. It may be
   * told before or after the events around it come: gaps between events are remembered for a while,
   * and so are pauses.
   */
  pause(startTicks: number, endTicks: number): void {
    if (this.#executed) return
    const pause: Pause = { start: Math.round(startTicks), end: Math.round(endTicks), taken: new Map() }
    if (pause.end <= pause.start) return
    if (this.#pauses.length === PAUSES) this.#pauses.shift()
    this.#pauses.push(pause)
    this.#pausesEnd = Math.max(this.#pausesEnd, pause.end)
    this.rootCalls?.slow?.pause(pause.start, pause.end)
    const oldest = Math.max(this.#forgottenGaps, this.#gaps - GAPS)
    for (let gap = oldest; gap < this.#gaps; gap++) this.#takeOut(pause, gap)
  }

  /** What was measured so far is the warm-up share: a redefinition has settled. */
  markWarmup(): void {
    const { count, floats } = this
    const calls = new Float64Array(count)
    const ticks = new Float64Array(count)
    for (let node = 0; node < count; node++) {
      if ((node & ALIVE_NODES) === ALIVE_NODES) this.#alive()
      calls[node] = floats[node * FLOATS + CALLS]
      ticks[node] = floats[node * FLOATS + TICKS]
    }
    this.#warm = { count, calls, ticks, probeHalves: new Map(this.probeHalves) }
    this.#warmGaps = this.#gaps
  }

  /** Calls of roots are timed from now on: before the first event. */
  timeRoots(costs: ProbeCosts, course: Course): RootCalls {
    this.rootCalls = new RootCalls(costs, course)
    for (const number of this.#threads) this.ints[this.#tops[number] * INTS + RECENT] = 0
    if (this.#thread !== 0) this.#clock = this.rootCalls.clockOf(this.#thread)
    return this.rootCalls
  }

  /**
   * Trees of slow calls are kept from now on, where calls are timed.
   *
   * @param mostContexts of a call with more events than are kept; about a million, unless given
   */
  keepSlow(threshold: SlowThreshold, mostContexts?: number): void {
    this.rootCalls?.keepSlow(threshold, (maxNodes) => this.#sibling(maxNodes), mostContexts)
    // Events that are still to come may lie around one that was told already.
    for (const { start, end } of this.#pauses) this.rootCalls?.slow?.pause(start, end)
  }

  /** One for some of the same calls. */
  #sibling(maxNodes = this.#maxNodes): CctBuilder {
    const firstPlaced = this.#ids === null ? null : this.#firstPlaced
    const sibling = new CctBuilder(
      maxNodes,
      this.#alive,
      this.#executed,
      this.#firstMethod,
      undefined,
      firstPlaced,
    )
    sibling.#ids = this.#ids
    return sibling
  }

  /**
   * Adds what another has of one thread, whose calls have ended.
   *
   * @param sign  -1 takes away what was added before
   */
  addTree(other: CctBuilder, thread: number, sign: 1 | -1 = 1): void {
    this.thread(thread, -1)
    const into = new Int32Array(other.count)
    for (let node = 1; node < other.count; node++) {
      if ((node & ALIVE_NODES) === ALIVE_NODES) this.#alive()
      const above = other.ints[node * INTS + PARENT]
      if (above < 0) {
        into[node] = this.#tops[thread]
        continue
      }
      const own = this.#find(into[above], other.ints[node * INTS + METHOD])
      into[node] = own
      this.floats[own * FLOATS + CALLS] += sign * other.floats[node * FLOATS + CALLS]
      this.floats[own * FLOATS + TICKS] += sign * other.floats[node * FLOATS + TICKS]
      if (node >= other.countedCalls.length || other.countedCalls[node] === 0) continue
      if (own >= this.countedCalls.length) this.countedCalls = enlarged(this.countedCalls, this.count)
      this.countedCalls[own] += sign * other.countedCalls[node]
    }
    for (const [node, halves] of other.probeHalves)
      this.probeHalves.set(into[node], (this.probeHalves.get(into[node]) ?? 0) + sign * halves)
  }

  /**
   * Starts counting anew; threads stay where they are.
   *
   * @param nowTicks if given, what open frames have spent up to now is forgotten as well
   */
  reset(nowTicks = 0): void {
    const now = Math.floor(nowTicks)
    this.#putDown()
    for (let node = 0; node < this.count; node++) {
      if ((node & ALIVE_NODES) === ALIVE_NODES) this.#alive()
      this.floats[node * FLOATS + CALLS] = 0
      this.floats[node * FLOATS + TICKS] = 0
    }
    for (const number of this.#threads) {
      if (this.#lasts[number] < now) this.#lasts[number] = now
    }
    this.#last = this.#lasts[this.#thread]
    this.rootCalls?.reset()
    const slow = this.rootCalls?.slow
    if (slow) this.keepSlow(slow.threshold)
    this.countedCalls.fill(0)
    this.healed = 0
    this.allocatedBytes = this.virtualRoots = 0
    this.survivors?.forget()
    this.waitTicks = 0
    this.pauseTicks = 0
    this.followed = 0
    this.orphans = 0
    this.weights.clear()
    this.probeHalves.clear()
    this.#warm = NO_WARM_UP
    this.#warmGaps = 0
    this.#forgottenGaps = this.#gaps
    for (const activity of this.#activities.values()) activity.clear()
    for (const pause of this.#pauses) pause.taken.clear()
  }

  /** The end of a session: frames that are still open get their time up to now, and are closed. */
  closeOpen(endTicks: number): void {
    const end = Math.floor(endTicks)
    for (const number of this.#threads) {
      this.thread(number, -1)
      const top = this.#tops[number]
      if (this.#clock !== null) this.#clock.isOpen = false
      if (this.#node === top) continue
      if (this.#executed) this.openCalls += this.#depth()
      else if (this.#suspended[number] === 0 && end > this.#last) this.#charge(end)
      this.#node = top
    }
    this.#putDown()
  }

  /** Methods on the present thread's stack. */
  #depth(): number {
    const { ints } = this
    let depth = 0
    for (let node = this.#node; ints[node * INTS + PARENT] >= 0; node = ints[node * INTS + PARENT]) {
      if (ints[node * INTS + METHOD] > 0) depth++
    }
    return depth
  }

  // ---- for snapshots ----

  get warmUp(): WarmUp {
    return this.#warm
  }

  /** Distinct methods seen so far. */
  get methods(): number {
    let classes = 0
    for (const id of this.#classNames.keys()) if (this.rank(id) > 0) classes++
    return this.#methods - classes
  }

  /** Whether there are pseudo nodes of work that was handed over. */
  get hasHandOvers(): boolean {
    return this.#pseudoNodes > 0
  }

  /** Contexts so far, without pseudo nodes. */
  get contexts(): number {
    let tops = this.#virtualTop === 0 ? 0 : 1
    for (const number of this.#threads) if (this.#tops[number] !== this.#virtualTop) tops++
    return this.count - 1 - tops - this.#pseudoNodes
  }

  /** What the ids of nodes stand for; null if that is methods. */
  get callTable(): CallTable | null {
    return this.#ids === null ? null : this.#ids.table
  }

  isCalled(method: number): boolean {
    return this.#called[method] === 1
  }

  /** Methods that have been called for the first time since the last call of this, and when, by `nowMs`. */
  takeFirstCalls(): (readonly [method: number, ms: number])[] {
    const taken = this.#firstCalls
    this.#firstCalls = []
    return taken
  }

  /** @param row  number of a thread, or 0 for all virtual ones */
  activityOf(row: number): Activity {
    const perSecond = this.#activityOf(row).before(this.#second)
    if (this.#isSampled) return { perSecond }
    this.#putDown()
    let inside = 0
    for (const number of row === 0 ? this.#threads : [row]) {
      const top = this.#tops[number]
      if ((row !== 0 || top === this.#virtualTop) && this.#nodes[number] !== top) inside++
    }
    return { perSecond, inside }
  }

  /** By the id of a node: 1 for what was seen first, 2 for the next …; 0 for what has not been called. */
  rank(method: number): number {
    return this.#ranks[method] ?? 0
  }

  /** Numbers of the threads that have a tree of their own. */
  platformThreads(): number[] {
    return this.#threads.filter((number) => this.#tops[number] !== this.#virtualTop)
  }

  /**
   * Calls `charge` with the time that each open frame at the end of a stack would get if its thread
   * had an event now. All sums are of whole ticks, and so exact.
   */
  forEachOpen(nowTicks: number, charge: (node: number, ticks: number) => void): void {
    this.#putDown()
    const now = Math.floor(nowTicks)
    for (const number of this.#threads) {
      const node = this.#nodes[number]
      const last = this.#lasts[number]
      if (node === this.#tops[number] || this.#suspended[number] === 1 || now <= last) continue
      let ticks = now - last
      for (const pause of this.#pauses) {
        ticks -= Math.max(0, Math.min(pause.end, now) - Math.max(pause.start, last))
      }
      if (ticks > 0) charge(node, ticks)
    }
  }

  // ---- slow paths ----

  /**
   * A thread enters a root: that of its calls before has ended with its latest event. A top has no `recent`, so that the loop
   * comes here for every root, and asks nothing of other calls.
   */
  #enterRoot(callee: number, ticks: number, words: Uint32Array, at: number, base: number): void {
    const clock = this.#clock
    if (clock === null) return
    this.#hear(clock, words, at, base)
    clock.open(this.ints[callee * INTS + METHOD], ticks)
    this.rootCalls?.slow?.begin(clock)
  }

  /** Of the words up to `at`, all but a last ENTER of a root. */
  #hear(clock: RootClock, words: Uint32Array, at: number, base: number): void {
    clock.halves += (at - this.#unheard) / 2
    if (clock.isOpen) this.rootCalls?.slow?.calls(clock, words, this.#unheard, at, base)
    this.#unheard = at
    this.#endRoot(clock)
  }

  #endRoot(clock: RootClock): void {
    if (clock.isOpen && this.#node === this.#tops[this.#thread]) this.rootCalls?.end(clock, this.#last)
  }

  /** Where a call of a root goes on, and slow ones are kept. */
  #openSlow(): SlowCalls | null {
    return this.#clock?.isOpen === true ? (this.rootCalls?.slow ?? null) : null
  }

  /** A word of those that are heard is no part of a pair of probes. */
  #noHalf(): void {
    if (this.#clock !== null) this.#clock.halves--
  }

  /** The child of `caller` for a method that is not the one entered latest. */
  #callee(caller: number, recent: number, method: number): number {
    if (this.#clock !== null && this.ints[caller * INTS + PARENT] < 0) return this.#rootBelow(caller, method)
    const expected = this.ints[recent * INTS + SUCCESSOR]
    let callee = expected
    if (this.ints[expected * INTS + METHOD] !== method) {
      callee = this.#find(caller, method)
      if (recent !== 0) this.ints[recent * INTS + SUCCESSOR] = callee
    }
    this.ints[caller * INTS + RECENT] = callee
    return callee
  }

  /** A top has no siblings: its successor is the root entered latest. */
  #rootBelow(top: number, method: number): number {
    const expected = this.ints[top * INTS + SUCCESSOR]
    if (this.ints[expected * INTS + METHOD] === method) return expected
    const root = this.#find(top, method)
    this.ints[top * INTS + SUCCESSOR] = root
    return root
  }

  /** Where no word tells the site, it is that of the caller's latest call. */
  #calleeFrom(ids: CallIds, caller: number, recent: number, method: number, site: number): number {
    if (method < this.#firstPlaced) return this.#find(caller, method)
    if (site !== UNTOLD) return this.#callee(caller, recent, ids.of(method, site))
    const latest = recent === 0 ? 0 : ids.sites[this.ints[recent * INTS + METHOD]]
    return this.#callee(caller, recent, ids.of(method, latest))
  }

  /** Negative for what is no method. */
  #methodOf(node: number): number {
    const id = this.ints[node * INTS + METHOD]
    return this.#ids === null || id < 0 ? id : this.#ids.methods[id]
  }

  #find(parent: number, method: number): number {
    const { ints } = this
    const table = this.#table
    const mask = table.length - 1
    for (let at = hash(parent, method) & mask; ; at = (at + 1) & mask) {
      const node = table[at]
      if (node === 0) return this.#add(at, parent, method)
      if (ints[node * INTS + PARENT] === parent && ints[node * INTS + METHOD] === method) {
        return node
      }
    }
  }

  #add(at: number, parent: number, method: number): number {
    const node = this.#newNode(parent, method)
    this.#table[at] = node
    if (this.count > this.#table.length * HASH_FULL) this.#growTable()
    if (method < 0) {
      this.#pseudoNodes++
      return node
    }
    if (method >= this.#ranks.length) this.#ranks = enlarged(this.#ranks, method)
    if (this.#ranks[method] === 0) {
      this.#ranks[method] = ++this.#ranked
      this.#noteCalled(this.#methodOf(node))
    }
    return node
  }

  #noteCalled(method: number): void {
    if (method >= this.#called.length) this.#called = enlarged(this.#called, method)
    if (this.#called[method] === 1) return
    this.#called[method] = 1
    if (method < this.#firstMethod) return
    this.#methods++
    if (this.nowMs >= 0) this.#firstCalls.push([method, this.nowMs])
  }

  #newNode(parent: number, method: number): number {
    const node = this.count
    if (node >= this.#maxNodes) throw new TreeTooLarge(this.contexts)
    if (node * INTS === this.ints.length) this.#growNodes()
    this.count++
    this.ints[node * INTS + METHOD] = method
    this.ints[node * INTS + PARENT] = parent
    return node
  }

  /**
   * The context that stands for a node which hands work over. A task that hands itself over again, or one
   * that leads back to it, would make the tree deeper each time, without end. So if the way from a task's
   * beginning to the node is that by which the task itself was handed over, or one before it, that
   * earlier node stands for this one: recursion over hand-overs is folded.
   */
  #origin(node: number): number {
    const known = this.#origins.get(node)
    if (known !== undefined) return known
    // What a task submits outside all methods, as a periodic one does with itself, is of the same origin.
    const own = handedOverFrom(this.ints[node * INTS + METHOD])
    if (own >= 0) return own
    let origin = node
    for (let from = this.#comesFrom(node); from >= 0; from = this.#comesFrom(from)) {
      if (!this.#isSameWay(from, node)) continue
      origin = from
      break
    }
    this.#origins.set(node, origin)
    return origin
  }

  /** The node that handed over what the node is part of, -1 if that was not handed over. */
  #comesFrom(node: number): number {
    const { ints } = this
    let at = node
    while (ints[at * INTS + METHOD] >= 0) at = ints[at * INTS + PARENT]
    return handedOverFrom(ints[at * INTS + METHOD])
  }

  /** Whether the same methods lead to both, from where each one's thread or task began. */
  #isSameWay(one: number, other: number): boolean {
    const { ints } = this
    let [a, b] = [one, other]
    for (;;) {
      const method = ints[a * INTS + METHOD]
      const otherMethod = ints[b * INTS + METHOD]
      if (method < 0 || otherMethod < 0) return method < 0 && otherMethod < 0
      if (method !== otherMethod) return false
      a = ints[a * INTS + PARENT]
      b = ints[b * INTS + PARENT]
    }
  }

  #growNodes(): void {
    const old = this.ints
    this.#alive()
    const bytes = this.#room(Math.ceil(this.count * GROWTH) * INTS * 4)
    this.ints = new Int32Array(bytes)
    this.floats = new Float64Array(bytes)
    // Fresh memory is slow to write for the first time: a gigabyte takes longer than a target waits.
    for (let at = 0; at < old.length; at += COPIED_INTS) {
      this.#alive()
      this.ints.set(old.subarray(at, at + COPIED_INTS), at)
    }
    this.#alive()
  }

  #room(bytes: number): ArrayBuffer {
    try {
      return new ArrayBuffer(bytes)
    } catch {
      throw new TreeTooLarge(this.contexts)
    }
  }

  /** Threads stay where they are; nothing else may hold a node. */
  #purge(): void {
    this.#putDown()
    this.#alive()
    const places = this.#threads.map((number) => this.#nodes[number])
    const { bytes, count, moved } = purge(this.ints, this.floats, this.count, places)
    this.#alive()
    this.purged += this.count - count
    this.ints = new Int32Array(bytes)
    this.floats = new Float64Array(bytes)
    this.count = count
    this.#virtualTop = moved[this.#virtualTop]
    for (const number of this.#threads) {
      this.#tops[number] = moved[this.#tops[number]]
      this.#nodes[number] = moved[this.#nodes[number]]
    }
    this.#node = this.#nodes[this.#thread]
    this.#warm = NO_WARM_UP
    this.#makeTable(this.#table.length)
    // Threads stand in most of them: then it must be larger, or the next sample would try again.
    if (count > this.#mostSampled * 0.75) this.#mostSampled *= 2
  }

  #growTable(): void {
    this.#makeTable(this.#table.length * 2)
  }

  #makeTable(length: number): void {
    const table = new Int32Array(this.#room(length * 4))
    const mask = table.length - 1
    for (let node = 1; node < this.count; node++) {
      if ((node & ALIVE_NODES) === ALIVE_NODES) this.#alive()
      const parent = this.ints[node * INTS + PARENT]
      if (parent < 0) continue
      let at = hash(parent, this.ints[node * INTS + METHOD]) & mask
      while (table[at] !== 0) at = (at + 1) & mask
      table[at] = node
    }
    this.#table = table
  }

  /**
   * An exit that is not of the frame on top. Either the frames above its own have lost theirs: they
   * are closed. Or its own was never entered: it is ignored.
   */
  #heal(method: number, ticks: number): void {
    const { ints } = this
    const top = this.#tops[this.#thread]
    let above = 0
    for (let node = this.#node; node !== top; node = ints[node * INTS + PARENT]) {
      if (this.#methodOf(node) === method) {
        this.#charge(ticks)
        this.healed += above
        // The one exit probe ends the frame on top; all others lack half a pair, the one that exits among them.
        for (let closed = this.#node; closed !== node; ) {
          closed = ints[closed * INTS + PARENT]
          this.#addProbeHalf(closed, -1)
        }
        this.#node = ints[node * INTS + PARENT]
        return
      }
      // A call that was waiting and has thrown ends like this.
      if (ints[node * INTS + METHOD] >= this.#firstMethod) above++
    }
    this.healed++
    this.#noHalf()
  }

  #addProbeHalf(node: number, sign: 1 | -1): void {
    this.probeHalves.set(node, (this.probeHalves.get(node) ?? 0) + sign)
  }

  #charge(ticks: number): void {
    const net = ticks - this.#last
    if (net >= GAP_TICKS) this.#noteGap(this.#node, this.#last, ticks)
    this.floats[this.#node * FLOATS + TICKS] += net
    this.#last = ticks
  }

  /** Writes back the current thread's place. */
  #putDown(): void {
    this.#nodes[this.#thread] = this.#node
    this.#lasts[this.#thread] = this.#last
    this.#sites[this.#thread] = this.#site
  }

  #newThread(number: number, virtual: boolean): void {
    this.#threads.push(number)
    if (virtual || this.#virtual[number] === 1) {
      if (this.#virtualTop === 0) this.#virtualTop = this.#newNode(-1, VIRTUAL_TOP)
      this.#tops[number] = this.#virtualTop
    } else {
      this.#tops[number] = this.#newNode(-1, -number)
    }
    this.#nodes[number] = this.#tops[number]
  }

  #growThreads(number: number): void {
    this.#tops = enlarged(this.#tops, number)
    this.#nodes = enlarged(this.#nodes, number)
    this.#virtual = enlarged(this.#virtual, number)
    this.#suspended = enlarged(this.#suspended, number)
    this.#lasts = enlarged(this.#lasts, number)
    const threads = this.#sites.length
    this.#sites = enlarged(this.#sites, number)
    this.#sites.fill(UNTOLD, threads)
  }

  // ---- pauses ----

  /**
   * Remembers what is about to be charged. Of a gap with waiting in it the first part counts: the
   * target waits last before it writes an event, and a redefinition in the wait is charged to nobody
   * already.
   */
  #noteGap(node: number, last: number, ticks: number): void {
    if (node === this.#tops[this.#thread]) return
    const waited = last === this.#adjustedLast ? this.#adjusted : 0
    const at = this.#gaps % GAPS
    this.#gapThreads[at] = this.#thread
    this.#gapNodes[at] = node
    this.#gapStarts[at] = last - waited
    this.#gapEnds[at] = ticks - waited
    const gap = this.#gaps++
    if (this.#gapStarts[at] >= this.#pausesEnd) return
    for (const pause of this.#pauses) this.#takeOut(pause, gap)
  }

  /** Takes the pause out of the node that the gap was charged to, if no other gap held more of it. */
  #takeOut(pause: Pause, gap: number): void {
    const at = gap % GAPS
    const ticks = Math.min(this.#gapEnds[at], pause.end) - Math.max(this.#gapStarts[at], pause.start)
    if (ticks <= 0) return
    const thread = this.#gapThreads[at]
    const before = pause.taken.get(thread)
    if (before !== undefined) {
      if (before.ticks >= ticks) return
      this.#correct(before.node, before.ticks, before.beforeWarm)
      this.rootCalls?.takeOut(thread, before.at, -before.ticks)
    }
    const start = this.#gapStarts[at]
    const taken = { node: this.#gapNodes[at], ticks, at: start, beforeWarm: gap < this.#warmGaps }
    this.#correct(taken.node, -ticks, taken.beforeWarm)
    this.rootCalls?.takeOut(thread, start, ticks)
    pause.taken.set(thread, taken)
  }

  #correct(node: number, ticks: number, beforeWarm: boolean): void {
    this.pauseTicks -= ticks
    this.floats[node * FLOATS + TICKS] += ticks
    if (beforeWarm) this.#warm.ticks[node] += ticks
  }
}

function hash(parent: number, method: number): number {
  const mixed = Math.imul(parent, 0x9e3779b1) ^ Math.imul(method, 0x85ebca6b)
  return mixed ^ (mixed >>> 15)
}

function enlarged<T extends Int32Array | Uint8Array | Float64Array>(old: T, index: number): T {
  const size = 2 ** Math.ceil(Math.log2(index + 1))
  const array = new (old.constructor as new (length: number) => T)(size)
  array.set(old)
  return array
}
