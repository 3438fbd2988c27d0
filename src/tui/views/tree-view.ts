// View of the calling context tree: roots at the top, callees below their callers.

import { costsOf } from '../../cct/metric.ts'
import type { Tree } from '../../cct/tree.ts'
import { rootTotal } from '../../profile/profile.ts'
import type { Scene } from '../lines.ts'
import { nodeAt, pathOf } from '../rows.ts'
import type { Line } from '../screen.ts'
import { columnHeads } from './columns.ts'
import { OutlineView } from './outline-view.ts'

export class TreeView extends OutlineView {
  protected override get source(): Tree {
    return this.model.tree
  }

  override get node(): number {
    const { rowNode, source, tree } = this
    return tree === source || rowNode < 0 ? rowNode : nodeAt(source, pathOf(tree, rowNode))
  }

  protected override wholeOf(tree: Tree, root: number): number {
    return this.model.sharesAreOfAll ? rootTotal(this.source) : costsOf(tree).total[root]!
  }

  override head(scene: Scene): Line {
    const share = this.model.sharesAreOfAll ? '% all' : '% root'
    return columnHeads(scene, this.sort, share, { hidden: this.hidden })
  }
}
