// Page that compares two profiles. A frame is blue if its context's self cost has decreased, and orange if it has increased.

import type { Metric } from '../../measures/columns.ts'
import { type Changes, contextNames } from '../../profile/changes.ts'
import { type Compared, changesPieces, comparedFacts, warningsOf } from '../../profile/changes-text.ts'
import type { Verdict } from '../../profile/condition.ts'
import { prune } from '../../profile/prune.ts'
import { clean } from '../../profile/text.ts'
import { blockOf, type Columns, keptNodes } from './block.ts'
import { PageNames } from './names.ts'
import type { Page } from './page.ts'
import type { PageData } from './page-data.ts'
import { MAX_CONTEXTS, wordsOf } from './profile-page.ts'
import { changesLists } from './tabs/changes.ts'
import { costLists } from './tabs/cost.ts'
import { latencyChangeLists } from './tabs/latency.ts'

const MAX_HOT = 2000
const COLUMNS = ['calls', 'self', 'total', 'calls0', 'self0', 'total0']

export function comparePage(
  before: Compared,
  after: Compared,
  changes: Changes,
  verdicts: readonly Verdict[],
): Page {
  const { difference, metric, per } = changes
  const names = new PageNames()
  const nameAt = contextNames(changes, before.profile, after.profile)
  const name = (node: number): number => names.take(nameAt(node))
  const columns = columnsOf(changes)
  const kept = keptOf(changes, columns, metric)
  const count = kept.reduce((sum, it) => sum + it, 0)
  for (const node of keptNodes(kept)) name(node)
  const hot = changes.methods
    .slice(0, MAX_HOT)
    .map(({ name: method, before: b, after: a }) => [
      names.take(method),
      ...[a?.calls ?? 0, a?.self ?? 0, a?.total ?? 0],
      ...[b?.calls ?? 0, b?.self ?? 0, b?.total ?? 0],
    ])
  // The lists add names to the tables.
  const lists = {
    changes: changesLists(changes, (method) => names.take(method)),
    latency: latencyChangeLists(before.profile.rootCalls, after.profile.rootCalls),
    cost: costLists([before.profile, after.profile], ['before', 'after']),
  }
  const data: PageData = {
    metric: metric.kind,
    isComparison: true,
    words: wordsOf(metric, per === 'sample' ? 'of all samples' : 'per root call'),
    ...names.tables(),
    trees: [
      {
        title: 'all threads',
        block: 'block-0',
        count,
        columns: COLUMNS,
        leftOut: difference.count - count,
        hotColumns: COLUMNS,
        hot,
        hotLeftOut: Math.max(0, changes.methods.length - MAX_HOT),
      },
    ],
    lists,
  }
  return {
    title: `jfluid compare of ${clean(after.profile.target.mainClass)}`,
    facts: comparedFacts(before, after, changes),
    warnings: warningsOf(before, after),
    data,
    blocks: [() => blockOf({ count: difference.count, name, size: difference.size, columns }, kept)],
    costFacts: [],
    text: () => changesPieces(before, after, changes, verdicts),
  }
}

/** Returns the columns of both profiles, divided by `perRootCall`. */
function columnsOf({ difference, perRootCall }: Changes): Columns {
  const { calls, self, total } = difference
  const scaled = (values: Float64Array, by: number): Float64Array => values.map((value) => value / by)
  const { before, after } = perRootCall
  return {
    calls: scaled(calls.after, after),
    self: scaled(self.after, after),
    total: scaled(total.after, after),
    calls0: scaled(calls.before, before),
    self0: scaled(self.before, before),
    total0: scaled(total.before, before),
  }
}

/** Selects the contexts with the largest total cost in either profile. */
function keptOf({ difference }: Changes, columns: Columns, { self, total }: Metric): Uint8Array {
  const { count, parent, size } = difference
  if (count <= MAX_CONTEXTS) return new Uint8Array(count).fill(1)
  const larger = columns.total!.map((value, node) => Math.max(value, columns.total0![node]!))
  const method = new Int32Array(count)
  return prune({ count, method, parent, size, metrics: { [self]: larger, [total]: larger } }, 0, MAX_CONTEXTS)
    .kept
}
