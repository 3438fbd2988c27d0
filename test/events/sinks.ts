import type { EventSink } from '../../src/events/decode.ts'
import { HIGH_TICKS_MASK, KIND_SHIFT, METHOD_MASK, METHOD_SHIFT } from '../../src/events/event-halves.ts'
import { KIND_ENTER, KIND_EXIT, TICK_BITS } from '../../src/events/event-layout.ts'
import { enterWord, exitWord } from './fake-target.ts'

/** Words of one event. The array is reused for every event, since no sink keeps it. */
const ONE = new Uint32Array(2)

/** Sends one entry to a sink. */
export function enter(sink: EventSink, method: number, ticks: number): void {
  tell(sink, enterWord(method, ticks), ticks)
}

export function exit(sink: EventSink, method: number, ticks: number): void {
  tell(sink, exitWord(method, ticks), ticks)
}

function tell(sink: EventSink, [low, high]: [number, number], ticks: number): void {
  ONE[0] = low
  ONE[1] = high
  sink.calls(ONE, 0, 2, epochOf(ticks))
}

const epochOf = (ticks: number) => Math.floor(ticks / 2 ** TICK_BITS) * 2 ** TICK_BITS

/** Records all received events, in one list and per thread. */
export class RecordingSink implements Required<EventSink> {
  readonly all: string[] = []
  readonly byThread = new Map<number, string[]>()
  readonly tokens = new Set<number>()
  #thread = 0

  calls(words: Uint32Array, from: number, to: number, base: number): number {
    for (let at = from; at < to; at += 2) {
      const high = words[at + 1]
      const kind = high >>> KIND_SHIFT
      if (kind !== KIND_ENTER && kind !== KIND_EXIT) return at
      const ticks = base + (high & HIGH_TICKS_MASK) * 2 ** 32 + words[at]
      const name = kind === KIND_ENTER ? 'enter' : 'exit'
      this.#note(`${name} ${(high >>> METHOD_SHIFT) & METHOD_MASK} ${ticks}`)
    }
    return to
  }
  caught(method: number, ticks: number): void {
    this.#note(`caught ${method} ${ticks}`)
  }
  thread(number: number, segment: number): void {
    if (number !== this.#thread) this.all.push(segment < 0 ? `@${number}` : `@${number}.${segment}`)
    this.#thread = number
  }
  adjust(ticks: number): void {
    this.#note(`adjust ${ticks}`)
  }
  suspend(ticks: number): void {
    this.#note(`suspend ${ticks}`)
  }
  resume(ticks: number): void {
    this.#note(`resume ${ticks}`)
  }
  root(): void {
    this.#note('root')
  }
  unwind(frames: number): void {
    this.#note(`unwind ${frames}`)
  }
  sample(weight: number): void {
    this.#note(`sample ${weight}`)
  }
  className(id: number, at: number, unit: number): void {
    this.#note(`name ${id}[${at}] ${String.fromCharCode(unit)}`)
  }
  allocated(bytes: number): void {
    this.#note(`allocated ${bytes}`)
  }
  site(site: number): void {
    this.#note(`site ${site}`)
  }

  overflow(method: number): void {
    this.#note(`overflow ${method}`)
  }
  value(slot: number, kind: number, data: number): void {
    this.#note(`value ${slot} ${kind} ${data}`)
  }
  threw(classNumber: number): void {
    this.#note(`threw ${classNumber}`)
  }
  track(classId: number, token: number): void {
    this.#note(`track ${classId} ${token}`)
  }
  submit(token: number): void {
    this.tokens.add(token)
    this.#note(`submit ${token}`)
  }
  knows(token: number): boolean {
    return this.tokens.has(token)
  }
  begin(token: number): void {
    this.#note(`begin ${token}`)
  }
  drop(token: number): void {
    this.tokens.delete(token)
    this.#note(`drop ${token}`)
  }
  of(thread: number): string[] {
    return this.byThread.get(thread) ?? []
  }
  #note(event: string): void {
    this.all.push(event)
    const list = this.byThread.get(this.#thread)
    if (list === undefined) this.byThread.set(this.#thread, [event])
    else list.push(event)
  }
}

/** Keeps only sums, in a loop that allocates nothing. */
export class SummingSink implements EventSink {
  events = 0
  methods = 0
  last = 0.5
  calls(words: Uint32Array, from: number, to: number, base: number): number {
    let at = from
    for (; at < to; at += 2) {
      const high = words[at + 1]
      const kind = high >>> KIND_SHIFT
      if (kind !== KIND_ENTER && kind !== KIND_EXIT) break
      const method = (high >>> METHOD_SHIFT) & METHOD_MASK
      this.events++
      this.methods = (this.methods + (kind === KIND_ENTER ? method : -method)) | 0
      this.last = base + (high & HIGH_TICKS_MASK) * 2 ** 32 + words[at]
    }
    return at
  }
  adjust(): void {}
}
