// Trees of slow calls: one tree of all outermost root calls that took at least the threshold, and a separate tree for each of the slowest
// calls.
//
// Whether a call is slow is known only at its end. The events of the current call of each thread are therefore logged, run by run, and
// replayed in a builder if the call was slow. A fast call only costs the copy of its events, 8 bytes per event. When a call exceeds the
// log's limit, its events go to a builder of its own. When all logs together exceed their limit, the largest log is moved to a builder.
// Memory is thus bounded. A call with a tree that exceeds its limit is in no tree, but is counted.
//
// A pause may arrive after the calls that it stalled have ended, and may turn a slow call into a fast one. The latest slow calls are
// therefore kept for a while, and are subtracted from the tree if they become fast. Some of the other calls are kept, too, since they may
// then be among the slowest. The tree of all calls decides once which gap of a thread a pause is subtracted from (pauses.ts), and notifies
// the trees here.

import type { CctBuilder } from './builder.ts'
import { ADJUST, CAUGHT, CallLog, RESUME, SITE, STRETCH_ELEMENTS, SUSPEND } from './call-log.ts'
import { TreeTooLarge } from './nodes.ts'
import type { TakenOut } from './pauses.ts'
import type { RootClock } from './root-calls.ts'

/** Number of slowest calls with a tree of their own. */
export const SLOWEST = 10
/** Number of slow calls kept for late pauses. */
const MAX_RECENT = 1024
/** Number of fast calls that are kept: the slowest of them. Ten of them may become the slowest of all when pauses make slow calls fast. */
const MAX_SPARE = SLOWEST + 64
/** Number of idle logs kept for later calls, each at most a quarter of a MiB. */
const MAX_FREE_LOGS = 256

/** Memory limits for trees of slow calls. */
export interface SlowBounds {
  /** Bytes of the calls kept for late pauses, and of the slowest other calls. The slowest calls are kept regardless of this limit. */
  readonly keptBytes: number
  /** Maximum number of contexts of an unfinished call with a builder of its own. */
  readonly contexts: number
  /** Elements (4 bytes each) of the logged events of all unfinished calls. */
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

/** Threshold for slow calls: a number of ticks, or the p99 of all calls so far. */
export type SlowThreshold = number | 'p99'

/** A slow call. */
export interface SlowCall {
  /** Numbered from 1, in the order in which calls ended. */
  readonly number: number
  /** Number of the thread. */
  readonly thread: number
  readonly method: number
  readonly ticks: number
  /** End of the call, in ms since the start of the recording. */
  readonly atMs: number
}

interface KeptCall extends SlowCall {
  ticks: number
  readonly log: CallLog
  /** Number among all calls of the recording, from 0. */
  readonly call: number
  /** Threshold in ticks when the call ended. */
  readonly from: number
  /** Whether the call is in the tree of all slow calls. */
  isSlow: boolean
  /** Number of collapses of that tree when the call was added. The call can be subtracted as long as this number is unchanged. */
  moves: number
  readonly bytes: number
}

/** Facts about the calls of a builder. */
export interface CallFacts {
  /** Returns the p99 of the calls so far, in ticks; not finite if there are too few calls. */
  p99(): number
  /** Returns the ms since the start of the recording. */
  now(): number
}

/** Creates builders with the options of the builder of all calls. */
export interface SlowBuilders {
  /** Creates a builder with the same limit of contexts before a collapse. */
  ofAll(): CctBuilder
  /** @param maxNodes  limit; more nodes throw TreeTooLarge */
  ofOne(maxNodes?: number): CctBuilder
}

export class SlowCalls {
  readonly threshold: SlowThreshold
  /** Number of slow calls. */
  count = 0
  /** Number of slow calls in no tree, because their trees exceeded the memory limit. */
  dropped = 0
  /** Tree of all slow calls. */
  readonly tree: CctBuilder
  readonly #bounds: SlowBounds
  #openElements = 0
  #openBytes = 0
  /** Logs of threads inside a root call, indexed by thread number. */
  readonly #logs: (CallLog | undefined)[] = []
  /** Idle logs of finished calls. Their number equals the maximum number of simultaneous calls. */
  readonly #freeLogs: CallLog[] = []
  /** The slowest calls, slowest first. */
  #slowest: KeptCall[] = []
  /** A pause has changed the duration of calls: the slowest must be determined again. */
  #isStale = false
  #latest: KeptCall | null = null
  /** Latest calls that were slow when they ended, keyed by number among all calls of the recording, oldest first. */
  readonly #recent = new Map<number, KeptCall>()
  #recentBytes = 0
  /** Slowest of all other calls, slowest first. */
  #spare: KeptCall[] = []
  #spareBytes = 0
  /** Lower bound in ticks: only longer calls are added to the spare calls. */
  #spareAbove = Number.NEGATIVE_INFINITY
  /** Number of finished calls that were logged from their start. */
  ended = 0

  /** @param ended  number of earlier calls */
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

  /** Approximate memory use of unfinished calls. */
  get openBytes(): number {
    return 4 * this.#openElements + this.#openBytes
  }

  /** Threshold in ticks; not finite if there is no p99 yet. */
  get thresholdTicks(): number {
    return this.threshold === 'p99' ? this.facts.p99() : this.threshold
  }

  /** The slowest of all calls that have ended since the start, slow or not. Slowest first. */
  get slowest(): readonly SlowCall[] {
    if (this.#isStale) this.#chooseSlowest()
    return this.#slowest
  }

  /** Slow call that ended last. */
  get latest(): SlowCall | null {
    return this.#latest
  }

  /** Returns the tree of a call by its number; null if the tree is no longer kept. */
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

  // ---- notifications by the builder of all calls, for unfinished calls ----

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

  /** Accounts for new words and one new segment in the log. */
  #grown(log: CallLog, thread: number, words: number): void {
    this.#openElements += words + STRETCH_ELEMENTS
    if (log.isLarge) this.#readMeanwhile(log, thread)
    else if (this.#openElements > this.#bounds.openElements) this.#readLargest()
  }

  /**
   * Moves the largest log to a builder. Its thread may be blocked, and would otherwise keep the log. A small log is not moved, since its
   * tree would be larger than its events.
   */
  #readLargest(): void {
    let largest = -1
    this.#logs.forEach((log, thread) => {
      if (log !== undefined && log.elements > (this.#logs[largest]?.elements ?? 0)) largest = thread
    })
    if (largest >= 0) this.#readMeanwhile(this.#logs[largest]!, largest)
  }

  /** Discards a log that belongs to no unfinished call. */
  #letGo(log: CallLog): void {
    this.#openElements -= log.elements
    this.#openBytes -= log.builderBytes
  }

  /** Registers a pause within an unfinished call, see `CallLog.takeOut`. */
  takeOut({ thread }: RootClock, takenOut: TakenOut): void {
    const log = this.#logs[thread]
    if (log?.isWhole === true) log.takeOut(takenOut)
  }

  /** Handles the end of a call that took `ticks`. @param number  number among all calls of the recording */
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
    if (this.#freeLogs.length < MAX_FREE_LOGS) this.#freeLogs.push(log)
  }

  #add(call: KeptCall): void {
    const { log, thread } = call
    this.count++
    call.moves = this.tree.moves // Read before the tree is added: the addition may trigger a collapse that includes this call's contexts.
    if (log.isTooLarge) this.dropped++
    else if (log.builder !== null) this.tree.addTree(log.builder, thread)
    else log.tell(this.tree, thread)
  }

  #takeAway(call: KeptCall): void {
    this.count--
    if (call.log.isTooLarge) this.dropped--
    else this.tree.addTree(this.#builderOf(call), call.thread, -1)
  }

  /** Adds the call to the slowest calls if it is slow enough. */
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
      if (this.#recent.size <= MAX_RECENT && this.#recentBytes <= this.#bounds.keptBytes) return
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
      spare.length > MAX_SPARE ||
      (spare.length > SLOWEST && this.#spareBytes > this.#bounds.keptBytes)
    ) {
      const fastest = spare.pop()!
      this.#spareBytes -= fastest.bytes
      this.#spareAbove = fastest.ticks
    }
  }

  /**
   * Subtracts a pause from a finished call.
   * @param number  number among all calls of the recording
   * @param ticks   duration of the call without the pause
   */
  correct(number: number, takenOut: TakenOut, ticks: number): void {
    const recent = this.#recent.get(number)
    const call = recent ?? this.#spare.find((it) => it.call === number)
    if (call === undefined) return
    const { log, thread, isSlow: wasSlow } = call
    const isSlow = ticks >= call.from
    // A later collapse may have merged contexts of this call with others.
    if (wasSlow && call.moves !== this.tree.moves) return
    call.ticks = ticks
    call.isSlow = isSlow
    this.#isStale = true
    // Corrects the tree in place, if no other change is necessary.
    const isDone = wasSlow && isSlow && log.builder === null && this.tree.takeOut(thread, log.began, takenOut)
    if (wasSlow && !isDone) this.#takeAway(call)
    log.takeOut(takenOut)
    log.settle(thread)
    if (isSlow && !isDone) this.#add(call)
    if (wasSlow !== isSlow) this.#findLatest()
    if (recent === undefined) this.#sortSpare()
  }

  /**
   * Finds the slow call that ended last. If the data of older calls is gone, there is no latest slow call until the next slow call ends.
   */
  #findLatest(): void {
    this.#latest = null
    for (const call of this.#kept())
      if (call.isSlow && call.number > (this.#latest?.number ?? 0)) this.#latest = call
  }

  #sortSpare(): void {
    this.#spare.sort((a, b) => b.ticks - a.ticks)
    const isFull = this.#spare.length === MAX_SPARE
    this.#spareAbove = isFull ? this.#spare.at(-1)!.ticks : Number.NEGATIVE_INFINITY
  }

  /** Moves a log that is too large to a builder of its own. */
  #readMeanwhile(log: CallLog, thread: number): void {
    this.#letGo(log)
    try {
      log.readMeanwhile(log.builder ?? this.builders.ofOne(this.#bounds.contexts), thread)
      if (this.#openBytes + log.builderBytes > this.#bounds.openBytes) log.giveUp()
    } catch (error) {
      if (!(error instanceof TreeTooLarge)) throw error
      // The tree of this call exceeds its limit. The tree of all calls does not. Recording continues.
      log.giveUp()
    }
    this.#openBytes += log.builderBytes
  }
}

/** Inserts into an array sorted by duration, slowest first. */
function insert(calls: KeptCall[], call: KeptCall): void {
  const at = calls.findIndex((it) => it.ticks < call.ticks)
  calls.splice(at < 0 ? calls.length : at, 0, call)
}
