// A line of text in which a name is typed, with the names that fit it, best first. Pure.

import { fuzzyBest } from '../base/fuzzy.ts'
import { clean } from './format.ts'

/** More nobody reads; who does not find it types on. */
const MOST = 200

export class NameField {
  readonly #classes: ReadonlySet<string>
  readonly #all: readonly string[]
  #text = ''
  #fitting: readonly string[]
  #selected = 0

  /**
   * @param methods  `com.shop.Order.total`: complete
   * @param classes  `com.shop.Order`: a method is still to be typed
   */
  constructor(methods: readonly string[], classes: readonly string[]) {
    this.#classes = new Set(classes)
    this.#all = [...methods, ...classes]
    this.#fitting = this.#find()
  }

  get text(): string {
    return this.#text
  }

  /** Names that fit what has been typed, best first. */
  get fitting(): readonly string[] {
    return this.#fitting
  }

  get selected(): number {
    return this.#selected
  }

  move(rows: number): void {
    this.#selected = Math.max(0, Math.min(this.#selected + rows, this.#fitting.length - 1))
  }

  /** Takes one key as it is typed; false if it is none that types. */
  type(key: string): boolean {
    if (key === 'backspace') this.#edit([...this.#text].slice(0, -1).join(''))
    else if (key === 'C-u') this.#edit('')
    else if (key === 'tab') this.complete()
    else if (key === 'space') this.#edit(`${this.#text} `)
    else if ([...key].length === 1) this.#edit(this.#text + clean(key))
    else return false
    return true
  }

  /** Puts the selected name in place of what was typed; of a class, with a dot for its method. */
  complete(): void {
    const name = this.#fitting[this.#selected]
    if (name !== undefined) this.#edit(this.#classes.has(name) ? `${name}.` : name)
  }

  /** What Enter means: a method to take, or null, as only a class is known by now. */
  enter(): string | null {
    const name = this.#fitting[this.#selected]
    if (name === undefined) return this.#text.trim() === '' ? null : this.#text.trim()
    if (!this.#classes.has(name)) return name
    this.complete()
    return null
  }

  #edit(text: string): void {
    this.#text = text
    this.#fitting = this.#find()
    this.#selected = 0
  }

  /** With parameters, it is one overload that is meant, which nobody lists. */
  #find(): readonly string[] {
    const typed = this.#text.trim()
    if (/[\s(]/.test(typed)) return []
    // A class that is written out has been chosen: what is missing is the method.
    const isClass = typed.endsWith('.') && this.#classes.has(typed.slice(0, -1))
    const names = isClass ? this.#all.filter((it) => it.startsWith(typed)) : this.#all
    return fuzzyBest(typed, names, MOST).map((it) => it.text)
  }
}
