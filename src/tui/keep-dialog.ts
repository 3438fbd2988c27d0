// Dialog for saving and exporting: a list of formats, an input line for the file name, and a question before a file is replaced. The keeper
// writes the files.

import { Dialog, keyHints, listRoom, noticeLine, type Tell, textAfter, typedLine } from './dialog.ts'
import { clean, cut, pad, width, wrap } from './format.ts'
import { type FrameScene, run, say } from './frame-lines.ts'
import { type Keeper, type KeptFormat, SNAPSHOT } from './keeper.ts'
import { stepOf } from './pages.ts'
import type { Line } from './screen.ts'

const NAME_CELLS = 14

type State =
  | { readonly kind: 'formats'; readonly choice: number }
  | { readonly kind: 'name'; readonly format: KeptFormat; readonly text: string }
  | { readonly kind: 'replace'; readonly format: KeptFormat; readonly text: string }

export class KeepDialog extends Dialog<State> {
  readonly #keeper: Keeper
  #writing: Promise<void> | undefined

  constructor(keeper: Keeper, tell: Tell) {
    super(tell)
    this.#keeper = keeper
  }

  get isWriting(): boolean {
    return this.#writing !== undefined
  }

  /** Resolves when no file is being written. */
  get idle(): Promise<void> {
    return this.#writing ?? Promise.resolve()
  }

  /** Asks for the name of a snapshot. */
  save(): void {
    this.#askName(SNAPSHOT)
  }

  /** Asks for a format, then for a name. */
  export(): void {
    if (this.#isFree()) this.state = { kind: 'formats', choice: 0 }
  }

  #askName(format: KeptFormat): void {
    if (this.#isFree()) this.state = { kind: 'name', format, text: this.#keeper.nameFor(format) }
  }

  /** Returns whether a file can be written now; otherwise shows a notice. Only one file is written at a time, since it may be large. */
  #isFree(): boolean {
    if (this.#writing !== undefined) this.tell('wait: another file is still being written', false)
    return this.#writing === undefined
  }

  protected override pressIn(state: State, key: string): void {
    if (state.kind === 'formats') this.#choose(state.choice, key)
    else if (state.kind === 'name') this.#type(state, key)
    else if (key === 'enter') this.#write(state.format, state.text)
  }

  #choose(choice: number, key: string): void {
    const { formats } = this.#keeper
    const format = formats[choice]
    const step = stepOf(key, formats.length)
    if (step !== undefined) {
      this.state = { kind: 'formats', choice: Math.max(0, Math.min(choice + step, formats.length - 1)) }
    } else if (key === 'enter' || key === 'space') {
      this.state = undefined
      if (format !== undefined) this.#askName(format)
    } else if (key === 'q') this.state = undefined
  }

  #type(state: State & { kind: 'name' }, key: string): void {
    if (key === 'enter') this.#accept(state.format, state.text.trim())
    else this.state = { ...state, text: textAfter(state.text, key) ?? state.text }
  }

  #accept(format: KeptFormat, path: string): void {
    if (path === '') this.tell('type a file name, or press Esc', false)
    else if (this.#keeper.exists(path)) this.state = { kind: 'replace', format, text: path }
    else this.#write(format, path)
  }

  #write(format: KeptFormat, path: string): void {
    this.state = undefined
    this.tell(`writing ${path} ...`, false)
    this.#writing = this.tellOf(this.#keeper.write(format, path)).finally(() => {
      this.#writing = undefined
    })
  }

  protected override failure(message: string): string {
    return `${message}; press s or e to try again`
  }

  protected override listOf(state: State, scene: FrameScene): Line[] | undefined {
    if (state.kind !== 'formats') return undefined
    const { columns } = scene
    const { choice } = state
    const { formats } = this.#keeper
    const room = listRoom(scene)
    const first = Math.max(0, choice - room + 1)
    const header = pad(`  ${pad('format', NAME_CELLS)}description`, columns)
    const rows = formats.slice(first, first + room).map(({ name, description }, i): Line => {
      const text = pad(cut(`  ${pad(name, NAME_CELLS)}${description}`, columns), columns)
      return [run(text, first + i === choice ? 'selected' : 'plain')]
    })
    const { description = '' } = formats[choice] ?? {}
    const isCut = width(description) > columns - NAME_CELLS - 2
    const inFull = isCut ? wrap(description, columns - 4) : []
    return [[run(header, 'header')], ...rows, [], ...inFull.map((line) => [run(`  ${line}`, 'dim')])]
  }

  protected override bottomOf(state: State, scene: FrameScene): [Line, Line] {
    if (state.kind === 'formats') return [noticeLine(scene), keyHints({ Enter: 'export', Esc: 'close' })]
    if (state.kind === 'replace')
      return [
        say(`${clean(state.text)} already exists`, 'warning', scene.columns),
        keyHints({ Enter: 'replace', Esc: 'cancel' }),
      ]
    const keys = { Enter: 'write', 'Ctrl-U': 'clear', Esc: 'cancel' }
    return [typedLine(' write to ', state.text, 12, scene), keyHints(keys)]
  }
}
