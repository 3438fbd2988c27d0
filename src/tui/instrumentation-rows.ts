// Rows of the instrumentation view, in groups that open and close. The rows of a closed group are not created.

import { addTo } from '../base/arrays.ts'
import type { MethodName, Tree } from '../cct/tree.ts'
import type { InstrumentationFacts, SwapRow } from '../profile/code-facts.ts'
import { column } from '../profile/profile.ts'
import { clean, count, ms, signature, span } from './format.ts'
import { order, type Sort } from './rows.ts'
import type { KeyedRow } from './views/keyed-view.ts'

export interface InstrumentationRow extends KeyedRow {
  /** Number of members of a group, calls of a method, or milliseconds of a redefinition. */
  readonly number: string
  /** Time of a redefinition or of the first call of a method, since the start of the recording. Empty for other rows. */
  readonly when: string
  readonly text: string
  /** Method id, if the row is a method with an id. */
  readonly method?: number
}

/** Maximum number of characters shown of a reason. Longer texts end with internal details. */
const MAX_REASON_LENGTH = 200

/**
 * @param merged  tree of all threads
 * @param isOpen  whether the group with this key is open
 */
export function instrumentationRows(
  facts: InstrumentationFacts,
  merged: Tree,
  order: Sort,
  isOpen: (key: string) => boolean,
): InstrumentationRow[] {
  return [
    ...swapGroup(facts, isOpen),
    ...methodGroups(facts, merged, order, isOpen),
    ...skippedGroups(facts, isOpen),
  ]
}

function swapGroup(
  { swaps, swapsBefore }: InstrumentationFacts,
  isOpen: (key: string) => boolean,
): InstrumentationRow[] {
  const open = isOpen('swaps')
  const pauses = swaps.map((it) => it.pauseMs ?? 0)
  const longest = pauses.reduce((most, it) => Math.max(most, it), 0)
  const total = swaps.reduce((sum, it) => sum + it.ms, 0)
  const which = swapsBefore === 0 ? '' : `, the latest ${count(swaps.length)} below`
  const text = `redefinitions${which}: ${ms(total * 1e6)} ms, longest stop ${ms(longest * 1e6)} ms`
  const head = {
    key: 'swaps',
    depth: 0,
    number: count(swaps.length + swapsBefore),
    ...{ when: '', text, open },
  } as const
  if (!open) return [head]
  return [head, ...swaps.map((it, i) => swapRow(it, swapsBefore + i)).reverse()]
}

function swapRow({ atMs, classes, methods, ms: took, pauseMs }: SwapRow, nth: number): InstrumentationRow {
  const bodies = methods === 0 ? '' : `, ${plural(methods, 'method')}`
  const stop = pauseMs === null ? '' : `, stop ${ms(pauseMs * 1e6)} ms`
  const text = `${plural(classes, 'class', 'classes')}${bodies}${stop}`
  return { key: `swap ${nth}`, depth: 1, number: `${ms(took * 1e6)} ms`, when: whenText(atMs), text }
}

function whenText(atMs: number | undefined): string {
  return atMs === undefined ? '' : atMs < 0 ? 'before' : span(atMs)
}

function methodGroups(
  facts: InstrumentationFacts,
  merged: Tree,
  order: Sort,
  isOpen: (key: string) => boolean,
): InstrumentationRow[] {
  const { firstMethod, methods } = facts
  const calls = new Float64Array(methods)
  const times = column(merged, 'calls')
  for (let node = 0; node < merged.count; node++) {
    const at = facts.methodOf(merged.method[node]!) - firstMethod
    if (at >= 0 && at < methods) calls[at]! += times[node]!
  }
  const groups = {
    called: [] as number[],
    idle: [] as number[],
    'left out': [] as number[],
    refused: [] as number[],
  }
  for (let i = 0; i < methods; i++) {
    const state = facts.stateOf(firstMethod + i)
    if (state !== 'probes') groups[state].push(i)
    else groups[calls[i]! > 0 ? 'called' : 'idle'].push(i)
  }
  const rows: InstrumentationRow[] = []
  const add = (key: keyof typeof groups, text: string): void => {
    const members = groups[key]
    if (members.length === 0 && (key === 'left out' || key === 'refused')) return
    const open = isOpen(key)
    rows.push({ key, depth: 0, number: count(members.length), when: '', text, open })
    if (!open) return
    const named = members.map((i) => {
      const method = firstMethod + i
      const first = facts.firstCallMs(method)
      return { method, first, calls: calls[i]!, text: methodText(facts.nameOf(method)) }
    })
    named.sort(comparator(order))
    for (const { method, first, calls: many, text: name } of named)
      rows.push({
        key: `method ${method}`,
        depth: 1,
        number: many > 0 ? count(many) : '',
        when: whenText(first),
        text: name,
        method,
      })
  }
  add('called', 'methods with probes, called')
  add('idle', 'methods with probes, not called')
  add('left out', 'methods that you excluded (X), and their callees')
  add('refused', 'methods that could not get probes; reasons are below')
  return rows
}

interface Named {
  readonly calls: number
  readonly first: number | undefined
  readonly text: string
}

/** Compares by calls, by time of the first call (`perCall`) or by name. */
function comparator({ column: by, reversed }: Sort): (a: Named, b: Named) => number {
  const sign = reversed ? -1 : 1
  const names = (a: Named, b: Named) => order(a.text, b.text)
  if (by === 'name') return (a, b) => sign * names(a, b)
  if (by === 'perCall') {
    const first = (it: Named) => it.first ?? Number.MAX_VALUE
    return (a, b) => sign * (first(a) - first(b)) || names(a, b)
  }
  return (a, b) => sign * (b.calls - a.calls) || names(a, b)
}

function skippedGroups(
  { skipped }: InstrumentationFacts,
  isOpen: (key: string) => boolean,
): InstrumentationRow[] {
  const byReason = new Map<string, string[]>()
  for (const [method, reason] of skipped) addTo(byReason, reason, method)
  const head = { key: 'skipped', depth: 0, number: count(skipped.size), when: '' } as const
  if (skipped.size === 0) return [{ ...head, text: 'skipped methods' }]
  const open = isOpen('skipped')
  const rows: InstrumentationRow[] = [
    { ...head, text: `skipped methods, ${plural(byReason.size, 'reason')}`, open },
  ]
  if (!open) return rows
  const groups = [...byReason].sort(([a, x], [b, y]) => y.length - x.length || (a < b ? -1 : 1))
  for (const [reason, members] of groups) {
    const key = `reason ${reason}`
    const isReasonOpen = isOpen(key)
    const text = clean(reason.slice(0, MAX_REASON_LENGTH))
    rows.push({ key, depth: 1, number: count(members.length), when: '', text, open: isReasonOpen })
    if (!isReasonOpen) continue
    for (const method of members.toSorted())
      rows.push({ key: `skipped ${method}`, depth: 2, number: '', when: '', text: clean(method) })
  }
  return rows
}

function methodText(name: MethodName): string {
  const loader = name.loader === 'app' || name.loader === '' ? '' : `  [${clean(name.loader)}]`
  return signature(name) + loader
}

function plural(number: number, one: string, many = `${one}s`): string {
  return `${count(number)} ${number === 1 ? one : many}`
}
