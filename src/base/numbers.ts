// Numbers from 0 on for what is met, in the order in which it is met.

export class Numbers<K> {
  readonly #numbers: Map<K, number>

  constructor(first: readonly K[] = []) {
    this.#numbers = new Map(first.map((key, number) => [key, number]))
  }

  get count(): number {
    return this.#numbers.size
  }

  of(key: K): number {
    const number = this.#numbers.get(key) ?? this.#numbers.size
    if (number === this.#numbers.size) this.#numbers.set(key, number)
    return number
  }

  /** What has a number, in their order. */
  keys(): Iterable<K> {
    return this.#numbers.keys()
  }
}
