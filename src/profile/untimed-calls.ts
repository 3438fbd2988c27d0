// Reads files of earlier versions, which had an overhead budget in schemes a and b (--max-overhead, decision 45). These versions did not
// time all calls: some calls were only counted, some only estimated. Rows contain the timed calls; a warning reports the untimed calls.

import type { MethodName, Tree } from '../cct/tree.ts'
import { nameOf } from './profile.ts'
import { column, fields } from './shape.ts'
import { count, fullName, plural } from './text.ts'

/**
 * Columns per node: calls that were counted but not timed, calls that were extrapolated from the calls of the caller, and the final state
 * of the method. The column `calls` includes timed calls only.
 */
export const BUDGET_COLUMNS = ['countedCalls', 'extrapolatedCalls', 'folded'] as const

const NOT_TIMED = 'not timed because of --max-overhead of an earlier version'
/** Start of the same warning in profiles that an earlier build has saved. */
const FORMER_NOT_TIMED = 'not timed, for --max-overhead of an earlier version'
/** Maximum number of methods named in the warning. */
const NAMED = 10

/**
 * @param merged  tree as in the file
 * @param tree    the same tree after reading
 * @returns one warning about untimed calls; an empty list if all calls were timed
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
      const other = reckoned.has(id) ? [`about ${count(Math.round(reckoned.get(id)!))} not counted`] : []
      return `${fullName(nameOf(names, id))} (${[...known, ...other].join(', ')})`
    })
  const rest = untimed.length > NAMED ? ` and ${count(untimed.length - NAMED)} more` : ''
  return [
    `${NOT_TIMED}: calls of ${plural(untimed.length, 'method')}; their rows do not contain these calls, and the time counts for their callers: ${named.join(', ')}${rest}`,
  ]
}

/** Returns whether a warning is about untimed calls. */
export function tellsUntimed(warning: string): boolean {
  return warning.startsWith(NOT_TIMED) || warning.startsWith(FORMER_NOT_TIMED)
}
