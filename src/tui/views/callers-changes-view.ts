// View of the callers of a method while a baseline is set: changes per root call, one row per caller.

import { callersOf, type Shape, type ShownChanges } from '../baseline.ts'
import { count } from '../format.ts'
import type { LiveModel } from '../model.ts'
import type { Path } from '../rows.ts'
import { ChangesView } from './changes-view.ts'

export class CallersChangesView extends ChangesView {
  readonly #chosen: () => number | undefined
  #of: number | undefined
  /** Shape with the callers of the current method. */
  #shape: Shape = callersOf(undefined)

  /** @param chosen  returns the method chosen in the callers view */
  constructor(model: LiveModel, chosen: () => number | undefined) {
    super(model, 'callers')
    this.#chosen = chosen
  }

  protected override rebuild(): void {
    const of = this.#chosen()
    if (of !== undefined && of !== this.#of) {
      this.#of = of
      this.#shape = callersOf(of)
      this.forget()
    }
    super.rebuild()
  }

  protected override get changes(): ShownChanges {
    return this.model.changes(this.#shape)
  }

  /** Path from the outermost caller to the method. */
  override get path(): Path {
    return super.path.toReversed()
  }

  protected override get title(): string {
    const { levels } = this.changes
    return levels === undefined ? super.title : `callers, ${count(levels)} levels, per root call`
  }

  override nothing(): string | undefined {
    const { changes } = this
    if (changes.rootCalls.after <= 0 || changes.tree.count > 0) return super.nothing()
    return this.#of === undefined
      ? 'No method is chosen: select a method in another view and press c.'
      : `${this.model.nameText(this.#of)} has not been called here.`
  }
}
