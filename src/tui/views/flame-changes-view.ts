// Flame graph while a baseline is set. Box widths are costs per root call since the baseline, and colours show the change of self cost.
// Contexts without calls since the baseline have no box.

import { metricOf } from '../../cct/metric.ts'
import type { Tree } from '../../cct/tree.ts'
import { column } from '../../profile/profile.ts'
import { CHANGE_COLUMNS, type ShownChanges } from '../baseline.ts'
import { cut, pad, shortName, width } from '../format.ts'
import { glyphsOf, run } from '../frame-lines.ts'
import type { Scene } from '../lines.ts'
import type { Line, Style } from '../screen.ts'
import { changeStyle, changeText, nothingChanged, shortChangeText } from './changes-view.ts'
import { FLAMES, FlameView } from './flame-view.ts'

export class FlameChangesView extends FlameView {
  #made: { readonly of: Tree; readonly tree: Tree } | undefined

  get #changes(): ShownChanges {
    return this.model.changes()
  }

  protected override get tree(): Tree {
    const { tree: of } = this.#changes
    if (this.#made?.of !== of) this.#made = { of, tree: afterwards(of) }
    return this.#made.tree
  }

  /** Number of boxes; 0 if the root has not been called since the baseline. */
  override get count(): number {
    return this.#changes.rootCalls.after > 0 ? super.count : 0
  }

  override nothing(): string {
    return this.#changes.rootCalls.after > 0
      ? 'No cost has been recorded since the baseline.'
      : nothingChanged(this.#changes)
  }

  /** Returns -1, since the nodes of this view are not nodes of the shared tree. */
  override get node(): number {
    return -1
  }

  override get numbers() {
    return undefined
  }

  protected override title(): string {
    return 'flame graph per root call: + (orange) more than baseline, - (blue) less'
  }

  override head(scene: Scene): Line {
    if (this.isZoomed) return super.head(scene)
    return [run(pad(` ${cut(this.title(), scene.columns - 1)}`, scene.columns), 'header')]
  }

  protected override colour(node: number): Style {
    const style = this.#styleOf(node)
    return style === 'good' ? 'flame-less' : (FLAMES[style] ?? 'flame')
  }

  protected override sign(node: number): string {
    const style = this.#styleOf(node)
    return style === 'plain' ? '' : style === 'good' ? '-' : '+'
  }

  #styleOf(node: number): Style {
    const { tree, wholeBefore } = this.#changes
    return changeStyle(column(tree, CHANGE_COLUMNS.self)[node]!, wholeBefore)
  }

  override detail(scene: Scene): string | undefined {
    const { boxNode: node } = this
    if (node < 0) return undefined
    const { tree } = this.#changes
    const text = `  ${shortChangeText(scene, tree, node)}`
    const room = Math.max(16, scene.columns - width(text) - 2)
    return shortName(scene.nameOf(tree.method[node]!), room, glyphsOf(scene).ellipsis) + text
  }

  override rowText(scene: Scene): string | undefined {
    const { boxNode: node } = this
    if (node < 0) return undefined
    const { tree } = this.#changes
    return `${shortName(scene.nameOf(tree.method[node]!), 200)}  ${changeText(scene, tree, node)}`
  }
}

/** Returns the tree with current costs per root call in place of changes. */
function afterwards(changes: Tree): Tree {
  const { count, parent } = changes
  const metric = metricOf(changes)
  const was = column(changes, CHANGE_COLUMNS.was)
  const total = column(changes, CHANGE_COLUMNS.total).map((change, node) => was[node]! + change)
  const self = total.slice()
  for (let node = 0; node < count; node++) {
    const above = parent[node]!
    if (above >= 0) self[above]! -= total[node]!
  }
  return { ...changes, metrics: { ...changes.metrics, [metric.self]: self, [metric.total]: total } }
}
