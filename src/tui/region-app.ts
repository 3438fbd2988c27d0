// The live view of regions: asks the session, takes keys, and draws, until the user leaves.

import type { RegionTimes } from '../profile/profile.ts'
import type { Leave } from './app.ts'
import { clean } from './format.ts'
import type { LiveSource } from './live-source.ts'
import { type RegionPage, regionSceneLines } from './region-lines.ts'
import type { Screen } from './screen.ts'

/** 4 Hz: rates move slowly. */
const PERIOD_MS = 250
const NOTICE_MS = 4000

export interface RegionSource extends Omit<LiveSource, 'snapshot'> {
  regions(): Promise<RegionTimes[]>
  /** What an execution costs the target. */
  readonly overheadNs: number
}

/** Shows a session until the user leaves, as `runLiveView` does. */
export function runRegionView(source: RegionSource, screen: Screen): Promise<Leave> {
  return new RegionView(source, screen).run()
}

/** Exported for tests, which call `refresh` when they want. */
export class RegionView {
  readonly #source: RegionSource
  readonly #screen: Screen
  readonly #left: Promise<Leave>
  #leave: (how: Leave) => void = () => {}
  #timer: NodeJS.Timeout | undefined
  #regions: readonly RegionTimes[] = []
  #selected = 0
  #page: RegionPage | undefined
  #paused = false
  #done = false
  #ended: string | undefined
  #notice: { text: string; until: number } | undefined

  constructor(source: RegionSource, screen: Screen) {
    this.#source = source
    this.#screen = screen
    this.#left = new Promise((resolve) => {
      this.#leave = resolve
    })
    screen.onKey(({ name }) => this.#onKey(name))
    screen.onMouse(({ kind }) => {
      if (kind === 'click') return
      this.#move(kind === 'wheel-up' ? -1 : 1)
      this.draw()
    })
    screen.onResize(() => this.draw())
    screen.onSignal((signal) => this.#end(signal))
    source.ended.then(
      (reason) => this.#onEnded(reason),
      (error: unknown) => this.#onEnded(String(error)),
    )
  }

  run(): Promise<Leave> {
    this.draw()
    const turn = async (): Promise<void> => {
      await this.refresh()
      if (!this.#done) this.#timer = setTimeout(turn, PERIOD_MS)
    }
    void turn()
    return this.#left
  }

  async refresh(): Promise<void> {
    if (!this.#paused && this.#ended === undefined) await this.#take()
    this.draw()
  }

  async #take(): Promise<void> {
    try {
      const regions = await this.#source.regions()
      if (!this.#paused) this.#regions = regions
    } catch (error) {
      this.#say(error instanceof Error ? error.message : String(error))
    }
  }

  draw(): void {
    if (this.#done) return
    if (this.#notice !== undefined && performance.now() > this.#notice.until) this.#notice = undefined
    const { columns, rows, unicode } = this.#screen
    const lines = regionSceneLines({
      ...{ columns, rows, unicode, regions: this.#regions, selected: this.#selected },
      status: this.#source.status(),
      overheadNs: this.#source.overheadNs,
      methodName: (id) => this.#source.methodName(id),
      ...{ paused: this.#paused, page: this.#page, ended: this.#ended, notice: this.#notice?.text },
    })
    this.#screen.draw(lines)
  }

  async #onEnded(reason: string): Promise<void> {
    if (this.#done) return
    if (!this.#paused) await this.#take()
    this.#notice = undefined
    this.#ended = reason
    this.draw()
  }

  #end(how: Leave): void {
    if (this.#done) return
    this.#done = true
    clearTimeout(this.#timer)
    this.#leave(how)
  }

  #say(text: string): void {
    this.#notice = { text, until: performance.now() + NOTICE_MS }
  }

  #move(rows: number): void {
    this.#selected = Math.max(0, Math.min(this.#selected + rows, this.#regions.length - 1))
  }

  #onKey(name: string): void {
    if (this.#done) return
    switch (name) {
      case 'q':
        if (this.#page === undefined) this.#end('quit')
        this.#page = undefined
        break
      case 'C-c':
        this.#end('quit')
        break
      case 'C-z':
        this.#screen.suspend()
        break
      case '?':
      case 'f1':
        this.#page = this.#page === 'help' ? undefined : 'help'
        break
      case 'w':
        this.#page = this.#page === 'warnings' ? undefined : 'warnings'
        break
      case 'escape':
        this.#page = undefined
        this.#notice = undefined
        break
      case 'p':
        if (this.#ended === undefined) this.#paused = !this.#paused
        break
      case 'z':
      case 'R':
        this.#source.reset()
        this.#say('counts and times begin at zero')
        break
      case 'up':
      case 'k':
        this.#move(-1)
        break
      case 'down':
      case 'j':
        this.#move(1)
        break
      default:
        if ([...name].length === 1) this.#say(`${clean(name)} does nothing; ? shows the keys`)
    }
    this.draw()
  }
}
