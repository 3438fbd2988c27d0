// What has changed between two profiles: the root calls, then the methods whose change exceeds the noise.

import type { MethodName } from '../../../cct/tree.ts'
import type { ChangedMethod, Changes } from '../../../profile/changes.ts'
import {
  changedText,
  leadTexts,
  MAX_ROWS,
  NOISE_UNKNOWN,
  shownMethods,
} from '../../../profile/changes-text.ts'
import { count, plural } from '../../../profile/text.ts'
import type { PageColumn, PageList, PageRow } from '../page-data.ts'

/** @param numberOf  returns the number of a name on the page */
export function changesLists(changes: Changes, numberOf: (name: MethodName) => number): PageList[] {
  return [...rootCallsList(changes), methodsList(changes, numberOf)]
}

function rootCallsList({ lead, metric, rootCalls }: Changes): PageList[] {
  if (lead.length === 0) return []
  const rows = lead.map((it): PageRow => {
    const [before, after, change, noise] = leadTexts(it, metric)
    return [0, it.key === 'rate' ? 'root calls per second' : it.key, noise, before, after, change]
  })
  return [
    {
      title: 'Root calls',
      notes: [`${plural(rootCalls.before, 'root call')} before, ${count(rootCalls.after)} after.`],
      columns: [
        ['before', 'of the earlier profile', 'text'],
        ['after', 'of the later profile', 'text'],
        ['change', 'change in percent of the earlier profile', 'text'],
      ],
      head: '',
      rows,
    },
  ]
}

function methodsList(changes: Changes, numberOf: (name: MethodName) => number): PageList {
  const { shown, significant, others } = shownMethods(changes, MAX_ROWS)
  const hasNoise = shown.some(({ noise }) => (noise.self ?? 0) > 0)
  const hidden = others + significant - shown.length
  const { heads, isSampled } = changes.metric
  const per = isSampled ? 'of all samples' : 'per root call'
  const title = changedText(changes, significant)
  const noise: PageColumn[] = hasNoise
    ? [['noise ±', 'largest difference that is expected by chance', 'cost']]
    : []
  return {
    title: title.charAt(0).toUpperCase() + title.slice(1),
    notes: [
      `The numbers are ${heads.by}, ${per}.`,
      ...(changes.knowsNoise ? [] : [`${NOISE_UNKNOWN.charAt(0).toUpperCase()}${NOISE_UNKNOWN.slice(1)}.`]),
      ...(hidden > 0 ? [`The tab Hot methods has ${plural(hidden, 'other change')}.`] : []),
    ],
    columns: [
      ['change', 'after minus before', 'change'],
      ['before', 'of the earlier profile', 'cost'],
      ['after', 'of the later profile', 'cost'],
      ...noise,
    ],
    head: 'method',
    rows: shown.map((it): PageRow => [...([0, numberOf(it.name), ''] as const), ...cells(it, hasNoise)]),
  }
}

function cells({ before, after, noise }: ChangedMethod, hasNoise: boolean): (number | string)[] {
  const [one, other] = [before?.self ?? 0, after?.self ?? 0]
  return [
    other - one,
    before === undefined ? 'new' : one,
    after === undefined ? 'gone' : other,
    ...(hasNoise ? [noise?.self ?? ''] : []),
  ]
}
