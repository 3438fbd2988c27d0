// Columns of the lists, for one profile or for a comparison of two profiles.

import { data } from './data.js'
import { changeText, costText, countText, growthText, percentText } from './format.js'

/** @import { Tree } from './data.js' */
/** @import { Column } from './outline.js' */

/**
 * @template N
 * @param {(node: N, column: string) => number} of  returns a node's value in a column
 * @param {(node: N) => number} whole  returns the value that is shown as 100 %
 * @param {(node: N) => string | undefined} sampled  returns the deviation of a sampled node, undefined for a timed node
 * @returns {Column<N>[]}
 */
export function treeColumns(of, whole, sampled) {
  const { words } = data
  const self = /** @param {N} node */ (node) => of(node, 'self')
  const total = /** @param {N} node */ (node) => of(node, 'total')
  if (data.isComparison) {
    const self0 = /** @param {N} node */ (node) => of(node, 'self0')
    const total0 = /** @param {N} node */ (node) => of(node, 'total0')
    return [
      {
        ...{ title: 'now', hint: `with what it calls, ${words.per}` },
        ...{ text: (node) => costText(total(node)), value: total },
      },
      { title: 'before', hint: 'the same before', text: (node) => costText(total0(node)), value: total0 },
      {
        ...{ title: 'change', hint: 'of that; sorted by its size' },
        text: (node) => changeText(total(node) - total0(node)),
        value: (node) => Math.abs(total(node) - total0(node)),
      },
      {
        ...{ title: 'own change', hint: 'without what it calls; sorted by its size' },
        text: (node) => changeText(self(node) - self0(node)),
        value: (node) => Math.abs(self(node) - self0(node)),
      },
      {
        ...{ title: 'own %', hint: 'the same as a part of what it was' },
        text: (node) => growthText(self0(node), self(node)),
        value: (node) => Math.abs(self(node) - self0(node)),
      },
      {
        ...{ title: 'calls', hint: `${words.calls}, ${words.per}` },
        text: (node) => countText(of(node, 'calls')),
        value: (node) => of(node, 'calls'),
      },
      {
        ...{ title: 'calls before', hint: 'the same before' },
        text: (node) => countText(of(node, 'calls0')),
        value: (node) => of(node, 'calls0'),
      },
    ]
  }
  return [
    { title: words.total, hint: 'with what it calls', text: (node) => costText(total(node)), value: total },
    { title: words.self, hint: 'without what it calls', text: (node) => costText(self(node)), value: self },
    {
      ...{ title: '%', hint: 'share of the total' },
      text: (node) => percentText(total(node), whole(node)),
      value: total,
    },
    {
      ...{ title: words.calls, hint: 'how often; sampled: the calls of the row are not counted' },
      text: (node) => (sampled(node) === undefined ? countText(of(node, 'calls')) : 'sampled'),
      value: (node) => of(node, 'calls'),
    },
    {
      ...{ title: 'per call', hint: 'total by calls; of a sampled row: standard deviation of the total' },
      text: (node) =>
        sampled(node) ?? (of(node, 'calls') > 0 ? costText(total(node) / of(node, 'calls')) : '–'),
      value: (node) => (of(node, 'calls') > 0 ? total(node) / of(node, 'calls') : 0),
    },
  ]
}

/**
 * Returns the deviation of a sampled row of a tree: "± 12 %"; undefined for a timed row.
 *
 * @param {Tree} tree
 * @param {number} node
 */
export function deviationOf({ columns }, node) {
  const sd = columns.sd?.[node] ?? -1
  if (sd < 0) return undefined
  const total = columns.total[node]
  return `± ${total > 0 ? Math.min(100, Math.round((100 * sd) / total)) : 100} %`
}

/**
 * Returns a function for rows that sum nodes of a tree. It returns '' if probes counted no calls of a row with sampled nodes.
 *
 * @param {Tree} tree
 * @returns {(row: { sums: { [column: string]: number } }) => string | undefined}
 */
export function sampledSums({ columns }) {
  return ({ sums }) => (columns.sd !== undefined && sums.calls === 0 ? '' : undefined)
}
