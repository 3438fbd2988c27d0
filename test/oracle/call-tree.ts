// Calls per calling context, and the differences between two call trees.
//
// Trees are lists of rows with callers first, so trees of any depth with millions of contexts are processed without recursion and without a
// text per path.

import type { MethodName, Tree } from '../../src/cct/tree.ts'
import { column } from '../../src/profile/profile.ts'
import type { JsonNode } from '../support/jfluid.ts'

/** One calling context. */
export interface Row {
  /** Index of the caller's row, which precedes this row, or -1 for an outermost call. */
  readonly caller: number
  /** `class.name(descriptor)`. */
  readonly method: string
  readonly calls: number
}

/** A method in one context. */
export interface Context {
  calls: number
  readonly callees: Map<string, Context>
}

export interface Difference {
  /** Methods from the root downwards, joined by ` > `. */
  readonly path: string
  readonly expected: number
  readonly found: number
}

/**
 * Returns the tree of these rows. Rows of the same method in the same context are added.
 *
 * @param skip  selects methods that are left out; the calls of their callees are attributed to their callers
 * @param cut   selects calls that are left out with all calls below them; the caller is the nearest method that is not left out
 */
export function treeOf(
  rows: readonly Row[],
  skip: (method: string) => boolean = () => false,
  cut: (method: string, caller: string | undefined) => boolean = () => false,
): Context {
  const top: Context = { calls: 0, callees: new Map() }
  const places: (readonly [context: Context, method: string | undefined] | null)[] = []
  for (const { caller, method, calls } of rows) {
    const above = caller < 0 ? ([top, undefined] as const) : places[caller]
    if (above === null || cut(method, above[1])) {
      places.push(null)
      continue
    }
    if (skip(method)) {
      places.push(above)
      continue
    }
    const { callees } = above[0]
    let context = callees.get(method)
    if (context === undefined) {
      context = { calls: 0, callees: new Map() }
      callees.set(method, context)
    }
    context.calls += calls
    places.push([context, method])
  }
  return top
}

/** Returns the rows of an exported profile's tree. */
export function rowsOf(roots: readonly JsonNode[]): Row[] {
  const rows: Row[] = []
  const left = roots.map((node) => ({ node, caller: -1 }))
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const { node, caller } = next
    for (const child of node.children) left.push({ node: child, caller: rows.length })
    rows.push({ caller, method: `${node.class}.${node.method}${node.descriptor}`, calls: node.calls })
  }
  return rows
}

/** Returns the rows of a profile's tree, whose JSON may be longer than the maximum length of a string. */
export function rowsOfTree(names: readonly MethodName[], tree: Tree): Row[] {
  const calls = column(tree, 'calls')
  const methods = names.map((it) => `${it.class}.${it.method}${it.descriptor}`)
  return Array.from(tree.parent, (caller, i) => ({
    caller,
    method: methods[tree.method[i]!]!,
    calls: calls[i]!,
  }))
}

/** Returns the calls of each method, summed over all contexts. */
export function methodsOf(tree: Context): Map<string, number> {
  const methods = new Map<string, number>()
  const left = [tree]
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    for (const [method, context] of next.callees) {
      methods.set(method, (methods.get(method) ?? 0) + context.calls)
      left.push(context)
    }
  }
  return methods
}

/** Returns the number of contexts in the tree. */
export function sizeOf(tree: Context): number {
  let size = 0
  const left = [tree]
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    size += next.callees.size
    left.push(...next.callees.values())
  }
  return size
}

/**
 * Returns contexts with different numbers of calls, callers first. Contexts below a context that only one tree contains are not listed.
 *
 * @param limit  maximum number of differences
 */
export function differences(expected: Context, found: Context, limit = 20): Difference[] {
  const list: Difference[] = []
  const nothing: Context = { calls: 0, callees: new Map() }
  interface Pair {
    readonly path: readonly [string, unknown] | null
    readonly expected: Context
    readonly found: Context
  }
  const left: Pair[] = [{ path: null, expected, found }]
  for (let next = left.pop(); next !== undefined && list.length < limit; next = left.pop()) {
    if (next.expected.calls !== next.found.calls) {
      list.push({ path: pathOf(next.path), expected: next.expected.calls, found: next.found.calls })
      if (next.expected === nothing || next.found === nothing) continue
    }
    for (const method of new Set([...next.expected.callees.keys(), ...next.found.callees.keys()])) {
      left.push({
        path: [method, next.path],
        expected: next.expected.callees.get(method) ?? nothing,
        found: next.found.callees.get(method) ?? nothing,
      })
    }
  }
  return list
}

/** Returns the path from the linked list of names of a context. */
function pathOf(path: readonly [string, unknown] | null): string {
  const names: string[] = []
  for (let at = path; at !== null; at = at[1] as readonly [string, unknown] | null) names.push(at[0])
  return names.reverse().join(' > ')
}
