// Lists of any length.
//
// A call takes its arguments on the stack: from about 120,000 items on, `push(...items)` and `Math.max(...items)` throw a
// RangeError. What these lists hold grows with the target, so no list is spread into a call; `npm run lint` checks it
// (no-spread.grit).

/** Adds the items at the end of the list. */
export function append<T>(list: T[], items: Iterable<T>): void {
  for (const item of items) list.push(item)
}

/** Adds the item at the end of the list that the key has. */
export function addTo<K, T>(lists: Map<K, T[]>, key: K, item: T): void {
  const list = lists.get(key)
  if (list === undefined) lists.set(key, [item])
  else list.push(item)
}

/** @returns the greatest value, and `least` if none is greater */
export function maxOf(values: Iterable<number>, least = -Infinity): number {
  let most = least
  for (const value of values) most = Math.max(most, value)
  return most
}

/** @returns Infinity without values */
export function minOf(values: Iterable<number>): number {
  let least = Infinity
  for (const value of values) least = Math.min(least, value)
  return least
}
