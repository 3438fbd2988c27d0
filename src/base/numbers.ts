// Assigns numbers to keys, from 0 on, in the order of first use.

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

  /** Returns the keys in the order of their numbers. */
  keys(): Iterable<K> {
    return this.#numbers.keys()
  }
}
