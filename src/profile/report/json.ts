// The report as JSON: docs/schema/report.json.

import { backTraces } from '../../cct/back-traces.ts'
import type { Tree } from '../../cct/tree.ts'
import { envelopeOf } from '../command-json.ts'
import { nodeHeads, nodePieces, shownPieces } from '../json.ts'
import type { Profile } from '../profile.ts'
import { prune } from '../prune.ts'
import { DEFAULTS, type ReportOptions } from './page.ts'

/**
 * Yields the report as JSON. The keys are as in `export --format json`, but `methods` contains only the top methods. `merged` and `threads`
 * contain only the nodes of the text report.
 */
export function reportJsonPieces(profile: Profile, options: ReportOptions = {}): Generator<string> {
  const { top, threads, minPercent, maxRows, backTraces: asked } = { ...DEFAULTS, ...options }
  const heads = nodeHeads(profile)
  const nodes = (tree: Tree, headsOf = heads): Iterable<string> => {
    const { kept } = prune(tree, minPercent / 100, maxRows)
    return nodePieces(tree, headsOf, (node) => kept[node] === 1)
  }
  const traced = asked.flatMap(({ methods }) => methods)
  return shownPieces(profile, {
    head: envelopeOf('report'),
    top,
    withEvents: false,
    threads,
    nodes: (tree) => nodes(tree),
    *behind(tree) {
      if (traced.length === 0) return
      yield '],\n"backTraces":['
      // The node of a back trace combines the calls from all call sites, so call sites are omitted.
      yield* nodes(backTraces(tree, traced).tree, nodeHeads(profile, false))
    },
  })
}
