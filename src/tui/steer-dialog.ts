// Steering from a live view: another root, what is to be left out or added, and what has been. A question, a list, or a line that is typed;
// while it is shown it has all keys. What is changed is changed by the steering, and keys are heard meanwhile.

import { clean, cut, pad, right, span, tail, width } from './format.ts'
import { BOTTOM_LINES, type FrameScene, glyphsOf, run } from './frame-lines.ts'
import { stepOf } from './pages.ts'
import type { Line } from './screen.ts'
import type { ByHandRow, Extent, Steering } from './steering.ts'

/** Lines of status that stay. */
const TOP_LINES = 2
const EXTENTS: readonly Extent[] = ['method', 'class', 'package']

type State =
  | { readonly kind: 'closed' }
  | { readonly kind: 'root'; readonly text: string }
  | { readonly kind: 'time'; readonly text: string; readonly cost: string | null }
  | { readonly kind: 'out'; readonly id: number; readonly extent: Extent }
  | { readonly kind: 'list'; readonly choice: number }
  | { readonly kind: 'pattern'; readonly adds: boolean; readonly text: string }

const CLOSED: State = { kind: 'closed' }

export class SteerDialog {
  readonly #steering: Steering
  /** Tells the user how it goes; a failure until the next key. */
  readonly #tell: (text: string, isFailure: boolean) => void
  #state: State = CLOSED
  #isChanging = false
  #changesRoot = false

  constructor(steering: Steering, tell: (text: string, isFailure: boolean) => void) {
    this.#steering = steering
    this.#tell = tell
  }

  get isOpen(): boolean {
    return this.#state.kind !== 'closed'
  }

  /** What is shown is about to be of no use. */
  get changesRoot(): boolean {
    return this.#changesRoot
  }

  /** Asks whether the method of this row is to be the root. */
  askRoot(id: number | undefined): void {
    const text = this.#textOf(id, 'method')
    if (text !== null) this.#state = { kind: 'root', text }
  }

  /** Asks whether the method of this row is to have exact times, once it is known what that costs. */
  askTime(id: number | undefined): void {
    const text = this.#textOf(id, 'method')
    if (text === null) return
    const asked: State = { kind: 'time', text, cost: null }
    this.#state = asked
    this.#steering.costToTime(text).then(
      (cost) => {
        if (this.#state === asked) this.#state = { ...asked, cost }
      },
      (error: unknown) => {
        if (this.#state === asked) this.#state = CLOSED
        this.#tell(textOf(error), true)
      },
    )
  }

  /** Asks how much is to be left out. */
  askLeaveOut(id: number | undefined): void {
    if (id !== undefined && this.#textOf(id, 'method') !== null)
      this.#state = { kind: 'out', id, extent: 'method' }
  }

  list(): void {
    this.#state = { kind: 'list', choice: Math.max(0, this.#steering.byHand.length - 1) }
  }

  #textOf(id: number | undefined, extent: Extent): string | null {
    if (this.#isChanging) {
      this.#tell('something is being changed; it tells when it is done', false)
      return null
    }
    const text = id === undefined ? null : this.#steering.textOf(id, extent)
    if (text === null) this.#tell('this row is no method; P and t show them', false)
    return text
  }

  press(key: string): void {
    const state = this.#state
    if (key === 'escape') this.#state = state.kind === 'pattern' ? { kind: 'list', choice: 0 } : CLOSED
    else if (state.kind === 'root') this.#pressRoot(state.text, key)
    else if (state.kind === 'time') this.#pressTime(state, key)
    else if (state.kind === 'out') this.#pressOut(state, key)
    else if (state.kind === 'list') this.#pressList(state.choice, key)
    else if (state.kind === 'pattern') this.#type(state, key)
  }

  #pressRoot(text: string, key: string): void {
    if (key === 'q') this.#state = CLOSED
    if (key !== 'enter') return
    this.#change('changing the root', async () => {
      this.#changesRoot = true
      return await this.#steering
        .changeRoot(text, (phase) => this.#tell(`changing the root: ${phase} ...`, false))
        .finally(() => {
          this.#changesRoot = false
        })
    })
  }

  #pressTime({ text, cost }: State & { kind: 'time' }, key: string): void {
    if (key === 'q') this.#state = CLOSED
    else if (key === 'enter' && cost !== null) this.#change(`timing ${text}`, () => this.#steering.time(text))
  }

  #pressOut({ id, extent }: State & { kind: 'out' }, key: string): void {
    const usable = EXTENTS.filter((it) => this.#steering.textOf(id, it) !== null)
    const named = usable.find((it) => it[0] === key)
    if (key === 'q') this.#state = CLOSED
    else if (named !== undefined) this.#state = { kind: 'out', id, extent: named }
    else if (key === 'x') {
      const next = usable[(usable.indexOf(extent) + 1) % usable.length]
      if (next !== undefined) this.#state = { kind: 'out', id, extent: next }
    } else if (key === 'enter') {
      const text = this.#steering.textOf(id, extent)
      if (text !== null) this.#change(`leaving out ${text}`, () => this.#steering.leaveOut(text))
    }
  }

  #pressList(choice: number, key: string): void {
    const { byHand } = this.#steering
    const step = stepOf(key, byHand.length)
    const row = byHand[Math.min(choice, byHand.length - 1)]
    if (step !== undefined)
      this.#state = { kind: 'list', choice: Math.max(0, Math.min(choice + step, byHand.length - 1)) }
    else if (key === '+' || key === '-') this.#state = { kind: 'pattern', adds: key === '+', text: '' }
    else if (key === 'q' || key === 'X') this.#state = CLOSED
    else if (key === 'enter' && row !== undefined) {
      this.#change(`taking ${row.text} back`, () => this.#steering.takeBack(row.text))
      this.#state = { kind: 'list', choice }
    }
  }

  #type(state: State & { kind: 'pattern' }, key: string): void {
    const { adds, text } = state
    const typed = text.trim()
    if (key !== 'enter') {
      const now = textAfter(text, key)
      if (now !== undefined) this.#state = { ...state, text: now }
    } else if (typed === '') this.#tell('type a method, a class or a package, or Esc', false)
    else if (adds) this.#change(`adding ${typed}`, () => this.#steering.add(typed))
    else this.#change(`leaving out ${typed}`, () => this.#steering.leaveOut(typed))
  }

  #change(doing: string, change: () => Promise<string>): void {
    if (this.#isChanging) {
      this.#tell('something is being changed; it tells when it is done', false)
      return
    }
    this.#state = CLOSED
    this.#isChanging = true
    this.#tell(`${doing} ...`, false)
    change()
      .then(
        (told) => this.#tell(told, false),
        (error: unknown) => this.#tell(textOf(error), true),
      )
      .finally(() => {
        this.#isChanging = false
      })
  }

  /** Over the lines of a view: in place of its rows, or of the lines at the bottom. */
  over(lines: readonly Line[], scene: FrameScene): readonly Line[] {
    const state = this.#state
    if (state.kind === 'closed') return lines
    const body = lines.slice(TOP_LINES, lines.length - BOTTOM_LINES)
    const isList = state.kind === 'list' || state.kind === 'pattern'
    const shown = isList ? this.#listLines(state.kind === 'list' ? state.choice : -1, scene) : body
    const blank = Array.from({ length: Math.max(0, body.length - shown.length) }, (): Line => [])
    return [
      ...lines.slice(0, TOP_LINES),
      ...[...shown, ...blank].slice(0, body.length),
      ...this.#bottomLines(state, scene),
    ]
  }

  #listLines(choice: number, { columns, rows }: FrameScene): Line[] {
    const { byHand } = this.#steering
    const heads = `${right('after', 9)}${right('methods', 9)}${right('and below', 11)}  - left out, + added by hand (Enter takes it back)`
    const head = [run(pad(cut(heads, columns), columns), 'header')] as const
    if (byHand.length === 0)
      return [
        [...head],
        [],
        [run('  Nothing is left out or added by hand. In a row x leaves out; here - and + do')],
        [run('  what is typed.')],
      ]
    const room = rows - TOP_LINES - BOTTOM_LINES - 1
    const chosen = Math.min(choice, byHand.length - 1)
    const first = Math.max(0, chosen - room + 1)
    const line = (row: ByHandRow, i: number): Line => {
      const numbers = `${right(row.atMs === 0 ? 'start' : span(row.atMs), 9)}${right(`${row.methods}`, 9)}${right(row.what === 'add' ? '' : `${row.below}`, 11)}`
      const sign = row.what === 'add' ? '+' : '-'
      const text = pad(cut(`${numbers}  ${sign} ${clean(row.text)}`, columns), columns)
      return [run(text, first + i === chosen ? 'selected' : 'plain')]
    }
    return [[...head], ...byHand.slice(first, first + room).map(line)]
  }

  #bottomLines(state: State, scene: FrameScene): [Line, Line] {
    const { columns, notice } = scene
    const word: Line = notice === undefined ? [] : [run(` ${cut(clean(notice), columns - 1)}`, 'warning')]
    switch (state.kind) {
      case 'root':
        return [
          question('record', state.text, 'as the root, from zero?', columns),
          [run(' Enter', 'key'), run(' changes the root  ', 'dim'), ...escapeKey('does not')],
        ]
      case 'time':
        return [
          question('time', state.text, 'exactly?', columns),
          [
            ...[run(' Enter', 'key'), run(' times it  ', 'dim')],
            ...[run(state.cost ?? 'asking what that costs ...'), run('  ')],
            ...escapeKey('does not'),
          ],
        ]
      case 'out':
        return [
          question(
            'leave out',
            this.#steering.textOf(state.id, state.extent) ?? '',
            this.#question(state.extent),
            columns,
          ),
          [
            ...[
              run(' Enter', 'key'),
              run(' leaves it out  ', 'dim'),
              run('m', 'key'),
              run(' method  ', 'dim'),
            ],
            ...[run('c', 'key'), run(' class  ', 'dim'), run('p', 'key'), run(' package  ', 'dim')],
            ...escapeKey('does not'),
          ],
        ]
      case 'pattern': {
        const typed = tail(clean(state.text), columns - 14, glyphsOf(scene).ellipsis) + glyphsOf(scene).cursor
        return [
          [run(state.adds ? ' add ' : ' leave out ', 'key'), run(typed)],
          [
            run(' pkg.Class.method(int), pkg.Class, pkg.*, pkg.**  ', 'dim'),
            run('Enter', 'key'),
            run(state.adds ? ' adds it  ' : ' leaves it out  ', 'dim'),
            ...escapeKey('back'),
          ],
        ]
      }
      default:
        return [
          word,
          [
            ...[
              run(' Enter', 'key'),
              run(' takes it back  ', 'dim'),
              ...[run('-', 'key'), run(' leaves out  ', 'dim')],
              ...[run('+', 'key'), run(' adds what is typed  ', 'dim')],
            ],
            ...escapeKey('closes'),
          ],
        ]
    }
  }

  #question(extent: Extent): string {
    return extent === 'method' ? 'and what only it calls?' : 'and what only that calls?'
  }
}

/** Parameters are left out first, if something must be. */
function question(before: string, text: string, after: string, columns: number): Line {
  const room = columns - before.length - after.length - 4
  const whole = clean(text)
  const short = width(whole) <= room ? whole : whole.replace(/\(.+\)$/, '(...)')
  return [run(` ${before} `, 'key'), run(tail(short, room, '...'), 'title'), run(` ${after}`, 'key')]
}

/** Undefined for keys that type nothing. */
function textAfter(text: string, key: string): string | undefined {
  if (key === 'backspace') return [...text].slice(0, -1).join('')
  if (key === 'C-u') return ''
  if (key === 'space') return `${text} `
  return [...key].length === 1 ? text + key : undefined
}

function escapeKey(does: string): Line {
  return [run('Esc', 'key'), run(` ${does}`, 'dim')]
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
