// Back traces with a baseline: what has changed of a method per call of the root, by who called it.

import { backTraces } from '../../cct/back-traces.ts'
import type { Shape, ShownChanges } from '../baseline.ts'
import type { Path } from '../rows.ts'
import { ChangesView, nothingChanged } from './changes-view.ts'
import type { Shared } from './view.ts'

export class CallersChangesView extends ChangesView {
  readonly #chosen: () => number | undefined
  #of: number | undefined
  /** Another one for each method. */
  #shape: Shape = (tree) => backTraces(tree, []).tree

  /** @param chosen  the method whose callers are looked at, with a baseline or without */
  constructor(shared: Shared, chosen: () => number | undefined) {
    super(shared, 'callers')
    this.#chosen = chosen
  }

  protected override rebuild(): void {
    const of = this.#chosen()
    if (of !== undefined && of !== this.#of) {
      this.#of = of
      this.#shape = (tree) => backTraces(tree, [of]).tree
      this.forget()
    }
    super.rebuild()
  }

  protected override get changes(): ShownChanges {
    return this.shared.changes(this.#shape)
  }

  /** The method is what is called last. */
  override get path(): Path {
    return super.path.toReversed()
  }

  override nothing(): string {
    const { changes } = this
    if (changes.rootCalls.after <= 0) return nothingChanged(changes)
    return this.#of === undefined
      ? 'Nothing is chosen: select one in another view and press c.'
      : `${this.shared.nameText(this.#of)} has not been called here.`
  }
}
