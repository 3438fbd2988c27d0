// Names of allocated classes. The target sends them one letter at a time.

const toText = (unit: number | undefined): string => String.fromCharCode(unit ?? 0x3f)

export class ClassNames {
  /** UTF-16 units, keyed by class id. */
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

  /** Returns the classes whose names got more letters since the last call of this method: id and name of each class. */
  take(): (readonly [id: number, name: string])[] {
    const ids = [...this.#renamed]
    this.#renamed.clear()
    // A UTF-16 unit of a name may not have arrived yet.
    return ids.map((id) => [id, Array.from(this.#names.get(id)!, toText).join('')])
  }
}
