// Validates and reads values of unknown type from a file. A reader of a composite value is built from readers of its parts.

/** Error of a reader: a value in the file is invalid. The message does not name the file. */
export class Unsound extends Error {}

/** @param what  name of the value in errors @throws Unsound */
export type Read<T> = (value: unknown, what: string) => T

/** Reader of an optional member. */
export type Optional<T> = Read<T> & { readonly isOptional: true }

type Members = { readonly [key: string]: Read<unknown> }
type Result<R> = R extends Read<infer T> ? T : never
type Shape<M extends Members> = {
  readonly [K in keyof M as M[K] extends Optional<unknown> ? never : K]: Result<M[K]>
} & { readonly [K in keyof M as M[K] extends Optional<unknown> ? K : never]?: Result<M[K]> }

export function optional<T>(read: Read<T>): Optional<T> {
  return Object.assign((value: unknown, what: string) => read(value, what), { isOptional: true as const })
}

/** Reads a map. Ignores keys that are not in `members`. The result has the keys in the order of `members`. */
export function shape<const M extends Members>(members: M): Read<Shape<M>> {
  return (value, what) => {
    const given = fields(value, what)
    const found: { [key: string]: unknown } = {}
    for (const [key, read] of Object.entries(members)) {
      if (given[key] === undefined && 'isOptional' in read) continue
      found[key] = read(given[key], what === '' ? key : `${what}.${key}`)
    }
    return found as Shape<M>
  }
}

export const fields: Read<{ readonly [key: string]: unknown }> = (value, what) => {
  const prototype: unknown = typeof value === 'object' && value ? Object.getPrototypeOf(value) : undefined
  if (prototype !== Object.prototype) throw new Unsound(`${what === '' ? 'the body' : what} is not a map`)
  return value as { readonly [key: string]: unknown }
}

export function list<T>(read: Read<T>): Read<T[]> {
  return (value, what) => {
    if (!Array.isArray(value)) throw new Unsound(`${what} is not a list`)
    const one = `an entry of ${what}`
    return value.map((each) => read(each, one))
  }
}

/** Reads a list with a fixed number of elements. */
export function tuple<T, const N extends number>(
  read: Read<T>,
  length: N,
): Read<N extends 3 ? [T, T, T] : [T, T, T, T]> {
  const all = list(read)
  return (value, what) => {
    const found = all(value, what)
    if (found.length !== length) throw new Unsound(`${what} does not have ${length} parts`)
    return found as N extends 3 ? [T, T, T] : [T, T, T, T]
  }
}

/** Reads a map with the given keys. */
export function byKey<const K extends string, T>(
  keys: readonly K[],
  read: Read<T>,
): Read<Readonly<Record<K, T>>> {
  return shape(Object.fromEntries(keys.map((key) => [key, read]))) as Read<Readonly<Record<K, T>>>
}

/** Reads a value, or returns `absent` if the value is missing, as in files of earlier versions. */
export function orElse<T, U>(read: Read<T>, absent: U): Read<T | U> {
  return (value, what) => (value === undefined ? absent : read(value, what))
}

export function orNull<T>(read: Read<T>): Read<T | null> {
  return (value, what) => (value === null ? null : read(value, what))
}

export const string: Read<string> = (value, what) => {
  if (typeof value !== 'string') throw new Unsound(`${what} is not a string`)
  return value
}

export const boolean: Read<boolean> = (value, what) => {
  if (typeof value !== 'boolean') throw new Unsound(`${what} is neither true nor false`)
  return value
}

export const number: Read<number> = (value, what) => {
  if (typeof value !== 'number' || !Number.isFinite(value)) throw new Unsound(`${what} is not a number`)
  return value
}

/** Reads an integer of at least 0. */
export const count: Read<number> = (value, what) => {
  const found = number(value, what)
  if (!Number.isSafeInteger(found) || found < 0) throw new Unsound(`${what} is not a count`)
  return found
}

export const instant: Read<string> = (value, what) => {
  const text = string(value, what)
  if (Number.isNaN(Date.parse(text))) throw new Unsound(`${what} is not a time`)
  return text
}

export function oneOf<const T extends string>(known: readonly T[]): Read<T> {
  return (value, what) => {
    const found = known.find((each) => each === value)
    if (found === undefined) throw new Unsound(`${what} is none of ${known.join(', ')}`)
    return found
  }
}

/** Reads a method id below `methods`, the number of names including the unused name 0. */
export function methodId(methods: number): Read<number> {
  return (value, what) => {
    const id = count(value, what)
    if (id < 1 || id >= methods) throw new Unsound(`${what} is a method without a name`)
    return id
  }
}

/** Returns the first `count` elements as bytes for `bin`. The bytes are little-endian, like every machine that runs Node. */
export function bytesOf(values: Int32Array | Float64Array, count = values.length): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, count * values.BYTES_PER_ELEMENT)
}

/** Reads `length` finite f64 values from `bin`. */
export function column(length: number): Read<Float64Array> {
  return (value, what) => {
    const found = floats(length)(value, what)
    if (!found.every(Number.isFinite)) throw new Unsound(`${what} is not all numbers`)
    return found
  }
}

/** Reads `length` f64 values from `bin`, including NaN and infinity. */
export function floats(length: number): Read<Float64Array> {
  return (value, what) => new Float64Array(copied(value, length * Float64Array.BYTES_PER_ELEMENT, what))
}

/** Reads `length` i32 values from `bin`. */
export function integers(length: number): Read<Int32Array> {
  return (value, what) => new Int32Array(copied(value, length * Int32Array.BYTES_PER_ELEMENT, what))
}

/** Returns an aligned copy of the bytes, independent of the file's buffer. */
function copied(value: unknown, length: number, what: string): ArrayBuffer {
  if (!(value instanceof Uint8Array)) throw new Unsound(`${what} is missing`)
  if (value.byteLength !== length) throw new Unsound(`${what} has ${value.byteLength} bytes, not ${length}`)
  const copy = new ArrayBuffer(length)
  new Uint8Array(copy).set(value)
  return copy
}
