// Warnings about the accuracy of a profile.

import { append } from '../../base/arrays.ts'
import type { BareCalls } from '../../cct/bare-calls.ts'
import { gapsText } from '../gaps.ts'
import { allWarnings, type Profile } from '../profile.ts'
import { skippedWarnings } from '../skipped.ts'
import { plural } from '../text.ts'
import { timesText } from './facts.ts'

/** Returns all warnings, one sentence each. */
export function reportWarnings(profile: Profile): string[] {
  const warnings = [...allWarnings(profile)]
  const { bareCalls } = profile
  if (bareCalls !== undefined) append(warnings, bareWarnings(bareCalls))
  if (profile.truncated === true && profile.warnings.length === 0) {
    warnings.unshift('truncated: the session ended early')
  }
  const { skipped, gaps, healed } = profile.instrumentation
  append(warnings, skippedWarnings(skipped))
  if (gaps > 0) warnings.push(gapsText(profile))
  if (healed > 0)
    warnings.push(`${plural(healed, 'call')} without an exit event: closed when their caller returned`)
  return warnings
}

/**
 * Limits of chargedNs / bareNs: duration of root calls with probes (minus probe costs), divided by their duration without probes. A ratio
 * above OVERSTATED or below UNDERSTATED causes a warning.
 */
const OVERSTATED = 1.3

const UNDERSTATED = 1 / OVERSTATED

/** Returns at most one warning about the ratio chargedNs / bareNs. */
function bareWarnings({ chargedNs, bareNs, low, high }: BareCalls): string[] {
  const charged = timesText(chargedNs / bareNs)
  if (low > OVERSTATED)
    return [
      `times are too long: the reported time of root calls is ${charged} times their time without probes below the root, probably because of short methods that are called often (--scheme adaptive is more accurate)`,
    ]
  if (high < UNDERSTATED)
    return [
      `times are too short: the reported time of root calls is ${charged} times their time without probes below the root, probably because the correction for probes of short methods that are called often is too large (--scheme adaptive is more accurate)`,
    ]
  if (high - low <= OVERSTATED - UNDERSTATED) return []
  return [
    `times are uncertain: the reported time of root calls is ${timesText(low)} to ${timesText(high)} times their time without probes below the root, because the correction for probes of short methods that are called often is large (--scheme adaptive is more accurate)`,
  ]
}
