import type { EventSink } from '../../src/events/decode.ts'

/** Writes down what it is told, all in one list and by thread. */
export class RecordingSink implements EventSink {
  readonly all: string[] = []
  readonly byThread = new Map<number, string[]>()
  readonly tokens = new Set<number>()
  #thread = 0

  enter(method: number, ticks: number): void {
    this.#note(`enter ${method} ${ticks}`)
  }
  exit(method: number, ticks: number): void {
    this.#note(`exit ${method} ${ticks}`)
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

/** Keeps sums only. */
export class SummingSink implements EventSink {
  events = 0
  methods = 0
  last = 0.5
  enter(method: number, ticks: number): void {
    this.events++
    this.methods = (this.methods + method) | 0
    this.last = ticks
  }
  exit(method: number, ticks: number): void {
    this.events++
    this.methods = (this.methods - method) | 0
    this.last = ticks
  }
  caught(): void {}
  thread(): void {}
  adjust(): void {}
  suspend(): void {}
  resume(): void {}
  submit(): void {}
  knows(): boolean {
    return true
  }
  begin(): void {}
  drop(): void {}
  root(): void {}
}
