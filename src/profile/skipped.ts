// Describes methods without probes: the reasons, and examples.

import { addTo } from '../base/arrays.ts'
import { isOtherAgents, OTHER_AGENT, whyClassRefused } from '../base/refusal.ts'
import type { SkippedMethod } from './profile.ts'
import { classesText, plural } from './text.ts'

/** Maximum number of reasons, and of methods per reason. The JSON lists all methods. */
const REASONS = 4
const METHODS = 2

/** Maximum number of refused classes named. */
const CLASSES = 3

/** Returns one sentence about classes that should have probes but got none, for the profile's warnings. */
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
    `${classesText(reasons.size)} could not be instrumented: ${named.join(', ')}; calls of ${plural(methods, 'method')} are missing, and their time counts for their callers${advice}`,
  ]
}

/** Returns the class of `com.foo.Bar.run(I)V`. */
function classOf(method: string): string {
  const end = method.lastIndexOf('(')
  return method.slice(0, method.lastIndexOf('.', end === -1 ? undefined : end))
}

/** Returns one sentence with the reasons, most frequent first; an empty list if `refusedWarnings` covers all methods. */
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
  if (others > 0) told.push(`the rest for ${plural(others, 'other reason')}`)
  return [`${plural(skipped.length, 'method')} could not be instrumented: ${told.join('; ')}`]
}
