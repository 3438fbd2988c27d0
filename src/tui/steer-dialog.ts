// Dialog that changes a running session: new root, timing, exclusions, additions. It shows a question, a list, or an input line. `Steering`
// makes the changes.

import { messageOf } from '../base/errors.ts'
import { Dialog, keyHints, listRoom, noticeLine, type Tell, textAfter, typedLine } from './dialog.ts'
import { clean, cut, pad, right, span, tail, width } from './format.ts'
import { type FrameScene, run } from './frame-lines.ts'
import { stepOf } from './pages.ts'
import type { Line } from './screen.ts'
import type { ByHandRow, Extent, Steering } from './steering.ts'

const EXTENTS: readonly Extent[] = ['method', 'class', 'package']

type State =
  | { readonly kind: 'root'; readonly text: string }
  | { readonly kind: 'time'; readonly text: string; readonly cost: string | null }
  | { readonly kind: 'out'; readonly id: number; readonly extent: Extent }
  | { readonly kind: 'list'; readonly choice: number }
  | { readonly kind: 'pattern'; readonly adds: boolean; readonly text: string }

export class SteerDialog extends Dialog<State> {
  readonly #steering: Steering
  #isChanging = false
  #changesRoot = false

  constructor(steering: Steering, tell: Tell) {
    super(tell)
    this.#steering = steering
  }

  /** True while the root is being changed. The current rows become invalid after the change. */
  get changesRoot(): boolean {
    return this.#changesRoot
  }

  /** Asks the user whether the method of this row becomes the root. */
  askRoot(id: number | undefined): void {
    const text = this.#textOf(id, 'method')
    if (text !== null) this.state = { kind: 'root', text }
  }

  /** Asks whether to time every call of this row's method, with the estimated overhead. */
  askTime(id: number | undefined): void {
    const text = this.#textOf(id, 'method')
    if (text === null) return
    const asked: State = { kind: 'time', text, cost: null }
    this.state = asked
    this.#steering.costToTime(text).then(
      (cost) => {
        if (this.state === asked) this.state = { ...asked, cost }
      },
      (error: unknown) => {
        if (this.state === asked) this.state = undefined
        this.tell(messageOf(error), true)
      },
    )
  }

  /** Asks whether to exclude the method, its class or its package. */
  askLeaveOut(id: number | undefined): void {
    if (id !== undefined && this.#textOf(id, 'method') !== null)
      this.state = { kind: 'out', id, extent: 'method' }
  }

  list(): void {
    this.state = { kind: 'list', choice: Math.max(0, this.#steering.byHand.length - 1) }
  }

  #textOf(id: number | undefined, extent: Extent): string | null {
    if (this.#isChanging) {
      this.tell('wait: another change is still running', false)
      return null
    }
    const text = id === undefined ? null : this.#steering.textOf(id, extent)
    if (text === null) this.tell('this row is not a method; press P or t to show methods', false)
    return text
  }

  protected override above({ kind }: State): State | undefined {
    return kind === 'pattern' ? { kind: 'list', choice: 0 } : undefined
  }

  protected override pressIn(state: State, key: string): void {
    if (state.kind === 'root') this.#pressRoot(state.text, key)
    else if (state.kind === 'time') this.#pressTime(state, key)
    else if (state.kind === 'out') this.#pressOut(state, key)
    else if (state.kind === 'list') this.#pressList(state.choice, key)
    else this.#type(state, key)
  }

  #pressRoot(text: string, key: string): void {
    if (key === 'q') this.state = undefined
    if (key !== 'enter') return
    this.#change('changing the root', async () => {
      this.#changesRoot = true
      return await this.#steering
        .changeRoot(text, (phase) => this.tell(`changing the root: ${phase} ...`, false))
        .finally(() => {
          this.#changesRoot = false
        })
    })
  }

  #pressTime({ text, cost }: State & { kind: 'time' }, key: string): void {
    if (key === 'q') this.state = undefined
    else if (key === 'enter' && cost !== null) this.#change(`timing ${text}`, () => this.#steering.time(text))
  }

  #pressOut({ id, extent }: State & { kind: 'out' }, key: string): void {
    const usable = EXTENTS.filter((it) => this.#steering.textOf(id, it) !== null)
    const named = usable.find((it) => it[0] === key)
    if (key === 'q') this.state = undefined
    else if (named !== undefined) this.state = { kind: 'out', id, extent: named }
    else if (key === 'x') {
      const next = usable[(usable.indexOf(extent) + 1) % usable.length]
      if (next !== undefined) this.state = { kind: 'out', id, extent: next }
    } else if (key === 'enter') {
      const text = this.#steering.textOf(id, extent)
      if (text !== null) this.#change(`excluding ${text}`, () => this.#steering.leaveOut(text))
    }
  }

  #pressList(choice: number, key: string): void {
    const { byHand } = this.#steering
    const step = stepOf(key, byHand.length)
    const row = byHand[Math.min(choice, byHand.length - 1)]
    if (step !== undefined)
      this.state = { kind: 'list', choice: Math.max(0, Math.min(choice + step, byHand.length - 1)) }
    else if (key === '+' || key === '-') this.state = { kind: 'pattern', adds: key === '+', text: '' }
    else if (key === 'q' || key === 'X') this.state = undefined
    else if (key === 'enter' && row !== undefined) {
      this.#change(`undoing ${row.text}`, () => this.#steering.takeBack(row.text))
      this.state = { kind: 'list', choice }
    }
  }

  #type(state: State & { kind: 'pattern' }, key: string): void {
    const { adds, text } = state
    const typed = text.trim()
    if (key !== 'enter') this.state = { ...state, text: textAfter(text, key) ?? text }
    else if (typed === '') this.tell('type a method, class or package, or press Esc', false)
    else if (adds) this.#change(`adding ${typed}`, () => this.#steering.add(typed))
    else this.#change(`excluding ${typed}`, () => this.#steering.leaveOut(typed))
  }

  #change(doing: string, change: () => Promise<string>): void {
    if (this.#isChanging) {
      this.tell('wait: another change is still running', false)
      return
    }
    this.state = undefined
    this.#isChanging = true
    this.tell(`${doing} ...`, false)
    void this.tellOf(change()).finally(() => {
      this.#isChanging = false
    })
  }

  protected override listOf(state: State, scene: FrameScene): Line[] | undefined {
    if (state.kind !== 'list' && state.kind !== 'pattern') return undefined
    const { columns } = scene
    const { byHand } = this.#steering
    const heads = `${right('after', 9)}${right('methods', 9)}${right('callees', 11)}  - excluded, + added (Enter: undo)`
    const head: Line = [run(pad(cut(heads, columns), columns), 'header')]
    if (byHand.length === 0)
      return [
        head,
        [],
        [run('  No exclusions or additions yet. x on a row excludes its method; - and + here')],
        [run('  exclude or add a method, class or package that you type.')],
      ]
    const room = listRoom(scene)
    const chosen = Math.min(state.kind === 'list' ? state.choice : -1, byHand.length - 1)
    const first = Math.max(0, chosen - room + 1)
    const line = (row: ByHandRow, i: number): Line => {
      const numbers = `${right(row.atMs === 0 ? 'start' : span(row.atMs), 9)}${right(`${row.methods}`, 9)}${right(row.what === 'add' ? '' : `${row.below}`, 11)}`
      const sign = row.what === 'add' ? '+' : '-'
      const text = pad(cut(`${numbers}  ${sign} ${clean(row.text)}`, columns), columns)
      return [run(text, first + i === chosen ? 'selected' : 'plain')]
    }
    return [head, ...byHand.slice(first, first + room).map(line)]
  }

  protected override bottomOf(state: State, scene: FrameScene): [Line, Line] {
    const { columns } = scene
    switch (state.kind) {
      case 'root':
        return [
          question('make', state.text, 'the root and reset to zero?', columns),
          keyHints({ Enter: 'change the root', Esc: 'cancel' }),
        ]
      case 'time': {
        const [enter, times, ...others] = keyHints({ Enter: 'time it', Esc: 'cancel' })
        const cost = run(`${state.cost ?? 'estimating the overhead ...'}  `)
        return [
          question('time every call of', state.text, 'below the roots?', columns),
          [enter!, times!, cost, ...others],
        ]
      }
      case 'out': {
        const text = this.#steering.textOf(state.id, state.extent) ?? ''
        const and = 'and methods that only it calls?'
        const keys = { Enter: 'exclude', m: 'method', c: 'class', p: 'package', Esc: 'cancel' }
        return [question('exclude', text, and, columns), keyHints(keys)]
      }
      case 'pattern': {
        const [enter, ...others] = keyHints({ Enter: state.adds ? 'add' : 'exclude', Esc: 'back' })
        return [
          typedLine(state.adds ? ' add ' : ' exclude ', state.text, 14, scene),
          [
            run(' pkg.Class.method(int), pkg.Class, pkg.*, pkg.**  ', 'dim'),
            run(enter!.text.trim(), 'key'),
            ...others,
          ],
        ]
      }
      case 'list': {
        const keys = { Enter: 'undo', '-': 'exclude ...', '+': 'add ...', Esc: 'close' }
        return [noticeLine(scene), keyHints(keys)]
      }
    }
  }
}

/** Returns a question line. If it is too long, the parameters are shortened first. */
function question(before: string, text: string, after: string, columns: number): Line {
  const room = columns - before.length - after.length - 4
  const whole = clean(text)
  const short = width(whole) <= room ? whole : whole.replace(/\(.+\)$/, '(...)')
  return [run(` ${before} `, 'key'), run(tail(short, room, '...'), 'title'), run(` ${after}`, 'key')]
}
