// Trees of slow calls: one tree of all outermost root calls that took at least as long as the threshold, and a separate tree for each of
// the slowest calls. If requested, the latest calls that an exception ended have a tree of their own, too, however short they were.
//
// A call takes part only if it began when the threshold was known. The first calls after an attach are slow because their code is
// interpreted; without this rule, they would stay the slowest calls.
//
// Whether a call is slow is known only at its end. The events of the current call of each thread are therefore logged, run by run, and
// replayed in a builder if the call was slow. A fast call costs only the copy of its events, 8 bytes per event. When a call exceeds the
// log's limit, the call gets a builder, which receives its events. When all logs together exceed their limit, the largest log is moved to a
// builder. Memory is thus bounded. A call whose tree exceeds the memory limit is counted, but is in no tree.
//
// A pause may arrive after the end of a call that it stalled. Without the pause, the call may be fast. The latest slow calls are
// therefore kept for a while, and are subtracted from the tree if they become fast. Some fast calls are kept, too: they may then be
// among the slowest calls. The builder of all calls decides from which gap of a thread a pause is subtracted (pauses.ts), and notifies the
// trees of slow calls.
//
// If the set of timed methods changes, the tree of all calls restarts, and so does the common tree of slow calls: rows of different sets
// cannot be added. Each finished call keeps its own tree, so the lists of calls continue.

import type { CctBuilder } from './builder.ts'
import { type CallDetails, DetailWords } from './call-details.ts'
import { ADJUST, CAUGHT, CallLog, RESUME, SITE, STRETCH_ELEMENTS, SUSPEND } from './call-log.ts'
import { TreeTooLarge } from './nodes.ts'
import type { TakenOut } from './pauses.ts'
import type { RootClock } from './root-calls.ts'

/** Number of slowest calls with a tree of their own. */
export const SLOWEST = 10
/** Number of latest calls with a tree of their own that an exception ended. */
export const THREW = 10
/** Number of slow calls that are kept, since a pause may arrive after the end of a call. */
const MAX_RECENT = 1024
/** Number of kept fast calls: the slowest fast calls. Ten of these may become the slowest calls when pauses make slow calls fast. */
const MAX_SPARE = SLOWEST + 64
/** Number of idle logs kept for later calls. An idle log has at most a quarter of a MiB. */
const MAX_FREE_LOGS = 256

/** Memory limits for trees of slow calls. */
export interface SlowBounds {
  /** Maximum bytes of the recent slow calls, and of the kept fast calls. The SLOWEST slowest calls are kept regardless of this limit. */
  readonly keptBytes: number
  /** Maximum number of contexts of an unfinished call with a builder of its own. */
  readonly contexts: number
  /** Maximum size of the logged events of all unfinished calls, in elements of 4 bytes. */
  readonly openElements: number
  /** Maximum bytes of the trees of all unfinished calls. */
  readonly openBytes: number
}

export const SLOW_BOUNDS: SlowBounds = {
  keptBytes: 2 ** 24,
  contexts: 2 ** 20,
  openElements: 2 ** 24,
  openBytes: 2 ** 27,
}

/** Defines slow calls: calls of at least this number of ticks, calls above the p99 of all calls so far, or calls that an exception ended. */
export type SlowThreshold = number | 'p99' | 'threw'

/** A slow call. */
export interface SlowCall {
  /** Number of the call: 1, 2, 3 … in the order in which calls ended. */
  readonly number: number
  /** Thread number of the thread that made the call. */
  readonly thread: number
  readonly method: number
  readonly ticks: number
  /** Number of single probes in the call, as in `rootProbeTicks`. */
  readonly probeHalves: number
  /** Cost of these probes, which is not in `ticks`. */
  readonly probeTicks: number
  /** Start and end of the call in session ticks, with pauses. */
  readonly beginTicks: number
  readonly endTicks: number
  /** End of the call, in ms since the start of the recording. */
  readonly atMs: number
  /** Id of the first call inside the root; 0 if unknown. */
  readonly first: number
  /** Number of the class of the exception that ended the call; -1 if the call returned. */
  readonly threw: number
  /** Details that the thread wrote after the end of the call; null if there are none. */
  readonly details: CallDetails | null
}

interface KeptCall extends Omit<SlowCall, 'details'> {
  ticks: number
  readonly details: DetailWords
  readonly log: CallLog
  /** Index of the call among all calls of the recording, from 0. */
  readonly call: number
  /** Value of the threshold when the call ended, in ticks. */
  readonly from: number
  /** Whether the call is in the tree of all slow calls. */
  isSlow: boolean
  /** Number of collapses of the tree of all slow calls when this call was added. If it has changed, the call cannot be subtracted. */
  moves: number
  /** Number of restarts of the tree of all slow calls before this call ended. If it has changed, the call is not in this tree. */
  readonly epoch: number
  readonly bytes: number
}

/** Facts about the calls of a builder. */
export interface CallFacts {
  /** Returns the p99 of the calls so far, in ticks; not finite if there are too few calls. */
  p99(): number
  /** Returns the ms since the start of the recording. */
  now(): number
}

/** Number of ticks that no call takes. */
export const NEVER_SLOW = 2 ** 52

/** What `SlowCalls` keeps. */
export interface SlowWanted {
  readonly threshold: SlowThreshold
  /** Whether the latest calls that an exception ended are kept, however short they were. */
  readonly threw: boolean
}

/** Creates builders with the options of the builder of all calls. */
export interface SlowBuilders {
  /** Creates a builder for all slow calls. It collapses contexts at the same limit as the builder of all calls. */
  ofAll(): CctBuilder
  /** Creates a builder for one call. @param maxNodes  limit; TreeTooLarge is thrown for a further node */
  ofOne(maxNodes?: number): CctBuilder
}

export class SlowCalls {
  readonly wanted: SlowWanted
  /** Number of slow calls. */
  count = 0
  /** Number of slow calls that are in no tree, because their own trees exceeded the memory limit. */
  dropped = 0
  /** Number of calls that an exception ended, among the calls that took part. */
  threwCount = 0
  /** Tree of all slow calls, or since its restart. */
  tree: CctBuilder
  /** Number of slow calls in `tree`. */
  treeCount = 0
  /** Time of the restart of `tree`, in ms since the start of the recording; null if it has not restarted. */
  treeFromMs: number | null = null
  /** Time from which the threshold was known, in ms since the start of the recording; null if it is not known yet. */
  knownAtMs: number | null = null
  readonly #bounds: SlowBounds
  #openElements = 0
  #openBytes = 0
  /** Logs of threads inside a root call, indexed by thread number. */
  readonly #logs: (CallLog | undefined)[] = []
  /** Idle logs, to be reused. There are at most as many logs as there were simultaneous calls. */
  readonly #freeLogs: CallLog[] = []
  /** The slowest slow calls, slowest first. */
  #slowest: KeptCall[] = []
  /** The latest calls that an exception ended, latest first. */
  #threw: KeptCall[] = []
  /** Receivers of details of the call that has just ended, indexed by thread number. */
  readonly #details: (DetailWords | undefined)[] = []
  /** Whether a pause has changed the duration of calls, so that the slowest calls must be determined again. */
  #isStale = false
  #latest: KeptCall | null = null
  /** Number of restarts of the common tree. */
  #epoch = 0
  /** Latest calls that were slow when they ended, oldest first, keyed by their index among all calls of the recording. */
  readonly #recent = new Map<number, KeptCall>()
  #recentBytes = 0
  /** Spare calls: the slowest of all calls that are not in `#recent`, slowest first. */
  #spare: KeptCall[] = []
  #spareBytes = 0
  /** Lower bound in ticks: only longer calls are added to the spare calls. */
  #spareAbove = Number.NEGATIVE_INFINITY
  /** Number of finished calls that were logged from their start. */
  ended = 0

  /** @param ended  number of earlier calls */
  constructor(
    wanted: SlowWanted,
    private readonly builders: SlowBuilders,
    private readonly facts: CallFacts,
    bounds = SLOW_BOUNDS,
    ended = 0,
  ) {
    this.ended = ended
    this.#bounds = bounds
    this.wanted = wanted
    this.tree = builders.ofAll()
  }

  /**
   * Restarts the common tree. The lists of calls, the threshold and the numbering continue. Unfinished calls take no part: a part of their
   * entries or exits may be missing, since probes are switched on or off while they run.
   */
  restart(): void {
    this.tree = this.builders.ofAll()
    this.treeCount = 0
    this.treeFromMs = this.facts.now()
    this.#epoch++
    for (const log of this.#logs) {
      if (log === undefined) continue
      this.#letGo(log)
      log.clear()
    }
  }

  /** Approximate memory use of unfinished calls. */
  get openBytes(): number {
    return 4 * this.#openElements + this.#openBytes
  }

  /** Threshold in ticks; not finite if there is no p99 yet, or if slow calls are the calls that an exception ended. */
  get thresholdTicks(): number {
    const { threshold } = this.wanted
    return threshold === 'p99'
      ? this.facts.p99()
      : threshold === 'threw'
        ? Number.POSITIVE_INFINITY
        : threshold
  }

  /** Threshold from which the target writes details of calls; null if it is not known yet. */
  get detailsFromTicks(): number | null {
    if (this.wanted.threshold === 'threw') return NEVER_SLOW
    return Number.isFinite(this.thresholdTicks) ? this.thresholdTicks : null
  }

  /** Returns whether a call that begins now takes part. */
  #isKnown(): boolean {
    if (this.knownAtMs !== null) return true
    if (this.wanted.threshold === 'p99' && !Number.isFinite(this.thresholdTicks)) return false
    this.knownAtMs = this.facts.now()
    return true
  }

  #isSlow(ticks: number, from: number, threw: number): boolean {
    return this.wanted.threshold === 'threw' ? threw >= 0 : ticks >= from
  }

  /** The slowest slow calls, slowest first. */
  get slowest(): readonly SlowCall[] {
    if (this.#isStale) this.#chooseSlowest()
    return this.#slowest.map(callOf)
  }

  /** Logs of the slowest slow calls, slowest first. A log with a builder has no events. */
  get slowestLogs(): readonly Pick<KeptCall, 'number' | 'thread' | 'log'>[] {
    if (this.#isStale) this.#chooseSlowest()
    return this.#slowest
  }

  /** Creates a builder for one call. */
  builderOfOne(): CctBuilder {
    return this.builders.ofOne()
  }

  /** Threads and times of the latest slow calls in the common tree. */
  get spans(): readonly { readonly thread: number; readonly fromTicks: number; readonly toTicks: number }[] {
    const slow = [...this.#recent.values()].filter((it) => it.isSlow && it.epoch === this.#epoch)
    return slow.map((it) => ({ thread: it.thread, fromTicks: it.beginTicks, toTicks: it.endTicks }))
  }

  /** The latest calls that an exception ended, latest first; empty unless requested. */
  get threw(): readonly SlowCall[] {
    return this.#threw.map(callOf)
  }

  /** The last slow call to end. */
  get latest(): SlowCall | null {
    return this.#latest && callOf(this.#latest)
  }

  /** Returns the tree of the call with this number; null if the tree is no longer kept. */
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
    this.#details[thread] = undefined
    log.isWhole = true
    log.mayBeSlow = this.#isKnown()
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

  /** Adds the size of new words and of one new segment to the size of all logs. */
  #grown(log: CallLog, thread: number, words: number): void {
    this.#openElements += words + STRETCH_ELEMENTS
    if (log.isLarge) this.#readMeanwhile(log, thread)
    else if (this.#openElements > this.#bounds.openElements) this.#readLargest()
  }

  /**
   * Moves the largest log to a builder. The log's thread may be blocked, and would otherwise keep the log. A small log is not moved, since
   * its tree would be larger than its events.
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

  /** Handles the end of a call that took `ticks`. @param number  index among all calls of the recording */
  end(
    { thread, method, threw }: RootClock,
    ticks: number,
    number: number,
    endTicks: number,
    probeHalves: number,
    probeTicks: number,
  ): void {
    const log = this.#logs[thread]
    if (log?.isWhole !== true) return
    this.ended++
    if (log.mayBeSlow)
      this.#endKnown(log, { thread, method, threw, ticks, endTicks, probeHalves, probeTicks }, number)
    this.#letGo(log)
    log.clear()
    this.#logs[thread] = undefined
    if (this.#freeLogs.length < MAX_FREE_LOGS) this.#freeLogs.push(log)
  }

  #endKnown(
    log: CallLog,
    ended: Pick<
      SlowCall,
      'thread' | 'method' | 'threw' | 'ticks' | 'endTicks' | 'probeHalves' | 'probeTicks'
    >,
    number: number,
  ): void {
    const { thread, threw, ticks } = ended
    const from = this.thresholdTicks
    const isSlow = this.#isSlow(ticks, from, threw)
    const isThrown = threw >= 0 && this.wanted.threw
    if (isThrown) this.threwCount++
    if (!isSlow && !isThrown && ticks <= this.#spareAbove) return
    if (log.builder !== null) this.#readMeanwhile(log, thread)
    const kept = log.copy()
    const details = new DetailWords()
    const call: KeptCall = {
      ...ended,
      ...{ number: this.ended, beginTicks: log.began, atMs: this.facts.now(), first: kept.first },
      ...{ details, log: kept, call: number, from, isSlow, bytes: kept.bytes, moves: 0, epoch: this.#epoch },
    }
    this.#details[thread] = details
    if (isThrown) {
      this.#threw.unshift(call)
      this.#threw.length = Math.min(THREW, this.#threw.length)
    }
    if (isSlow) {
      this.#add(call)
      this.#latest = call
      this.#remember(call)
      this.#compete(call)
    } else this.#keepSpare(call)
  }

  /** Adds a part of a detail of the call that has just ended. Ignores it if the call is not kept. */
  detail(thread: number, slot: number, kind: number, data: number): void {
    this.#details[thread]?.add(slot, kind, data)
  }

  #add(call: KeptCall): void {
    const { log, thread } = call
    this.count++
    call.moves = this.tree.moves // Read before the call is added: the addition may cause a collapse that includes this call's contexts.
    if (log.isTooLarge) {
      this.dropped++
      return
    }
    this.treeCount++
    if (log.builder !== null) this.tree.addTree(log.builder, thread)
    else log.tell(this.tree, thread)
  }

  #takeAway(call: KeptCall): void {
    this.count--
    if (call.log.isTooLarge) {
      this.dropped--
      return
    }
    this.treeCount--
    this.tree.addTree(this.#builderOf(call), call.thread, -1)
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
    const known = this.#kept().filter((it) => it.isSlow && !it.log.isTooLarge)
    this.#slowest = known.sort((a, b) => b.ticks - a.ticks || a.number - b.number).slice(0, SLOWEST)
    this.#isStale = false
  }

  #kept(): KeptCall[] {
    return [...new Set([...this.#recent.values(), ...this.#spare, ...this.#slowest, ...this.#threw])]
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
   * @param number  index among all calls of the recording
   * @param ticks   duration of the call without the pause
   */
  correct(number: number, takenOut: TakenOut, ticks: number): void {
    const recent = this.#recent.get(number)
    const call = recent ?? [...this.#spare, ...this.#threw].find((it) => it.call === number)
    if (call === undefined) return
    const { log, thread, isSlow: wasSlow } = call
    const isSlow = this.#isSlow(ticks, call.from, call.threw)
    // A collapse after the end of this call may have merged its contexts with contexts of other calls. Then only the call itself is corrected:
    // the common tree keeps the pause. After a restart, the common tree does not have the call. (The builder forgets gaps at a restart, so a
    // pause that it hears of after the restart is not subtracted from an earlier call.)
    const isApart = call.epoch !== this.#epoch || call.moves !== this.tree.moves
    const isMerged = wasSlow && !log.isTooLarge && isApart
    call.ticks = ticks
    call.isSlow = isSlow
    this.#isStale = true
    // If the call stays slow, the pause is subtracted from the tree itself, without removing and adding the call.
    const isDone =
      isMerged ||
      (wasSlow && isSlow && log.builder === null && this.tree.takeOut(thread, log.began, takenOut))
    if (isMerged && !isSlow) this.count--
    if (wasSlow && !isDone) this.#takeAway(call)
    log.takeOut(takenOut)
    log.settle(thread)
    if (isSlow && !isDone) this.#add(call)
    if (wasSlow !== isSlow) this.#findLatest()
    if (recent === undefined) this.#sortSpare()
  }

  /**
   * Finds the last slow call to end among the kept calls. If no kept call is slow, there is no latest slow call until the next slow call
   * ends.
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

  /** Moves a log that is too large to the call's own builder. */
  #readMeanwhile(log: CallLog, thread: number): void {
    this.#letGo(log)
    try {
      log.readMeanwhile(log.builder ?? this.builders.ofOne(this.#bounds.contexts), thread)
      if (this.#openBytes + log.builderBytes > this.#bounds.openBytes) log.giveUp()
    } catch (error) {
      if (!(error instanceof TreeTooLarge)) throw error
      // The tree of this call exceeds its limit. The tree of all calls is not affected, and recording continues.
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

function callOf(call: KeptCall): SlowCall {
  const { number, thread, method, ticks, probeHalves, probeTicks, beginTicks, endTicks, atMs, first, threw } =
    call
  return {
    ...{ number, thread, method, ticks, probeHalves, probeTicks, beginTicks, endTicks, atMs, first, threw },
    details: call.details.read(),
  }
}
