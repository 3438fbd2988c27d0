// Warnings about the accuracy of a profile.

import { append } from '../../base/arrays.ts'
import type { BareCalls } from '../../cct/bare-calls.ts'
import { gapsText } from '../gaps.ts'
import { allWarnings, type Profile } from '../profile.ts'
import { skippedWarnings } from '../skipped.ts'
import { plural } from '../text.ts'
import { timesText } from './facts.ts'

/** Returns sentences about the accuracy. */
export function reportWarnings(profile: Profile): string[] {
  const warnings = [...allWarnings(profile)]
  const { bareCalls } = profile
  if (bareCalls !== undefined) append(warnings, bareWarnings(bareCalls))
  if (profile.truncated === true && profile.warnings.length === 0) {
    warnings.unshift('truncated: the session ended before it was asked to')
  }
  const { skipped, gaps, healed } = profile.instrumentation
  append(warnings, skippedWarnings(skipped))
  if (gaps > 0) warnings.push(gapsText(profile))
  if (healed > 0) warnings.push(`${plural(healed, 'stack frame')} without an exit closed by force`)
  return warnings
}

/** Limits of charged/bare: a ratio above the first or below the second causes a warning. */
const OVERSTATED = 1.3

const UNDERSTATED = 1 / OVERSTATED

/** Returns at most one sentence. */
function bareWarnings({ chargedNs, bareNs, low, high }: BareCalls): string[] {
  const charged = timesText(chargedNs / bareNs)
  if (low > OVERSTATED)
    return [
      `times are overstated: root calls are charged ${charged} times what they take without probes below the root, probably because of methods that are short and called often (--scheme adaptive gives truer times)`,
    ]
  if (high < UNDERSTATED)
    return [
      `times are understated: root calls are charged ${charged} times what they take without probes below the root, probably because more is taken out for probes of methods that are short and called often than they cost (--scheme adaptive gives truer times)`,
    ]
  if (high - low <= OVERSTATED - UNDERSTATED) return []
  return [
    `times are uncertain: root calls are charged ${timesText(low)} to ${timesText(high)} times what they take without probes below the root, as much more is taken out for probes of methods that are short and called often (--scheme adaptive gives truer times)`,
  ]
}
