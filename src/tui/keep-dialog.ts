// Saving and exporting from a live view: a list of formats, a name that is typed, a question if something is there already.
// While it is shown it has all keys; what writes is the keeper, and keys are heard meanwhile.

import { clean, cut, pad, tail, width, wrap } from './format.ts'
import { BOTTOM_LINES, type FrameScene, glyphsOf, run } from './frame-lines.ts'
import { type Keeper, type KeptFormat, SNAPSHOT } from './keeper.ts'
import { stepOf } from './pages.ts'
import type { Line } from './screen.ts'

/** Lines of status that stay. */
const TOP_LINES = 2
const NAME_CELLS = 14

type State =
  | { readonly kind: 'closed' }
  | { readonly kind: 'formats'; readonly choice: number }
  | { readonly kind: 'name'; readonly format: KeptFormat; readonly text: string }
  | { readonly kind: 'replace'; readonly format: KeptFormat; readonly text: string }

const CLOSED: State = { kind: 'closed' }

export class KeepDialog {
  readonly #keeper: Keeper
  /** Tells the user how it went; a failure until the next key. */
  readonly #tell: (text: string, isFailure: boolean) => void
  #state: State = CLOSED
  #writing: Promise<void> | undefined

  constructor(keeper: Keeper, tell: (text: string, isFailure: boolean) => void) {
    this.#keeper = keeper
    this.#tell = tell
  }

  get isOpen(): boolean {
    return this.#state.kind !== 'closed'
  }

  get isWriting(): boolean {
    return this.#writing !== undefined
  }

  /** Settles when nothing is being written any more. */
  get idle(): Promise<void> {
    return this.#writing ?? Promise.resolve()
  }

  /** Asks for the name of a snapshot. */
  save(): void {
    this.#askName(SNAPSHOT)
  }

  /** Asks for a format, then for a name. */
  export(): void {
    if (this.#isFree()) this.#state = { kind: 'formats', choice: 0 }
  }

  #askName(format: KeptFormat): void {
    if (this.#isFree()) this.#state = { kind: 'name', format, text: this.#keeper.nameFor(format) }
  }

  /** One file at a time: what it is made of may be large. */
  #isFree(): boolean {
    if (this.#writing !== undefined) this.#tell('a file is being written; it tells when it is done', false)
    return this.#writing === undefined
  }

  press(key: string): void {
    const state = this.#state
    if (key === 'escape') this.#state = CLOSED
    else if (state.kind === 'formats') this.#choose(state.choice, key)
    else if (state.kind === 'name') this.#type(state, key)
    else if (state.kind === 'replace' && key === 'enter') this.#write(state.format, state.text)
  }

  #choose(choice: number, key: string): void {
    const { formats } = this.#keeper
    const format = formats[choice]
    const step = stepOf(key, formats.length)
    if (step !== undefined) {
      this.#state = { kind: 'formats', choice: Math.max(0, Math.min(choice + step, formats.length - 1)) }
    } else if (key === 'enter' || key === 'space') {
      this.#state = CLOSED
      if (format !== undefined) this.#askName(format)
    } else if (key === 'q') this.#state = CLOSED
  }

  #type(state: State & { kind: 'name' }, key: string): void {
    const { text } = state
    if (key === 'enter') this.#accept(state.format, text.trim())
    else if (key === 'backspace') this.#state = { ...state, text: [...text].slice(0, -1).join('') }
    else if (key === 'C-u') this.#state = { ...state, text: '' }
    else if (key === 'space') this.#state = { ...state, text: `${text} ` }
    else if ([...key].length === 1) this.#state = { ...state, text: text + key }
  }

  #accept(format: KeptFormat, path: string): void {
    if (path === '') this.#tell('type a name for the file, or Esc', false)
    else if (this.#keeper.exists(path)) this.#state = { kind: 'replace', format, text: path }
    else this.#write(format, path)
  }

  #write(format: KeptFormat, path: string): void {
    this.#state = CLOSED
    this.#tell(`writing ${path} ...`, false)
    this.#writing = this.#keeper
      .write(format, path)
      .then(
        (told) => this.#tell(told, false),
        (error: unknown) => this.#tell(textOf(error), true),
      )
      .finally(() => {
        this.#writing = undefined
      })
  }

  /** Over the lines of a view: in place of its rows, or of the lines at the bottom. */
  over(lines: readonly Line[], scene: FrameScene): readonly Line[] {
    const state = this.#state
    if (state.kind === 'closed') return lines
    const body = lines.slice(TOP_LINES, lines.length - BOTTOM_LINES)
    const shown = state.kind === 'formats' ? this.#formatLines(state.choice, scene) : body
    const blank = Array.from({ length: Math.max(0, body.length - shown.length) }, (): Line => [])
    return [
      ...lines.slice(0, TOP_LINES),
      ...[...shown, ...blank].slice(0, body.length),
      ...bottomLines(state, scene),
    ]
  }

  #formatLines(choice: number, { columns, rows: lines }: FrameScene): Line[] {
    const { formats } = this.#keeper
    const room = lines - TOP_LINES - BOTTOM_LINES - 1
    const first = Math.max(0, choice - room + 1)
    const header = pad(`  ${pad('format', NAME_CELLS)}what it is`, columns)
    const rows = formats.slice(first, first + room).map(({ name, description }, i): Line => {
      const text = pad(cut(`  ${pad(name, NAME_CELLS)}${description}`, columns), columns)
      return [run(text, first + i === choice ? 'selected' : 'plain')]
    })
    const { description = '' } = formats[choice] ?? {}
    const isCut = width(description) > columns - NAME_CELLS - 2
    const inFull = isCut ? wrap(description, columns - 4) : []
    return [[run(header, 'header')], ...rows, [], ...inFull.map((line) => [run(`  ${line}`, 'dim')])]
  }
}

function bottomLines(state: State, scene: FrameScene): [Line, Line] {
  const { columns, notice } = scene
  const word: Line = notice === undefined ? [] : [run(` ${cut(clean(notice), columns - 1)}`, 'warning')]
  switch (state.kind) {
    case 'formats':
      return [word, [run(' Enter', 'key'), run(' exports as this  ', 'dim'), ...escapeKey('closes')]]
    case 'replace':
      return [
        [run(` ${cut(`${clean(state.text)} is there already`, columns - 1)}`, 'warning')],
        [run(' Enter', 'key'), run(' replaces it  ', 'dim'), ...escapeKey('leaves it')],
      ]
    default: {
      const text = state.kind === 'name' ? clean(state.text) : ''
      const typed = tail(text, columns - 12, glyphsOf(scene).ellipsis) + glyphsOf(scene).cursor
      const keys = [
        ...[run(' Enter', 'key'), run(' writes it  ', 'dim')],
        ...[run('Ctrl-U', 'key'), run(' empties the line  ', 'dim'), ...escapeKey('does not write')],
      ]
      return [[run(' write to ', 'key'), run(typed)], keys]
    }
  }
}

function escapeKey(does: string): Line {
  return [run('Esc', 'key'), run(` ${does}`, 'dim')]
}

function textOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return `${message}; s or e tries another place`
}
