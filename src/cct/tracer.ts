// Records the first root calls event by event: their execution history (JFluid report, sections 1 and 5.2).
//
// A tree does not contain the order of calls. This sink passes all events on to the builder, and keeps the events of the first N outermost
// root calls, counted over all threads. It only records; `trace.ts` subtracts probe costs and prepares the output.
//
// Outside recorded calls, this sink costs one comparison per run of events. Memory is limited to MAX_EVENTS events of 12 bytes. Sessions
// without tracing do not use this sink.

import type { EventSink } from '../events/decode.ts'
import { HIGH_TICKS_MASK, KIND_SHIFT, METHOD_MASK, METHOD_SHIFT } from '../events/event-halves.ts'
import { KIND_ENTER, KIND_EXIT } from '../events/event-layout.ts'
import type { CctBuilder } from './builder.ts'
import type { TakenOut } from './pauses.ts'

/** Maximum number of events of all traced calls. Further events are discarded, and the output states this. */
export const MAX_EVENTS = 1_000_000
/** Maximum number of submitted tasks that have not started; the oldest are discarded first. */
const MAX_PENDING = 65_536
/** Maximum number of redefinitions recorded during traced calls. */
const MAX_PAUSES = 4096
const FIRST_EVENTS = 64
const TWO_32 = 2 ** 32

/** Event code: exit of the innermost frame. */
export const RAW_EXIT = 0
/** Event code: a stall. The ticks of this event are the duration of the stall: the thread's clock was stopped until the next event. */
export const RAW_STOOD = -1
/** Highest event code of a submission: the call submits its task number RAW_SUBMIT - code. This event has no time. */
export const RAW_SUBMIT = -2

/**
 * Events of one thread in a call, from the start of the call or of one of its tasks. A code is the id of an entered method or one of the
 * constants above. Every exit belongs to an open frame. Frames may still be open at the end.
 */
export class RawTrack {
  readonly thread: number
  codes = new Int32Array(FIRST_EVENTS)
  ticks = new Float64Array(FIRST_EVENTS)
  count = 0
  /** Entered methods that have no exit yet, innermost last. */
  stack: number[] = []
  /** Time up to which the thread has been charged, as in the builder. */
  last = 0
  /** Whether the thread has left this call or task. If frames are still open, their exits were lost. */
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
  /** Tracks, indexed by task number; null before the task has begun. */
  readonly tasks: (RawTrack | null)[]
  /** Number of pending tasks: tasks that have not begun and were not dropped. */
  pending: number
  /** Whether the limit of events was reached during the call. */
  isCut: boolean
  /** Number of the slow call (slow-calls.ts), if this is the trace of a slow call. */
  slowCall?: number
  /** Pauses that the builder has subtracted from the call, if this is the trace of a slow call. */
  takenOut?: readonly TakenOut[]
}

/** A stop-the-world redefinition. */
export interface RawPause {
  readonly start: number
  readonly end: number
}

/** A traced call, and the track of the call that receives a thread's events. */
interface Place {
  readonly call: RawCall
  readonly track: RawTrack
}

export class Tracer implements EventSink {
  /** Recorded calls, in the order in which they began. */
  readonly kept: RawCall[] = []
  readonly pauses: RawPause[] = []
  readonly asked: number
  readonly #builder: CctBuilder
  readonly #mostEvents: number
  #events = 0
  #isFull = false
  /** Latest time in the finished tracks, in ticks. */
  #latest = 0
  #thread = 0
  /** Place of the current thread; null if the thread is not traced. */
  #place: Place | null = null
  /** Whether the next entry of the current thread begins a recorded call. */
  #begins = false
  /** Threads in a traced call, keyed by thread number. */
  readonly #places = new Map<number, Place>()
  /** Threads whose next entry begins a recorded call. */
  readonly #beginning = new Set<number>()
  /** Tasks that have not begun, keyed by token. */
  readonly #pending = new Map<number, { readonly call: RawCall; readonly task: number }>()
  /** Tokens whose drop was read before their submission, since events are read thread by thread. */
  readonly #droppedEarly = new Set<number>()

  /** @param asked number of calls to record */
  constructor(builder: CctBuilder, asked: number, mostEvents = MAX_EVENTS) {
    this.#builder = builder
    this.asked = asked
    this.#mostEvents = mostEvents
  }

  /** Whether calls or events were left out because of the limit of events. */
  get isCut(): boolean {
    return this.#isFull
  }

  /** Discards all recorded calls, and records the calls that begin from now on. */
  reset(): void {
    this.kept.length = this.pauses.length = this.#events = this.#latest = 0
    this.#isFull = false
    this.#letGo()
  }

  /** Registers a redefinition. This method may be called after later events were read. */
  pause(startTicks: number, endTicks: number): void {
    const isFull = this.pauses.length === MAX_PAUSES
    if (startTicks >= this.#latest && this.#isIdle(isFull)) return
    if (isFull) this.pauses.shift()
    this.pauses.push({ start: Math.round(startTicks), end: Math.round(endTicks) })
  }

  // ---- events that are recorded ----

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

  // ---- events that only the builder needs ----

  unwind(frames: number): void {
    this.#builder.unwind(frames)
  }

  sample(weight: number): void {
    this.#builder.sample(weight)
  }

  site(site: number): void {
    this.#builder.site(site)
  }

  value(slot: number, kind: number, data: number): void {
    this.#builder.value(slot, kind, data)
  }

  threw(classNumber: number): void {
    this.#builder.threw(classNumber)
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

  // ---- recording ----

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

  /** Returns whether the current thread is in a recorded call, or begins one now. */
  #enters(): boolean {
    if (!this.#begins) return this.#place !== null
    this.#begins = false
    this.#beginning.delete(this.#thread)
    if (this.#isFull || this.kept.length >= this.asked) return false // other threads have already begun the requested number of calls
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

  /** Handles an exit as the builder does: frames inside the exiting frame lost their exits, and an exit without a frame is ignored. */
  #exit(method: number, ticks: number): void {
    if (this.#place === null) return
    const { call, track } = this.#place
    const { stack } = track
    const at = stack[stack.length - 1] === method ? stack.length - 1 : stack.lastIndexOf(method)
    if (at < 0) return
    this.#close(track, at, ticks)
    if (at === 0 && track === call.root) this.#leave()
  }

  /** Closes the frames at depth `from` and deeper. */
  #close(track: RawTrack, from: number, ticks: number): void {
    for (let open = track.stack.length; open > from; open--) {
      // A frame beyond the limit of events stays open, without an exit.
      if (!this.#add(track, RAW_EXIT, ticks)) return
      track.stack.pop()
    }
    track.last = ticks
  }

  /** Marks the current thread as outside recorded calls. */
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

  /** Adds an event. @returns false if the limit of events is reached */
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

  /** Returns whether no track is open and no call will begin. With `withoutPending`, work that has not begun is ignored. */
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

/** Discards the oldest tokens if there are more than the limit. */
function forgetOldest(tokens: Map<number, unknown> | Set<number>): void {
  if (tokens.size <= MAX_PENDING) return
  for (const oldest of tokens.keys()) {
    tokens.delete(oldest)
    return
  }
}
