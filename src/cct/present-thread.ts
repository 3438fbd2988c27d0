// The thread whose events come: where it stands in its tree, up to when it has been charged, and what a call, a return, or a
// frame that ends without one makes of that. Everything else that events do is `builder.ts`.

import { HIGH_TICKS_MASK, KIND_SHIFT, METHOD_MASK, METHOD_SHIFT } from '../events/event-halves.ts'
import { CONTROL_SITE, KIND_CONTROL, KIND_ENTER, KIND_EXIT } from '../events/event-layout.ts'
import { Activities, type ThreadActivity } from './activity.ts'
import type { CallIds } from './call-ids.ts'
import { NODE, type Nodes } from './nodes.ts'
import { Pauses } from './pauses.ts'
import { UNTOLD as NO_SITE, Places } from './places.ts'
import type { RootCalls, RootClock } from './root-calls.ts'
import type { SlowCalls } from './slow-calls.ts'

// Constants that are exported or imported are not constant to V8: each use loads a cell. Those of the loop in
// `calls` are this module's own, which makes it a third faster.
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
 * Time between two events of a thread from which on it is remembered for a while, because it may
 * contain a pause: 50 us of nanoTime, 20 us of a 2.5 GHz counter.
 */
const GAP_TICKS = 50_000

export abstract class PresentThread {
  /** Frames closed at the exit of one below them, or at a root, and exits without a frame. */
  healed = 0
  /** Words that told of call sites and were taken as if they were calls. */
  siteWords = 0

  /**
   * By node: how many halves of a probe pair its ticks hold that no call of its own or its callees stands for,
   * negative if some are missing. Only handlers make any, so few nodes are here.
   */
  probeHalves = new Map<number, number>()

  protected readonly nodes: Nodes
  protected readonly places: Places
  protected readonly pauses: Pauses
  protected readonly firstMethod: number
  /** Ids below have no place. */
  protected readonly firstPlaced: number

  // The thread whose events come; `places` has those of the others.
  protected current = 0
  protected node = 0
  protected last = 0.5 // a fraction, so that the field holds doubles from the start
  /** Where the next call comes from, where calls are told apart by that. */
  protected nextSite = UNTOLD
  /** `last` as the latest ADJUST left it, and its ticks: they belong to the gap that starts there. */
  protected adjustedLast = -0.5
  protected adjusted = 0.5

  /** Null unless calls of roots are timed. */
  rootCalls: RootCalls | null = null
  /** Of the present thread. */
  protected clock: RootClock | null = null
  protected readonly activities = new Activities()
  /** Of the present thread; null until it tells something. */
  protected activity: ThreadActivity | null = null
  /** Threads tell where they are in samples, and not when they come and go. */
  protected isSampled = false
  /** With more, `makeRoom` is called between two runs of events: a run is a chunk at most. */
  protected mostNodes = Number.POSITIVE_INFINITY
  /** Where the words begin that its clock has not heard of. */
  #unheard = 0

  /**
   * @param firstMethod ids below stand for waiting
   * @param firstPlaced ids below have no place, where calls are told apart by theirs
   */
  constructor(nodes: Nodes, firstMethod: number, firstPlaced: number) {
    this.nodes = nodes
    this.places = new Places(nodes)
    this.pauses = new Pauses(nodes)
    this.firstMethod = firstMethod
    this.firstPlaced = firstPlaced
  }

  /**
   * Hot: once per method call in the target. The thread's place is in local variables, no event is a call, and
   * nothing is allocated; a new context or another child than expected is a slower function.
   * Speed: test/bench/decode.mjs.
   */
  calls(words: Uint32Array, from: number, to: number, base: number): number {
    this.#unheard = from
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
          // Without room for another context, what was built up to here can still be shown.
          this.node = node
          this.last = last
          callee = this.#callee(node, recent, method)
          ints = this.nodes.ints // which it may have replaced
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
          this.#heal(method, ticks)
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
    this.#tell((at - from) / 2)
    if (this.clock !== null) this.#hear(this.clock, words, at, base)
    if (this.nodes.count > this.mostNodes) this.makeRoom()
    return at
  }

  /** There are more nodes than there may be. */
  protected abstract makeRoom(): void

  /** The same where calls are told apart by where they come from: a loop of its own, as the other must know nothing of it. */
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
        // A wait before the callee has its monitor is no call.
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
          this.#heal(method, ticks)
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
        // The last that is taken here must be a call: whoever feeds us looks at its time.
        if (at + 2 >= to || words[at + 3] >>> SHIFT !== ENTER) break
        site = words[at]
        this.siteWords++
        this.#noHalf()
      } else break
    }
    this.node = node
    this.last = last
    this.nextSite = site
    this.#tell((at - from) / 2 - (this.siteWords - sitesBefore))
    if (this.clock !== null) this.#hear(this.clock, words, at, base)
    if (this.nodes.count > this.mostNodes) this.makeRoom()
    return at
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

  /** The present thread has told so many events at once. */
  #tell(events: number): void {
    if (!this.isSampled) this.noteActivity(events)
  }

  /** Nothing is noted where nobody says when what comes was read. */
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
   * A thread enters a root: that of its calls before has ended with its latest event. A top has no `recent`, so that the loop
   * comes here for every root, and asks nothing of other calls.
   */
  #enterRoot(callee: number, ticks: number, words: Uint32Array, at: number, base: number): void {
    const clock = this.clock
    if (clock === null) return
    this.#hear(clock, words, at, base)
    clock.open(this.nodes.ints[callee * INTS + METHOD], ticks)
    this.rootCalls?.slow?.begin(clock)
  }

  /** Of the words up to `at`, all but a last ENTER of a root. */
  #hear(clock: RootClock, words: Uint32Array, at: number, base: number): void {
    clock.halves += (at - this.#unheard) / 2
    if (clock.isOpen) this.rootCalls?.slow?.calls(clock, words, this.#unheard, at, base)
    this.#unheard = at
    this.endRoot(clock)
  }

  protected endRoot(clock: RootClock): void {
    if (clock.isOpen && this.node === this.places.tops[this.current]) this.rootCalls?.end(clock, this.last)
  }

  /** Where a call of a root goes on, and slow ones are kept. */
  protected openSlow(): SlowCalls | null {
    return this.clock?.isOpen === true ? (this.rootCalls?.slow ?? null) : null
  }

  /** A word of those that are heard is no part of a pair of probes. */
  #noHalf(): void {
    if (this.clock !== null) this.clock.halves--
  }

  /** The child of `caller` for an id that is not the one entered latest. */
  #callee(caller: number, recent: number, id: number): number {
    const isRoot = this.clock !== null && this.nodes.ints[caller * INTS + PARENT] < 0
    return isRoot ? this.nodes.rootBelow(caller, id) : this.nodes.child(caller, recent, id)
  }

  /** Where no word tells the site, it is that of the caller's latest call. */
  #calleeFrom(ids: CallIds, caller: number, recent: number, method: number, site: number): number {
    if (method < this.firstPlaced) return this.nodes.find(caller, method)
    if (site !== UNTOLD) return this.#callee(caller, recent, ids.of(method, site))
    const latest = recent === 0 ? 0 : ids.sites[this.nodes.ints[recent * INTS + METHOD]]
    return this.#callee(caller, recent, ids.of(method, latest))
  }

  /**
   * An exit that is not of the frame on top. Either the frames above its own have lost theirs: they
   * are closed. Or its own was never entered: it is ignored.
   */
  #heal(method: number, ticks: number): void {
    const { ints } = this.nodes
    const top = this.places.tops[this.current]
    let above = 0
    for (let node = this.node; node !== top; node = ints[node * INTS + PARENT]) {
      if (this.nodes.methodOf(node) === method) {
        this.charge(ticks)
        this.healed += above
        // The one exit probe ends the frame on top; all others lack half a pair, the one that exits among them.
        for (let closed = this.node; closed !== node; ) {
          closed = ints[closed * INTS + PARENT]
          this.#addProbeHalf(closed, -1)
        }
        this.node = ints[node * INTS + PARENT]
        return
      }
      // A call that was waiting and has thrown ends like this.
      if (ints[node * INTS + METHOD] >= this.firstMethod) above++
    }
    this.healed++
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

  /** Writes back the current thread's place. */
  protected putDown(): void {
    const { lasts, nodes, sites } = this.places
    nodes[this.current] = this.node
    lasts[this.current] = this.last
    sites[this.current] = this.nextSite
  }

  /**
   * Remembers what is about to be charged. Of a gap with waiting in it the first part counts: the
   * target waits last before it writes an event, and a redefinition in the wait is charged to nobody
   * already.
   */
  #noteGap(node: number, last: number, ticks: number): void {
    if (node === this.places.tops[this.current]) return
    const waited = last === this.adjustedLast ? this.adjusted : 0
    this.pauses.gap(this.current, node, last - waited, ticks - waited)
  }
}
