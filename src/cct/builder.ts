// Builds calling context trees from events (JFluid report, section 5.3): at an entry the caller's
// clock stops and the callee's starts, at an exit the other way round.
//
// This is what all others see of it, and what the session tells. Calls and returns of the thread whose events come are
// `present-thread.ts`, the growing trees `nodes.ts`, the threads' places in them `places.ts`, what pauses take out of measured
// time `pauses.ts`, work that changes hands `tokens.ts`. All this measures and counts; correcting for the probes is
// `base/compensation.ts`, a tree that others can read is `snapshot.ts`.
//
// There is no simulated stack: a node of a CCT is a context, so a thread's stack is the path from its
// current node to the top. A thread's top is a pseudo node, so that "outside all roots" is a place
// like any other: time spent there is charged to it and never shown. All virtual threads share one.
//
// Work that a thread takes up for another (SUBMIT, BEGIN) hangs in the tree of the thread that does it,
// below a pseudo node that names the context it was handed over from. As with a top, time spent there is
// nobody's. `handover.ts` puts that context's path in its place when a picture is made.

import type { Calibration } from '../base/compensation.ts'
import type { EventSink } from '../events/decode.ts'
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
import { PresentThread } from './present-thread.ts'
import { RootCalls } from './root-calls.ts'
import type { SlowBounds, SlowThreshold } from './slow-calls.ts'
import { Survivors } from './survivors.ts'
import { Tokens } from './tokens.ts'
import { addHalves, movedHalves, movedWarmUp, NO_WARM_UP, type WarmUp, warmUpOf } from './warm-up.ts'

// As in present-thread.ts.
const { INTS, FLOATS, METHOD, PARENT, RECENT, CALLS, TICKS } = NODE

/** Contexts of samples, from which on those with few of them are given up: 64 MiB with the table. */
const MOST_SAMPLED = 2 ** 20
/** Of a builder without its trees, and an entry of a map, about. */
const OBJECT_BYTES = 10_240
const ENTRY_BYTES = 40

export interface BuilderOptions {
  /** 2 GiB of records, unless said otherwise; events beyond it throw TreeTooLarge, and so do those that memory has no room for. */
  readonly maxNodes?: number
  /**
   * Called now and then during work that takes long: growing a tree of millions of nodes does, and a target that waits for us must
   * see that we live.
   */
  readonly alive?: () => void
  /** Events tell what was executed, and not the time: waiting takes nothing of it. */
  readonly executed?: boolean
  /** Ids below stand for waiting (events/wait-ids.ts). */
  readonly firstMethod?: number
  /** Ids below stand for waiting or for classes, and have no place where they are called. As above, unless given. */
  readonly firstPlaced?: number
  /** The same method called from two places is two contexts. */
  readonly callSites?: boolean
  /** How many contexts of calls there may be before those that cost least are collapsed; any number, unless given. */
  readonly mostContexts?: number
  /** Contexts of a tree of samples, about. */
  readonly mostSampled?: number
}

export class CctBuilder extends PresentThread implements Required<EventSink>, TreeSink {
  readonly #tokens: Tokens
  readonly #classNames = new ClassNames()
  /** Ticks that threads waited for us, charged to nobody. */
  waitTicks = 0
  /** Work taken up below the context it comes from. */
  followed = 0
  /** Work whose SUBMIT was lost: what it called stands for itself. */
  orphans = 0
  /** Contexts with few samples that have become part of their callers, see collapse-samples.ts. */
  purged = 0
  /** Those of samples. */
  readonly samples = { count: 0, sum: 0 }
  /** StackOverflowErrors, by the id of the first method that they left and that could say so. */
  readonly overflows = new Map<number, number>()
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
  readonly #options: BuilderOptions
  readonly #alive: () => void
  readonly #executed: boolean
  #mostSampled: number
  /** Contexts that have become rows of collapsed contexts, see collapse.ts; null where there may be any number. */
  readonly collapsed: Collapsed | null
  /** Told when nodes have other indices. */
  onMoved: (moved: Int32Array) => void = () => {}
  /** How often they have. */
  moves = 0

  #warm = NO_WARM_UP

  constructor(options: BuilderOptions = {}) {
    const { maxNodes = 2 ** 26, alive = () => {}, firstMethod = 1, firstPlaced = firstMethod } = options
    const { mostContexts, mostSampled = MOST_SAMPLED } = options
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

  /** Records of all nodes (nodes.ts). Others when they grow. */
  get ints(): Int32Array {
    return this.nodes.ints
  }

  get floats(): Float64Array {
    return this.nodes.floats
  }

  /** Of memory, about, without what siblings share. */
  get bytes(): number {
    const { nodes, pauses, places } = this
    return OBJECT_BYTES + nodes.bytes + pauses.bytes + places.bytes + this.probeHalves.size * ENTRY_BYTES
  }

  /** Nodes, node 0 included. */
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
    this.#classNames.letter(id, at, unit)
  }

  allocated(bytes: number): void {
    this.allocatedBytes += bytes
    this.allocatedTold.set(this.current, (this.allocatedTold.get(this.current) ?? 0) + 1)
  }

  track(classId: number, token: number): void {
    if (this.node === this.places.tops[this.current]) return
    this.survivors ??= new Survivors()
    this.survivors.place(token, this.nodes.find(this.node, classId))
  }

  /** Names of classes as the target tells them, by id: those of which more is known than at the last call. */
  takeClassNames(): (readonly [id: number, name: string])[] {
    return this.#classNames.take()
  }

  // ---- what threads count by themselves (events/tree-blocks.ts) ----

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

  /** Whether a node stands for one context, and not for some that were collapsed. */
  isContext(node: number): boolean {
    return this.nodes.ints[node * INTS + METHOD] !== COLLAPSED
  }

  // ---- what the session tells ----

  /** A thread's events go to the virtual threads' tree. To be called before its first event. */
  markVirtual(number: number): void {
    this.places.markVirtual(number)
  }

  /**
   * Takes a stop-the-world pause out of the time of every thread that was inside a root. It may be
   * told before or after the events around it come: gaps between events are remembered for a while,
   * and so are pauses.
   */
  pause(startTicks: number, endTicks: number): void {
    if (this.#executed) return
    this.pauses.add(startTicks, endTicks)
  }

  /** What was measured so far is the warm-up share: a redefinition has settled. */
  markWarmup(): void {
    this.#warm = warmUpOf(this.nodes, this.probeHalves, this.#alive)
    this.pauses.warmUp(this.#warm)
  }

  /** Calls of roots are timed from now on: before the first event. */
  timeRoots(calibration: Calibration, course: Course): RootCalls {
    this.rootCalls = this.pauses.rootCalls = new RootCalls(calibration, course)
    const { threads, tops } = this.places
    for (const number of threads) this.nodes.ints[tops[number] * INTS + RECENT] = 0
    if (this.current !== 0) this.clock = this.rootCalls.clockOf(this.current)
    return this.rootCalls
  }

  /** Trees of slow calls are kept from now on, where calls are timed. */
  keepSlow(threshold: SlowThreshold, bounds?: SlowBounds): void {
    const builders = {
      ofAll: () => this.#sibling(this.#options),
      ofOne: (maxNodes = this.#options.maxNodes) => {
        const { mostContexts: _, ...options } = this.#options
        return this.#sibling({ ...options, ...(maxNodes !== undefined && { maxNodes }) })
      },
    }
    this.rootCalls?.keepSlow(threshold, builders, bounds)
  }

  /** One for some of the same calls. */
  #sibling(options: BuilderOptions): CctBuilder {
    const sibling = new CctBuilder(options)
    sibling.nodes.ids = this.nodes.ids
    return sibling
  }

  /**
   * A pause was in a gap of a thread, as another builder of the same events has found.
   *
   * @param from  when the call began that it was in
   * @returns whether the gap is remembered
   */
  takeOut(thread: number, from: number, takenOut: TakenOut): boolean {
    return this.pauses.takeOut(thread, from, takenOut)
  }

  /** Pauses were in gaps of which some are in the events to come, up to `takeOutAwaited`. */
  awaitGaps(thread: number, from: number, takenOut: readonly TakenOut[]): void {
    this.pauses.awaitGaps(thread, from, takenOut)
  }

  takeOutAwaited(): void {
    this.pauses.takeOutAwaited()
  }

  /**
   * Adds what another has of one thread, whose calls have ended.
   *
   * @param sign  -1 takes away what was added before
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
   * Starts counting anew; threads stay where they are.
   *
   * @param nowTicks if given, what open frames have spent up to now is forgotten as well
   * @param keepsRootCalls how long calls of roots took goes on being told of all
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
      if (slow) this.keepSlow(slow.threshold)
    }
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

  /** The end of a session: frames that are still open get their time up to now, and are closed. */
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

  /** Methods on the present thread's stack. */
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

  /** Distinct methods seen so far. */
  get methods(): number {
    let classes = 0
    for (const id of this.#classNames.ids) if (this.rank(id) > 0) classes++
    return this.nodes.methods - classes
  }

  /** Whether there are pseudo nodes of work that was handed over. */
  get hasHandOvers(): boolean {
    return this.nodes.pseudoNodes > 0
  }

  /** Contexts so far, without pseudo nodes. */
  get contexts(): number {
    return this.nodes.contexts
  }

  /** What the ids of nodes stand for; null if that is methods. */
  get callTable(): CallTable | null {
    return this.nodes.ids === null ? null : this.nodes.ids.table
  }

  isCalled(method: number): boolean {
    return this.nodes.isCalled(method)
  }

  /** When what comes was read, in ms of any clock; negative while nobody asks when methods are called for the first time. */
  set nowMs(ms: number) {
    this.nodes.nowMs = ms
  }

  /** Methods that have been called for the first time since the last call of this, and when, by `nowMs`. */
  takeFirstCalls(): (readonly [method: number, ms: number])[] {
    return this.nodes.takeFirstCalls()
  }

  /** @param row  number of a thread, or 0 for all virtual ones */
  activityOf(row: number): Activity {
    const perSecond = this.activities.before(row, this.second)
    if (this.isSampled) return { perSecond }
    this.putDown()
    return { perSecond, inside: this.places.inside(row) }
  }

  /** By the id of a node: 1 for what was seen first, 2 for the next …; 0 for what has not been called. */
  rank(method: number): number {
    return this.nodes.rank(method)
  }

  /** Numbers of the threads that have a tree of their own. */
  platformThreads(): number[] {
    return this.places.platformThreads()
  }

  /**
   * Calls `charge` with the time that each open frame at the end of a stack would get if its thread
   * had an event now. All sums are of whole ticks, and so exact.
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
    collapsed.makeRoom(
      this.nodes,
      () => places.threads.map((number) => places.nodes[number]),
      () => ({ warmCalls: this.#warm.calls, probeHalves: this.probeHalves }),
      (change) => this.#prepareMove(change),
    )
    this.mostNodes = collapsed.mostNodes
  }

  /** What needs memory is made before anything moves. */
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
      this.onMoved(moved)
    }
  }

  /** Threads stay where they are, and tokens; nothing else may hold a node. */
  #collapseSamples(): void {
    this.putDown()
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
    this.pauses.forgetWarmUp()
    // Threads stand in most of them: then it must be larger, or the next sample would try again.
    if (count > this.#mostSampled * 0.75) this.#mostSampled *= 2
  }
}
