// Values of root calls in a profile (--show, --by): facts about them, and their removal. Values come from the program and may be personal
// data.

import { metricOf } from '../cct/metric.ts'
import type { SlowCallTimes, SlowTimes } from '../cct/slow-times.ts'
import type { MethodName, Tree } from '../cct/tree.ts'
import type { Profile } from './profile.ts'
import { count, list, number, optional, shape, string } from './shape.ts'
import { clean, isValueName, plural, shortSpan, count as thousands, timeText } from './text.ts'

/** Paths of the recorded values, and the cost of reading them. */
export interface ValueFacts {
  /** Paths of --show. The index is the place of the value in a slow call. */
  readonly show: readonly string[]
  /** Path of --by. */
  readonly by?: string
  /** Calls of methods of the program that run code; absent without --call-getters. */
  readonly getters?: {
    readonly calls: number
    readonly ns: number
    readonly longestNs: number
    /** Number of calls over 1 ms, which stalled the application. */
    readonly late: number
    readonly threw: number
  }
  /** Number of slow calls whose values were not written, since there were too many in a second or the buffer was full. */
  readonly dropped: number
  /** Values were removed from this profile. */
  readonly redacted?: true
}

export const readValues = shape({
  show: list(string),
  by: optional(string),
  getters: optional(shape({ calls: count, ns: number, longestNs: number, late: count, threw: count })),
  dropped: count,
})

/** Texts of the rows of --by that contain no value of the program. */
export const NO_VALUE = {
  other: '(other)',
  notRead: '(not read yet)',
  none: '(none)',
  notReadable: '(not readable)',
  needsCall: '(needs --call-getters)',
  switchedOff: '(switched off)',
  tooManyClasses: '(too many classes)',
} as const

const BY = 'by='
const WITHOUT_VALUE: ReadonlySet<string> = new Set(Object.values(NO_VALUE).map(valueRow))

/** Returns the method name of the row for a value. */
export function valueRow(text: string): string {
  return BY + text
}

/** Returns the text about recorded values. */
export function valuesText({ merged, methodNames }: Profile, values: ValueFacts): string {
  const { show, by, getters, dropped, redacted } = values
  const parts: string[] = []
  if (by !== undefined) {
    let [found, other] = [new Set<string>(), 0]
    for (let node = 0; node < merged.count; node++) {
      const name = methodNames[merged.method[node]!]
      if (name === undefined || !isValueName(name)) continue
      if (name.method === valueRow(NO_VALUE.other)) other += merged.metrics.calls?.[node] ?? 0
      else if (!WITHOUT_VALUE.has(name.method)) found.add(name.method)
    }
    const all = `by ${clean(by)}: ${plural(found.size, 'value')}`
    parts.push(other === 0 ? all : `${all}, ${plural(other, 'call')} with other values`)
  }
  if (show.length > 0) parts.push(`of slow calls: ${show.map(clean).join(', ')}`)
  if (dropped > 0) parts.push(`not kept of ${plural(dropped, 'slow call')}`)
  if (getters !== undefined && getters.calls > 0) {
    const late =
      getters.late === 0 ? '' : `, ${plural(getters.late, 'call')} over 1 ms stalled the application`
    const threw = getters.threw === 0 ? '' : `, ${thousands(getters.threw)} threw`
    parts.push(
      `${plural(getters.calls, 'getter call')}, ${timeText(getters.ns / getters.calls)} each, longest ${shortSpan(getters.longestNs)}${late}${threw}`,
    )
  }
  if (redacted) parts.push('values removed')
  return parts.join('; ')
}

export interface ValueCost {
  /** Method ids of the root and of the row of the value. */
  readonly root: number
  readonly row: number
  readonly calls: number
  readonly total: number
}

/** Returns the calls and the total cost of each value of each root, highest cost first. */
export function valueCosts(tree: Tree, nameOfMethod: (id: number) => MethodName): ValueCost[] {
  const total = tree.metrics[metricOf(tree).total]!
  const all = new Map<string, ValueCost>()
  for (let node = 0; node < tree.count; node++) {
    const above = tree.parent[node]!
    const row = tree.method[node]!
    if (above < 0 || !isValueName(nameOfMethod(row))) continue
    const root = tree.method[above]!
    const key = `${root} ${row}`
    const known = all.get(key) ?? { root, row, calls: 0, total: 0 }
    const calls = known.calls + (tree.metrics.calls?.[node] ?? 0)
    all.set(key, { ...known, calls, total: known.total + total[node]! })
  }
  return [...all.values()].sort((a, b) => b.total - a.total)
}

/** Returns the paths of the values: `by arg1.uri, arg0.tenant.id`. */
export function valuePaths({ show, by }: ValueFacts): string {
  return [...(by === undefined ? [] : [`by ${by}`]), ...show].map(clean).join(', ')
}

/** Returns the text for a user whose profile is about to be sent; null if the profile contains no values. */
export function pushedValues({ values }: Profile): string | null {
  if (values === undefined || values.redacted === true) return null
  return `the profile contains values of the program: ${valuePaths(values)}`
}

/** Values that keep their number. A recording that is repeated for months meets new values for months. */
const MOST_NUMBERED_VALUES = 65_536

/** Numbers that replace the values of the program. Profiles redacted with the same numbers are comparable. */
export class ValueNumbers {
  readonly #numbers = new Map<string, number>()
  #last = 0

  /** Returns the number of the value. No other value ever gets it; the value gets a new one if too many came later. */
  of(value: string): number {
    const number = this.#numbers.get(value) ?? ++this.#last
    this.#numbers.delete(value)
    this.#numbers.set(value, number)
    if (this.#numbers.size > MOST_NUMBERED_VALUES) this.#numbers.delete(this.#numbers.keys().next().value!)
    return number
  }
}

/**
 * Returns the profile without the recorded values: rows of --by get numbers, and slow calls lose their values and trace ids. A trace id of
 * an MDC is a text that the application sets. Several profiles that use the same numbers stay comparable.
 */
export function redacted(profile: Profile, numbers = new ValueNumbers()): Profile {
  const { values, methodNames, slowCalls } = profile
  const bare = slowCalls && withoutValues(slowCalls)
  if (values === undefined) return bare === undefined ? profile : { ...profile, slowCalls: bare }
  const names = methodNames.map((name) => {
    if (!isValueName(name) || WITHOUT_VALUE.has(name.method)) return name
    return { ...name, method: valueRow(`#${numbers.of(name.method)}`) }
  })
  return {
    ...profile,
    methodNames: names,
    ...(bare !== undefined && { slowCalls: bare }),
    values: { ...values, redacted: true },
  }
}

function withoutValues(slow: SlowTimes): SlowTimes {
  const bare = ({ values: _, traceId: __, ...call }: SlowCallTimes): SlowCallTimes => call
  const { slowest, latest, threw } = slow
  return {
    ...slow,
    slowest: slowest.map(bare),
    latest: latest && bare(latest),
    ...(threw !== undefined && { threw: { ...threw, latest: threw.latest.map(bare) } }),
  }
}
