// A profile as JSON, format `jfluid-profile` version 1: documented in the README and stable. Keys are
// only ever added.
//
// Produced in pieces and without recursion: a tree may be 100,000 nodes deep, where JSON.stringify
// runs out of stack, and have millions of nodes, where one string would be too long.

import { costsOf, metricOf } from '../cct/metric.ts'
import { hotMethods } from '../cct/snapshot.ts'
import type { Tree } from '../cct/tree.ts'
import { allWarnings, column, nameOf, type Profile } from './profile.ts'

export const FORMAT = 'jfluid-profile'
export const FORMAT_VERSION = 1

/** The JSON text of a profile, in pieces of a few dozen characters up to a few thousand. */
export function* jsonPieces(profile: Profile): Generator<string> {
  yield `{"format":"${FORMAT}","version":${FORMAT_VERSION},\n`
  yield factsJson(profile)
  yield ',\n"methods":['
  yield* methodPieces(profile, Number.POSITIVE_INFINITY)
  yield '],\n"threads":['
  const heads = nodeHeads(profile)
  let separator = '\n'
  for (const thread of profile.threads) {
    yield `${separator}{"id":${thread.id},"name":${JSON.stringify(thread.name)},"roots":[`
    yield* nodePieces(thread.tree, heads)
    yield ']}'
    separator = ',\n'
  }
  yield '],\n"merged":['
  yield* nodePieces(profile.merged, heads)
  yield ']}\n'
}

/** All that is known besides trees, as members of a JSON object without its braces. */
export function factsJson(profile: Profile): string {
  const {
    target,
    mode,
    blocks,
    sampling,
    scheme,
    roots,
    startedAt,
    durationMs,
    calibration,
    instrumentation,
  } = profile
  const facts = {
    target,
    mode,
    ...(blocks !== undefined && { blocks }),
    ...(sampling !== undefined && { sampling }),
    scheme,
    roots,
    startedAt,
    durationMs,
    calibration,
    instrumentation: { ...instrumentation, longestPauseMs: instrumentation.longestPauseMs ?? 0 },
    warmupMs: profile.warmupMs,
    truncated: profile.truncated !== false,
    warnings: allWarnings(profile),
    events: profile.events,
    kept: profile.kept ?? { heapBytes: 0, outsideBytes: 0 },
    followThreads: profile.followedTasks !== undefined,
    followedTasks: profile.followedTasks ?? 0,
  }
  return Object.entries(facts)
    .map(([key, value]) => `"${key}":${JSON.stringify(value)}`)
    .join(',\n')
}

/** Elements of the hot-method list, at most `limit`. */
export function* methodPieces(profile: Profile, limit: number): Generator<string> {
  let left = limit
  let separator = '\n'
  const metric = metricOf(profile.merged)
  for (const { method, calls, self, total } of hotMethods(profile.merged)) {
    if (left-- <= 0) return
    const name = nameOf(profile.methodNames, method)
    const { class: className, loader, descriptor } = name
    yield separator +
      JSON.stringify({
        class: className,
        loader,
        method: name.method,
        descriptor,
        calls,
        [metric.self]: self,
        [metric.total]: total,
      })
    separator = ',\n'
  }
}

/** What every node of a method starts with, made once a method. */
export function nodeHeads(profile: Profile): (id: number) => string {
  const heads: (string | undefined)[] = []
  return (id) => {
    const known = heads[id]
    if (known !== undefined) return known
    const name = nameOf(profile.methodNames, id)
    const head = `{"class":${JSON.stringify(name.class)},"method":${JSON.stringify(name.method)},"descriptor":${JSON.stringify(name.descriptor)}`
    heads[id] = head
    return head
  }
}

/**
 * Elements of a list of nodes, each node on its own line.
 *
 * @param keep  which nodes to show; a node that is not kept hides its subtree
 */
export function* nodePieces(
  tree: Tree,
  head: (id: number) => string,
  keep: (node: number) => boolean = () => true,
): Generator<string> {
  const { count, method, size } = tree
  const calls = column(tree, 'calls')
  const metric = metricOf(tree)
  const { self, total } = costsOf(tree)
  const isTime = metric.kind === 'time'
  const measured = column(tree, 'measuredNs')
  const warmupCalls = column(tree, 'warmupCalls')
  const warmupSelf = column(tree, 'warmupSelfNs')
  const open: number[] = []
  let separator = '\n'
  for (let i = 0; i < count; ) {
    let closing = ''
    while (open.length > 0 && i >= open[open.length - 1]!) {
      closing += ']}'
      open.pop()
      separator = ',\n'
    }
    if (closing) yield closing
    if (!keep(i)) {
      i += size[i]!
      continue
    }
    let node = `${separator}${head(method[i]!)},"calls":${calls[i]!}`
    if (metric.kind !== 'calls') node += `,"${metric.self}":${self[i]!}`
    node += `,"${metric.total}":${total[i]!}`
    if (isTime) node += `,"measuredNs":${measured[i]!}`
    if (warmupCalls[i] !== 0) node += `,"warmupCalls":${warmupCalls[i]!}`
    if (warmupSelf[i] !== 0) node += `,"warmupSelfNs":${warmupSelf[i]!}`
    yield `${node},"children":[`
    open.push(i + size[i]!)
    separator = '\n'
    i++
  }
  yield ']}'.repeat(open.length)
}
