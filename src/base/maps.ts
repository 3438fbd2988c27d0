// Helper for maps whose values are made on demand.

interface MapLike<K, V> {
  get(key: K): V | undefined
  set(key: K, value: V): unknown
}

/** Returns the value of the key. If the map has none, makes a value and adds it. */
export function getOrAdd<K, V>(map: MapLike<K, V>, key: K, make: () => V): V {
  const known = map.get(key)
  if (known !== undefined) return known
  const made = make()
  map.set(key, made)
  return made
}
