// Root chooser: a screen where the user selects a root from a list of candidates or from the sampled tree, or types a name. The user
// confirms the choice. The chooser only returns the root; its caller attaches.

import { costsOf } from '../cct/metric.ts'
import { Frame, type FrameSource, type Leave } from './frame.ts'
import type { FrameScene } from './frame-lines.ts'
import { bodyRows, TOP_LINES } from './lines.ts'
import type { LiveStatus } from './live-source.ts'
import { LiveModel } from './model.ts'
import { NameField } from './name-field.ts'
import { Pages, stepOf } from './pages.ts'
import { CHOOSER_BINDINGS, type ChooserPage, type CoverPage, type RootChoice } from './root-choice.ts'
import { answerAbove, type ChooserScene, chooserLines, pageOf, roomBelow } from './root-chooser-lines.ts'
import type { Line, Mouse, Screen } from './screen.ts'
import type { View } from './views/view.ts'

/** Refresh interval. It is long, since only notices and the number of samples change. */
const UPDATE_INTERVAL_MS = 500
const WHEEL_ROWS = 3

export interface Chosen {
  readonly left: Leave
  /** Confirmed root; null if the user quit without a root. */
  readonly root: string | null
}

export async function chooseRoot(choice: RootChoice, screen: Screen): Promise<Chosen> {
  const chooser = new RootChooser(choice, screen)
  void choice.ended.then(() => chooser.quit())
  const left = await chooser.run()
  return { left, root: left === 'quit' ? chooser.chosen : null }
}

const ORDER: readonly ChooserPage[] = ['candidates', 'tree', 'name']

/** Exported for tests, which call `refresh` themselves. */
export class RootChooser extends Frame<null> {
  readonly #choice: RootChoice
  readonly #model: LiveModel
  readonly #pages = new Pages<CoverPage>()
  readonly #field: NameField
  #page: ChooserPage
  #selected = 0
  #first = 0
  /** Root that waits for confirmation. */
  #asked: string | undefined
  #chosen: string | null = null

  constructor(choice: RootChoice, screen: Screen) {
    super(sourceOf(choice), screen, UPDATE_INTERVAL_MS)
    this.#choice = choice
    this.#model = new LiveModel(choice, (notice) => this.say(notice))
    this.#model.isWholeJvm = true
    this.#model.take(choice.snapshot)
    this.#field = new NameField(choice.methods, choice.classes)
    this.#page = choice.rows.length > 0 ? 'candidates' : choice.snapshot.merged.count > 0 ? 'tree' : 'name'
  }

  /** Confirmed root, or null. */
  get chosen(): string | null {
    return this.#chosen
  }

  protected override async ask(): Promise<null> {
    return null
  }

  protected override take(): void {}

  protected override lines(scene: FrameScene): Line[] {
    const room = bodyRows(scene.rows)
    const { columns } = scene
    if (this.#model.bodyRows !== room || this.#model.columns !== columns) this.#model.resize(room, columns)
    const all = this.#sceneOf(scene)
    this.#scroll(roomBelow(all))
    return chooserLines({ ...all, first: this.#first })
  }

  get #chooserScene(): ChooserScene {
    return this.#sceneOf(this.scene)
  }

  #sceneOf(scene: FrameScene): ChooserScene {
    return {
      ...scene,
      model: this.#model,
      nameOf: (id) => this.#choice.methodName(id),
      choice: this.#choice,
      page: this.#page,
      selected: this.#selected,
      first: this.#first,
      field: this.#field,
      asked: this.#asked,
      pages: this.#pages,
    }
  }

  #scroll(room: number): void {
    const selected = this.#page === 'name' ? this.#field.selected : this.#selected
    const all = this.#page === 'name' ? this.#field.fitting.length : this.#choice.rows.length
    if (selected < this.#first) this.#first = selected
    else if (selected >= this.#first + room) this.#first = selected - room + 1
    this.#first = Math.max(0, Math.min(this.#first, all - room))
  }

  protected override press(key: string): void {
    if (this.#asked !== undefined) this.#answer(key)
    else if (this.#model.typing !== undefined) this.#typeSearch(key)
    else if (this.#pages.shown !== undefined) this.#pressOnPage(key)
    else if (this.#page === 'name') this.#pressOnName(key)
    else this.runBinding(CHOOSER_BINDINGS, this, key)
  }

  #answer(key: string): void {
    if (['y', 'Y', 'enter'].includes(key)) {
      this.#chosen = this.#asked ?? null
      this.quit()
    } else if (['n', 'N', 'escape', 'q', 'backspace'].includes(key)) this.#asked = undefined
  }

  #typeSearch(key: string): void {
    if (key !== 'enter' || this.#page === 'tree') this.#model.type(key)
    else {
      this.#model.search = this.#model.typing ?? ''
      this.#model.typing = undefined
      this.nextMatch(1)
    }
  }

  #pressOnPage(key: string): void {
    if (!this.#pages.press(key, this.#pageSize)) this.runBinding(CHOOSER_BINDINGS, this, key, false)
  }

  get #pageSize(): [all: number, room: number] {
    const scene = this.#chooserScene
    const { shown } = this.#pages
    return [shown === undefined ? 0 : pageOf(scene, shown).length, bodyRows(scene.rows)]
  }

  #pressOnName(key: string): void {
    const step = ['j', 'k', 'g', 'G'].includes(key) ? undefined : stepOf(key, this.#model.bodyRows)
    if (step !== undefined) this.#field.move(step)
    else if (key === 'enter') {
      const root = this.#field.enter()
      if (root !== null) this.#ask(root)
    } else if (key === 'escape') this.show(this.#choice.rows.length > 0 ? 'candidates' : 'tree')
    else if (key === 'S-tab' || (key === 'tab' && this.#field.text === '')) this.turn()
    else this.#field.type(key)
  }

  #ask(root: string): void {
    const problem = this.#choice.problemOf(root)
    if (problem !== null) this.say(problem)
    else this.#asked = root
  }

  protected override point(mouse: Mouse): void {
    if (this.#pages.point(mouse.kind, this.#pageSize)) return
    if (mouse.kind !== 'click') this.move(mouse.kind === 'wheel-up' ? -WHEEL_ROWS : WHEEL_ROWS)
    else this.#click(mouse.row - TOP_LINES - answerAbove(this.#chooserScene).length)
  }

  /** The first click on a row selects the row, a second click acts as Enter. */
  #click(line: number): void {
    if (line < 0 || line >= roomBelow(this.#chooserScene)) return
    if (this.#page === 'name') this.#field.move(this.#first + line - this.#field.selected)
    else {
      const { index, first } = this.tree ?? { index: this.#selected, first: this.#first }
      if (first + line === index) this.choose()
      else this.moveTo(first + line)
    }
  }

  // Actions of the keys in the key table.

  turn(): void {
    this.show(ORDER[(ORDER.indexOf(this.#page) + 1) % ORDER.length]!)
  }

  show(page: ChooserPage): void {
    this.#pages.close()
    // Opens the tree down to the selected candidate, which may be many levels below JDK frames.
    if (page === 'tree' && this.#page !== 'tree') this.#revealSelected()
    this.#page = page
    this.#first = 0
  }

  /** Selects the node of the selected candidate in the tree: the node with the most samples, if there are several. */
  #revealSelected(): void {
    const { merged } = this.#choice.snapshot
    const root = this.#choice.rows[this.#selected]?.root
    const { total } = costsOf(merged)
    let largest = -1
    for (let node = 0; node < merged.count; node++) {
      if (largest >= 0 && total[node]! <= total[largest]!) continue
      if (this.#choice.rootOf(this.#choice.methodName(merged.method[node]!)) === root) largest = node
    }
    this.#model.revealInTree(largest)
  }

  choose(): void {
    const root =
      this.#page === 'tree' ? this.#rootInTree() : (this.#choice.rows[this.#selected]?.root ?? null)
    if (root !== null) this.#ask(root)
    else this.say('this row cannot be a root: choose a method that has bytecode')
  }

  #rootInTree(): string | null {
    const { method } = this.#model.view
    return method === undefined ? null : this.#choice.rootOf(this.#choice.methodName(method))
  }

  /** Sampled tree, if the tree is shown. */
  get tree(): View | undefined {
    return this.#page === 'tree' ? this.#model.view : undefined
  }

  move(rows: number): void {
    if (this.tree !== undefined) this.tree.move(rows)
    else if (this.#page === 'name') this.#field.move(rows)
    else this.moveTo(this.#selected + rows)
  }

  moveTo(index: number): void {
    if (this.tree !== undefined) this.tree.moveTo(index)
    else this.#selected = Math.max(0, Math.min(index, this.#choice.rows.length - 1))
  }

  movePages(pages: number): void {
    if (this.tree !== undefined) this.tree.movePages(pages)
    else this.move(pages * Math.max(1, roomBelow(this.#chooserScene) - 1))
  }

  startSearch(): void {
    this.#model.typing = ''
  }

  nextMatch(direction: 1 | -1): void {
    if (this.#page === 'tree') {
      this.#model.nextMatch(direction)
      return
    }
    const { rows } = this.#choice
    const wanted = this.#model.search.toLowerCase()
    for (let step = 1; step <= rows.length && wanted !== ''; step++) {
      const at = (this.#selected + direction * step + rows.length * 2) % rows.length
      if (!rows[at]!.root.toLowerCase().includes(wanted)) continue
      this.moveTo(at)
      return
    }
    this.say(
      wanted === ''
        ? 'no search yet: type / and a part of a name'
        : `no candidate matches "${wanted}"; Tab: sampled tree, r: type a name`,
    )
  }

  override toggle(page: CoverPage): void {
    this.#pages.toggle(page)
  }

  escape(): void {
    this.unsay()
    if (this.#model.search === '') this.quit()
    else this.#model.search = ''
  }
}

function sourceOf({ pid, mainClass, jdk, durationMs, warnings, methodName }: RootChoice): FrameSource {
  const status: LiveStatus = {
    ...{ pid, mainClass, jdk, scheme: 'b', mode: 'sample', roots: [], phase: 'starting', warnings },
    ...{ instrumentedMethods: 0, calledMethods: 0, events: 0, eventsPerSecond: 0, waitPercent: 0 },
    elapsedMs: durationMs,
  }
  return { status: () => status, methodName, reset: () => {}, ended: new Promise(() => {}) }
}
