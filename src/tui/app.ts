// The live view: asks the session, hands keys to the model, and draws, until the user leaves.

import type { Snapshot } from '../cct/tree.ts'
import { errorsOf } from '../cct/uncertainty.ts'
import { clean } from './format.ts'
import { type Actions, bindingOf, type PageName, type ViewName } from './keys.ts'
import { bodyRows, headerColumnAt, isMarkerAt, pageRows, type Scene, sceneLines, TOP_LINES } from './lines.ts'
import type { LiveSource } from './live-source.ts'
import { LiveModel } from './model.ts'
import { nameTexts, type SortColumn } from './rows.ts'
import type { Key, Mouse, Screen } from './screen.ts'
import { isTooSmall } from './size.ts'

export type { LiveSource, LiveStatus } from './live-source.ts'

/** From the begin of a turn to that of the next: 8 Hz. */
const PERIOD_MS = 125
const WHEEL_ROWS = 3
/** How long a word of ours stays. */
const NOTICE_MS = 4000

/** How the user left: by key, or by the signal that ended us. */
export type Leave = 'quit' | NodeJS.Signals

/**
 * Shows a session until the user leaves, by key or by signal. The session goes on and the screen stays
 * open; detaching and `destroy` are the caller's.
 */
export function runLiveView(source: LiveSource, screen: Screen): Promise<Leave> {
  return new LiveView(source, screen).run()
}

/** Exported for tests, which call `refresh` when they want. */
export class LiveView implements Actions {
  readonly model: LiveModel
  readonly #source: LiveSource
  readonly #screen: Screen
  readonly #left: Promise<Leave>
  #leave: ((how: Leave) => void) | undefined
  #timer: NodeJS.Timeout | undefined
  #done = false
  #paused = false
  /** About to be paused: the picture to be frozen is on its way. */
  #freezing = false
  #ended: string | undefined
  #notice: { text: string; until: number } | undefined

  constructor(source: LiveSource, screen: Screen) {
    this.#source = source
    this.#screen = screen
    const nameText = nameTexts((id) => source.methodName(id))
    this.model = new LiveModel(nameText, (notice) => this.#say(notice))
    this.#left = new Promise((resolve) => {
      this.#leave = resolve
    })
    screen.onKey((key) => this.#onKey(key))
    screen.onMouse((mouse) => this.#onMouse(mouse))
    screen.onResize(() => this.draw())
    screen.onSignal((signal) => this.#end(signal))
    source.ended.then(
      (reason) => this.#onEnded(reason),
      (error: unknown) => this.#onEnded(messageOf(error)),
    )
  }

  run(): Promise<Leave> {
    this.draw()
    const turn = async (): Promise<void> => {
      const begun = performance.now()
      await this.refresh()
      const spent = performance.now() - begun
      // A tree that takes long gets as much rest: keys, and the recorder on few cores, want their half.
      if (!this.#done) this.#timer = setTimeout(turn, Math.max(PERIOD_MS - spent, spent))
    }
    void turn()
    return this.#left
  }

  /** One turn: the newest snapshot, drawn. */
  async refresh(): Promise<void> {
    if (!this.#paused && !this.#freezing && this.#ended === undefined) await this.#take()
    this.draw()
  }

  async #take(perThread = this.#showsThreads): Promise<void> {
    const paused = this.#paused
    let snapshot: Snapshot
    try {
      snapshot = await this.#source.snapshot(perThread)
    } catch (error) {
      // A session that is ending has no more of them; why it ends comes by `ended`.
      this.#say(messageOf(error))
      return
    }
    // Meanwhile a thread may have been chosen that is not in it, or the view been frozen.
    if (this.#showsThreads && !perThread) return
    if (this.#paused === paused && !this.#done) this.model.take(snapshot)
  }

  /** Trees of single threads are as dear as that of all: they come if they are looked at. */
  get #showsThreads(): boolean {
    return this.model.thread !== undefined || this.model.page === 'threads'
  }

  async #takeThreads(): Promise<void> {
    await this.#take(true)
    this.draw()
  }

  async #onEnded(reason: string): Promise<void> {
    if (this.#done) return
    if (!this.#paused) await this.#take(true)
    this.#notice = undefined
    this.#ended = reason
    this.draw()
  }

  #end(how: Leave): void {
    if (this.#done) return
    this.#done = true
    clearTimeout(this.#timer)
    this.#leave?.(how)
  }

  #say(text: string): void {
    this.#notice = { text, until: performance.now() + NOTICE_MS }
  }

  draw(): void {
    if (this.#done) return
    if (this.#notice && performance.now() > this.#notice.until) this.#notice = undefined
    this.#screen.draw(sceneLines(this.#scene()))
  }

  #scene(): Scene {
    const { columns, rows, unicode } = this.#screen
    if (this.model.bodyRows !== bodyRows(rows)) this.model.resize(bodyRows(rows))
    return {
      columns,
      rows,
      unicode,
      model: this.model,
      status: this.#source.status(),
      nameOf: (id) => this.#source.methodName(id),
      paused: this.#paused,
      ended: this.#ended,
      notice: this.#notice?.text,
    }
  }

  #onKey({ name }: Key): void {
    if (this.#done) return
    const { model } = this
    if (name === 'C-c') this.quit()
    else if (isTooSmall(this.#screen)) {
      if (name === 'q') this.quit()
    } else if (model.typing !== undefined) model.type(name)
    else if (model.page) this.#onPageKey(model.page, name)
    else {
      const binding = bindingOf(name)
      if (binding) binding.run(this)
      else if ([...name].length === 1) this.#say(`${clean(name)} does nothing; ? shows the keys`)
    }
    this.draw()
  }

  /** A page scrolls, chooses, and closes; other keys do what they do elsewhere. */
  #onPageKey(page: PageName, name: string): void {
    const { model } = this
    const steps: { readonly [key: string]: number } = {
      up: -1,
      k: -1,
      down: 1,
      j: 1,
      pageup: -model.bodyRows,
      pagedown: model.bodyRows,
      home: Number.NEGATIVE_INFINITY,
      g: Number.NEGATIVE_INFINITY,
      end: Number.POSITIVE_INFINITY,
      G: Number.POSITIVE_INFINITY,
    }
    const step = steps[name]
    if (step !== undefined) this.#movePage(page, step)
    else if (name === 'escape' || name === 'q') model.page = undefined
    else if (name === 'enter' || name === 'space') {
      if (page === 'threads') model.chooseThread(model.threadChoice)
      model.page = undefined
    } else bindingOf(name)?.run(this)
  }

  #movePage(page: PageName, step: number): void {
    const { model } = this
    const within = (value: number, most: number): number => Math.max(0, Math.min(value, most))
    if (page === 'threads') model.threadChoice = within(model.threadChoice + step, model.threads.length)
    else model.pageFirst = within(model.pageFirst + step, pageRows(this.#scene()) - model.bodyRows)
  }

  #onMouse(mouse: Mouse): void {
    if (this.#done || isTooSmall(this.#screen)) return
    if (mouse.kind === 'click') this.#click(mouse)
    else {
      const rows = mouse.kind === 'wheel-up' ? -WHEEL_ROWS : WHEEL_ROWS
      if (this.model.page) this.#movePage(this.model.page, Math.sign(rows))
      else this.model.scroll(rows)
    }
    this.draw()
  }

  /** The first click on a row selects it, another opens or closes it; one on its marker does both. */
  #click(mouse: Mouse): void {
    const { model } = this
    const line = mouse.row - TOP_LINES
    if (model.page) {
      model.page = undefined
      return
    }
    if (line === -1) {
      model.sortBy(headerColumnAt(this.#screen.columns, mouse.column))
      return
    }
    const index = model.first + line
    if (line < 0 || line >= model.bodyRows || index >= model.count) return
    const again = index === model.index
    model.moveTo(index)
    if (again || isMarkerAt(this.#scene(), mouse.column)) model.enter()
  }

  // The actions of the key table.

  quit(): void {
    this.#end('quit')
  }

  suspend(): void {
    this.#screen.suspend()
  }

  /** What is frozen is one picture more, with all threads: a thread can be chosen from it. */
  pause(): void {
    if (this.#freezing) this.#freezing = false
    else if (this.#paused || this.#ended !== undefined) this.#paused = !this.#paused
    else void this.#freeze()
  }

  async #freeze(): Promise<void> {
    this.#freezing = true
    await this.#take(true)
    if (!this.#freezing) return // pressed twice
    this.#freezing = false
    this.#paused = true
    this.draw()
  }

  reset(): void {
    this.#source.reset()
    this.#say('counts and times begin at zero')
  }

  escape(): void {
    this.model.search = ''
    this.#notice = undefined
  }

  startSearch(): void {
    this.model.page = undefined
    this.model.typing = ''
  }

  toggle(page: PageName): void {
    const had = this.#showsThreads
    this.model.toggle(page)
    if (this.#showsThreads && !had && !this.#paused && this.#ended === undefined) void this.#takeThreads()
  }

  toggleErrors(): void {
    this.model.showsErrors = !this.model.showsErrors
    if (errorsOf(this.model.tree) === undefined) this.#say('times say how sure they are with --error-bars')
  }

  show(view: ViewName): void {
    this.model.show(view)
  }

  move(rows: number): void {
    this.model.move(rows)
  }

  moveTo(index: number): void {
    this.model.moveTo(index)
  }

  movePages(pages: number): void {
    this.model.movePages(pages)
  }

  enter(): void {
    this.model.enter()
  }

  goRight(): void {
    this.model.goRight()
  }

  goLeft(): void {
    this.model.goLeft()
  }

  openBelow(): void {
    this.model.openBelow()
  }

  nextMatch(direction: 1 | -1): void {
    this.model.nextMatch(direction)
  }

  sortNext(): void {
    this.model.sortNext()
  }

  sortBy(column: SortColumn): void {
    this.model.sortBy(column)
  }

  reverse(): void {
    this.model.reverse()
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
