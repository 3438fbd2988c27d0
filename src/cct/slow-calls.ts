// The trees of slow calls: of all outermost calls of roots that took a threshold or longer, and of the slowest ones each by itself.
//
// Whether a call is slow is known when it ends. So the events of a thread's call are kept as they come, run by run, not one by
// one, and read a second time if the call was slow: what is not slow costs the copy of its words, 8 bytes an event. A call with more
// words than that is read into a tree of its own meanwhile, and so is the next where all that go on have too many: so memory stays
// bounded. A call whose own tree there is no room for is in no tree, and counted.
//
// A pause may be told when the calls that it was in have ended, and make one of them fast that was slow. So the latest slow calls
// are kept for a while, and what is not slow any more is taken out of the tree again; of the others some are kept that may
// be among the slowest then. Which gap of a thread a pause is taken out of is decided once, for the tree of all calls
// (pauses.ts): the trees here are told.

import type { CctBuilder } from './builder.ts'
import { ADJUST, CAUGHT, CallLog, RESUME, SITE, STRETCH_ELEMENTS, SUSPEND } from './call-log.ts'
import { TreeTooLarge } from './nodes.ts'
import type { TakenOut } from './pauses.ts'
import type { RootClock } from './root-calls.ts'

/** The slowest that have trees of their own. */
export const SLOWEST = 10
/** Slow calls that a pause may still make fast. */
const MOST_RECENT = 1024
/** The slowest of all others: ten of them may be the slowest of all when a pause has made slow ones fast. */
const MOST_SPARE = SLOWEST + 64
/** Room that is kept for calls to come: a quarter of a MiB each, at most. */
const MOST_FREE_LOGS = 256

/** How much memory trees of slow calls may take. */
export interface SlowBounds {
  /** Bytes of the calls that a pause may still make fast, and of the slowest others. The slowest are kept whatever they take. */
  readonly keptBytes: number
  /** Contexts of a call that is read meanwhile. */
  readonly contexts: number
  /** Elements of 4 bytes of the events of all unfinished calls. */
  readonly openElements: number
  /** Bytes of the trees of all unfinished calls. */
  readonly openBytes: number
}

export const SLOW_BOUNDS: SlowBounds = {
  keptBytes: 2 ** 24,
  contexts: 2 ** 20,
  openElements: 2 ** 24,
  openBytes: 2 ** 27,
}

/** When a call is slow: at so many ticks, or above the p99 of all so far. */
export type SlowThreshold = number | 'p99'

/** One call that was slow. */
export interface SlowCall {
  /** In the order in which calls ended, from 1. */
  readonly number: number
  /** Number of the thread. */
  readonly thread: number
  readonly method: number
  readonly ticks: number
  /** When it ended, in ms since recording began. */
  readonly atMs: number
}

interface KeptCall extends SlowCall {
  ticks: number
  readonly log: CallLog
  /** Its number among all calls of the recording, from 0. */
  readonly call: number
  /** Ticks from which on it is slow. */
  readonly from: number
  /** So it is in the sum. */
  isSlow: boolean
  /** How often the contexts of the sum had been collapsed when it was added: it can be taken away as long as that is so. */
  moves: number
  readonly bytes: number
}

/** What else is known of the calls of a builder. */
export interface CallFacts {
  /** What p99 of calls so far is, in ticks; not finite while there are too few. */
  p99(): number
  /** Ms since recording began. */
  now(): number
}

/** Builders like that of all calls. */
export interface SlowBuilders {
  /** With the same bound, beyond which contexts are collapsed. */
  ofAll(): CctBuilder
  /** @param maxNodes  beyond which it throws TreeTooLarge */
  ofOne(maxNodes?: number): CctBuilder
}

export class SlowCalls {
  readonly threshold: SlowThreshold
  /** Calls that were slow. */
  count = 0
  /** Those of them whose trees have outgrown memory: they are in none. */
  dropped = 0
  /** All slow calls. */
  readonly tree: CctBuilder
  readonly #bounds: SlowBounds
  #openElements = 0
  #openBytes = 0
  /** By thread number, of those that are in a call. */
  readonly #logs: (CallLog | undefined)[] = []
  /** Of calls that have ended: there are as many as calls that went on at once. */
  readonly #freeLogs: CallLog[] = []
  /** The slowest first. */
  #slowest: KeptCall[] = []
  /** A pause has changed how long some took: they are to be chosen anew. */
  #isStale = false
  #latest: KeptCall | null = null
  /** Of those that were slow when they ended the latest, by number among all calls of the recording, oldest first. */
  readonly #recent = new Map<number, KeptCall>()
  #recentBytes = 0
  /** Of all others the slowest, the slowest first. */
  #spare: KeptCall[] = []
  #spareBytes = 0
  /** Ticks above which a call is one of them. */
  #spareAbove = Number.NEGATIVE_INFINITY
  /** Calls that have ended, and were here when they began. */
  ended = 0

  /** @param ended  calls before those that are told */
  constructor(
    threshold: SlowThreshold,
    private readonly builders: SlowBuilders,
    private readonly facts: CallFacts,
    bounds = SLOW_BOUNDS,
    ended = 0,
  ) {
    this.ended = ended
    this.#bounds = bounds
    this.threshold = threshold
    this.tree = builders.ofAll()
  }

  /** Of memory, about: what calls that go on have. */
  get openBytes(): number {
    return 4 * this.#openElements + this.#openBytes
  }

  /** Ticks; not finite while there is no p99. */
  get thresholdTicks(): number {
    return this.threshold === 'p99' ? this.facts.p99() : this.threshold
  }

  /** Of all calls, slow or not, that have ended since this began, the slowest first. */
  get slowest(): readonly SlowCall[] {
    if (this.#isStale) this.#chooseSlowest()
    return this.#slowest
  }

  /** The slow call that has ended latest. */
  get latest(): SlowCall | null {
    return this.#latest
  }

  /** The tree of one of these; null if it is not kept any more. */
  treeOf(number: number): CctBuilder | null {
    const call = this.#kept().find((it) => it.number === number)
    return call === undefined || call.log.isTooLarge ? null : this.#builderOf(call)
  }

  #builderOf({ log, thread }: KeptCall): CctBuilder {
    if (log.builder !== null) return log.builder
    const builder = this.builders.ofOne()
    log.tell(builder, thread)
    return builder
  }

  // ---- what the builder of all calls tells, of calls that go on ----

  begin({ thread, begin }: RootClock): void {
    const log = this.#logs[thread] ?? this.#freeLogs.pop() ?? new CallLog()
    this.#logs[thread] = log
    this.#letGo(log)
    log.clear()
    log.isWhole = true
    log.began = begin
  }

  calls({ thread }: RootClock, words: Uint32Array, from: number, to: number, base: number): void {
    const log = this.#logs[thread]
    if (from >= to || log?.isWhole !== true || log.isTooLarge) return
    log.take(words, from, to, base)
    this.#grown(log, thread, to - from)
  }

  adjust(clock: RootClock, ticks: number): void {
    this.#stretch(clock, ADJUST, ticks)
  }

  suspend(clock: RootClock, ticks: number): void {
    this.#stretch(clock, SUSPEND, ticks)
  }

  resume(clock: RootClock, ticks: number): void {
    this.#stretch(clock, RESUME, ticks)
  }

  caught(clock: RootClock, method: number, ticks: number): void {
    this.#stretch(clock, CAUGHT, method, ticks)
  }

  site(clock: RootClock, site: number): void {
    this.#stretch(clock, SITE, site)
  }

  #stretch({ thread }: RootClock, kind: number, a: number, b = 0): void {
    const log = this.#logs[thread]
    if (log?.isWhole !== true || log.isTooLarge) return
    log.stretches.push(kind, a, b, 0)
    this.#grown(log, thread, 0)
  }

  /** By words, and one stretch. */
  #grown(log: CallLog, thread: number, words: number): void {
    this.#openElements += words + STRETCH_ELEMENTS
    if (log.isLarge) this.#readMeanwhile(log, thread)
    else if (this.#openElements > this.#bounds.openElements) this.#readLargest()
  }

  /** It may tell nothing any more, as one that waits. A small one would take more as a tree than as words. */
  #readLargest(): void {
    let largest = -1
    this.#logs.forEach((log, thread) => {
      if (log !== undefined && log.elements > (this.#logs[largest]?.elements ?? 0)) largest = thread
    })
    if (largest >= 0) this.#readMeanwhile(this.#logs[largest]!, largest)
  }

  /** What is kept of it is no call's that goes on. */
  #letGo(log: CallLog): void {
    this.#openElements -= log.elements
    this.#openBytes -= log.builderBytes
  }

  /** A pause was in its time, see `CallLog.takeOut`. */
  takeOut({ thread }: RootClock, takenOut: TakenOut): void {
    const log = this.#logs[thread]
    if (log?.isWhole === true) log.takeOut(takenOut)
  }

  /**
   * The call has ended, and has taken so long.
   *
   * @param number  among all calls of the recording
   */
  end({ thread, method }: RootClock, ticks: number, number: number): void {
    const log = this.#logs[thread]
    if (log?.isWhole !== true) return
    this.ended++
    const from = this.thresholdTicks
    const isSlow = ticks >= from
    if (isSlow || ticks > this.#spareAbove) {
      if (log.builder !== null) this.#readMeanwhile(log, thread)
      const kept = log.copy()
      const facts = { number: this.ended, thread, method, ticks, atMs: this.facts.now() }
      const call = { ...facts, log: kept, call: number, from, isSlow, bytes: kept.bytes, moves: 0 }
      if (isSlow) {
        this.#add(call)
        this.#latest = call
        this.#remember(call)
      } else this.#keepSpare(call)
      this.#compete(call)
    }
    this.#letGo(log)
    log.clear()
    this.#logs[thread] = undefined
    if (this.#freeLogs.length < MOST_FREE_LOGS) this.#freeLogs.push(log)
  }

  #add(call: KeptCall): void {
    const { log, thread } = call
    this.count++
    call.moves = this.tree.moves // before: what is added may have contexts collapsed, its own among them
    if (log.isTooLarge) this.dropped++
    else if (log.builder !== null) this.tree.addTree(log.builder, thread)
    else log.tell(this.tree, thread)
  }

  #takeAway(call: KeptCall): void {
    this.count--
    if (call.log.isTooLarge) this.dropped--
    else this.tree.addTree(this.#builderOf(call), call.thread, -1)
  }

  /** It may be one of the slowest. */
  #compete(call: KeptCall): void {
    if (call.log.isTooLarge || this.#isStale) return
    const slowest = this.#slowest
    if (slowest.length === SLOWEST && call.ticks <= slowest[SLOWEST - 1]!.ticks) return
    insert(slowest, call)
    slowest.length = Math.min(SLOWEST, slowest.length)
  }

  #chooseSlowest(): void {
    const known = this.#kept().filter((it) => !it.log.isTooLarge)
    this.#slowest = known.sort((a, b) => b.ticks - a.ticks || a.number - b.number).slice(0, SLOWEST)
    this.#isStale = false
  }

  #kept(): KeptCall[] {
    return [...new Set([...this.#recent.values(), ...this.#spare, ...this.#slowest])]
  }

  #remember(call: KeptCall): void {
    this.#recent.set(call.call, call)
    this.#recentBytes += call.bytes
    for (const [number, oldest] of this.#recent) {
      if (oldest === call) return
      if (this.#recent.size <= MOST_RECENT && this.#recentBytes <= this.#bounds.keptBytes) return
      this.#recent.delete(number)
      this.#recentBytes -= oldest.bytes
      this.#keepSpare(oldest)
    }
  }

  #keepSpare(call: KeptCall): void {
    if (call.log.isTooLarge || call.ticks <= this.#spareAbove) return
    const spare = this.#spare
    insert(spare, call)
    this.#spareBytes += call.bytes
    while (
      spare.length > MOST_SPARE ||
      (spare.length > SLOWEST && this.#spareBytes > this.#bounds.keptBytes)
    ) {
      const fastest = spare.pop()!
      this.#spareBytes -= fastest.bytes
      this.#spareAbove = fastest.ticks
    }
  }

  /**
   * A pause was in the time of a call that has ended.
   *
   * @param number  among all calls of the recording
   * @param ticks   what the call has taken without it
   */
  correct(number: number, takenOut: TakenOut, ticks: number): void {
    const recent = this.#recent.get(number)
    const call = recent ?? this.#spare.find((it) => it.call === number)
    if (call === undefined) return
    const { log, thread, isSlow: wasSlow } = call
    const isSlow = ticks >= call.from
    // Some of its contexts may be part of others in the sum now.
    if (wasSlow && call.moves !== this.tree.moves) return
    call.ticks = ticks
    call.isSlow = isSlow
    this.#isStale = true
    // In place, where there is nothing more to be done.
    const isDone = wasSlow && isSlow && log.builder === null && this.tree.takeOut(thread, log.began, takenOut)
    if (wasSlow && !isDone) this.#takeAway(call)
    log.takeOut(takenOut)
    log.settle(thread)
    if (isSlow && !isDone) this.#add(call)
    if (wasSlow !== isSlow) this.#findLatest()
    if (recent === undefined) this.#sortSpare()
  }

  /** Where older ones are not known any more there is none, until the next one ends. */
  #findLatest(): void {
    this.#latest = null
    for (const call of this.#kept())
      if (call.isSlow && call.number > (this.#latest?.number ?? 0)) this.#latest = call
  }

  #sortSpare(): void {
    this.#spare.sort((a, b) => b.ticks - a.ticks)
    const isFull = this.#spare.length === MOST_SPARE
    this.#spareAbove = isFull ? this.#spare.at(-1)!.ticks : Number.NEGATIVE_INFINITY
  }

  /** Too much to be kept: it is read into a tree of its own. */
  #readMeanwhile(log: CallLog, thread: number): void {
    this.#letGo(log)
    try {
      log.readMeanwhile(log.builder ?? this.builders.ofOne(this.#bounds.contexts), thread)
      if (this.#openBytes + log.builderBytes > this.#bounds.openBytes) log.giveUp()
    } catch (error) {
      if (!(error instanceof TreeTooLarge)) throw error
      // That of all calls has not outgrown its bound, so recording goes on.
      log.giveUp()
    }
    this.#openBytes += log.builderBytes
  }
}

/** Into those that are sorted, the slowest first. */
function insert(calls: KeptCall[], call: KeptCall): void {
  const at = calls.findIndex((it) => it.ticks < call.ticks)
  calls.splice(at < 0 ? calls.length : at, 0, call)
}
