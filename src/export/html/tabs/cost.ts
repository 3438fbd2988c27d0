// What the session cost: facts about overhead, stalls and pauses, the instrumentation, and methods without probes.

import { addTo } from '../../../base/arrays.ts'
import { isSampledByJvm, type Profile, type SkippedMethod } from '../../../profile/profile.ts'
import { reportDetails, reportFacts } from '../../../profile/report/facts.ts'
import { clean, count, plural, span } from '../../../profile/text.ts'
import type { PageList, PageRow } from '../page-data.ts'

/** Maximum number of methods without probes that are listed per reason. */
const MAX_SKIPPED = 1000

/** @param heads  column heads, one per profile; '' for the only profile */
export function costLists(profiles: readonly Profile[], heads: readonly string[]): PageList[] {
  const row = (label: string, of: (it: Profile['instrumentation']) => string): PageRow => [
    ...([0, label, ''] as const),
    ...profiles.map(({ instrumentation }) => of(instrumentation)),
  ]
  const skipped = profiles.at(-1)?.instrumentation.skipped ?? []
  const instrumentation: PageList = {
    title: 'Instrumentation',
    notes: skipped.length === 0 ? ['Every method that was reached has probes.'] : [],
    columns: heads.map((it) => [it, '', 'text']),
    head: '',
    rows: [
      row('methods with probes', (it) => count(it.instrumentedMethods)),
      row('methods with probes that were called', (it) => count(it.calledMethods)),
      row('methods that were reached and have no probes', (it) => count(it.skipped.length)),
      row('redefinitions of classes', (it) => count(it.redefinitions)),
      row('classes redefined', (it) => count(it.redefinedClasses)),
      row('time for redefinitions', (it) => span(it.hotSwapMs)),
      row('longest pause', (it) => (it.longestPauseMs === undefined ? 'unknown' : span(it.longestPauseMs))),
      row('time for analysis', (it) => span(it.analysisMs)),
      row('gaps', (it) => count(it.gaps)),
      row('calls without an exit event', (it) => count(it.healed)),
    ],
  }
  return skipped.length === 0 ? [instrumentation] : [instrumentation, skippedList(skipped)]
}

function skippedList(skipped: readonly SkippedMethod[]): PageList {
  const byReason = new Map<string, string[]>()
  for (const { method, reason } of skipped) addTo(byReason, reason, method)
  return {
    title: `${plural(skipped.length, 'method')} without probes`,
    notes: ['The time of these methods counts for their callers.'],
    columns: [['methods', 'number of methods with this reason', 'count']],
    head: 'reason',
    rows: [...byReason]
      .sort(([, a], [, b]) => b.length - a.length)
      .flatMap(([reason, methods]): PageRow[] => [
        [0, clean(reason), '', methods.length],
        ...methods.slice(0, MAX_SKIPPED).map((it): PageRow => [1, clean(it), '', '']),
        ...(methods.length > MAX_SKIPPED
          ? [[1, `and ${plural(methods.length - MAX_SKIPPED, 'more method')}`, '', ''] as const]
          : []),
      ]),
  }
}

/** Labels of the report's facts that are about the cost of a session with probes. */
const COST_LABELS = new Set([
  ...['methods', 'overhead', 'samples', 'warm-up', 'pauses', 'stalls', 'suspended'],
  ...['probes', 'clock', 'memory'],
])

type Fact = readonly [label: string, text: string]

/** Divides the facts of a report into facts about the recorded program, and facts about the cost of the session. */
export function factsApart(profile: Profile): { readonly program: Fact[]; readonly cost: Fact[] } {
  const facts = [...reportFacts(profile), ...reportDetails(profile)]
  if (isSampledByJvm(profile)) return { program: facts, cost: [] }
  const isCost = ([label]: Fact): boolean => COST_LABELS.has(label)
  return { program: facts.filter((it) => !isCost(it)), cost: facts.filter(isCost) }
}
