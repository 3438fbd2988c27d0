// Controller of the live view of calls: reads snapshots from the session, and applies keys and mouse events to the model.

import { messageOf } from '../base/errors.ts'
import { isAllocation } from '../cct/allocation.ts'
import type { SlowTimes } from '../cct/slow-times.ts'
import type { Snapshot } from '../cct/tree.ts'
import { nameOf, type Profile } from '../profile/profile.ts'
import { boundsText, ofRange, type Range } from '../profile/range.ts'
import { callCost } from '../profile/root-calls.ts'
import { fullName, isWait, plural, span } from '../profile/text.ts'
import { linesForClipboard } from './clipboard.ts'
import { snapshotOf } from './file-source.ts'
import { clean } from './format.ts'
import { Frame, type Leave } from './frame.ts'
import type { FrameScene } from './frame-lines.ts'
import { BINDINGS, type PageName } from './keys.ts'
import { bodyRows, isWholeJvm, pageRows, rowText, type Scene, sceneLines, TOP_LINES } from './lines.ts'
import type { LiveSource } from './live-source.ts'
import { LiveModel } from './model.ts'
import { stepOf } from './pages.ts'
import type { Line, Mouse, Screen } from './screen.ts'
import { SourceChoice } from './source-choice.ts'
import { SteerDialog } from './steer-dialog.ts'
import { ThreadPage } from './thread-page.ts'
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

/** The model of the whole recording, and whether its view was paused, while a time range is shown. */
interface Whole {
  readonly model: LiveModel
  readonly isPaused: boolean
}

/** Exported for tests, which call `refresh` themselves. */
export class LiveView extends Frame<Picture, LiveSource> {
  /** Model of the view. It is replaced after the roots have changed. */
  model = this.#newModel()
  readonly #steer = this.source.steering && new SteerDialog(this.source.steering, this.tell)
  readonly #dump = new ThreadPage(() => this.draw())
  #generation = this.source.steering?.generation ?? 0

  constructor(source: LiveSource, screen: Screen) {
    super(source, screen, UPDATE_INTERVAL_MS)
  }

  /** The whole recording, while `model` contains a time range of it. */
  #whole: Whole | undefined
  /** Number of the latest request for a time range. An answer to an earlier request is dropped. */
  #rangeNumber = 0
  #isReadingRange = false

  #newModel(source: ConstructorParameters<typeof LiveModel>[0] = this.source): LiveModel {
    return new LiveModel(
      source,
      (notice) => this.say(notice),
      (range) => void this.#showRange(range),
    )
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
    this.#forgetRange()
    this.#whole = undefined
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
    if (this.#whole !== undefined) return // the snapshot was requested before the time range was shown
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
      dump: this.#dump,
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
    if (this.#isReadingRange) this.#forgetRange()
    else if (this.model.search !== '') this.model.search = ''
    else if (this.model.view.back()) return
    else if (this.model.root !== undefined) this.model.chooseRoot(undefined)
    else if (this.#whole !== undefined) this.#showWhole(this.#whole)
  }

  #forgetRange(): void {
    this.#rangeNumber++
    this.#isReadingRange = false
  }

  /** Shows a time range of the profile recorded so far. The view is paused until all is shown again. */
  async #showRange(range: Range): Promise<void> {
    const { ranges } = this.source
    if (ranges === undefined) return
    this.#forgetRange()
    const number = this.#rangeNumber
    this.#isReadingRange = true
    this.tell('reading the time range; Esc cancels', true)
    try {
      const whole = await ranges.profile()
      if (number === this.#rangeNumber) this.#takeRange(whole, ofRange(whole, range, 'this recording'))
    } catch (error) {
      if (number !== this.#rangeNumber) return
      this.#forgetRange()
      this.tell(messageOf(error), true)
    }
  }

  #takeRange(whole: Profile, part: Profile): void {
    this.#forgetRange()
    const { instrumentation, ranges } = this.source
    const model = this.#newModel({
      methodName: (id) => nameOf(part.methodNames, id),
      ...(instrumentation !== undefined && { instrumentation: () => instrumentation.call(this.source) }),
      ...(ranges !== undefined && { ranges }),
    })
    model.range = part.range
    // The timeline is of the whole recording, so that the user can select another range.
    model.take({ ...snapshotOf(part), ...(whole.course !== undefined && { course: whole.course }) })
    this.#whole ??= { model: this.model, isPaused: this.isPaused }
    this.model = model
    if (!this.isFile) this.isPaused = true
    this.tell(`${rangeNotice(part)}; Esc shows all`, false)
  }

  #showWhole({ model, isPaused }: Whole): void {
    this.#whole = undefined
    this.model = model
    if (this.isFile) return
    this.isPaused = isPaused
    if (!isPaused) void this.#takeAnew(!this.goesOn)
  }

  readonly #isLeftOut = (id: number): boolean =>
    this.#whole === undefined && !this.model.isFolded && this.source.steering?.isLeftOut(id) === true

  askRoot(): void {
    if (this.#steer === undefined || !this.goesOn) this.#showBelow(this.#chosenMethod)
    else if (!this.isMoving) this.say('the display is paused: press p before you change the root')
    else this.#steering()?.askRoot(this.#chosenMethod)
  }

  /** Shows the calls of a method as the root, if the recording itself cannot get another root. */
  #showBelow(method: number | undefined): void {
    const { model } = this
    if (method === undefined) this.say('this row is not a method; press P or t to show methods')
    else if (method === model.root) this.say('this method is the root already; Esc shows all rows')
    else {
      model.chooseRoot(method)
      this.say(`root: ${clean(fullName(model.methodName(method)))}; Esc shows all rows`)
    }
  }

  toggleSource(): void {
    const { model } = this
    const id = this.#chosenMethod
    if (this.#whole !== undefined) {
      this.say('source lines are of the whole recording: press Esc before v')
      return
    }
    const name = id === undefined ? undefined : model.methodName(id)
    if (model.pages.shown === 'source') model.pages.close()
    else if (
      id === undefined ||
      name === undefined ||
      isWait(name) ||
      isAllocation(name) ||
      name.class === ''
    )
      this.say('this row is not a method; press P or t to show methods')
    else {
      model.sourceOf = new SourceChoice(this.source, id, name)
      model.pages.show('source')
      void this.#readSource(model.sourceOf)
    }
  }

  /** Reads the source file, and scrolls to the line with the highest share. */
  async #readSource(choice: SourceChoice): Promise<void> {
    await choice.read((problem) => this.say(messageOf(problem)))
    const { model } = this
    if (model.sourceOf !== choice) return
    const { hottest, warning } = choice.page(model.columns)
    if (warning !== null) this.say(warning)
    if (model.pages.shown === 'source' && hottest >= model.bodyRows)
      this.#movePage(hottest - Math.floor(model.bodyRows / 2))
    this.draw()
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
    if (this.#whole !== undefined) {
      this.say('a time range is shown: press Esc before you change probes')
      return undefined
    }
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

  dumpThreads(): void {
    const why = this.#dump.open(this.source, this.goesOn)
    if (why === null) this.model.pages.show('dump')
    else this.say(why)
  }

  toggleThreads(): void {
    if (this.#whole !== undefined) {
      this.say('a time range is of all threads together: press Esc before T')
      return
    }
    const had = this.#showsThreads
    this.model.toggleThreads()
    if (this.#showsThreads && !had && this.isMoving) void this.#takeAnew(true)
  }

  toggleBaseline(): void {
    const still = this.#whole !== undefined ? 'a time range' : this.isFile ? 'a file' : undefined
    if (still !== undefined && this.model.calls.isOfAll)
      this.say(`${still} has no changes: press S and choose slow calls to compare them with all calls`)
    else if (this.model.isWholeJvm)
      this.say('no root, so no root calls to compare; jfluid compare compares two files')
    else if (this.model.isSampledByJvm)
      this.say('samples do not count calls; jfluid compare compares two files')
    else this.model.toggleBaseline()
  }

  override reset(): void {
    const { goesOn } = this
    if (goesOn && this.#whole !== undefined) this.#showWhole(this.#whole)
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
    if (this.isFile || this.#whole !== undefined) {
      if (slow === undefined)
        this.say(`this ${this.isFile ? 'file' : 'time range'} has no slow calls; record with --slow`)
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
    if (this.#whole === undefined) await this.renew(stays)
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
    if (this.#whole !== undefined) this.#showWhole({ ...this.#whole, isPaused: false })
    else super.pause()
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

/**
 * Describes a shown range: its bounds, the length of its segments, and the part that its rows cover, if the set of timed methods changed.
 */
function rangeNotice({ range }: Profile): string {
  if (range === undefined) return ''
  const { fromMs, toMs, segmentMs, rowsFromMs, rowsToMs } = range
  const rows =
    rowsFromMs === fromMs && rowsToMs === toMs
      ? ''
      : `; rows of ${boundsText({ fromMs: rowsFromMs, toMs: rowsToMs })}`
  return `range ${boundsText(range)}, rounded to ${span(segmentMs)}${rows}`
}
