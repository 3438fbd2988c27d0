// The report as JSON.

import { backTraces } from '../../cct/back-traces.ts'
import type { Tree } from '../../cct/tree.ts'
import { METRICS } from '../../measures/columns.ts'
import { classPieces, factsJson, methodPieces, nodeHeads, nodePieces } from '../json.ts'
import { jsonText } from '../json-text.ts'
import type { Profile } from '../profile.ts'
import { prune } from '../prune.ts'
import { slowJsonPieces } from '../slow-calls.ts'
import { tracePieces } from '../trace-json.ts'
import { DEFAULTS, type ReportOptions } from './page.ts'

/**
 * The same page for programs: keys as in `export --format json`, but `methods` holds only the top
 * ones, and `merged` (and `threads`) only the nodes that the text report shows.
 */
export function* reportJsonPieces(profile: Profile, options: ReportOptions = {}): Generator<string> {
  const o = { ...DEFAULTS, ...options }
  const heads = nodeHeads(profile)
  const nodes = (tree: Tree, headsOf = heads): Iterable<string> => {
    const { kept } = prune(tree, o.minPercent / 100, o.maxRows)
    return nodePieces(tree, headsOf, (node) => kept[node] === 1)
  }
  const traced = o.backTraces.flatMap(({ methods }) => methods)
  function* traces(from: Tree): Generator<string> {
    if (traced.length === 0) return
    yield '],\n"backTraces":['
    // A row is of calls from all places.
    yield* nodes(backTraces(from, traced).tree, nodeHeads(profile, false))
  }
  yield '{"format":"jfluid-report","version":1,\n'
  yield factsJson(profile)
  if (profile.trace !== undefined) {
    yield ',\n"trace":'
    yield* tracePieces(profile, false)
  }
  yield ',\n"methods":['
  yield* methodPieces(profile, o.top)
  if (METRICS[profile.mode].hasClasses) {
    yield '],\n"classes":['
    yield* classPieces(profile, o.top)
  }
  yield '],\n'
  if (profile.slowCalls !== undefined) {
    yield* slowJsonPieces(profile.slowCalls, profile, nodes)
    yield ',\n'
  }
  if (o.threads) {
    yield '"threads":['
    let separator = '\n'
    for (const thread of profile.threads) {
      yield `${separator}{"id":${thread.id},"name":${jsonText(thread.name)},"roots":[`
      yield* nodes(thread.tree)
      yield* traces(thread.tree)
      yield ']}'
      separator = ',\n'
    }
    yield '],\n'
  }
  yield '"merged":['
  yield* nodes(profile.merged)
  yield* traces(profile.merged)
  yield ']}\n'
}
