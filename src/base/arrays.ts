// Helpers for lists of any length.
// JavaScript passes arguments on the stack: with about 120,000 items or more, `push(...items)` and `Math.max(...items)` throw a RangeError.
// A large target causes long lists, so no list is spread into a call. `npm run lint` checks this (no-spread.grit).

/** Appends the items to the list. */
export function append<T>(list: T[], items: Iterable<T>): void {
  for (const item of items) list.push(item)
}

/** Appends the item to the list of this key. Creates the list if it is missing. */
export function addTo<K, T>(lists: Map<K, T[]>, key: K, item: T): void {
  const list = lists.get(key)
  if (list === undefined) lists.set(key, [item])
  else list.push(item)
}

/** Returns the maximum of `least` and the values. */
export function maxOf(values: Iterable<number>, least = -Infinity): number {
  let most = least
  for (const value of values) most = Math.max(most, value)
  return most
}

/** Returns the minimum of the values; Infinity if there are no values. */
export function minOf(values: Iterable<number>): number {
  let least = Infinity
  for (const value of values) least = Math.min(least, value)
  return least
}
