// Files of versions that held a budget of schemes a and b (--max-overhead, decision 45): for a while some methods were only counted, or
// not even that. Rows have the calls that were timed, with their times; a warning tells the others.

import type { MethodName, Tree } from '../cct/tree.ts'
import { nameOf } from './profile.ts'
import { column, fields } from './shape.ts'
import { count, fullName, plural } from './text.ts'

/** By node: calls beyond those in `calls`, which were counted, or reckoned by those of their callers; and which its method was at the end. */
export const BUDGET_COLUMNS = ['countedCalls', 'extrapolatedCalls', 'folded'] as const

const NOT_TIMED = 'not timed, for --max-overhead of an earlier version'
/** Methods that are named. */
const NAMED = 10

/**
 * @param merged  the tree as the file has it
 * @param tree    the same, read
 * @returns one warning; none if all calls were timed
 * @throws Unsound
 */
export function budgetWarnings(
  merged: unknown,
  { count: nodes, method }: Tree,
  names: readonly MethodName[],
): string[] {
  const metrics = fields(fields(merged, 'merged').metrics, 'merged.metrics')
  const sumOf = (name: string): Map<number, number> => {
    const sums = new Map<number, number>()
    if (metrics[name] === undefined) return sums
    for (const [node, calls] of column(nodes)(metrics[name], `${name} of merged`).entries())
      if (calls > 0) sums.set(method[node]!, (sums.get(method[node]!) ?? 0) + calls)
    return sums
  }
  const [counted, reckoned] = [sumOf('countedCalls'), sumOf('extrapolatedCalls')]
  const untimed = [...new Set([...counted.keys(), ...reckoned.keys()])]
  if (untimed.length === 0) return []
  const calls = (id: number): number => (counted.get(id) ?? 0) + (reckoned.get(id) ?? 0)
  const named = untimed
    .sort((a, b) => calls(b) - calls(a))
    .slice(0, NAMED)
    .map((id) => {
      const known = counted.has(id) ? [`${count(counted.get(id)!)} counted`] : []
      const other = reckoned.has(id) ? [`about ${count(Math.round(reckoned.get(id)!))} not even that`] : []
      return `${fullName(nameOf(names, id))} (${[...known, ...other].join(', ')})`
    })
  const rest = untimed.length > NAMED ? ` and ${count(untimed.length - NAMED)} more` : ''
  return [
    `${NOT_TIMED}: calls of ${plural(untimed.length, 'method')}, which are not among those of their rows, and whose time is their callers': ${named.join(', ')}${rest}`,
  ]
}

/** Whether a warning is of that. */
export function tellsUntimed(warning: string): boolean {
  return warning.startsWith(NOT_TIMED)
}
