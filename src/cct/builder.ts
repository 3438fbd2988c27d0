// Builds calling context trees from events (JFluid report, section 5.3). An entry stops the caller's clock and starts the callee's clock.
// An exit stops the callee's clock and starts the caller's clock.
//
// This class is the interface to all other parts. Entries and exits of the current thread are in `thread-stack.ts`, the growing trees in
// `nodes.ts`, the current node of each thread in `places.ts`, the removal of pauses from measured time in `pauses.ts`, work passed between
// threads in `tokens.ts`. These files measure and count. The correction for probe costs is in `base/compensation.ts`; `snapshot.ts` makes a
// readable tree.
//
// There is no simulated stack. A CCT node is a context, so a thread's stack is the path from its current node to the top. A thread's top is
// a pseudo node, so that "outside all roots" is a node like any other: time outside roots is charged to the pseudo node and never shown.
// All virtual threads share one pseudo node.
//
// Work submitted to another thread (SUBMIT, BEGIN) is in the tree of the thread that runs it, below a pseudo node that refers to the
// submitting context. Time charged to the pseudo node itself is never shown. `handover.ts` replaces the pseudo node by the path of that
// context when a snapshot is made.

import type { Calibration } from '../base/compensation.ts'
import type { EventSink } from '../events/decode.ts'
import { FIRST_THROWN, MAX_THROWN, NOT_ATTRIBUTED } from '../events/event-layout.ts'
import type { TreeSink } from '../events/tree-sink.ts'
import type { Activity } from './activity.ts'
import { CallIds, type CallTable } from './call-ids.ts'
import { ClassNames } from './class-names.ts'
import type { Collapse } from './collapse.ts'
import { collapseSamples } from './collapse-samples.ts'
import { Collapsed } from './collapsed.ts'
import type { Course } from './course.ts'
import { COLLAPSED, HANDED_OVER, NODE, Nodes } from './nodes.ts'
import type { TakenOut } from './pauses.ts'
import { UNTOLD } from './places.ts'
import { RootCalls } from './root-calls.ts'
import type { Segments } from './segments.ts'
import type { SlowBounds, SlowWanted } from './slow-calls.ts'
import { Survivors } from './survivors.ts'
import { ThreadStack } from './thread-stack.ts'
import { Tokens } from './tokens.ts'
import { VALUE_ROW_EVENTS, type ValueRows } from './value-rows.ts'
import { addHalves, movedHalves, movedWarmUp, NO_WARM_UP, type WarmUp, warmUpOf } from './warm-up.ts'

// Local constants for speed, as in thread-stack.ts.
const { INTS, FLOATS, METHOD, PARENT, RECENT, CALLS, TICKS } = NODE

/** Number of sampled contexts that triggers a purge of contexts with few samples. With the look-up table, they take 64 MiB. */
const MAX_SAMPLED = 2 ** 20
/** Approximate bytes of a builder without its trees, and of a map entry. */
const OBJECT_BYTES = 10_240
const ENTRY_BYTES = 40

export interface BuilderOptions {
  /** Maximum number of nodes. Default: 2 GiB of records. TreeTooLarge is thrown for a further node, and if an allocation fails. */
  readonly maxNodes?: number
  /**
   * Called at intervals during long work, such as the growth of a tree of millions of nodes. A target that waits for the client needs a
   * sign of life.
   */
  readonly alive?: () => void
  /** Whether events contain executed bytecodes instead of time. A waiting thread executes no bytecodes. */
  readonly executed?: boolean
  /** Ids below this one stand for waiting (events/wait-ids.ts). */
  readonly firstMethod?: number
  /** Ids below this one stand for waiting or for classes, and have no call site. Default: `firstMethod`. */
  readonly firstPlaced?: number
  /** Whether calls of a method from different call sites are different contexts. */
  readonly callSites?: boolean
  /** Maximum number of call contexts; above it, the cheapest contexts are collapsed. Default: unlimited. */
  readonly mostContexts?: number
  /** Rows of values (--by). Default: none. */
  readonly valueRows?: ValueRows | undefined
  /** Approximate maximum number of contexts in a tree of samples. */
  readonly mostSampled?: number
}

/** Bytes that a thread has allocated so far in its unfinished root call, as reported by the JVM. */
export interface OpenAllocation {
  /** Number of the thread. */
  readonly number: number
  /** Number of the thread's allocation reports before this root call. */
  readonly told: number
  readonly bytes: number
}

export class CctBuilder extends ThreadStack implements Required<EventSink>, TreeSink {
  readonly #tokens: Tokens
  readonly #classNames = new ClassNames()
  /** Ticks that threads were stalled by jfluid. Excluded from every node. */
  waitTicks = 0
  /** Number of tasks attached below the context that submitted them. */
  followed = 0
  /** Number of tasks with a lost SUBMIT: their calls appear at the top. */
  orphans = 0
  /** Number of contexts with few samples that were merged into their callers, see collapse-samples.ts. */
  purged = 0
  /** Number of samples, and sum of their weights. */
  readonly samples = { count: 0, sum: 0 }
  /** Number of StackOverflowErrors, keyed by the innermost method that ended with the error and could report it. */
  readonly overflows = new Map<number, number>()
  /** Bytes allocated in root calls, as reported by the JVM. */
  allocatedBytes = 0
  /** Number of allocation reports per thread. */
  readonly #allocatedTold = new Map<number, number>()
  /** Per thread: number of bytes of its unfinished root call that are already counted. */
  readonly #allocatedOpen = new Map<number, number>()
  /** Whether there are nodes NOT_ATTRIBUTED. The ticks of such a node are all bytes that its parent, a root, has allocated. */
  countsAllocated = false
  /** Null unless --liveness is on. */
  survivors: Survivors | null = null
  /** Number of root calls on virtual threads. The JVM reports no allocated bytes for virtual threads. */
  virtualRoots = 0
  /** If bytecodes are counted: number of calls that were unfinished at the end. Bytecodes executed by these calls are lost. */
  openCalls = 0
  readonly #options: BuilderOptions
  readonly #alive: () => void
  readonly #executed: boolean
  #mostSampled: number
  /** Sums of collapsed contexts, see collapse.ts; null if the number of contexts is unlimited. */
  readonly collapsed: Collapsed | null
  /** Segments of this recording; null if there are none. */
  segments: Segments | null = null
  /** Called when nodes get new indices. */
  onMoved: (moved: Int32Array) => void = () => {}
  /** How often nodes got new indices. */
  moves = 0

  #warm = NO_WARM_UP

  constructor(options: BuilderOptions = {}) {
    const { maxNodes = 2 ** 26, alive = () => {}, firstMethod = 1, firstPlaced = firstMethod } = options
    const { mostContexts, mostSampled = MAX_SAMPLED } = options
    const ids = options.callSites === true ? new CallIds(firstPlaced) : null
    super(new Nodes(maxNodes, alive, firstMethod, ids), firstMethod, firstPlaced)
    this.#options = options
    this.#alive = alive
    this.#executed = options.executed === true
    this.#mostSampled = Math.min(mostSampled, mostContexts ?? mostSampled)
    this.#tokens = new Tokens(this.nodes)
    this.collapsed = mostContexts === undefined ? null : new Collapsed(mostContexts, firstPlaced, alive)
    if (mostContexts !== undefined) this.mostNodes = mostContexts
  }

  /** Records of all nodes (nodes.ts). The array is replaced when it grows. */
  get ints(): Int32Array {
    return this.nodes.ints
  }

  get floats(): Float64Array {
    return this.nodes.floats
  }

  /** Approximate memory use, without the data that sibling builders share. */
  get bytes(): number {
    const { nodes, pauses, places } = this
    return OBJECT_BYTES + nodes.bytes + pauses.bytes + places.bytes + this.probeHalves.size * ENTRY_BYTES
  }

  /** Number of nodes, node 0 included. */
  get count(): number {
    return this.nodes.count
  }

  // ---- events ----

  site(site: number): void {
    this.nextSite = site
    this.openSlow()?.site(this.clock!, site)
  }

  adjust(ticks: number): void {
    this.waitTicks += ticks
    if (this.#executed || this.node === this.places.tops[this.current]) return
    this.adjusted = this.last === this.adjustedLast ? this.adjusted + ticks : ticks
    this.last += ticks
    this.adjustedLast = this.last
    if (this.clock !== null) this.clock.excluded += ticks
    this.openSlow()?.adjust(this.clock!, ticks)
  }

  suspend(ticks: number): void {
    this.openSlow()?.suspend(this.clock!, ticks)
    this.charge(ticks)
    this.places.suspended[this.current] = 1
  }

  resume(ticks: number): void {
    if (this.clock !== null) this.clock.excluded += ticks - this.last
    this.openSlow()?.resume(this.clock!, ticks)
    this.last = ticks
    this.places.suspended[this.current] = 0
  }

  root(): void {
    const { ints } = this.nodes
    const top = this.places.tops[this.current]
    if (top === this.places.virtualTop) this.virtualRoots++
    for (; this.node !== top; this.node = ints[this.node * INTS + PARENT]) {
      if (ints[this.node * INTS + METHOD] > HANDED_OVER) this.healed++
    }
    this.places.suspended[this.current] = 0
    this.nextSite = UNTOLD
    if (this.clock !== null) this.endRoot(this.clock)
  }

  unwind(frames: number): void {
    const top = this.places.tops[this.current]
    for (let left = frames; left > 0 && this.node !== top; left--) {
      this.node = this.nodes.ints[this.node * INTS + PARENT]
    }
  }

  sample(weight: number): void {
    if (this.node === this.places.tops[this.current]) return
    this.isSampled = true
    this.noteActivity(1)
    this.nodes.floats[this.node * FLOATS + TICKS]++
    this.samples.count++
    this.samples.sum += weight
    if (this.nodes.count > this.#mostSampled) this.#collapseSamples()
  }

  value(slot: number, kind: number, data: number): void {
    this.rootCalls?.slow?.detail(this.current, slot, kind, data)
  }

  threw(classNumber: number): void {
    if (this.clock?.isOpen === true) this.clock.threw = classNumber
  }

  overflow(method: number): void {
    this.overflows.set(method, (this.overflows.get(method) ?? 0) + 1)
  }

  submit(token: number): void {
    this.#tokens.submit(token, this.node)
  }

  knows(token: number): boolean {
    return token === 0 || this.#tokens.has(token)
  }

  begin(token: number): void {
    if (token === 0) {
      this.node = this.places.tops[this.current]
      return
    }
    this.root()
    const from = this.#tokens.take(token)
    if (from === undefined) {
      this.orphans++
      return
    }
    this.followed++
    this.node = this.nodes.find(this.places.tops[this.current], HANDED_OVER - from)
  }

  drop(token: number): void {
    this.#tokens.take(token)
  }

  className(id: number, at: number, unit: number): void {
    const isThrown = id >= FIRST_THROWN && id < FIRST_THROWN + MAX_THROWN
    if (isThrown && this.rootCalls !== null) this.rootCalls.thrownNames.letter(id - FIRST_THROWN, at, unit)
    else this.#classNames.letter(id, at, unit)
  }

  allocated(bytes: number): void {
    const { current } = this
    this.#allocatedTold.set(current, (this.#allocatedTold.get(current) ?? 0) + 1)
    this.#addAllocated(current, this.node, bytes - (this.#allocatedOpen.get(current) ?? 0))
    this.#allocatedOpen.delete(current)
  }

  /**
   * Adds the bytes that threads have allocated in unfinished root calls. Ignores a thread if the begin or end event of its root call has
   * not been read yet: the next report of the thread contains the same bytes.
   */
  openAllocations(open: readonly OpenAllocation[]): void {
    this.putDown()
    for (const { number, told, bytes } of open) {
      const node = this.places.nodes[number] ?? 0
      if (node === this.places.tops[number] || told !== (this.#allocatedTold.get(number) ?? 0)) continue
      this.#addAllocated(number, node, bytes - (this.#allocatedOpen.get(number) ?? 0))
      this.#allocatedOpen.set(number, bytes)
    }
  }

  /** Adds bytes to the root call of a thread. */
  #addAllocated(thread: number, node: number, bytes: number): void {
    this.allocatedBytes += bytes
    const { ints } = this.nodes
    const top = this.places.tops[thread]
    let root = node
    while (root !== top && ints[root * INTS + PARENT] !== top) root = ints[root * INTS + PARENT]
    if (root === top) return // the event that began the root call is lost
    this.countsAllocated = true
    const rest = this.nodes.find(root, NOT_ATTRIBUTED)
    this.nodes.floats[rest * FLOATS + TICKS] += bytes
  }

  track(classId: number, token: number): void {
    if (this.node === this.places.tops[this.current]) return
    this.survivors ??= new Survivors()
    this.survivors.place(token, this.nodes.find(this.node, classId))
  }

  /** Returns the classes whose names got more letters since the last call of this method: id and name of each class. */
  takeClassNames(): (readonly [id: number, name: string])[] {
    return this.#classNames.take()
  }

  // ---- trees counted by the threads themselves (events/tree-blocks.ts) ----

  contextOf(thread: number, parent: number, method: number): number {
    this.thread(thread, -1)
    return this.nodes.find(parent === 0 ? this.places.tops[thread] : parent, method)
  }

  addTo(thread: number, context: number, calls: number, executed: number): void {
    this.thread(thread, -1)
    this.noteActivity(Math.max(0, calls))
    this.nodes.floats[context * FLOATS + CALLS] += calls
    this.nodes.floats[context * FLOATS + TICKS] += executed
    if (this.nodes.count > this.mostNodes) this.makeRoom()
  }

  /** Returns whether a node stands for one context, and not for a row of collapsed contexts. */
  isContext(node: number): boolean {
    return this.nodes.ints[node * INTS + METHOD] !== COLLAPSED
  }

  // ---- methods that the session calls ----

  /** Assigns a thread's events to the tree of virtual threads. Must be called before the thread's first event. */
  markVirtual(number: number): void {
    this.places.markVirtual(number)
  }

  /**
   * Subtracts a stop-the-world pause from the time of every thread inside a root. The pause may arrive before or after the surrounding
   * events, since recent gaps between events and recent pauses are both kept.
   */
  pause(startTicks: number, endTicks: number): void {
    if (this.#executed) return
    this.pauses.add(startTicks, endTicks)
  }

  /** Marks everything measured so far as warm-up: a redefinition has settled. */
  markWarmup(): void {
    this.#warm = warmUpOf(this.nodes, this.probeHalves, this.#alive)
    this.pauses.warmUp(this.#warm)
  }

  /** Enables timing of root calls. Must be called before the first event. */
  timeRoots(calibration: Calibration, course: Course): RootCalls {
    const withoutProbe = this.#options.valueRows === undefined ? 0 : VALUE_ROW_EVENTS
    this.rootCalls = this.pauses.rootCalls = new RootCalls(calibration, course, withoutProbe)
    this.rootCalls.corrected = (it) => this.segments?.corrected(it)
    const { threads, tops } = this.places
    for (const number of threads) this.nodes.ints[tops[number] * INTS + RECENT] = 0
    if (this.current !== 0) this.clock = this.rootCalls.clockOf(this.current)
    return this.rootCalls
  }

  /** Enables recording of slow calls. Requires timed root calls. */
  keepSlow(wanted: SlowWanted, bounds?: SlowBounds): void {
    const builders = {
      ofAll: () => this.#sibling(this.#options),
      ofOne: (maxNodes = this.#options.maxNodes) => {
        const { mostContexts: _, ...options } = this.#options
        return this.#sibling({ ...options, ...(maxNodes !== undefined && { maxNodes }) })
      },
    }
    this.rootCalls?.keepSlow(wanted, builders, bounds)
  }

  /** Creates a builder for a subset of the same calls. */
  #sibling(options: BuilderOptions): CctBuilder {
    const sibling = new CctBuilder(options)
    sibling.nodes.ids = this.nodes.ids
    return sibling
  }

  /**
   * Subtracts a pause that another builder of the same events found in a gap of a thread.
   * @param from  start of the call that contains the gap
   * @returns whether this builder still knows the gap
   */
  takeOut(thread: number, from: number, takenOut: TakenOut): boolean {
    return this.pauses.takeOut(thread, from, takenOut)
  }

  /** Registers pauses to be subtracted from gaps. The gaps may be in events that arrive later, before `takeOutAwaited` is called. */
  awaitGaps(thread: number, from: number, takenOut: readonly TakenOut[]): void {
    this.pauses.awaitGaps(thread, from, takenOut)
  }

  takeOutAwaited(): void {
    this.pauses.takeOutAwaited()
  }

  /**
   * Adds the tree of one thread from another builder. The calls of that thread have ended.
   * @param sign  -1 subtracts an earlier addition
   */
  addTree(other: CctBuilder, thread: number, sign: 1 | -1 = 1): void {
    this.thread(thread, -1)
    const into = this.nodes.addTree(other.nodes, this.places.tops[thread], sign)
    for (const [node, halves] of other.probeHalves) {
      this.probeHalves.set(into[node], (this.probeHalves.get(into[node]) ?? 0) + sign * halves)
    }
    if (this.nodes.count > this.mostNodes) this.makeRoom()
  }

  /**
   * Restarts counting; threads keep their current nodes.
   * @param nowTicks if given, the time of open frames up to `nowTicks` is discarded, too
   * @param keepsRootCalls whether the durations of earlier root calls are kept, and the single slow calls
   */
  reset(nowTicks = 0, keepsRootCalls = false): void {
    const now = Math.floor(nowTicks)
    this.putDown()
    this.nodes.clear()
    const { lasts, threads } = this.places
    for (const number of threads) if (lasts[number] < now) lasts[number] = now
    this.last = lasts[this.current]
    if (!keepsRootCalls) {
      this.rootCalls?.reset()
      const slow = this.rootCalls?.slow
      if (slow) this.keepSlow(slow.wanted)
    } else this.rootCalls?.slow?.restart()
    this.healed = 0
    this.overflows.clear()
    this.allocatedBytes = this.virtualRoots = 0
    this.survivors?.forget()
    this.waitTicks = 0
    this.followed = 0
    this.orphans = 0
    this.samples.count = this.samples.sum = 0
    this.probeHalves.clear()
    this.#warm = NO_WARM_UP
    this.collapsed?.reset()
    this.activities.clear()
    this.activity = null
    this.pauses.reset()
  }

  /** Ends a session: charges open frames up to `endTicks` and closes them. */
  closeOpen(endTicks: number): void {
    const end = Math.floor(endTicks)
    for (const number of this.places.threads) {
      this.thread(number, -1)
      const top = this.places.tops[number]
      if (this.clock !== null) this.clock.isOpen = false
      if (this.node === top) continue
      if (this.#executed) this.openCalls += this.#depth()
      else if (this.places.suspended[number] === 0 && end > this.last) this.charge(end)
      this.node = top
    }
    this.putDown()
  }

  /** Returns the number of methods on the current thread's stack. */
  #depth(): number {
    const { ints } = this.nodes
    let depth = 0
    for (let node = this.node; ints[node * INTS + PARENT] >= 0; node = ints[node * INTS + PARENT]) {
      if (ints[node * INTS + METHOD] > 0) depth++
    }
    return depth
  }

  // ---- for snapshots ----

  get warmUp(): WarmUp {
    return this.#warm
  }

  /** Number of distinct methods so far. */
  get methods(): number {
    const { valueRows } = this.#options
    let others = this.countsAllocated ? 1 : 0
    if (valueRows === undefined) for (const id of this.#classNames.ids) if (this.rank(id) > 0) others++
    for (let id = valueRows?.first ?? 1; id <= (valueRows?.last ?? 0); id++) if (this.rank(id) > 0) others++
    return this.nodes.methods - others
  }

  /** Whether there are pseudo nodes of submitted tasks. */
  get hasHandOvers(): boolean {
    return this.nodes.pseudoNodes > 0
  }

  /** Number of contexts so far, without pseudo nodes. */
  get contexts(): number {
    return this.nodes.contexts
  }

  /** Maps each node id to a method and a call site; null if node ids are method ids. */
  get callTable(): CallTable | null {
    return this.nodes.ids === null ? null : this.nodes.ids.table
  }

  isCalled(method: number): boolean {
    return this.nodes.isCalled(method)
  }

  /** Time when the next events were read, in ms of any clock. Negative if first calls are not recorded. */
  set nowMs(ms: number) {
    this.nodes.nowMs = ms
  }

  /** Returns methods first called since the last call of this function, each with the value of `nowMs` at its first call. */
  takeFirstCalls(): (readonly [method: number, ms: number])[] {
    return this.nodes.takeFirstCalls()
  }

  /** @param row  number of a thread, or 0 for all virtual threads */
  activityOf(row: number): Activity {
    const perSecond = this.activities.before(row, this.second)
    if (this.isSampled) return { perSecond }
    this.putDown()
    return { perSecond, inside: this.places.inside(row) }
  }

  /** Returns the rank of an id in the order of first occurrence: 1 for the first id, 2 for the second …; 0 if the id never occurred. */
  rank(method: number): number {
    return this.nodes.rank(method)
  }

  /**
   * Calls `charge` for the innermost open frame of each thread, with the time that the frame would get if its thread had an event at
   * `nowTicks`. All sums are whole ticks, and therefore exact.
   */
  forEachOpen(nowTicks: number, charge: (node: number, ticks: number) => void): void {
    this.putDown()
    const now = Math.floor(nowTicks)
    this.places.forEachOpen((node, last) => {
      const ticks = now - last - this.pauses.between(last, now)
      if (ticks > 0) charge(node, ticks)
    })
  }

  // ---- slow paths ----

  protected makeRoom(): void {
    const { collapsed, places } = this
    if (collapsed === null || this.isSampled) return
    this.putDown()
    this.segments?.take()
    collapsed.makeRoom(
      this.nodes,
      () => places.threads.map((number) => places.nodes[number]),
      () => ({ warmCalls: this.#warm.calls, probeHalves: this.probeHalves }),
      (change) => this.#prepareMove(change),
    )
    this.mostNodes = collapsed.mostNodes
  }

  /** Allocates all memory before the first change, so that a failed allocation changes nothing. */
  #prepareMove(change: Collapse): () => void {
    this.#alive()
    const { moved, callsInWaits } = change
    const warm = movedWarmUp(this.#warm, change, this.#alive)
    const probeHalves = movedHalves(this.probeHalves, moved)
    for (const [node, calls] of callsInWaits) addHalves(probeHalves, moved[node], 2 * calls)
    return () => {
      this.moves++
      this.places.move(moved)
      this.node = this.places.nodes[this.current]
      this.#tokens.move(moved)
      this.survivors?.move(moved)
      this.#warm = warm
      this.pauses.move(moved, warm)
      this.probeHalves = probeHalves
      this.segments?.moved(moved)
      this.onMoved(moved)
    }
  }

  /** Merges contexts with few samples. Threads and tokens get the new node indices; no other object may hold a node index. */
  #collapseSamples(): void {
    this.putDown()
    this.segments?.take()
    this.#alive()
    const nodes = this.nodes
    const places = this.places.threads.map((number) => this.places.nodes[number])
    const { bytes, count, moved } = collapseSamples(nodes.ints, nodes.floats, nodes.count, places)
    this.#alive()
    this.purged += nodes.count - count
    nodes.replace(bytes, count)
    this.places.move(moved)
    this.#tokens.move(moved)
    this.node = this.places.nodes[this.current]
    this.#warm = NO_WARM_UP
    this.segments?.moved(moved)
    this.pauses.forgetWarmUp()
    // Current nodes of threads cannot be merged and use up most of the limit. Without a higher limit, the next sample would merge again.
    if (count > this.#mostSampled * 0.75) this.#mostSampled *= 2
  }
}
