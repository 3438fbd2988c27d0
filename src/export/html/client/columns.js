// Columns of the lists, for one profile or for a comparison of two profiles.

import { data } from './data.js'
import { changeText, costText, countText, growthText, percentText } from './format.js'

/** @import { Column } from './outline.js' */

/**
 * @template N
 * @param {(node: N, column: string) => number} of  returns a node's value in a column
 * @param {(node: N) => number} whole  returns the value that is shown as 100 %
 * @returns {Column<N>[]}
 */
export function treeColumns(of, whole) {
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
      ...{ title: words.calls, hint: 'how often' },
      text: (node) => countText(of(node, 'calls')),
      value: (node) => of(node, 'calls'),
    },
    {
      ...{ title: 'per call', hint: 'total by calls' },
      text: (node) => (of(node, 'calls') > 0 ? costText(total(node) / of(node, 'calls')) : '–'),
      value: (node) => (of(node, 'calls') > 0 ? total(node) / of(node, 'calls') : 0),
    },
  ]
}
