// The first calls of roots, event by event: their execution history (JFluid report, sections 1 and 5.2).
//
// A tree forgets the order of calls. This sink stands before the builder, hands it everything, and keeps what belongs to
// the first N outermost root calls that begin while it looks, in all threads together. It only writes down; times without
// the probes' cost, and what is shown, is `trace.ts`.
//
// Between calls that are kept it costs a comparison for each run of events, and so it does when all are done. Memory is
// bounded by MOST_EVENTS, 12 bytes each. Sessions that do not trace have no such sink.

import type { EventSink } from '../events/decode.ts'
import { HIGH_TICKS_MASK, KIND_SHIFT, METHOD_MASK, METHOD_SHIFT } from '../events/event-halves.ts'
import { KIND_ENTER, KIND_EXIT } from '../events/event-layout.ts'
import type { CctBuilder } from './builder.ts'

/** Events of all traced calls together: what is beyond is cut, and said to be. */
export const MOST_EVENTS = 1_000_000
/** Work that has been handed over and may still begin; the oldest is forgotten first. */
const MOST_PENDING = 65_536
/** Redefinitions while calls are traced. */
const MOST_PAUSES = 4096
const FIRST_EVENTS = 64
const TWO_32 = 2 ** 32

/** An exit of the innermost frame. */
export const RAW_EXIT = 0
/** The ticks are how long the thread's clock stood, up to the next event. */
export const RAW_STOOD = -1
/** Work is handed over, and is the call's task number RAW_SUBMIT - code. It has no time. */
export const RAW_SUBMIT = -2

/**
 * What one thread did for a call, from the call's beginning or from where it took up a task of it. A code is a method
 * that is entered, or one of those above; every exit has its frame, and frames may be open at the end.
 */
export class RawTrack {
  readonly thread: number
  codes = new Int32Array(FIRST_EVENTS)
  ticks = new Float64Array(FIRST_EVENTS)
  count = 0
  /** Methods entered and not left. */
  stack: number[] = []
  /** Up to when the thread's time has been charged, as with the builder's. */
  last = 0
  /** The thread does something else now; frames that are still open have lost their exits. */
  isOver = false

  constructor(thread: number) {
    this.thread = thread
  }

  add(code: number, ticks: number): void {
    if (this.count === this.codes.length) {
      const [codes, times] = [new Int32Array(this.count * 2), new Float64Array(this.count * 2)]
      codes.set(this.codes)
      times.set(this.ticks)
      this.codes = codes
      this.ticks = times
    }
    this.codes[this.count] = code
    this.ticks[this.count++] = ticks
  }
}

export interface RawCall {
  readonly root: RawTrack
  /** By number of the task; null for one that has not begun. */
  readonly tasks: (RawTrack | null)[]
  /** Tasks that have neither begun nor been dropped. */
  pending: number
  /** Where the events had no more room. */
  isCut: boolean
}

/** A stop-the-world redefinition. */
export interface RawPause {
  readonly start: number
  readonly end: number
}

/** A track of a call, where events of its thread go. */
interface Place {
  readonly call: RawCall
  readonly track: RawTrack
}

export class Tracer implements EventSink {
  /** Calls that have begun, in that order. */
  readonly kept: RawCall[] = []
  readonly pauses: RawPause[] = []
  readonly asked: number
  readonly #builder: CctBuilder
  readonly #mostEvents: number
  #events = 0
  #isFull = false
  /** Ticks up to which tracks that are over have gone. */
  #latest = 0
  #thread = 0
  /** Of the present thread; null while what it does is not traced. */
  #place: Place | null = null
  /** The present thread's next enter begins a call that is kept. */
  #begins = false
  /** By thread number: those that are at a traced call. */
  readonly #places = new Map<number, Place>()
  /** Those whose next enter begins one. */
  readonly #beginning = new Set<number>()
  /** By token: work that has not begun. */
  readonly #pending = new Map<number, { readonly call: RawCall; readonly task: number }>()
  /** Tokens that were dropped, by threads that were read before the one that handed them over. */
  readonly #droppedEarly = new Set<number>()

  /** @param asked how many calls */
  constructor(builder: CctBuilder, asked: number, mostEvents = MOST_EVENTS) {
    this.#builder = builder
    this.asked = asked
    this.#mostEvents = mostEvents
  }

  /** Whether calls, or events of calls, were left out for want of room. */
  get isCut(): boolean {
    return this.#isFull
  }

  /** What was kept is forgotten, and the next calls are. */
  reset(): void {
    this.kept.length = this.pauses.length = this.#events = this.#latest = 0
    this.#isFull = false
    this.#letGo()
  }

  /** A redefinition; may be told late. */
  pause(startTicks: number, endTicks: number): void {
    const isFull = this.pauses.length === MOST_PAUSES
    if (startTicks >= this.#latest && this.#isIdle(isFull)) return
    if (isFull) this.pauses.shift()
    this.pauses.push({ start: Math.round(startTicks), end: Math.round(endTicks) })
  }

  // ---- events that are kept ----

  calls(words: Uint32Array, from: number, to: number, base: number): number {
    const stop = this.#builder.calls(words, from, to, base)
    if (this.#place !== null || this.#begins) this.#keep(words, from, stop, base)
    return stop
  }

  caught(method: number, ticks: number): void {
    this.#builder.caught(method, ticks)
    if (this.#place === null) return
    const { track } = this.#place
    const at = track.stack.lastIndexOf(method)
    if (at < 0 || at === track.stack.length - 1) return
    this.#close(track, at + 1, ticks)
  }

  thread(number: number, segment: number): void {
    this.#builder.thread(number, segment)
    if (number === this.#thread) return
    this.#thread = number
    this.#place = this.#places.get(number) ?? null
    this.#begins = this.#beginning.has(number)
  }

  adjust(ticks: number): void {
    this.#builder.adjust(ticks)
    if (this.#place === null || this.#place.track.stack.length === 0) return
    const { track } = this.#place
    track.last += ticks
    this.#add(track, RAW_STOOD, ticks)
  }

  suspend(ticks: number): void {
    this.#builder.suspend(ticks)
    if (this.#place !== null) this.#place.track.last = ticks
  }

  resume(ticks: number): void {
    this.#builder.resume(ticks)
    if (this.#place === null) return
    const { track } = this.#place
    const stood = ticks - track.last
    track.last = ticks
    if (stood > 0 && track.stack.length > 0) this.#add(track, RAW_STOOD, stood)
  }

  root(): void {
    this.#builder.root()
    this.#leave()
    if (this.#isFull || this.kept.length >= this.asked) return
    this.#begins = true
    this.#beginning.add(this.#thread)
  }

  submit(token: number): void {
    this.#builder.submit(token)
    if (this.#droppedEarly.delete(token)) {
      this.#builder.drop(token)
      return
    }
    if (this.#place === null) return
    const { call, track } = this.#place
    this.#pending.set(token, { call, task: call.tasks.length })
    call.pending++
    this.#add(track, RAW_SUBMIT - call.tasks.length, track.last)
    call.tasks.push(null)
    forgetOldest(this.#pending)
  }

  begin(token: number): void {
    this.#builder.begin(token)
    this.#leave()
    const work = this.#pending.get(token)
    if (work === undefined) return
    this.#pending.delete(token)
    work.call.pending--
    const track = new RawTrack(this.#thread)
    work.call.tasks[work.task] = track
    this.#place = { call: work.call, track }
    this.#places.set(this.#thread, this.#place)
  }

  drop(token: number): void {
    if (!this.#builder.knows(token) && !this.#isIdle(false)) {
      this.#droppedEarly.add(token)
      forgetOldest(this.#droppedEarly)
    }
    this.#builder.drop(token)
    const work = this.#pending.get(token)
    if (work === undefined) return
    this.#pending.delete(token)
    work.call.pending--
  }

  // ---- events that only the tree is made of ----

  unwind(frames: number): void {
    this.#builder.unwind(frames)
  }

  sample(weight: number): void {
    this.#builder.sample(weight)
  }

  site(site: number): void {
    this.#builder.site(site)
  }

  overflow(method: number): void {
    this.#builder.overflow(method)
  }

  knows(token: number): boolean {
    return this.#builder.knows(token)
  }

  className(id: number, at: number, unit: number): void {
    this.#builder.className(id, at, unit)
  }

  allocated(bytes: number): void {
    this.#builder.allocated(bytes)
  }

  track(classId: number, token: number): void {
    this.#builder.track(classId, token)
  }

  // ---- keeping ----

  #keep(words: Uint32Array, from: number, to: number, base: number): void {
    for (let at = from; at < to; at += 2) {
      const high = words[at + 1]
      const kind = high >>> KIND_SHIFT
      if (kind !== KIND_ENTER && kind !== KIND_EXIT) continue
      const method = (high >>> METHOD_SHIFT) & METHOD_MASK
      const ticks = base + (high & HIGH_TICKS_MASK) * TWO_32 + words[at]
      if (kind === KIND_EXIT) this.#exit(method, ticks)
      else if (this.#enters()) this.#enter(method, ticks)
      if (this.#place === null && !this.#begins) return
    }
  }

  /** Whether the present thread is at a call that is kept, or begins one now. */
  #enters(): boolean {
    if (!this.#begins) return this.#place !== null
    this.#begins = false
    this.#beginning.delete(this.#thread)
    if (this.#isFull || this.kept.length >= this.asked) return false // others were first
    const call: RawCall = { root: new RawTrack(this.#thread), tasks: [], pending: 0, isCut: false }
    this.kept.push(call)
    this.#place = { call, track: call.root }
    this.#places.set(this.#thread, this.#place)
    return true
  }

  #enter(method: number, ticks: number): void {
    const track = this.#place?.track
    if (track === undefined) return
    track.stack.push(method)
    track.last = ticks
    this.#add(track, method, ticks)
  }

  /** As the builder heals: frames above have lost their exits, and an exit without a frame is nothing. */
  #exit(method: number, ticks: number): void {
    if (this.#place === null) return
    const { call, track } = this.#place
    const { stack } = track
    const at = stack[stack.length - 1] === method ? stack.length - 1 : stack.lastIndexOf(method)
    if (at < 0) return
    this.#close(track, at, ticks)
    if (at === 0 && track === call.root) this.#leave()
  }

  /** Frames from this one on end. */
  #close(track: RawTrack, from: number, ticks: number): void {
    for (let open = track.stack.length; open > from; open--) {
      // What has no more room is still open: a frame without its exit.
      if (!this.#add(track, RAW_EXIT, ticks)) return
      track.stack.pop()
    }
    track.last = ticks
  }

  /** The present thread is at no call that is kept. */
  #leave(): void {
    if (this.#begins) this.#beginning.delete(this.#thread)
    this.#begins = false
    if (this.#place === null) return
    const { track } = this.#place
    track.isOver = true
    this.#latest = Math.max(this.#latest, track.last)
    this.#places.delete(this.#thread)
    this.#place = null
  }

  /** @returns whether there was room */
  #add(track: RawTrack, code: number, ticks: number): boolean {
    if (this.#isFull) return false
    track.add(code, ticks)
    if (++this.#events < this.#mostEvents) return true
    this.#isFull = true
    for (const { track } of this.#places.values()) this.#latest = Math.max(this.#latest, track.last, ticks)
    for (const { call } of [...this.#places.values(), ...this.#pending.values()]) call.isCut = true
    this.#letGo()
    return true
  }

  /** Whether no track goes on and no call is to begin; work that was handed over may never begin, and need not count. */
  #isIdle(withoutPending: boolean): boolean {
    if (!this.#isFull && this.kept.length < this.asked) return false
    return this.#places.size === 0 && (withoutPending || this.#pending.size === 0)
  }

  #letGo(): void {
    this.#places.clear()
    this.#beginning.clear()
    this.#pending.clear()
    this.#droppedEarly.clear()
    this.#place = null
    this.#begins = false
  }
}

/** Where there are more than may be pending. */
function forgetOldest(tokens: Map<number, unknown> | Set<number>): void {
  if (tokens.size <= MOST_PENDING) return
  for (const oldest of tokens.keys()) {
    tokens.delete(oldest)
    return
  }
}
