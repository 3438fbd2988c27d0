// The calling context tree, top down.

import { costsOf } from '../../cct/metric.ts'
import type { Tree } from '../../cct/tree.ts'
import { rootTotal } from '../../profile/profile.ts'
import { isWholeJvm, type Scene } from '../lines.ts'
import type { Line } from '../screen.ts'
import { columnHeads } from './columns.ts'
import { OutlineView } from './outline-view.ts'

export class TreeView extends OutlineView {
  protected override get tree(): Tree {
    return this.shared.tree
  }

  override get node(): number {
    return this.rowNode
  }

  protected override wholeOf({ status }: Scene, root: number): number {
    return isWholeJvm(status) ? rootTotal(this.tree) : costsOf(this.tree).total[root]!
  }

  override head(scene: Scene): Line {
    return columnHeads(scene, this.sort, isWholeJvm(scene.status) ? '% all' : '% root')
  }
}
