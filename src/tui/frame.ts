// Base of all live views: refresh loop, pause, notices, end of session, quitting. Subclasses define the snapshots, the lines, and the keys
// of their view.

import { messageOf } from '../base/errors.ts'
import type { Dialog, Tell } from './dialog.ts'
import { clean } from './format.ts'
import type { FrameScene } from './frame-lines.ts'
import { KeepDialog } from './keep-dialog.ts'
import type { Binding, FramePage } from './keys.ts'
import type { LiveSource } from './live-source.ts'
import type { Line, Mouse, Screen } from './screen.ts'
import { isTooSmall } from './size.ts'

/** Time for which a notice is shown. */
const NOTICE_DURATION_MS = 4000

/** Cause of the end of a view: a key, or a signal. */
export type Leave = 'quit' | NodeJS.Signals

/** Part of LiveSource that every view needs. */
export type FrameSource = Omit<LiveSource, 'snapshot'>

/** `Picture` is the snapshot of the session that a view shows. */
export abstract class Frame<Picture, Source extends FrameSource = FrameSource> {
  readonly #left: Promise<Leave>
  #leave: (how: Leave) => void = () => {}
  #timer: NodeJS.Timeout | undefined
  #done = false
  /** True if the user has quit and the view ends when the current file is written. */
  #isLeaving = false
  protected isPaused = false
  /** True while a pause is pending: its snapshot is being read. */
  #freezing = false
  #ended: string | undefined
  #notice: { text: string; until: number } | undefined
  readonly #dialog: KeepDialog | undefined
  /** True if the snapshot is final, since the source is a file. */
  #isStill = false

  /** @param periodMs  time between the starts of two refreshes */
  constructor(
    protected readonly source: Source,
    protected readonly screen: Screen,
    private readonly periodMs: number,
  ) {
    this.#left = new Promise((resolve) => {
      this.#leave = resolve
    })
    this.#dialog = source.keeper && new KeepDialog(source.keeper, this.tell)
    screen.onKey(({ name }) => this.#onKey(name))
    screen.onMouse((mouse) => this.#onMouse(mouse))
    screen.onResize(() => this.draw())
    screen.onSignal((signal) => this.#end(signal))
    source.ended.then(
      (reason) => this.#onEnded(reason),
      (error: unknown) => this.#onEnded(messageOf(error)),
    )
  }

  /**
   * Reads a snapshot. @param stays  whether the snapshot is shown for long (pause or end), so that it must include all data that the user
   * can choose
   */
  protected abstract ask(stays: boolean): Promise<Picture>
  protected abstract take(picture: Picture): void
  protected abstract lines(scene: FrameScene): Line[]
  /** Handles the keys of this view, except Ctrl-C. */
  protected abstract press(key: string): void
  protected abstract point(mouse: Mouse): void
  abstract toggle(page: FramePage): void

  /** Shows the session until the user quits. */
  run(): Promise<Leave> {
    this.draw()
    const turn = async (): Promise<void> => {
      const begun = performance.now()
      await this.refresh()
      const spent = performance.now() - begun
      // Uses at most half of the time for snapshots and drawing. The other half is for keys and, with few cores, for the recorder.
      if (!this.#done) this.#timer = setTimeout(turn, Math.max(this.periodMs - spent, spent))
    }
    void turn()
    return this.#left
  }

  /** Reads and draws a new snapshot. */
  async refresh(): Promise<void> {
    const wasStill = this.#isStill
    if (this.isMoving && !this.#freezing) await this.renew(this.isFile)
    // A final snapshot is drawn only after a key or a notice, since it may have many rows.
    if (!wasStill || this.#isNoticeOver) this.draw()
  }

  protected get isFile(): boolean {
    return this.source.status().phase === 'file'
  }

  get #isNoticeOver(): boolean {
    return this.#notice !== undefined && performance.now() > this.#notice.until
  }

  draw(): void {
    if (this.#done) return
    if (this.#isNoticeOver) this.#notice = undefined
    const { scene } = this
    const lines = this.lines(scene)
    const dialog = isTooSmall(scene) ? undefined : this.#openDialog
    this.screen.draw(dialog === undefined ? lines : dialog.over(lines, scene))
  }

  /** Dialog of the subclass, if it has one. */
  protected get ownDialog(): Dialog<unknown> | undefined {
    return undefined
  }

  get #openDialog(): Dialog<unknown> | undefined {
    return [this.#dialog, this.ownDialog].find((it) => it?.isOpen === true)
  }

  /** Ends a pause, or cancels a pending pause. */
  protected thaw(): void {
    this.isPaused = false
    this.#freezing = false
  }

  /** Whether new snapshots are read. */
  protected get isMoving(): boolean {
    return !this.isPaused && !this.#isStill && this.#ended === undefined
  }

  protected async renew(stays = false): Promise<void> {
    const paused = this.isPaused
    let picture: Picture
    try {
      picture = await this.ask(stays)
    } catch (error) {
      // An ending session has no more snapshots. `ended` reports the reason.
      this.say(messageOf(error))
      return
    }
    // If the user has paused the view while the snapshot was read, the snapshot is dropped.
    if (this.isPaused === paused && !this.#done) this.take(picture)
    this.#isStill = this.isFile
  }

  protected get scene(): FrameScene {
    const { columns, rows, unicode } = this.screen
    const status = this.source.status()
    return {
      columns,
      rows,
      unicode,
      status,
      paused: this.isPaused,
      ended: this.#ended,
      notice: this.#notice?.text,
    }
  }

  /** Shows a notice for a few seconds, or until the next key. */
  protected say(text: string, untilKey = false): void {
    this.#notice = {
      text,
      until: untilKey ? Number.POSITIVE_INFINITY : performance.now() + NOTICE_DURATION_MS,
    }
  }

  protected readonly tell: Tell = (text, isFailure) => {
    this.say(text, isFailure)
    this.draw()
  }

  protected unsay(): void {
    this.#notice = undefined
  }

  /** Runs the action of a key, or shows that the key has no action. */
  protected runBinding<Actions>(
    bindings: readonly Binding<Actions>[],
    actions: Actions,
    key: string,
    isTold = true,
  ): void {
    const binding = bindings.find(({ keys }) => keys.includes(key))
    if (binding?.isForSession === true && this.isFile)
      this.say(`${clean(key)} works only in a live session; this is a file`)
    else if (binding !== undefined) binding.run(actions)
    else if (isTold && [...key].length === 1) this.say(`${clean(key)} is not a key here; ? lists the keys`)
  }

  #onKey(key: string): void {
    if (this.#done) return
    if (this.#notice?.until === Number.POSITIVE_INFINITY) this.unsay()
    if (key === 'C-c' || (key === 'q' && isTooSmall(this.screen))) this.quit()
    else if (isTooSmall(this.screen)) return
    else if (this.#openDialog !== undefined) this.#openDialog.press(key)
    else this.press(key)
    this.draw()
  }

  #onMouse(mouse: Mouse): void {
    if (this.#done || isTooSmall(this.screen) || this.#openDialog !== undefined) return
    this.point(mouse)
    this.draw()
  }

  async #onEnded(reason: string): Promise<void> {
    if (this.#done) return
    if (!this.isPaused) await this.renew(true)
    this.unsay()
    this.#ended = reason
    this.draw()
  }

  #end(how: Leave): void {
    if (this.#done) return
    this.#done = true
    clearTimeout(this.#timer)
    this.#leave(how)
  }

  // Actions of keys that all views share.

  /** Quits. A file being written is completed first, unless the user quits twice. */
  quit(): void {
    if (this.#dialog?.isWriting === true && !this.#isLeaving) {
      this.#isLeaving = true
      this.say('jfluid quits when the file is written; q again quits now', true)
      void this.#dialog.idle.then(() => this.#end('quit'))
    } else this.#end('quit')
  }

  suspend(): void {
    this.screen.suspend()
  }

  /** Pauses after one more snapshot, or resumes. */
  pause(): void {
    if (this.#freezing) this.#freezing = false
    else if (this.isPaused || this.#ended !== undefined) this.isPaused = !this.isPaused
    else void this.#freeze()
  }

  async #freeze(): Promise<void> {
    this.#freezing = true
    await this.renew(true)
    if (!this.#freezing) return // the user has cancelled the pause
    this.#freezing = false
    this.isPaused = true
    this.draw()
  }

  save(): void {
    if (this.#dialog === undefined) this.say('nothing can be saved here')
    else this.#dialog.save()
  }

  export(): void {
    if (this.#dialog === undefined) this.say('nothing can be exported here')
    else this.#dialog.export()
  }

  /** Whether the session is still recording. */
  protected get goesOn(): boolean {
    return this.#ended === undefined && this.source.status().phase !== 'ended'
  }

  reset(): void {
    if (!this.goesOn) {
      this.say('the session has ended: counts are kept')
      return
    }
    this.source.reset()
    this.say('all counts and times are reset to zero')
  }
}
