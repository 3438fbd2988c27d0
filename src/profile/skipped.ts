// Methods that have no probes, in a sentence: why, and which.

import { addTo } from '../base/arrays.ts'
import { isOtherAgents, OTHER_AGENT, whyClassRefused } from '../base/refusal.ts'
import type { SkippedMethod } from './profile.ts'
import { classesText, plural } from './text.ts'

/** So many reasons, and so many methods of each. The rest is in the JSON. */
const REASONS = 4
const METHODS = 2

/** Classes that the text names. */
const CLASSES = 3

/** One sentence for classes that got no probes at all, though they were to have some: a profile's own warning. */
export function refusedWarnings(skipped: readonly SkippedMethod[]): string[] {
  const reasons = new Map<string, string>()
  let methods = 0
  for (const { method, reason } of skipped) {
    const why = whyClassRefused(reason)
    if (why === undefined) continue
    methods++
    reasons.set(classOf(method), why)
  }
  if (methods === 0) return []
  const named = [...reasons].slice(0, CLASSES).map(([name, why]) => `${name} (${why})`)
  if (reasons.size > CLASSES) named.push(`and ${reasons.size - CLASSES} more`)
  const advice = [...reasons.values()].some(isOtherAgents) ? `. ${OTHER_AGENT}` : ''
  return [
    `${classesText(reasons.size)} refused: ${named.join(', ')}; calls of ${plural(methods, 'method')} are missing, and their time is their callers'${advice}`,
  ]
}

/** Of `com.foo.Bar.run(I)V`. */
function classOf(method: string): string {
  const end = method.lastIndexOf('(')
  return method.slice(0, method.lastIndexOf('.', end === -1 ? undefined : end))
}

/** One sentence, the commonest reason first; none if there are no such methods but those of `refusedWarnings`. */
export function skippedWarnings(all: readonly SkippedMethod[]): string[] {
  const skipped = all.filter(({ reason }) => whyClassRefused(reason) === undefined)
  if (skipped.length === 0) return []
  const byReason = new Map<string, string[]>()
  for (const { method, reason } of skipped) addTo(byReason, reason, method)
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
