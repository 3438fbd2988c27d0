// The current thread: its position in its tree, and the time up to which its current node has been charged. This class handles calls,
// returns, and frames that end without a return event. `builder.ts` handles all other events.

import { HIGH_TICKS_MASK, KIND_SHIFT, METHOD_MASK, METHOD_SHIFT } from '../events/event-halves.ts'
import { CONTROL_SITE, KIND_CONTROL, KIND_ENTER, KIND_EXIT } from '../events/event-layout.ts'
import { Activities, type ThreadActivity } from './activity.ts'
import type { CallIds } from './call-ids.ts'
import { NODE, type Nodes } from './nodes.ts'
import { Pauses } from './pauses.ts'
import { UNTOLD as NO_SITE, Places } from './places.ts'
import type { RootCalls, RootClock } from './root-calls.ts'
import type { SlowCalls } from './slow-calls.ts'

// V8 does not treat exported or imported constants as constants: each use is a memory load. The constants of the loop in `calls` are local
// to this module, which makes the loop a third faster.
const { INTS, FLOATS, METHOD, PARENT, RECENT, CALLS, TICKS } = NODE
const ENTER = KIND_ENTER
const EXIT = KIND_EXIT
const CONTROL = KIND_CONTROL
const SITE = CONTROL_SITE
const ID_SHIFT = METHOD_SHIFT
const ID_MASK = METHOD_MASK
const HIGH_TICKS = HIGH_TICKS_MASK
const SHIFT = KIND_SHIFT
const TWO_32 = 2 ** 32
const UNTOLD = NO_SITE

/**
 * If the time between two events of a thread is at least this long, it is kept as a gap, since it may contain a pause: 50 us in ticks of
 * nanoTime, 20 us in ticks of a 2.5 GHz counter.
 */
const GAP_TICKS = 50_000

export abstract class ThreadStack {
  /** Number of frames that were closed by the exit of an outer frame or by a root's entry, plus the number of exits without a frame. */
  healed = 0
  /** Number of call site words processed in the loop over calls. */
  siteWords = 0

  /**
   * Maps a node to a correction of the number of probe halves (runs of an entry or exit probe) in its ticks. Positive: more probes ran than
   * the calls of the node and its callees account for; negative: fewer. Only exception handlers cause entries, so the map is small.
   */
  probeHalves = new Map<number, number>()

  protected readonly nodes: Nodes
  protected readonly places: Places
  protected readonly pauses: Pauses
  protected readonly firstMethod: number
  /** Lower ids have no call site. */
  protected readonly firstPlaced: number

  // State of the current thread; `places` has the state of the other threads.
  protected current = 0
  protected node = 0
  protected last = 0.5 // a fraction, so that the field holds doubles from the start
  /** Call site of the next call, if call sites are recorded. */
  protected nextSite = UNTOLD
  /** `last` as set by the latest ADJUST, and the ticks of that ADJUST. These ticks belong to the gap that starts at `adjustedLast`. */
  protected adjustedLast = -0.5
  protected adjusted = 0.5

  /** Null unless root calls are timed. */
  rootCalls: RootCalls | null = null
  /** Clock of the current thread. */
  protected clock: RootClock | null = null
  protected readonly activities = new Activities()
  /** Activity of the current thread; null until its first event. */
  protected activity: ThreadActivity | null = null
  /** Whether threads report samples of their position instead of entries and exits. */
  protected isSampled = false
  /** If there are more nodes than this, `makeRoom` is called after the current run of events. A run is at most one chunk. */
  protected mostNodes = Number.POSITIVE_INFINITY
  /** Index of the first word that the root clock has not counted yet. */
  #clockedTo = 0

  /** @param firstMethod lower ids stand for waiting @param firstPlaced lower ids have no call site */
  constructor(nodes: Nodes, firstMethod: number, firstPlaced: number) {
    this.nodes = nodes
    this.places = new Places(nodes)
    this.pauses = new Pauses(nodes)
    this.firstMethod = firstMethod
    this.firstPlaced = firstPlaced
  }

  /**
   * Hot: runs for every method call in the target. The thread's position is in local variables, events cause no function calls, and nothing
   * is allocated. A new context, or a child that differs from the predicted child, is handled by a slower function. Benchmark:
   * test/bench/decode.mjs.
   *
   * In about 1 of 100 processes V8 (Node 20) keeps the code that it compiled during the first long loop (on-stack replacement). That code
   * boxes `last`: it allocates 16 bytes per event and runs at a third of the speed.
   */
  calls(words: Uint32Array, from: number, to: number, base: number): number {
    this.#clockedTo = from
    const { ids } = this.nodes
    if (ids !== null) return this.#callsFromSites(ids, words, from, to, base)
    let { ints, floats } = this.nodes
    let node = this.node
    let last = this.last
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
          // The look-up throws if no further context fits. `node` is saved first, so that the tree built so far stays usable.
          this.node = node
          this.last = last
          callee = this.#callee(node, recent, method)
          ints = this.nodes.ints // the array may have been replaced
          floats = this.nodes.floats
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
          this.node = node
          this.last = last
          this.#healLostExits(method, ticks)
          node = this.node
          last = this.last
          continue
        }
        const net = ticks - last
        if (net >= GAP_TICKS) this.#noteGap(node, last, ticks)
        floats[node * FLOATS + TICKS] += net
        node = ints[node * INTS + PARENT]
        last = ticks
      } else break
    }
    this.node = node
    this.last = last
    this.#countEvents((at - from) / 2)
    if (this.clock !== null) this.#countHalves(this.clock, words, at, base)
    if (this.nodes.count > this.mostNodes) this.makeRoom()
    return at
  }

  /** Called when the tree has more than `mostNodes` nodes. */
  protected abstract makeRoom(): void

  /** Like `calls`, with call sites. A separate loop, so that `calls` has no overhead for call sites. */
  #callsFromSites(ids: CallIds, words: Uint32Array, from: number, to: number, base: number): number {
    let { ints, floats } = this.nodes
    let { methods, sites } = ids
    let node = this.node
    let last = this.last
    let site = this.nextSite
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
          this.node = node
          this.last = last
          this.nextSite = site
          callee = this.#calleeFrom(ids, node, recent, method, site)
          ints = this.nodes.ints
          floats = this.nodes.floats
          if (ints[node * INTS + PARENT] < 0) this.#enterRoot(callee, ticks, words, at, base)
          methods = ids.methods
          sites = ids.sites
        }
        // A wait for the callee's monitor has no call site.
        if (method >= this.firstPlaced) site = UNTOLD
        const net = ticks - last
        if (net >= GAP_TICKS) this.#noteGap(node, last, ticks)
        floats[node * FLOATS + TICKS] += net
        floats[callee * FLOATS + CALLS]++
        node = callee
        last = ticks
      } else if (kind === EXIT) {
        const ticks = base + (high & HIGH_TICKS) * TWO_32 + words[at]
        if (method >= this.firstPlaced) site = UNTOLD
        const here = ints[node * INTS + METHOD]
        if (here <= 0 || methods[here] !== method) {
          this.node = node
          this.last = last
          this.#healLostExits(method, ticks)
          node = this.node
          last = this.last
          continue
        }
        const net = ticks - last
        if (net >= GAP_TICKS) this.#noteGap(node, last, ticks)
        floats[node * FLOATS + TICKS] += net
        node = ints[node * INTS + PARENT]
        last = ticks
      } else if (kind === CONTROL && method === SITE) {
        // A run must end with a call, since the caller of this function reads the time of the last event. A site word is therefore consumed
        // only if its call is in the same run.
        if (at + 2 >= to || words[at + 3] >>> SHIFT !== ENTER) break
        site = words[at]
        this.siteWords++
        this.#noHalf()
      } else break
    }
    this.node = node
    this.last = last
    this.nextSite = site
    this.#countEvents((at - from) / 2 - (this.siteWords - sitesBefore))
    if (this.clock !== null) this.#countHalves(this.clock, words, at, base)
    if (this.nodes.count > this.mostNodes) this.makeRoom()
    return at
  }

  /**
   * Closes the frames above the frame of an exception handler. These frames ended without an exit event, for example the
   * frame of a constructor if super() threw. Their time ends here, as at an exit. Usually there are no such frames. If the handler's method
   * is not on the stack, it was entered while nothing was recorded, and the event is ignored.
   * The probe in the handler is half a probe pair. If this event ends exactly one frame, the halves are balanced. If it ends several
   * frames, each ended frame except the innermost misses a half. If it ends no frame, there is one half too many.
   */
  caught(method: number, ticks: number): void {
    const { ints } = this.nodes
    const top = this.places.tops[this.current]
    let node = this.node
    this.nextSite = UNTOLD
    while (this.nodes.methodOf(node) !== method) {
      if (node === top) return
      node = ints[node * INTS + PARENT]
    }
    if (this.clock !== null) this.clock.halves++
    this.openSlow()?.caught(this.clock!, method, ticks)
    if (node === this.node) {
      this.#addProbeHalf(node, 1)
      return
    }
    this.charge(ticks)
    let closed = ints[this.node * INTS + PARENT]
    for (; closed !== node; closed = ints[closed * INTS + PARENT]) this.#addProbeHalf(closed, -1)
    this.node = node
  }

  thread(number: number, segment: number): void {
    if (number === this.current) return
    this.putDown()
    this.places.meet(number, segment >= 0)
    this.current = number
    this.node = this.places.nodes[number]
    this.last = this.places.lasts[number]
    this.nextSite = this.places.sites[number]
    this.clock = this.rootCalls?.clockOf(number) ?? null
    this.activity = null
    this.adjustedLast = -1
  }

  /** Adds to the number of events of the current thread. */
  #countEvents(events: number): void {
    if (!this.isSampled) this.noteActivity(events)
  }

  /** Records activity, unless the time at which the events are read is unknown. */
  protected noteActivity(told: number): void {
    if (this.nodes.nowMs < 0) return
    const { second } = this
    const row = this.places.tops[this.current] === this.places.virtualTop ? 0 : this.current
    this.activity ??= this.activities.of(row, second)
    this.activity.add(second, told)
  }

  protected get second(): number {
    return Math.max(0, Math.floor(this.nodes.nowMs / 1000))
  }

  /**
   * Handles the entry of a root: the thread's previous root call ended with the thread's latest event. A top has no `recent`, so the loop
   * reaches this function for every root, and other calls need no additional check.
   */
  #enterRoot(callee: number, ticks: number, words: Uint32Array, at: number, base: number): void {
    const clock = this.clock
    if (clock === null) return
    this.#countHalves(clock, words, at, base)
    clock.open(this.nodes.ints[callee * INTS + METHOD], ticks)
    this.rootCalls?.slow?.begin(clock)
  }

  /** Passes the words up to `at` to the root clock, without the ENTER of a root at `at`. */
  #countHalves(clock: RootClock, words: Uint32Array, at: number, base: number): void {
    clock.halves += (at - this.#clockedTo) / 2
    if (clock.isOpen) this.rootCalls?.slow?.calls(clock, words, this.#clockedTo, at, base)
    this.#clockedTo = at
    this.endRoot(clock)
  }

  protected endRoot(clock: RootClock): void {
    if (clock.isOpen && this.node === this.places.tops[this.current]) this.rootCalls?.end(clock, this.last)
  }

  /** Returns the recorder of slow calls while a root call is open; null if slow calls are not recorded. */
  protected openSlow(): SlowCalls | null {
    return this.clock?.isOpen === true ? (this.rootCalls?.slow ?? null) : null
  }

  /** Subtracts a counted word that is not half of a probe pair. */
  #noHalf(): void {
    if (this.clock !== null) this.clock.halves--
  }

  /** Returns the child of `caller` for an id that differs from that of the child entered last. */
  #callee(caller: number, recent: number, id: number): number {
    const isRoot = this.clock !== null && this.nodes.ints[caller * INTS + PARENT] < 0
    return isRoot ? this.nodes.rootBelow(caller, id) : this.nodes.child(caller, recent, id)
  }

  /** Returns the callee for a method and call site. If no site was received, the site of the caller's latest call is used. */
  #calleeFrom(ids: CallIds, caller: number, recent: number, method: number, site: number): number {
    if (method < this.firstPlaced) return this.nodes.find(caller, method)
    if (site !== UNTOLD) return this.#callee(caller, recent, ids.of(method, site))
    const latest = recent === 0 ? 0 : ids.sites[this.nodes.ints[recent * INTS + METHOD]]
    return this.#callee(caller, recent, ids.of(method, latest))
  }

  /**
   * Handles an exit that does not match the innermost frame. If an outer frame matches, the exits of the inner frames were lost, and these
   * frames are closed. Otherwise the entry was lost, and the exit is ignored.
   */
  #healLostExits(method: number, ticks: number): void {
    const { ints } = this.nodes
    const top = this.places.tops[this.current]
    let above = 0
    for (let node = this.node; node !== top; node = ints[node * INTS + PARENT]) {
      if (this.nodes.methodOf(node) === method) {
        this.charge(ticks)
        this.healed += above
        // The exit probe that ran counts for the innermost frame. All other frames, including the exiting frame, miss half a probe pair.
        for (let closed = this.node; closed !== node; ) {
          closed = ints[closed * INTS + PARENT]
          this.#addProbeHalf(closed, -1)
        }
        this.node = ints[node * INTS + PARENT]
        return
      }
      // A wait that ends with an exception has no exit event either, but is not counted as healed.
      if (ints[node * INTS + METHOD] >= this.firstMethod) above++
    }
    // The row of a wait is closed already if a handler of the waiting method has caught the exception that ended the wait.
    if (method >= this.firstMethod) this.healed++
    this.#noHalf()
  }

  #addProbeHalf(node: number, sign: 1 | -1): void {
    this.probeHalves.set(node, (this.probeHalves.get(node) ?? 0) + sign)
  }

  protected charge(ticks: number): void {
    const net = ticks - this.last
    if (net >= GAP_TICKS) this.#noteGap(this.node, this.last, ticks)
    this.nodes.floats[this.node * FLOATS + TICKS] += net
    this.last = ticks
  }

  /** Saves the position of the current thread. */
  protected putDown(): void {
    const { lasts, nodes, sites } = this.places
    nodes[this.current] = this.node
    lasts[this.current] = this.last
    sites[this.current] = this.nextSite
  }

  /**
   * Records a gap before its time is charged. If the gap contains a stall, only the part before the stall is recorded: the target stalls
   * directly before it writes an event. A redefinition during the stall is already excluded from every node.
   */
  #noteGap(node: number, last: number, ticks: number): void {
    if (node === this.places.tops[this.current]) return
    const waited = last === this.adjustedLast ? this.adjusted : 0
    this.pauses.gap(this.current, node, last - waited, ticks - waited)
  }
}
