// Methods that have no probes, in a sentence: why, and which.

import type { SkippedMethod } from './profile.ts'
import { plural } from './text.ts'

/** So many reasons, and so many methods of each. The rest is in the JSON. */
const REASONS = 4
const METHODS = 2

/** One sentence, the commonest reason first; none if there are no such methods. */
export function skippedWarnings(skipped: readonly SkippedMethod[]): string[] {
  if (skipped.length === 0) return []
  const byReason = new Map<string, string[]>()
  for (const { method, reason } of skipped) {
    const methods = byReason.get(reason)
    if (methods === undefined) byReason.set(reason, [method])
    else methods.push(method)
  }
  const commonest = [...byReason].sort(([, a], [, b]) => b.length - a.length)
  const told = commonest.slice(0, REASONS).map(([reason, methods]) => {
    const more = methods.length - METHODS
    const names = methods.slice(0, METHODS).join(', ')
    return `${methods.length} for "${reason}" (${names}${more > 0 ? `, and ${more} more` : ''})`
  })
  const others = commonest.length - REASONS
  if (others > 0) told.push(`the others for ${plural(others, 'other reason')}`)
  return [`${plural(skipped.length, 'method')} could not be instrumented: ${told.join('; ')}`]
}
