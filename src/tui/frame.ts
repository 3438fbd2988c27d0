// What live views have in common: turns, freezing, words to the user, the end of the session and the user's leaving. What
// there is to ask and to draw, and what other keys do, is the view's.

import { messageOf } from '../base/errors.ts'
import type { Dialog, Tell } from './dialog.ts'
import { clean } from './format.ts'
import type { FrameScene } from './frame-lines.ts'
import { KeepDialog } from './keep-dialog.ts'
import type { Binding, FramePage } from './keys.ts'
import type { LiveSource } from './live-source.ts'
import type { Line, Mouse, Screen } from './screen.ts'
import { isTooSmall } from './size.ts'

/** How long a word of ours stays. */
const NOTICE_MS = 4000

/** How the user left: by key, or by the signal that ended us. */
export type Leave = 'quit' | NodeJS.Signals

/** What any view asks of a session. */
export type FrameSource = Omit<LiveSource, 'snapshot'>

/** `Picture` is what a view shows of the session at one moment. */
export abstract class Frame<Picture, Source extends FrameSource = FrameSource> {
  readonly #left: Promise<Leave>
  #leave: (how: Leave) => void = () => {}
  #timer: NodeJS.Timeout | undefined
  #done = false
  /** As soon as a file has been written. */
  #isLeaving = false
  protected isPaused = false
  /** About to be paused: the picture to be frozen is on its way. */
  #freezing = false
  #ended: string | undefined
  #notice: { text: string; until: number } | undefined
  readonly #dialog: KeepDialog | undefined
  /** Of a file, which there is nothing new to ask of. */
  #isStill = false

  /** @param periodMs  from the begin of a turn to that of the next */
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

  /** @param stays  there may be none after it for a while: what can be chosen from it must be in it */
  protected abstract ask(stays: boolean): Promise<Picture>
  protected abstract take(picture: Picture): void
  protected abstract lines(scene: FrameScene): Line[]
  /** Keys that are not the same everywhere; not Ctrl-C. */
  protected abstract press(key: string): void
  protected abstract point(mouse: Mouse): void
  abstract toggle(page: FramePage): void

  /** Shows the session until the user leaves. */
  run(): Promise<Leave> {
    this.draw()
    const turn = async (): Promise<void> => {
      const begun = performance.now()
      await this.refresh()
      const spent = performance.now() - begun
      // A tree that takes long gets as much rest: keys, and the recorder on few cores, want their half.
      if (!this.#done) this.#timer = setTimeout(turn, Math.max(this.periodMs - spent, spent))
    }
    void turn()
    return this.#left
  }

  /** One turn: the newest picture, drawn. */
  async refresh(): Promise<void> {
    const wasStill = this.#isStill
    if (this.isMoving && !this.#freezing) await this.renew(this.#isFile)
    // What is still is drawn when a key or a word of ours changes it: its rows may be many.
    if (!wasStill || this.#isNoticeOver) this.draw()
  }

  get #isFile(): boolean {
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

  /** Of a view's own. */
  protected get ownDialog(): Dialog<unknown> | undefined {
    return undefined
  }

  get #openDialog(): Dialog<unknown> | undefined {
    return [this.#dialog, this.ownDialog].find((it) => it?.isOpen === true)
  }

  /** What was frozen, or about to be, means nothing any more: new pictures come. */
  protected thaw(): void {
    this.isPaused = false
    this.#freezing = false
  }

  /** Whether new pictures come. */
  protected get isMoving(): boolean {
    return !this.isPaused && !this.#isStill && this.#ended === undefined
  }

  protected async renew(stays = false): Promise<void> {
    const paused = this.isPaused
    let picture: Picture
    try {
      picture = await this.ask(stays)
    } catch (error) {
      // A session that is ending has no more of them; why it ends comes by `ended`.
      this.say(messageOf(error))
      return
    }
    // Meanwhile the view may have been frozen.
    if (this.isPaused === paused && !this.#done) this.take(picture)
    this.#isStill = this.#isFile
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

  /** A word to the user, for a few seconds, or until the next key. */
  protected say(text: string, untilKey = false): void {
    this.#notice = { text, until: untilKey ? Number.POSITIVE_INFINITY : performance.now() + NOTICE_MS }
  }

  protected readonly tell: Tell = (text, isFailure) => {
    this.say(text, isFailure)
    this.draw()
  }

  protected unsay(): void {
    this.#notice = undefined
  }

  /** What a key does by a table; one that does nothing is told so. */
  protected runBinding<Actions>(
    bindings: readonly Binding<Actions>[],
    actions: Actions,
    key: string,
    isTold = true,
  ): void {
    const binding = bindings.find(({ keys }) => keys.includes(key))
    if (binding?.isForSession === true && this.#isFile)
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

  // Actions of the key tables.

  /** What is being written is finished first, unless it is asked twice. */
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

  /** What is frozen is one picture more. */
  pause(): void {
    if (this.#freezing) this.#freezing = false
    else if (this.isPaused || this.#ended !== undefined) this.isPaused = !this.isPaused
    else void this.#freeze()
  }

  async #freeze(): Promise<void> {
    this.#freezing = true
    await this.renew(true)
    if (!this.#freezing) return // pressed twice
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

  /** Whether anything more will be recorded. */
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
