// Controller of the live view of regions: reads region times from the session, and handles keys and mouse events.

import type { RegionTimes } from '../profile/profile.ts'
import { Frame, type FrameSource, type Leave } from './frame.ts'
import type { FrameScene } from './frame-lines.ts'
import { type FramePage, REGION_BINDINGS, type SessionPage } from './keys.ts'
import { Pages } from './pages.ts'
import { pageLines, type RegionScene, regionRoom, regionSceneLines } from './region-lines.ts'
import type { Line, Mouse, Screen } from './screen.ts'
import { ThreadPage } from './thread-page.ts'

/** Refresh interval of the region view: 4 Hz, since rates change slowly. */
const UPDATE_INTERVAL_MS = 250

export interface RegionSource extends FrameSource {
  regions(): Promise<RegionTimes[]>
  /** Overhead of the probes per execution of a region. */
  readonly overheadNs: number
}

/** Shows the regions of a session until the user quits, as `runLiveView` does for calls. */
export function runRegionView(source: RegionSource, screen: Screen): Promise<Leave> {
  return new RegionView(source, screen).run()
}

/** Exported for tests, which call `refresh` themselves. */
export class RegionView extends Frame<readonly RegionTimes[], RegionSource> {
  readonly #pages = new Pages<SessionPage>()
  readonly #dump = new ThreadPage(() => this.draw())
  #regions: readonly RegionTimes[] = []
  #selected = 0

  constructor(source: RegionSource, screen: Screen) {
    super(source, screen, UPDATE_INTERVAL_MS)
  }

  protected override ask(): Promise<RegionTimes[]> {
    return this.source.regions()
  }

  protected override take(regions: readonly RegionTimes[]): void {
    this.#regions = regions
  }

  protected override lines(scene: FrameScene): Line[] {
    return regionSceneLines(this.#sceneOf(scene))
  }

  #sceneOf(scene: FrameScene): RegionScene {
    return {
      ...scene,
      regions: this.#regions,
      selected: this.#selected,
      overheadNs: this.source.overheadNs,
      methodName: (id) => this.source.methodName(id),
      pages: this.#pages,
      dump: this.#dump,
    }
  }

  protected override press(key: string): void {
    if (this.#pages.press(key, this.#pageSize)) return
    this.runBinding(REGION_BINDINGS, this, key, this.#pages.shown === undefined)
  }

  protected override point({ kind }: Mouse): void {
    if (this.#pages.point(kind, this.#pageSize) || kind === 'click') return
    this.move(kind === 'wheel-up' ? -1 : 1)
  }

  get #pageSize(): [all: number, room: number] {
    const scene = this.#sceneOf(this.scene)
    const { shown } = this.#pages
    return [shown === undefined ? 0 : pageLines(scene, shown).length, regionRoom(scene)]
  }

  // Actions of the keys in REGION_BINDINGS that only this view has.

  override toggle(page: FramePage): void {
    this.#pages.toggle(page)
  }

  dumpThreads(): void {
    const why = this.#dump.open(this.source, this.goesOn)
    if (why === null) this.#pages.show('dump')
    else this.say(why)
  }

  escape(): void {
    this.unsay()
  }

  move(rows: number): void {
    this.#selected = Math.max(0, Math.min(this.#selected + rows, this.#regions.length - 1))
  }
}
