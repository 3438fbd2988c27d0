// Shows calling context trees as rows: the tree of all threads, of each thread, of slow calls, and of back traces.

import { backTraces } from '../../cct/back-traces.ts'
import { costsOf } from '../../cct/metric.ts'
import type { Tree } from '../../cct/tree.ts'
import { METRICS } from '../../measures/columns.ts'
import { wordsOf } from '../cost-text.ts'
import { namesOf } from '../hot-locks.ts'
import { placeOf } from '../places.ts'
import { column, nameOf, rootTotal } from '../profile.ts'
import { childrenByTotal, type Pruned, prune } from '../prune.ts'
import { deviationText, sampledRow, stateText, UNSEEN_LEGEND, unseenMark } from '../sampled-rows.ts'
import { averageText, slowLines } from '../slow-calls.ts'
import { clean, count, cut, percent, plural, right, shortName, width as widthOf, wrap } from '../text.ts'
import { heading, isWholeJvm, NUMBER_CELLS, nameCells, type Page } from './page.ts'

/** Yields the tree of all threads, and the tree of each thread if requested. */
export function* treeSections(page: Page): Generator<string> {
  const { backTraces: traced, profile } = page
  const [one, all] = profile.jvms === undefined ? ['Thread', 'all threads'] : ['JVM', 'all JVMs']
  const threads = page.threads ? profile.threads.filter(({ tree }) => tree.count > 0) : []
  const isTraced = traced.length > 0
  if (isTraced) yield* traceTrees(page, all, profile.merged)
  else yield* treeSection(page, `Calling context tree, ${all}`, profile.merged)
  for (const { name, id, tree } of threads) {
    const where = `${clean(name)} (${id})`
    if (isTraced) yield* traceTrees(page, `${one === 'Thread' ? 'thread' : one} ${where}`, tree)
    else yield* treeSection(page, `${one} ${where}`, tree)
  }
}

/** Yields the back traces of the requested methods. Skips methods that the thread did not call. */
function* traceTrees(page: Page, where: string, from: Tree): Generator<string> {
  for (const { text, methods } of page.backTraces) {
    const { tree, isCut, levels } = backTraces(from, methods)
    if (tree.count === 0) continue
    const until = isCut ? `, ${plural(levels, 'level')}` : ''
    yield* treeSection(page, `Back traces of ${clean(text)}, ${where}${until}`, tree, {
      share: '% of it',
      name: 'method, below it its callers',
    })
  }
}

export function* slowSection(page: Page): Generator<string> {
  const { profile, width } = page
  const { slowCalls: slow } = profile
  if (slow === undefined) return
  const [title, ...lines] = slowLines(slow, profile, width)
  yield `\n${page.paint('bold', cut(title ?? '', width))}\n`
  for (const line of lines) yield `${line}\n`
  const { tree } = slow
  if (tree === undefined || tree.count === 0) return
  yield* treeSection(page, `Calling context tree of ${averageText(slow, profile.merged)}`, tree)
}

function* treeSection(
  page: Page,
  title: string,
  tree: Tree,
  head = { share: isWholeJvm(page.profile) ? '% all ' : '% root', name: 'method' },
): Generator<string> {
  const pruned = prune(tree, page.minPercent / 100, page.maxRows)
  const hidden = tree.count - pruned.keptCount
  const rest = hidden > 0 ? `, ${plural(hidden, 'smaller node')} left out` : ''
  const { total, self, perCall, calls } = wordsOf(METRICS[page.profile.mode])
  const columns = `${right(total, 9)}${right(self, 10)}  ${head.share} ${right(calls, 10)}${right(perCall, 10)}  ${head.name}`
  yield* heading(page, cut(title, page.width), rest, columns)
  yield* treeRows(page, tree, pruned)
}

function* treeRows(page: Page, tree: Tree, pruned: Pruned): Generator<string> {
  const { paint, profile } = page
  const calls = column(tree, 'calls')
  const { self, total } = costsOf(tree)
  const words = wordsOf(METRICS[profile.mode])
  const names = namesOf(profile.methodNames)
  const cells = nameCells(page, NUMBER_CELLS)
  let isMarked = false
  // One frame per tree level: the nodes to show, the current position, and the total of the root (for a whole JVM: of all roots).
  const whole = isWholeJvm(profile) ? rootTotal(tree) : -1
  const frames = [{ nodes: keptChildren(tree, -1, pruned), at: 0, rootCost: whole }]
  while (frames.length > 0) {
    const frame = frames[frames.length - 1]!
    const node = frame.nodes[frame.at++]
    if (node === undefined) {
      frames.pop()
      continue
    }
    const rootCost = frame.rootCost < 0 ? Math.max(0, total[node]!) : frame.rootCost
    const row = sampledRow(tree, node)
    const numbers = [
      right(words.cost(total[node]!), 9),
      right(words.cost(self[node]!), 10),
      right(percent(total[node]!, rootCost), 8),
      right(row ? 'sampled' : count(calls[node]!, 10), 11),
      right(row ? deviationText(row, total[node]!) : words.each(total[node]!, calls[node]!), 10),
    ].join('')
    const unseen = unseenMark(tree, node)
    isMarked ||= unseen !== ''
    const mark = stateText(tree, node) + unseen
    const indent = indentation(frames.length - 1, Math.floor(cells / 2))
    const called = nameOf(profile.methodNames, tree.method[node]!)
    const place = placeOf(tree, node, names)
    const name = shortName(called, cells - widthOf(indent) - mark.length - place.length) + mark
    const hot = total[node]! >= rootCost / 2 || self[node]! >= rootCost / 10
    yield `${hot ? paint('heat', numbers) : numbers}  ${paint('dim', indent)}${name}${paint('dim', place)}\n`
    const below = keptChildren(tree, node, pruned)
    if (below.length > 0) frames.push({ nodes: below, at: 0, rootCost })
  }
  if (isMarked) for (const line of wrap(UNSEEN_LEGEND, page.width)) yield `${paint('dim', line)}\n`
}

function keptChildren(tree: Tree, node: number, pruned: Pruned): number[] {
  return childrenByTotal(tree, node).filter((child) => pruned.kept[child] === 1)
}

/** Returns two blanks per level, or the depth as a number if the blanks would leave no room for the name. */
function indentation(depth: number, most: number): string {
  if (2 * depth <= most) return '  '.repeat(depth)
  const label = `[${depth}] `
  return ' '.repeat(Math.max(0, most - label.length)) + label
}
