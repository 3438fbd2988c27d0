// Lists below the tree: hot methods, allocated classes, live objects, locks.

import { isAllocation, isNotAttributed } from '../../cct/allocation.ts'
import { hotMethods } from '../../cct/snapshot.ts'
import { tellsWaits } from '../../cct/waits.ts'
import { METRICS } from '../../measures/columns.ts'
import { SECTIONS } from '../../measures/sections.ts'
import { wordsOf } from '../cost-text.ts'
import { hotLocks, namesOf } from '../hot-locks.ts'
import { nameOf, rootTotal } from '../profile.ts'
import { hasSampledRows, UNSEEN_MARK, unseenMethods } from '../sampled-rows.ts'
import { survivorHeader, survivorLines, survivorsOf } from '../survivors.ts'
import { clean, count, cut, percent, plural, right, shortName, width } from '../text.ts'
import { valueCosts } from '../values.ts'
import { heading, NUMBER_CELLS, nameCells, type Page, shownOf } from './page.ts'

export function* hotClasses(page: Page): Generator<string> {
  if (!METRICS[page.profile.mode].hasClasses) return
  const columns = `${right('bytes', 9)}${right('', 10)}  % self    objects${right('B/object', 10)}  class`
  yield* hotRows(page, true, 'Allocated classes, by bytes', columns)
}

export function* hotMethodRows(page: Page): Generator<string> {
  const { mode } = page.profile
  if (!SECTIONS[mode].hasHotMethods) return
  const { total, self, perCall, calls, by } = wordsOf(METRICS[mode])
  const columns = `${right(self, 9)}${right(total, 10)}  % self ${right(calls, 10)}${right(perCall, 10)}  method`
  yield* hotRows(page, false, `Hot methods, by ${by}`, columns)
}

function* hotRows(page: Page, isOfClasses: boolean, title: string, columns: string): Generator<string> {
  const { methodNames, merged: tree, mode } = page.profile
  const whole = rootTotal(tree)
  const words = wordsOf(METRICS[mode])
  const hot = hotMethods(tree).filter(
    ({ method }) => isAllocation(nameOf(methodNames, method)) === isOfClasses,
  )
  const shown = hot.slice(0, page.top)
  if (shown.length === 0) return
  yield* heading(page, title, shownOf(shown.length, hot.length), columns)
  const isSampled = hasSampledRows(tree)
  const unseen = unseenMethods(tree)
  for (const { method, calls, self, total } of shown) {
    const called = nameOf(methodNames, method)
    const mark = unseen.has(method) ? UNSEEN_MARK : ''
    const numbers = [
      right(words.cost(self), 9),
      right(isOfClasses ? '' : words.cost(total), 10),
      right(percent(self, whole), 8),
      right(isSampled && calls === 0 && !isNotAttributed(called) ? 'sampled' : count(calls, 10), 11),
      right(words.each(total, calls), 10),
    ].join('')
    const name = shortName(called, nameCells(page, NUMBER_CELLS) - mark.length) + mark
    yield `${self >= whole / 10 ? page.paint('heat', numbers) : numbers}  ${name}\n`
  }
}

/** Yields the rows of --by, so that each value is listed even if its share of the tree is small. */
export function* values(page: Page): Generator<string> {
  const { merged: tree, methodNames, mode, roots, values: facts } = page.profile
  const all = valueCosts(tree, (id) => nameOf(methodNames, id))
  if (all.length === 0) return
  const words = wordsOf(METRICS[mode])
  const whole = rootTotal(tree)
  const shown = all.slice(0, page.top)
  const title = `Values of ${clean(facts?.by ?? '--by')}, by total ${METRICS[mode].word}`
  const columns = `${right(words.total, 9)}  % root ${right(words.calls, 10)}${right(words.perCall, 10)}  value`
  yield* heading(page, title, shownOf(shown.length, all.length), columns)
  for (const { root, row, calls, total } of shown) {
    const numbers =
      right(words.cost(total), 9) +
      right(percent(total, whole), 8) +
      right(count(calls, 10), 11) +
      right(words.each(total, calls), 10)
    const value = clean(nameOf(methodNames, row).method)
    const cells = Math.max(16, nameCells(page, VALUE_CELLS) - width(value) - 2)
    const name = roots.length > 1 ? `${value}  ${shortName(nameOf(methodNames, root), cells)}` : value
    yield `${total >= whole / 10 ? page.paint('heat', numbers) : numbers}  ${cut(name, nameCells(page, VALUE_CELLS))}\n`
  }
}

/** Width in cells of the columns before a value. */
const VALUE_CELLS = 40

export function* survivors(page: Page): Generator<string> {
  const { paint, profile, top, width: cells } = page
  const { allocation, merged } = profile
  if (allocation?.liveness === undefined) return
  const names = namesOf(profile.methodNames)
  const contexts = survivorsOf(merged, names, 'context').length
  const title = 'Objects alive at the end, by context'
  if (contexts === 0) {
    yield `\n${paint('bold', title)}${paint('dim', ': none')}\n`
    return
  }
  const collections = plural(allocation.liveness.collections, 'collection')
  yield* heading(
    page,
    title,
    `${shownOf(Math.min(top, contexts), contexts)}; after ${collections}`,
    survivorHeader,
  )
  for (const [numbers, name, context] of survivorLines(merged, names, top, cells)) {
    yield `${numbers}   ${name}\n${paint('dim', context)}\n`
  }
}

/** Maximum number of waiting methods shown per awaited object. */
const WAITERS = 3
/** Width in cells of the columns before a name in the list of locks. */
const LOCK_CELLS = 40

export function* locks(page: Page): Generator<string> {
  const { paint, profile } = page
  if (!tellsWaits(profile.merged)) return
  const names = namesOf(profile.methodNames)
  const all = hotLocks(profile.merged, names)
  if (all.length === 0) {
    yield `\n${paint('bold', 'Hot locks')}${paint('dim', ': no thread was blocked or waited')}\n`
    return
  }
  const whole = all.reduce((sum, { ns }) => sum + ns, 0)
  const shown = all.slice(0, page.top)
  const { cost, each } = wordsOf(METRICS.locks)
  const cells = nameCells(page, LOCK_CELLS)
  const row = (ns: number, of: number, times: number): string =>
    right(cost(ns), 9) + right(percent(ns, of), 8) + right(count(times, 10), 11) + right(each(ns, times), 10)
  const columns = `${right('wait', 9)}  % wait      times${right('per wait', 10)}  lock or wait, below it the waiting methods`
  yield* heading(page, 'Hot locks and waits, by time', shownOf(shown.length, all.length), columns)
  for (const { method, ns, times, by } of shown) {
    const numbers = row(ns, whole, times)
    yield `${ns >= whole / 10 ? paint('heat', numbers) : numbers}  ${shortName(names(method), cells)}\n`
    for (const waiter of by.slice(0, WAITERS)) {
      const name = shortName(names(waiter.method), cells - 2)
      yield `${paint('dim', row(waiter.ns, ns, waiter.times))}    ${name}\n`
    }
  }
}
