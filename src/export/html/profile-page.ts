// Page of one profile: the merged tree of all threads, and a tree per thread.

import { costsOf, metricOf } from '../../cct/metric.ts'
import { hotMethods, mergedMethods } from '../../cct/snapshot.ts'
import type { Tree } from '../../cct/tree.ts'
import type { Metric } from '../../measures/columns.ts'
import { column, nameOf, type Profile } from '../../profile/profile.ts'
import { prune } from '../../profile/prune.ts'
import { reportDetails, reportFacts } from '../../profile/report/facts.ts'
import { reportWarnings } from '../../profile/report/warnings.ts'
import { reportPieces } from '../../profile/report.ts'
import { anywhere, clean, count, span } from '../../profile/text.ts'
import type { ExportFormat } from '../format.ts'
import { type Block, blockOf, keptNodes } from './block.ts'
import { PageNames, pageKey } from './names.ts'
import { type Page, type Probes, pagePieces } from './page.ts'
import type { PageData, PageTree } from './page-data.ts'

/**
 * Maximum number of contexts in the merged tree, and in the trees of the threads together. A context needs 20 to 30 bytes of the file. A
 * browser can display this number of contexts at once.
 */
export const MAX_CONTEXTS = 200_000
/** Maximum number of hot methods listed for the merged tree. */
const MAX_HOT = 2000
const MAX_HOT_PER_THREAD = 200

/** Export of the whole profile as one HTML file that works offline. */
export const html: ExportFormat = {
  name: 'html',
  extension: '.html',
  description: 'one file for a browser, offline: flame graph, tree, hot methods, callers, instrumentation',
  pieces: (profile) => pagePieces(profilePage(profile)),
}

/** @param mostContexts  maximum in the merged tree, and in the trees of the threads together */
export function profilePage(profile: Profile, mostContexts = MAX_CONTEXTS): Page {
  const names = new PageNames()
  const numbers: (number | undefined)[] = []
  const numberOf = (id: number): number => (numbers[id] ??= names.take(nameOf(profile.methodNames, id)))
  const anywhereOf = (id: number): number => names.take(anywhere(nameOf(profile.methodNames, id)))
  const keyOf = (id: number): string => pageKey(anywhere(nameOf(profile.methodNames, id)))
  const trees: PageTree[] = []
  const blocks: (() => Block)[] = []
  const add = (title: string, tree: Tree, most: number, mostHot: number): void => {
    const kept = tree.count <= most ? new Uint8Array(tree.count).fill(1) : prune(tree, 0, most).kept
    const columns = columnsOf(tree)
    const name = (node: number): number => numberOf(tree.method[node]!)
    // A block is generated only when it is written. Its names must be known earlier, so this loop collects the names.
    for (const node of keptNodes(kept)) name(node)
    const count = kept.reduce((sum, it) => sum + it, 0)
    const counted = { ...tree, metrics: { ...tree.metrics, calls: columns.calls! } }
    const hot = hotMethods(mergedMethods(counted, keyOf))
    trees.push({
      ...{ title, block: `block-${trees.length}`, count, columns: Object.keys(columns) },
      ...{ leftOut: tree.count - count, hotColumns: ['calls', 'self', 'total'] },
      hot: hot
        .slice(0, mostHot)
        .map(({ method, calls, self, total }) => [anywhereOf(method), calls, self, total]),
      hotLeftOut: Math.max(0, hot.length - mostHot),
    })
    blocks.push(() => blockOf({ count: tree.count, name, size: tree.size, columns }, kept))
  }
  add(profile.jvms === undefined ? 'all threads' : 'all JVMs', profile.merged, mostContexts, MAX_HOT)
  const threads = profile.threads.filter(({ tree }) => tree.count > 0)
  if (threads.length > 1) {
    let left = mostContexts
    for (const [index, { name, id, tree }] of threads.entries()) {
      const most = Math.max(1, Math.floor(left / (threads.length - index)))
      add(`${clean(name)} (${id})`, tree, most, MAX_HOT_PER_THREAD)
      left -= Math.min(most, tree.count)
    }
  }
  const metric = metricOf(profile.merged)
  const data: PageData = {
    metric: metric.kind,
    isComparison: false,
    words: wordsOf(metric, ''),
    ...names.tables(),
    trees,
  }
  const nothing = profile.merged.count === 0 ? ['nothing was recorded: there is no call to show'] : []
  return {
    title: `jfluid profile of ${profile.target.mainClass}`,
    facts: [...reportFacts(profile), ...reportDetails(profile)],
    warnings: [...reportWarnings(profile), ...nothing],
    ...{ data, blocks, probes: probesOf([profile], ['']) },
    text: () => reportPieces(profile),
  }
}

function columnsOf(tree: Tree): { [name: string]: Float64Array } {
  return { calls: column(tree, 'calls'), ...costsOf(tree) }
}

/** Returns the column heads for the page, with units. */
export function wordsOf({ heads, pageHeads }: Metric, per: string): PageData['words'] {
  return { ...pageHeads, calls: heads.calls, per }
}

/** Returns facts about the instrumentation. @param heads  column heads, one per profile */
export function probesOf(profiles: readonly Profile[], heads: readonly string[]): Probes {
  const row = (label: string, of: (it: Profile['instrumentation']) => string): string[] => [
    label,
    ...profiles.map(({ instrumentation }) => of(instrumentation)),
  ]
  const all: string[][] = [
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
  ]
  return { heads, rows: all, skipped: profiles.at(-1)?.instrumentation.skipped ?? [] }
}
