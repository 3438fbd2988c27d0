// Counts StackOverflowErrors that propagated out of methods with probes. Probes use stack space, so the profiler may have caused the
// errors.

import { count, plural } from './text.ts'

/** Number of errors of a method. An error counts for the first method with probes that has enough stack space to report the error. */
export interface Overflow {
  readonly method: string
  readonly errors: number
}

/** Maximum number of methods named in the warning. The JSON lists all methods. */
const METHODS = 3

/** Returns one warning, or an empty list if there were no errors. */
export function overflowWarnings(overflows: readonly Overflow[]): string[] {
  if (overflows.length === 0) return []
  const errors = overflows.reduce((sum, it) => sum + it.errors, 0)
  const named = overflows.slice(0, METHODS).map((it) => `${it.method} ${count(it.errors)}`)
  const more = overflows.length - METHODS
  if (more > 0) named.push(`and ${plural(more, 'more method')}`)
  return [
    `${plural(errors, 'StackOverflowError')} ${errors === 1 ? 'was' : 'were'} thrown out of methods with probes: ${named.join(', ')}. Probes need stack space, and code that ` +
      'is interpreted after a redefinition needs more: without jfluid there may be fewer errors. Use a larger -Xss',
  ]
}

/** Merges the errors of several JVMs, most errors first. */
export function overflowsTogether(all: readonly Overflow[]): Overflow[] {
  const byMethod = new Map<string, number>()
  for (const { method, errors } of all) byMethod.set(method, (byMethod.get(method) ?? 0) + errors)
  return [...byMethod].map(([method, errors]) => ({ method, errors })).sort((a, b) => b.errors - a.errors)
}
