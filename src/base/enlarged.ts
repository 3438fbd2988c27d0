// Enlarges a typed array so that it contains an index.

/** Returns a larger copy, padded with zeros. Its length is a power of two. */
export function enlarged<T extends Int32Array | Uint8Array | Float64Array>(old: T, index: number): T {
  const size = 2 ** Math.ceil(Math.log2(index + 1))
  const array = new (old.constructor as new (length: number) => T)(size)
  array.set(old)
  return array
}
