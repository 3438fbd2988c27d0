// View of hot methods: costs per method, summed over all its contexts, and sorted by self cost.

import { costsOf } from '../../cct/metric.ts'
import { type HotMethod, methodsOf } from '../../cct/snapshot.ts'
import { rootTotal } from '../../profile/profile.ts'
import { hasSampledRows, unseenMethods } from '../../profile/sampled-rows.ts'
import { percent } from '../format.ts'
import type { Scene } from '../lines.ts'
import { type HotRows, hotRows, type Sort, type SortColumn } from '../rows.ts'
import type { Line } from '../screen.ts'
import { matcher } from '../search.ts'
import { columnHeads, headAt, rowDrawer } from './columns.ts'
import { View } from './view.ts'

export class HotView extends View {
  /** Rows, created lazily. */
  #rows: HotRows | undefined
  override sort: Sort = { column: 'self', reversed: false }
  #selected: number | undefined

  get #hot(): HotRows {
    const { filter, nameText, tree } = this.model
    const least = filter.least === 0 ? Number.NEGATIVE_INFINITY : (filter.least / 100) * rootTotal(tree)
    this.#rows ??= hotRows(tree, this.sort, nameText, least)
    return this.#rows
  }

  override get count(): number {
    return this.#hot.methods.length
  }

  override get index(): number {
    return Math.max(
      0,
      this.#hot.methods.findIndex(({ method }) => method === this.#selected),
    )
  }

  override get hot(): HotMethod | undefined {
    return this.#hot.methods[this.index]
  }

  override get id(): number | undefined {
    return this.hot?.method
  }

  override get numbers() {
    return this.hot
  }

  protected override rebuild(): void {
    this.#rows = undefined
  }

  protected override select(index: number): void {
    this.#selected = this.#hot.methods[index]?.method
  }

  /** Shows the selected method in the tree: its context with the highest self cost. */
  override enter(): void {
    const wanted = this.id
    const { tree } = this.model
    const { self } = costsOf(tree)
    const method = methodsOf(tree)
    let best = -1
    for (let i = 0; i < tree.count; i++) {
      if (method[i] === wanted && (best < 0 || self[i]! > self[best]!)) best = i
    }
    this.model.revealInTree(best)
  }

  override find(direction: 1 | -1): number {
    const matches = matcher(this.model.search, this.model.nameText)
    const { methods } = this.#hot
    return this.findAround(direction, (at) => matches(methods[at]!.method))
  }

  override columnAt({ columns }: Scene, cell: number): SortColumn {
    return headAt(columns, cell)
  }

  override head(scene: Scene): Line {
    return columnHeads(scene, this.sort, '% self', { hidden: this.#hot.hidden })
  }

  override body(scene: Scene): Line[] {
    const { tree } = this.model
    const draw = rowDrawer(scene, undefined, {
      maySample: hasSampledRows(tree),
      unseen: unseenMethods(tree),
    })
    const whole = rootTotal(tree)
    return this.lines(this.inSight(this.#hot.methods), (hot, selected) => {
      const numbers = [hot.total, hot.self, hot.calls] as const
      return draw(numbers, percent(hot.self, whole), whole, hot.method, selected)
    })
  }
}
