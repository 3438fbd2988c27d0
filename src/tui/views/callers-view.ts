// Back traces: a method, below it its callers, below them theirs; numbers are the method's, by who called it.

import { type BackTraces, backTraces } from '../../cct/back-traces.ts'
import { costsOf } from '../../cct/metric.ts'
import type { Tree } from '../../cct/tree.ts'
import { count } from '../format.ts'
import type { Scene } from '../lines.ts'
import type { Line } from '../screen.ts'
import { columnHeads } from './columns.ts'
import { OutlineView } from './outline-view.ts'

export class CallersView extends OutlineView {
  #of: number | undefined
  /** Made when they are looked at. */
  #traces: BackTraces | undefined

  /** Shows who calls this method. */
  choose(method: number): void {
    const of = this.shared.tree.methodOf?.[method] ?? method
    if (of === this.#of) return
    this.#of = of
    this.beginAnew()
  }

  get #found(): BackTraces {
    this.#traces ??= backTraces(this.shared.tree, this.#of === undefined ? [] : [this.#of])
    return this.#traces
  }

  protected override get tree(): Tree {
    return this.#found.tree
  }

  protected override rebuild(): void {
    this.#traces = undefined
    super.rebuild()
  }

  /** Of the whole method; times of recursion may be shares of nothing. */
  protected override wholeOf(_scene: Scene, root: number): number {
    return costsOf(this.tree).total[root]!
  }

  override head(scene: Scene): Line {
    const { isCut, levels } = this.#found
    const which = isCut ? `its callers, ${count(levels)} levels` : 'below it its callers'
    return columnHeads(scene, this.sort, '% of it', `method, ${which}`)
  }

  override nothing(): string {
    const { nameText } = this.shared
    return this.#of === undefined
      ? 'No method is chosen: select one in another view and press c.'
      : `${nameText(this.#of)} has not been called here.`
  }
}
