// Names of classes that were allocated, which the target tells letter by letter.

const toText = (unit: number | undefined): string => String.fromCharCode(unit ?? 0x3f)

export class ClassNames {
  /** UTF-16 units, by id. */
  readonly #names = new Map<number, number[]>()
  readonly #renamed = new Set<number>()

  get ids(): Iterable<number> {
    return this.#names.keys()
  }

  letter(id: number, at: number, unit: number): void {
    const name = this.#names.get(id) ?? []
    this.#names.set(id, name)
    this.#renamed.add(id)
    name[at] = unit
  }

  /** By id: those of which more is known than at the last call. */
  take(): (readonly [id: number, name: string])[] {
    const ids = [...this.#renamed]
    this.#renamed.clear()
    // A unit may not have come yet.
    return ids.map((id) => [id, Array.from(this.#names.get(id)!, toText).join('')])
  }
}
