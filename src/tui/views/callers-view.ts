// View of the callers of a method. The children of a row are its callers. The numbers of a row are the costs of the chosen method in calls
// through this row.

import { type BackTraces, backTraces } from '../../cct/back-traces.ts'
import { costsOf } from '../../cct/metric.ts'
import type { Tree } from '../../cct/tree.ts'
import { count } from '../format.ts'
import type { Scene } from '../lines.ts'
import type { Path } from '../rows.ts'
import type { Line } from '../screen.ts'
import { columnHeads } from './columns.ts'
import { OutlineView } from './outline-view.ts'

export class CallersView extends OutlineView {
  #of: number | undefined
  /** Back traces, cached for the current tree and method. */
  #traces: (BackTraces & { readonly from: Tree; readonly of: number | undefined }) | undefined

  /** Shows the callers of this method. */
  choose(method: number): void {
    const of = this.model.tree.methodOf?.[method] ?? method
    if (of === this.#of) return
    this.#of = of
    this.beginAnew()
  }

  /** Chosen method; undefined if no method is chosen. */
  get of(): number | undefined {
    return this.#of
  }

  get #found(): BackTraces {
    const { tree: from } = this.model
    const of = this.#of
    if (this.#traces?.from !== from || this.#traces.of !== of) {
      this.#traces = { ...backTraces(from, of === undefined ? [] : [of]), from, of }
    }
    return this.#traces
  }

  protected override get source(): Tree {
    return this.#found.tree
  }

  /** Path from the outermost caller to the method. */
  override get path(): Path {
    return super.path.toReversed()
  }

  /** Returns the total cost of the chosen method, which is 100 % for all shares. */
  protected override wholeOf(tree: Tree, root: number): number {
    return costsOf(tree).total[root]!
  }

  override head(scene: Scene): Line {
    const { isCut, levels } = this.#found
    const which = isCut ? `with callers, ${count(levels)} levels` : 'with callers below'
    const names = this.model.isFolded ? 'package' : 'method'
    return columnHeads(scene, this.sort, '% total', { names: `${names}, ${which}`, hidden: this.hidden })
  }

  override nothing(): string | undefined {
    const { nameText } = this.model
    if (this.source.count > 0) return super.nothing()
    return this.#of === undefined
      ? 'No method is chosen: select a method in another view and press c.'
      : `${nameText(this.#of)} has not been called here.`
  }
}
