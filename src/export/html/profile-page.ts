// Page of one profile: the merged tree of all threads, a tree per thread, trees of slow calls, and the lists of the other tabs.

import { costsOf, metricOf } from '../../cct/metric.ts'
import { hotMethods, mergedMethods } from '../../cct/snapshot.ts'
import type { Tree } from '../../cct/tree.ts'
import type { Metric } from '../../measures/columns.ts'
import { column, nameOf, type Profile } from '../../profile/profile.ts'
import { prune } from '../../profile/prune.ts'
import { reportWarnings } from '../../profile/report/warnings.ts'
import { reportPieces } from '../../profile/report.ts'
import { callCost } from '../../profile/root-calls.ts'
import { hasSampledRows, sampledRow, stateText, unseenMark } from '../../profile/sampled-rows.ts'
import { anywhere, clean } from '../../profile/text.ts'
import type { ExportFormat } from '../format.ts'
import { type Block, blockOf, keptNodes } from './block.ts'
import { PageNames, pageKey } from './names.ts'
import { type Page, pagePieces } from './page.ts'
import type { PageData, PageList, PageTree } from './page-data.ts'
import { rangesOf } from './ranges.ts'
import { costLists, factsApart } from './tabs/cost.ts'
import { latencyLists } from './tabs/latency.ts'
import { lockLists } from './tabs/locks.ts'
import { type SlowPlaces, slowLists } from './tabs/slow.ts'
import { timelineOf } from './tabs/timeline.ts'
import { traceLists } from './tabs/traces.ts'

/**
 * Maximum number of contexts in the merged tree, in the trees of the threads together, and in the trees of slow calls together. A context
 * needs 20 to 30 bytes of the file. A browser can display this number of contexts at once.
 */
export const MAX_CONTEXTS = 200_000
/** Maximum number of hot methods listed for the merged tree, and for the tree of a thread or of slow calls. */
const [MAX_HOT, MAX_HOT_OF_PART] = [2000, 200]
/** Maximum number of trees of slow calls. The recording keeps ten slow calls, ten that an exception ended, and the tree of all slow calls. */
const MAX_SLOW_TREES = 21

/** Export of the whole profile as one HTML file that works offline. */
export const html: ExportFormat = {
  name: 'html',
  extension: '.html',
  description:
    'one file for a browser, offline: trees, hot methods, callers, latency, slow calls, locks, timeline, traces, session cost',
  pieces: (profile) => pagePieces(profilePage(profile)),
}

/** @param mostContexts  maximum in the merged tree, in the trees of the threads together, and in the trees of slow calls together */
export function profilePage(profile: Profile, mostContexts = MAX_CONTEXTS): Page {
  const names = new PageNames()
  const numbers: (number | undefined)[] = []
  const numberOf = (id: number): number => (numbers[id] ??= names.take(nameOf(profile.methodNames, id)))
  const anywhereOf = (id: number): number => names.take(anywhere(nameOf(profile.methodNames, id)))
  const keyOf = (id: number): string => pageKey(anywhere(nameOf(profile.methodNames, id)))
  const trees: PageTree[] = []
  const blocks: (() => Block)[] = []
  const add = (title: string, tree: Tree, most: number, mostHot: number, isSlow?: true): Added => {
    const kept = tree.count <= most ? new Uint8Array(tree.count).fill(1) : prune(tree, 0, most).kept
    const columns = columnsOf(tree)
    const name = (node: number): number => numberOf(tree.method[node]!)
    // A block is generated only when it is written. Its names must be known earlier, so this loop collects the names and notes.
    const notes: [number, string][] = []
    let count = 0
    for (const node of keptNodes(kept)) {
      name(node)
      const missed = unseenMark(tree, node) === '' ? '' : ' probes missed calls'
      const note = (stateText(tree, node) + missed).trim()
      if (note !== '') notes.push([count, note])
      count++
    }
    const counted = { ...tree, metrics: { ...tree.metrics, calls: columns.calls! } }
    const hot = hotMethods(mergedMethods(counted, keyOf))
    const index = trees.push({
      ...{ title, ...(isSlow && { isSlow }) },
      ...{ block: `block-${trees.length}`, count, columns: Object.keys(columns) },
      ...(notes.length > 0 && { notes }),
      ...{ leftOut: tree.count - count, hotColumns: ['calls', 'self', 'total'] },
      hot: hot
        .slice(0, mostHot)
        .map(({ method, calls, self, total }) => [anywhereOf(method), calls, self, total]),
      hotLeftOut: Math.max(0, hot.length - mostHot),
    })
    blocks.push(() => blockOf({ count: tree.count, name, size: tree.size, columns }, kept))
    return { tree: index - 1, kept }
  }
  add(profile.jvms === undefined ? 'all threads' : 'all JVMs', profile.merged, mostContexts, MAX_HOT)
  const threads = profile.threads.filter(({ tree }) => tree.count > 0)
  if (threads.length > 1) {
    let left = mostContexts
    for (const [index, { name, id, tree }] of threads.entries()) {
      const most = Math.max(1, Math.floor(left / (threads.length - index)))
      add(`${clean(name)} (${id})`, tree, most, MAX_HOT_OF_PART)
      left -= Math.min(most, tree.count)
    }
  }
  const places = addSlow(profile, Math.ceil(mostContexts / MAX_SLOW_TREES), add)
  const lists: { readonly [tab: string]: readonly PageList[] } = {
    latency: latencyLists(profile.rootCalls),
    slow: slowLists(profile, numberOf, places),
    locks: lockLists(profile, numberOf),
    traces: traceLists(profile, numberOf),
    cost: costLists([profile], ['']),
  }
  const metric = metricOf(profile.merged)
  const timeline = timelineOf(profile.course)
  // A range is selected in the timeline.
  const ranges = timeline && rangesOf(profile, numberOf, mostContexts)
  const data: PageData = {
    metric: metric.kind,
    isComparison: false,
    words: wordsOf(metric, ''),
    ...names.tables(),
    trees,
    lists,
    ...(timeline !== undefined && { timeline }),
    ...(ranges !== undefined && { ranges: ranges.data }),
  }
  const nothing = profile.merged.count === 0 ? ['nothing was recorded: there is no call to show'] : []
  const { program, cost } = factsApart(profile)
  return {
    title: `jfluid profile of ${profile.target.mainClass}`,
    facts: program,
    warnings: [...reportWarnings(profile), ...nothing],
    ...{ data, blocks, costFacts: cost, ranges: ranges?.bytes },
    text: () => reportPieces(profile),
  }
}

/** A tree of the page: its index, and the nodes that are in the page. */
interface Added {
  readonly tree: number
  readonly kept: Uint8Array
}

/** Adds the tree of all slow calls, and the tree of each of the slowest calls. @param most  maximum number of contexts per tree */
function addSlow(
  { slowCalls, merged }: Profile,
  most: number,
  add: (title: string, tree: Tree, most: number, mostHot: number, isSlow: true) => Added,
): SlowPlaces {
  const { tree: all, slowest = [], threw, unit } = slowCalls ?? {}
  const hasAll = all !== undefined && all.count > 0 && merged.count > 0
  const ofAll = hasAll ? add('all slow calls', all, most, MAX_HOT_OF_PART, true) : null
  const ofCalls = new Map<number, number>()
  const calls = [...slowest, ...(threw?.latest ?? [])].slice(0, MAX_SLOW_TREES - 1)
  for (const [index, { number, time, thread, tree, threw: thrown }] of calls.entries()) {
    if (tree === undefined || tree.count === 0 || unit === undefined || ofCalls.has(number)) continue
    const kind = index < slowest.length ? 'slow call' : 'call'
    const title = `${kind} ${number}: ${callCost(time, unit)}, ${clean(thread.name)}${thrown === undefined ? '' : `, threw ${clean(thrown)}`}`
    ofCalls.set(number, add(title, tree, most, MAX_HOT_OF_PART, true).tree)
  }
  return {
    call(number) {
      const tree = ofCalls.get(number)
      return tree === undefined ? null : { tree, node: 0 }
    },
    node(node) {
      if (ofAll === null || ofAll.kept[node] !== 1) return null
      return { tree: ofAll.tree, node: ofAll.kept.subarray(0, node).reduce((sum, it) => sum + it, 0) }
    },
  }
}

function columnsOf(tree: Tree): { [name: string]: Float64Array } {
  const columns = { calls: column(tree, 'calls'), ...costsOf(tree) }
  if (!hasSampledRows(tree)) return columns
  return { ...columns, sd: Float64Array.from(tree.method, (_, node) => sampledRow(tree, node)?.sd ?? -1) }
}

/** Returns the column heads for the page, with units. */
export function wordsOf({ heads, pageHeads }: Metric, per: string): PageData['words'] {
  return { ...pageHeads, calls: heads.calls, per }
}
