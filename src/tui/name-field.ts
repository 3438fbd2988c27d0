// Input field for a method name, with a list of matching names, best match first. Independent of the terminal.

import { fuzzyBest } from '../base/fuzzy.ts'
import { clean } from './format.ts'

/** Maximum number of matches shown. */
const MOST = 200

export class NameField {
  readonly #classes: ReadonlySet<string>
  readonly #all: readonly string[]
  #text = ''
  #fitting: readonly string[]
  #selected = 0

  /**
   * @param methods  complete method names, such as `com.shop.Order.total`
   * @param classes  class names, such as `com.shop.Order`; the user must add a method name
   */
  constructor(methods: readonly string[], classes: readonly string[]) {
    this.#classes = new Set(classes)
    this.#all = [...methods, ...classes]
    this.#fitting = this.#find()
  }

  get text(): string {
    return this.#text
  }

  /** Names that match the typed text, best first. */
  get fitting(): readonly string[] {
    return this.#fitting
  }

  get selected(): number {
    return this.#selected
  }

  move(rows: number): void {
    this.#selected = Math.max(0, Math.min(this.#selected + rows, this.#fitting.length - 1))
  }

  /** Handles a key. Returns false if the key does not edit the text. */
  type(key: string): boolean {
    if (key === 'backspace') this.#edit([...this.#text].slice(0, -1).join(''))
    else if (key === 'C-u') this.#edit('')
    else if (key === 'tab') this.complete()
    else if (key === 'space') this.#edit(`${this.#text} `)
    else if ([...key].length === 1) this.#edit(this.#text + clean(key))
    else return false
    return true
  }

  /** Replaces the text with the selected name. Appends a dot to a class name. */
  complete(): void {
    const name = this.#fitting[this.#selected]
    if (name !== undefined) this.#edit(this.#classes.has(name) ? `${name}.` : name)
  }

  /** Handles Enter. Returns the chosen method, or null if the user has chosen only a class, or nothing. */
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

  /** Returns the matching names. A text with parameters has no matches, since the list does not contain overloads. */
  #find(): readonly string[] {
    const typed = this.#text.trim()
    if (/[\s(]/.test(typed)) return []
    // A complete class name with a dot selects the methods of the class.
    const isClass = typed.endsWith('.') && this.#classes.has(typed.slice(0, -1))
    const names = isClass ? this.#all.filter((it) => it.startsWith(typed)) : this.#all
    return fuzzyBest(typed, names, MOST).map((it) => it.text)
  }
}
