// Validates values from the wire. The rest of the client uses types, so each value is checked here, once. A number that becomes the size of
// a table is bounded by the maximum of the target.

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

/** Reads a count, or a nonnegative number that identifies something. */
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

/** Reads a value that may be nil. */
export function orNull<T>(read: (v: unknown) => T): (v: unknown) => T | null {
  return (v) => (v === null ? null : read(v))
}

/** Reads a number; a negative number means unknown. */
export function known(v: unknown): number | null {
  const found = number(v)
  return found < 0 ? null : found
}

/** Reads a list of any length. */
export function listOf<T>(read: (v: unknown) => T): (v: unknown) => T[] {
  return (v) => list(v).map(read)
}

type Members = { readonly [name: string]: (v: unknown) => unknown }

/** Reads a list with named entries, in this order. */
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
