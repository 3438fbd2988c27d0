// Reasons that make two profiles hard to compare: different programs, roots or method selections, and missing calls.

import { append } from '../base/arrays.ts'
import { tellsWaits } from '../cct/waits.ts'
import { METRICS } from '../measures/columns.ts'
import { SECTIONS } from '../measures/sections.ts'
import { gapsText } from './gaps.ts'
import { column, type Profile, rootTotal } from './profile.ts'
import { percent, plural } from './text.ts'
import { tellsUntimed } from './untimed-calls.ts'

/** Returns the name of the quantity that a profile measures. */
export function measureText(profile: Profile): string {
  return SECTIONS[profile.mode].measure(profile)
}

/** Returns the method selection as a text to compare. Calls of methods outside the selection are not counted. */
export function choiceOf({ selection, followedTasks }: Profile): string {
  const { include = [], exclude = [], jdk = false } = selection ?? {}
  return JSON.stringify([[...include].sort(), [...exclude].sort(), jdk, followedTasks !== undefined])
}

/** A remark is added if a larger share of the cost was recorded before the JVM had recompiled code after the last redefinition. */
const MUCH_WARMUP = 0.2

/** Returns one sentence per reason that makes the profiles hard to compare. */
export function remarksOf(before: Profile, after: Profile): string[] {
  const remarks: string[] = []
  const differ = (what: string, of: (profile: Profile) => string): void => {
    const [one, other] = [of(before), of(after)]
    if (one !== other)
      remarks.push(`${what}: ${one === '' ? 'none' : one} before, ${other === '' ? 'none' : other} after`)
  }
  differ('different programs', ({ target }) => target.mainClass)
  differ('different roots', ({ roots }) => [...roots].sort().join(', '))
  differ('different JDKs', ({ target }) => target.jdk)
  differ('different JVMs', ({ target }) => target.vm)
  differ('different schemes', ({ scheme }) => scheme)
  differ('different measures', measureText)
  differ('different parts of the allocations recorded', ({ allocation }) =>
    allocation === undefined ? '' : `one of ${allocation.sampleEvery}`,
  )
  differ('only one profile has separate rows for waiting', ({ merged, mode }) =>
    !SECTIONS[mode].hasWaits && tellsWaits(merged) ? 'with --waits' : '',
  )
  differ('only one profile separates call sites; they are not compared', ({ callSites }) =>
    callSites ? 'with --call-sites' : '',
  )
  differ('different --by, so contexts and agreement are not comparable', ({ values }) => values?.by ?? '')
  differ('only one profile follows tasks into other threads', ({ followedTasks }) =>
    followedTasks === undefined ? '' : 'with --follow-threads',
  )
  if (
    (before.followedTasks !== undefined) === (after.followedTasks !== undefined) &&
    choiceOf(before) !== choiceOf(after)
  ) {
    remarks.push('the methods were selected differently: --include, --exclude or --jdk')
  }
  for (const [which, profile] of [
    ['before', before],
    ['after', after],
  ] as const) {
    const { truncated, instrumentation, openCalls = 0, merged, warnings } = profile
    append(
      remarks,
      warnings.filter(tellsUntimed).map((it) => `${which}: ${it}`),
    )
    if (truncated !== false) remarks.push(`${which}: the session ended early`)
    const { gaps } = instrumentation
    if (gaps > 0) remarks.push(`${which}: ${gapsText(profile, ', ')}`)
    if (openCalls > 0) remarks.push(`${which}: ${plural(openCalls, 'call')} had not ended`)
    const warmup = warmupPart(profile)
    if (warmup > MUCH_WARMUP) {
      remarks.push(
        `${which}: ${percent(warmup, 1)} % of the time was recorded before the JVM had recompiled code after the last redefinition`,
      )
    }
    let tops = 0
    for (let i = 0; i < merged.count; i += merged.size[i]!) tops++
    if (tops > 1 && !METRICS[profile.mode].isSampled) {
      remarks.push(`${which}: costs are averaged over ${plural(tops, 'root')}`)
    }
  }
  return remarks
}

function warmupPart({ merged, mode }: Profile): number {
  const all = rootTotal(merged)
  if (!METRICS[mode].isTime || SECTIONS[mode].hasWaits || all <= 0) return 0
  return column(merged, 'warmupSelfNs').reduce((sum, ns) => sum + ns, 0) / all
}
