// Validates values that the agent sent. The rest of the client relies on their types, so each value is checked here, once. A number that
// becomes the size of a table must not exceed the maximum in the target.

import { AgentNotUnderstood } from './link.ts'

/** Limits from events/event-layout.ts. */
export const MAX_METHODS = 2 ** 22
export const MAX_THREADS = 2 ** 24

function unexpected(wanted: string, got: unknown): AgentNotUnderstood {
  const what = typeof got === 'number' ? `${got}` : got === null ? 'nothing' : `a ${typeof got}`
  return new AgentNotUnderstood(`${what} where ${wanted} was expected`)
}

export function list(v: unknown): readonly unknown[] {
  if (Array.isArray(v)) return v
  throw unexpected('a list', v)
}

export function number(v: unknown): number {
  if (typeof v === 'number' && Number.isFinite(v)) return v
  throw unexpected('a number', v)
}

export function integer(v: unknown): number {
  if (Number.isSafeInteger(v)) return v as number
  throw unexpected('an integer', v)
}

/** Reads a nonnegative integer: a count or an id. */
export function count(v: unknown): number {
  if (Number.isSafeInteger(v) && (v as number) >= 0) return v as number
  throw unexpected('a count', v)
}

export function threadNumber(v: unknown): number {
  if (count(v) < MAX_THREADS) return v as number
  throw unexpected('the number of a thread', v)
}

export function methodId(v: unknown): number {
  if (count(v) < MAX_METHODS) return v as number
  throw unexpected('the number of a method', v)
}

export function string(v: unknown): string {
  if (typeof v === 'string') return v
  throw unexpected('a text', v)
}

export function bytes(v: unknown): Uint8Array {
  if (v instanceof Uint8Array) return v
  throw unexpected('bytes', v)
}

export const flag = (v: unknown): boolean => v === true

/** Returns a reader for a value that may be nil; nil becomes null. */
export function orNull<T>(read: (v: unknown) => T): (v: unknown) => T | null {
  return (v) => (v === null ? null : read(v))
}

/** Reads a number; a negative number means unknown and becomes null. */
export function known(v: unknown): number | null {
  const found = number(v)
  return found < 0 ? null : found
}

/** Returns a reader for a list of any length. */
export function listOf<T>(read: (v: unknown) => T): (v: unknown) => T[] {
  return (v) => list(v).map(read)
}

type Members = { readonly [name: string]: (v: unknown) => unknown }

/** Returns a reader that converts a list to an object. The list has the values of the members, in the order of `members`. */
export function row<const M extends Members>(
  members: M,
): (v: unknown) => { readonly [K in keyof M]: ReturnType<M[K]> } {
  const entries = Object.entries(members)
  return (v) => {
    const values = list(v)
    const found: { [name: string]: unknown } = {}
    for (const [i, [name, read]] of entries.entries()) found[name] = read(values[i])
    return found as { readonly [K in keyof M]: ReturnType<M[K]> }
  }
}
