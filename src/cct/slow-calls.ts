// The trees of slow calls: of all outermost calls of roots that took a threshold or longer, and of the slowest ones each by itself.
//
// Whether a call is slow is known when it ends. So the events of a thread's call are kept as they come, run by run, not one by
// one, and read a second time if the call was slow: what is not slow costs the copy of its words, 8 bytes an event. A call with more
// words than that is read into a tree of its own meanwhile, so that memory stays bounded.
//
// A pause may be told when the calls that it was in have ended, and make one of them fast that was slow. So the latest slow calls
// are kept for a while, and what is not slow any more is taken out of the tree again.

import type { CctBuilder } from './builder.ts'
import type { RootClock } from './root-calls.ts'

/** The slowest that have trees of their own. */
export const SLOWEST = 10
/** Elements of a thread's words that are kept: 2 MiB, 262,144 events. */
const MOST_WORDS = 2 ** 19
const MOST_STRETCHES = 2 ** 18
/** Elements that a thread keeps room for between its calls. */
const KEPT_WORDS = 2 ** 16
/** Pauses that trees of single calls are without. */
const MOST_PAUSES = 256
/** Slow calls that a pause may still make fast, and elements of their words or nodes: 16 MiB. */
const MOST_RECENT = 1024
const MOST_RECENT_ELEMENTS = 2 ** 22
/** Contexts of a call that is read meanwhile. */
const MOST_CONTEXTS = 2 ** 20
/** When a call is slow: at so many ticks, or above the p99 of all so far. */
export type SlowThreshold = number | 'p99'

const CALLS = 0
const ADJUST = 1
const SUSPEND = 2
const RESUME = 3
const CAUGHT = 4
const SITE = 5
const COUNTED = 6

/** Where one stretch of events begins, of four numbers each: kind, and what goes with it. */
const STRETCH = 4

/** What a thread's call has told so far. */
class CallLog {
  words = new Uint32Array(1024)
  used = 0
  stretches: number[] = []
  /** Of a call that has outgrown its words: what was read meanwhile. */
  builder: CctBuilder | null = null
  /** That has outgrown its bound. */
  isTooLarge = false
  /** It was here when the call began. */
  isWhole = false

  clear(): void {
    this.forget()
    if (this.words.length > KEPT_WORDS) this.words = new Uint32Array(1024)
    this.builder = null
    this.isTooLarge = this.isWhole = false
  }

  /** What is kept has been read. */
  forget(): void {
    this.used = 0
    this.stretches = []
  }

  get isLarge(): boolean {
    return this.used > MOST_WORDS || this.stretches.length > MOST_STRETCHES
  }

  take(words: Uint32Array, from: number, to: number, base: number): void {
    const count = to - from
    if (this.used + count > this.words.length) {
      const grown = new Uint32Array(Math.max(this.used + count, this.words.length * 2))
      grown.set(this.words.subarray(0, this.used))
      this.words = grown
    }
    this.words.set(words.subarray(from, to), this.used)
    this.stretches.push(CALLS, this.used, this.used + count, base)
    this.used += count
  }

  /** Tells it all to a builder, as events of this thread: what comes of it are the same contexts. */
  tell(builder: CctBuilder, thread: number): void {
    const { stretches, words } = this
    builder.thread(thread, -1)
    if (this.builder === null) builder.root() // one before it may have lost its end
    for (let at = 0; at < stretches.length; at += STRETCH) {
      const [a, b, base] = [stretches[at + 1]!, stretches[at + 2]!, stretches[at + 3]!]
      switch (stretches[at]) {
        case CALLS:
          builder.calls(words, a, b, base)
          break
        case ADJUST:
          builder.adjust(a)
          break
        case SUSPEND:
          builder.suspend(a)
          break
        case RESUME:
          builder.resume(a)
          break
        case CAUGHT:
          builder.caught(a, b)
          break
        case SITE:
          builder.site(a)
          break
        default:
          builder.counted(a)
      }
    }
  }

  copy(): CallLog {
    const copy = new CallLog()
    copy.words = this.words.slice(0, this.used)
    copy.used = this.used
    copy.stretches = this.stretches
    copy.builder = this.builder
    copy.isTooLarge = this.isTooLarge
    return copy
  }
}

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
  readonly log: CallLog
  /** Its number among all calls of the recording, from 0. */
  readonly call: number
  /** Between which ticks it went on. */
  readonly began: number
  readonly ended: number
}

/** A call that was slow when it ended. */
interface RecentCall {
  readonly call: KeptCall
  /** Ticks from which on it is slow. */
  readonly from: number
  readonly isSlow: boolean
}

/** What else is known of the calls of a builder. */
export interface CallFacts {
  /** What p99 of calls so far is, in ticks; not finite while there are too few. */
  p99(): number
  /** Ms since recording began. */
  now(): number
}

export class SlowCalls {
  readonly threshold: SlowThreshold
  /** Calls that were slow. */
  count = 0
  /** Those of them whose trees have outgrown memory: they are in none. */
  dropped = 0
  /** All slow calls. */
  readonly tree: CctBuilder
  readonly #make: (maxNodes?: number) => CctBuilder
  readonly #facts: CallFacts
  readonly #mostContexts: number
  /** By thread number. */
  readonly #logs: (CallLog | undefined)[] = []
  /** The slowest first. */
  #slowest: KeptCall[] = []
  #latest: KeptCall | null = null
  /** By its number among all calls of the recording, oldest first. */
  readonly #recent = new Map<number, RecentCall>()
  #recentElements = 0
  #ended = 0
  #pauses: [start: number, end: number][] = []

  /** @param make  a builder like that of all calls */
  constructor(
    threshold: SlowThreshold,
    make: (maxNodes?: number) => CctBuilder,
    facts: CallFacts,
    mostContexts = MOST_CONTEXTS,
  ) {
    this.#mostContexts = mostContexts
    this.threshold = threshold
    this.#make = make
    this.#facts = facts
    this.tree = make()
  }

  /** Ticks; not finite while there is no p99. */
  get thresholdTicks(): number {
    return this.threshold === 'p99' ? this.#facts.p99() : this.threshold
  }

  /** Of all calls, slow or not, that have ended since this began, the slowest first. */
  get slowest(): readonly SlowCall[] {
    return this.#slowest
  }

  /** The slow call that has ended latest. */
  get latest(): SlowCall | null {
    return this.#latest
  }

  /** The tree of one of these; null if it is not kept any more. */
  treeOf(number: number): CctBuilder | null {
    const call = [...this.#slowest, this.#latest].find((it) => it?.number === number)
    return call === undefined || call === null ? null : this.#builderOf(call)
  }

  #builderOf({ log, thread }: KeptCall): CctBuilder {
    if (log.builder !== null) return log.builder
    const builder = this.#make()
    log.tell(builder, thread)
    for (const [start, end] of this.#pauses) builder.pause(start, end)
    return builder
  }

  // ---- what the builder of all calls tells, of calls that go on ----

  begin({ thread }: RootClock): void {
    const log = this.#logs[thread] ?? new CallLog()
    this.#logs[thread] = log
    log.clear()
    log.isWhole = true
  }

  calls({ thread }: RootClock, words: Uint32Array, from: number, to: number, base: number): void {
    const log = this.#logs[thread]
    if (from >= to || log?.isWhole !== true) return
    log.take(words, from, to, base)
    if (log.isLarge) this.#readMeanwhile(log, thread)
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

  counted(clock: RootClock, method: number): void {
    this.#stretch(clock, COUNTED, method)
  }

  #stretch({ thread }: RootClock, kind: number, a: number, b = 0): void {
    const log = this.#logs[thread]
    if (log?.isWhole !== true) return
    log.stretches.push(kind, a, b, 0)
    if (log.isLarge) this.#readMeanwhile(log, thread)
  }

  /**
   * The call has ended, and has taken so long.
   *
   * @param number  among all calls of the recording
   * @param ended   tick of its end
   */
  end({ begin: began, thread, method }: RootClock, ticks: number, number: number, ended: number): void {
    const log = this.#logs[thread]
    if (log?.isWhole !== true) return
    this.#ended++
    const from = this.thresholdTicks
    const isSlow = ticks >= from
    const isAmongSlowest = this.#slowest.length < SLOWEST || ticks > this.#slowest.at(-1)!.ticks
    if (isSlow || isAmongSlowest) {
      if (log.builder !== null) this.#readMeanwhile(log, thread)
      const facts = { number: this.#ended, thread, method, ticks, atMs: this.#facts.now() }
      const call = { ...facts, log: log.copy(), call: number, began, ended }
      if (isSlow) {
        this.#add(call)
        this.#latest = call
        this.#remember({ call, from, isSlow })
      }
      if (isAmongSlowest && !log.isTooLarge) this.#keep(call)
    }
    log.clear()
  }

  #add({ log, thread }: KeptCall): void {
    this.count++
    if (log.isTooLarge) this.dropped++
    else if (log.builder !== null) this.tree.addTree(log.builder, thread)
    else log.tell(this.tree, thread)
  }

  #takeAway(call: KeptCall): void {
    const { log, thread, began, ended } = call
    this.count--
    if (log.isTooLarge) {
      this.dropped--
      return
    }
    this.tree.addTree(this.#builderOf(call), thread, -1)
    this.tree.forgetGaps(thread, began, ended)
  }

  #keep(call: KeptCall): void {
    const at = this.#slowest.findIndex((it) => it.ticks < call.ticks)
    this.#slowest.splice(at < 0 ? this.#slowest.length : at, 0, call)
    this.#slowest.length = Math.min(SLOWEST, this.#slowest.length)
  }

  #remember(recent: RecentCall): void {
    this.#recent.set(recent.call.call, recent)
    this.#recentElements += elementsOf(recent.call)
    for (const [number, { call }] of this.#recent) {
      if (this.#recent.size === 1) return
      if (this.#recent.size <= MOST_RECENT && this.#recentElements <= MOST_RECENT_ELEMENTS) return
      this.#recent.delete(number)
      this.#recentElements -= elementsOf(call)
    }
  }

  /** A call that has ended took so long, without a pause told since; it is told to `pause` first. */
  correct(number: number, ticks: number): void {
    const corrected = (it: KeptCall) => (it.call === number ? { ...it, ticks } : it)
    if (this.#latest?.call === number) this.#latest = corrected(this.#latest)
    if (this.#slowest.some((it) => it.call === number))
      this.#slowest = this.#slowest.map(corrected).sort((a, b) => b.ticks - a.ticks)
    const recent = this.#recent.get(number)
    if (recent !== undefined) this.#decideAgain(recent, ticks)
  }

  #decideAgain({ call, from, isSlow: wasSlow }: RecentCall, ticks: number): void {
    const isSlow = ticks >= from
    this.#recent.set(call.call, { call: { ...call, ticks }, from, isSlow })
    if (isSlow === wasSlow) return
    if (isSlow) this.#add(call)
    else this.#takeAway(call)
    // Where older ones are not known any more there is none, until the next one ends.
    this.#latest = [...this.#recent.values()].findLast((it) => it.isSlow)?.call ?? null
  }

  /** Too much to be kept: it is read into a tree of its own. */
  #readMeanwhile(log: CallLog, thread: number): void {
    try {
      if (!log.isTooLarge) {
        const isNew = log.builder === null
        log.builder ??= this.#make(this.#mostContexts)
        if (isNew) for (const [start, end] of this.#pauses) log.builder.pause(start, end)
        log.tell(log.builder, thread)
      }
    } catch {
      // Its tree has outgrown its bound. That of all calls has not, so recording goes on.
      log.isTooLarge = true
      log.builder = null
    }
    log.forget()
  }

  /** The target stood still; may be told late. */
  pause(start: number, end: number): void {
    // A tree that was added as a whole has left no gaps in the sum.
    const whole = [...this.#recent.values()].filter(
      ({ call, isSlow }) => isSlow && call.log.builder !== null && call.began < end && call.ended > start,
    )
    for (const { call } of whole) this.#takeAway(call)
    this.tree.pause(start, end)
    // One builder may be in more than one of these.
    const kept = [...this.#slowest, ...[...this.#recent.values()].map((it) => it.call), this.#latest]
    const logs = [...this.#logs, ...kept.map((it) => it?.log)]
    for (const builder of new Set(logs.map((it) => it?.builder))) builder?.pause(start, end)
    for (const { call } of whole) this.#add(call)
    this.#pauses = [...this.#pauses.slice(1 - MOST_PAUSES), [start, end]]
  }
}

function elementsOf({ log: { builder, used, stretches } }: KeptCall): number {
  return builder === null ? used + stretches.length : builder.ints.length
}
