// Controller of the live view of calls: reads snapshots from the session, and applies keys and mouse events to the model.

import type { SlowTimes } from '../cct/slow-times.ts'
import type { Snapshot } from '../cct/tree.ts'
import { callCost } from '../profile/root-calls.ts'
import { fullName, plural } from '../profile/text.ts'
import { linesForClipboard } from './clipboard.ts'
import { clean } from './format.ts'
import { Frame, type Leave } from './frame.ts'
import type { FrameScene } from './frame-lines.ts'
import { BINDINGS, type PageName } from './keys.ts'
import { bodyRows, isWholeJvm, pageRows, rowText, type Scene, sceneLines, TOP_LINES } from './lines.ts'
import type { LiveSource } from './live-source.ts'
import { LiveModel } from './model.ts'
import { stepOf } from './pages.ts'
import type { Line, Mouse, Screen } from './screen.ts'
import { SteerDialog } from './steer-dialog.ts'
import type { View } from './views/view.ts'

export type { Leave } from './frame.ts'
export type { LiveSource, LiveStatus } from './live-source.ts'

/** Refresh interval of the live view: 8 Hz. */
const UPDATE_INTERVAL_MS = 125
const WHEEL_ROWS = 3
/** Value of `#slowSeen` until the view has read the first list of slow calls. */
const NONE_SEEN = -1

/**
 * Shows a session until the user quits by key or signal. The caller must then detach the session and
 * `destroy` the screen.
 */
export function runLiveView(source: LiveSource, screen: Screen): Promise<Leave> {
  return new LiveView(source, screen).run()
}

interface Picture {
  readonly snapshot: Snapshot
  readonly perThread: boolean
}

/** Exported for tests, which call `refresh` themselves. */
export class LiveView extends Frame<Picture, LiveSource> {
  /** Model of the view. It is replaced after the roots have changed. */
  model = this.#newModel()
  readonly #steer = this.source.steering && new SteerDialog(this.source.steering, this.tell)
  #generation = this.source.steering?.generation ?? 0

  constructor(source: LiveSource, screen: Screen) {
    super(source, screen, UPDATE_INTERVAL_MS)
  }

  #newModel(): LiveModel {
    return new LiveModel(this.source, (notice) => this.say(notice))
  }

  get view(): View {
    return this.model.view
  }

  protected override get ownDialog(): SteerDialog | undefined {
    return this.#steer
  }

  /** Creates a new model if the roots have changed, since method and node ids of the old roots are invalid. */
  #forgetOld(): void {
    const generation = this.source.steering?.generation ?? 0
    if (generation === this.#generation) return
    this.#generation = generation
    this.model = this.#newModel()
    this.#isFrozenBySlow = false
    if (this.#slowSeen !== undefined) this.#slowSeen = NONE_SEEN
    this.thaw()
  }

  override draw(): void {
    this.#forgetOld()
    super.draw()
  }

  /** Reads a snapshot. A snapshot for a paused view contains all threads, so that the user can choose a thread. */
  protected override async ask(stays: boolean): Promise<Picture> {
    const perThread = stays || this.#showsThreads
    const { calls, pages } = this.model
    const slow = calls.want(pages.shown === 'slow', this.#slowSeen !== undefined)
    return { snapshot: await this.source.snapshot(perThread, slow), perThread }
  }

  protected override take({ snapshot, perThread }: Picture): void {
    this.#forgetOld()
    // The user may have chosen a thread while a snapshot without thread trees was read. Such a snapshot is dropped.
    if (perThread || !this.#showsThreads) this.model.take(snapshot)
    if (snapshot.slow !== undefined) this.#freezeIfSlow(snapshot.slow)
  }

  protected override lines(scene: FrameScene): Line[] {
    return sceneLines(this.#sceneOf(scene))
  }

  #sceneOf(scene: FrameScene): Scene {
    this.#forgetOld()
    const rows = bodyRows(scene.rows)
    const { columns } = scene
    if (this.model.bodyRows !== rows || this.model.columns !== columns) this.model.resize(rows, columns)
    this.model.isWholeJvm = isWholeJvm(scene.status)
    this.model.isSampledByJvm = scene.status.isSampledByJvm === true
    return {
      ...scene,
      model: this.model,
      nameOf: (id) => this.model.nameOf(id),
      isLeftOut: this.#isLeftOut,
    }
  }

  /** Thread trees are requested only while they are shown, since they cost as much as the merged tree. */
  get #showsThreads(): boolean {
    return this.model.thread !== undefined || this.model.showsThreads
  }

  protected override press(key: string): void {
    const { model } = this
    if (model.typing !== undefined) model.type(key)
    else if (model.typeFilter(key)) return
    else if (!this.#pressOnPage(key)) {
      const isTold = model.pages.shown === undefined
      this.runBinding(BINDINGS, this, key, isTold)
    }
  }

  /** Handles the keys that scroll, choose and close a page. Returns false for other keys. */
  #pressOnPage(key: string): boolean {
    const { pages, bodyRows } = this.model
    if (pages.shown === undefined) return false
    if (pages.shown === 'slow' && this.#pressOnSlow(key)) return true
    return pages.press(key, [this.#pageRows, bodyRows])
  }

  #pressOnSlow(key: string): boolean {
    const { model } = this
    const step = stepOf(key, model.bodyRows)
    if (step !== undefined) this.#movePage(step)
    else if (key === 'enter' || key === 'space') {
      model.chooseCalls(model.calls.line)
      // The tree of the chosen call is not in the current snapshot.
      void this.#takeAnew()
    } else return false
    return true
  }

  get #pageRows(): number {
    return pageRows(this.#sceneOf(this.scene))
  }

  #movePage(lines: number): void {
    const { model } = this
    if (model.pages.shown === 'slow') model.calls.move(lines)
    else model.pages.scroll(lines, this.#pageRows, model.bodyRows)
  }

  protected override point(mouse: Mouse): void {
    if (mouse.kind === 'click') this.#click(mouse)
    else {
      const rows = mouse.kind === 'wheel-up' ? -WHEEL_ROWS : WHEEL_ROWS
      if (this.model.pages.shown !== undefined) this.#movePage(Math.sign(rows))
      else this.model.view.scroll(rows)
    }
  }

  #click(mouse: Mouse): void {
    const { model } = this
    const line = mouse.row - TOP_LINES
    if (model.pages.shown !== undefined) {
      model.pages.close()
      return
    }
    const scene = this.#sceneOf(this.scene)
    if (line === -1) {
      const column = model.view.columnAt(scene, mouse.column)
      if (column !== undefined) model.sortBy(column)
    } else if (line >= 0 && line < model.bodyRows) model.view.click(scene, line, mouse.column)
  }

  // Actions of the keys in BINDINGS that only this view has.

  escape(): void {
    this.unsay()
    if (this.model.search !== '') this.model.search = ''
    else this.model.view.back()
  }

  readonly #isLeftOut = (id: number): boolean =>
    !this.model.isFolded && this.source.steering?.isLeftOut(id) === true

  askRoot(): void {
    if (!this.goesOn) this.say('the session has ended: the root cannot be changed')
    else if (!this.isMoving) this.say('the display is paused: press p before you change the root')
    else this.#steering()?.askRoot(this.#chosenMethod)
  }

  askLeaveOut(): void {
    if (!this.goesOn) this.say('the session has ended: no method can be excluded')
    else this.#steering()?.askLeaveOut(this.#chosenMethod)
  }

  /** Method id of the selected row; undefined if rows are packages. */
  get #chosenMethod(): number | undefined {
    return this.model.isFolded ? undefined : this.model.view.method
  }

  askTime(): void {
    if (!this.goesOn) this.say('the session has ended: no more methods can be timed')
    else if (this.#steering() !== undefined && this.source.status().scheme !== 'adaptive')
      this.say('timing a single method needs --scheme adaptive')
    else this.#steering()?.askTime(this.#chosenMethod)
  }

  listLeftOut(): void {
    this.#steering()?.list()
  }

  #steering(): SteerDialog | undefined {
    this.model.pages.close()
    if (this.#steer === undefined) {
      this.say(
        this.source.status().jvms !== undefined
          ? 'probes cannot be changed while several JVMs are profiled'
          : 'probes cannot be changed here: no method has probes',
      )
    }
    return this.#steer
  }

  startSearch(): void {
    this.model.pages.close()
    this.model.typing = ''
  }

  override toggle(page: PageName): void {
    this.model.toggle(page)
  }

  toggleThreads(): void {
    const had = this.#showsThreads
    this.model.toggleThreads()
    if (this.#showsThreads && !had && this.isMoving) void this.#takeAnew(true)
  }

  toggleBaseline(): void {
    const isFile = this.source.status().phase === 'file'
    if (isFile && this.model.calls.isOfAll)
      this.say('a file has no changes: press S and choose slow calls to compare them with all calls')
    else if (this.model.isWholeJvm)
      this.say('no root, so no root calls to compare; jfluid compare compares two files')
    else if (this.model.isSampledByJvm)
      this.say('samples do not count calls; jfluid compare compares two files')
    else this.model.toggleBaseline()
  }

  override reset(): void {
    const { goesOn } = this
    super.reset()
    if (goesOn) this.model.beginAtZero()
  }

  toggleSlow(): void {
    if (!this.#mayBeSlow()) return
    this.model.toggle('slow')
    if (this.isMoving) void this.#takeAnew()
  }

  /** Returns whether slow calls are available, and otherwise shows the reason. */
  #mayBeSlow(): boolean {
    const { rootCalls, slow } = this.model.snapshot
    if (this.source.status().phase === 'file') {
      if (slow === undefined) this.say('this file has no slow calls; record with --slow')
      return slow !== undefined
    }
    if (rootCalls === undefined) this.say('durations of single calls are not recorded here')
    else if (this.source.keepSlow === undefined) this.say('trees of slow calls are kept only with --slow')
    else {
      this.source.keepSlow()
      return true
    }
    return false
  }

  /** Reads a new snapshot, even if the view is paused, since the current snapshot may not contain the chosen calls. */
  async #takeAnew(stays = this.isPaused): Promise<void> {
    await this.renew(stays)
    this.draw()
  }

  /** Number of the newest slow call seen so far. Undefined unless the view pauses at the next slow call (key F). */
  #slowSeen: number | undefined
  #isFrozenBySlow = false

  freezeOnSlow(): void {
    const { model } = this
    if (this.#isFrozenBySlow && this.isPaused) {
      model.chooseCalls(0)
      this.pause()
      this.say('will pause at the next slow call; F cancels')
    } else if (this.#slowSeen !== undefined) {
      this.#slowSeen = undefined
      this.say('no longer pauses at slow calls')
    } else if (!this.goesOn) {
      this.say('the session has ended: no more calls are recorded')
    } else if (this.#mayBeSlow()) {
      model.chooseCalls(0)
      this.#slowSeen = NONE_SEEN
      // Without a snapshot now, a slow call that ends before the next snapshot would count as old.
      if (this.isMoving) void this.#takeAnew()
      this.say('will pause at the next slow call; F cancels')
    }
  }

  override pause(): void {
    if (this.#steer?.changesRoot === true) {
      this.say('the root is being changed; press p after that')
      return
    }
    this.#isFrozenBySlow = false
    super.pause()
  }

  #freezeIfSlow({ latest, unit }: SlowTimes): void {
    if (this.#slowSeen === undefined || this.isPaused) return
    // New calls are identified by their call numbers. Their count is not used: a pause reported late can turn a slow call into a fast one.
    const number = latest?.number ?? 0
    const isNew = this.#slowSeen !== NONE_SEEN && number > this.#slowSeen
    this.#slowSeen = Math.max(number, this.#slowSeen)
    if (!isNew || latest?.tree === undefined) return
    this.#isFrozenBySlow = true
    this.model.chooseCall(latest.number)
    this.model.show('tree')
    this.isPaused = true
    this.say(`paused: slow call of ${callCost(latest.time, unit)} in ${clean(latest.thread.name)}; F resumes`)
  }

  copyRow(): void {
    const row = rowText(this.#sceneOf(this.scene))
    if (row === undefined) this.say('no row is selected')
    else this.#copy(row, `"${row}"`)
  }

  copyPath(): void {
    const { model } = this
    const { path } = model.view
    if (path.length === 0) {
      this.copyRow()
      return
    }
    const scene = this.#sceneOf(this.scene)
    const lines = path.map((id) => clean(fullName(model.view.pathName(scene, id))))
    this.#copy(linesForClipboard(lines), `path, ${plural(lines.length, 'line')}, from ${lines[0]}`)
  }

  /** The message says "sent": a terminal does not report whether it accepted the text. */
  #copy(text: string, what: string): void {
    this.screen.copy(text)
    this.say(`sent to the terminal's clipboard: ${what}`)
  }
}
