// A profile as JSON, format `jfluid-profile` version 1: documented in docs/profile-json.md and stable. Later versions only add keys.
//
// The text is produced in pieces and without recursion. A tree may be 100,000 nodes deep, where JSON.stringify overflows the stack, and may
// have millions of nodes, which exceeds the maximum length of a string.

import { ALLOCATION, isAllocation } from '../cct/allocation.ts'
import { SAMPLED, STATE_COLUMNS, UNKNOWN_STATE } from '../cct/merge-samples.ts'
import { costsOf, metricOf } from '../cct/metric.ts'
import { type HotMethod, hotMethods } from '../cct/snapshot.ts'
import type { Tree } from '../cct/tree.ts'
import { UNSEEN } from '../cct/unseen.ts'
import { tellsWaits, WAIT_COLUMNS } from '../cct/waits.ts'
import { METRICS, type Metric } from '../measures/columns.ts'
import { attributionOf } from './attribution.ts'
import { namesOf } from './hot-locks.ts'
import { elements, jsonText } from './json-text.ts'
import { allWarnings, column, nameOf, type Profile } from './profile.ts'
import { regionFacts } from './region-report.ts'
import { courseJson, rootCallsJson } from './root-calls.ts'
import { hasSampledRows } from './sampled-rows.ts'
import { slowJsonPieces } from './slow-calls.ts'
import { LIVE_COLUMNS, survivorsOf } from './survivors.ts'
import { anywhere, isWait } from './text.ts'
import { tracePieces } from './trace-json.ts'

/** Parts that differ between the JSON of a whole profile and of a report. */
export interface Shown {
  /** First members of the object. */
  readonly head: object
  /** Maximum length of the list of methods, and of the list of classes. */
  readonly top: number
  /** Whether traced calls contain all their events. */
  readonly withEvents: boolean
  readonly threads: boolean
  nodes(tree: Tree): Iterable<string>
  /** Yields text to append to the nodes of a tree. */
  behind(tree: Tree): Iterable<string>
}

/** Yields the JSON text of a profile, in pieces of a few dozen to a few thousand characters. */
export function jsonPieces(profile: Profile): Generator<string> {
  const heads = nodeHeads(profile)
  return shownPieces(profile, {
    head: { format: 'jfluid-profile', version: 1 },
    top: Number.POSITIVE_INFINITY,
    withEvents: true,
    threads: true,
    nodes: (tree) => nodePieces(tree, heads),
    behind: () => [],
  })
}

export function* shownPieces(profile: Profile, shown: Shown): Generator<string> {
  yield `${jsonText(shown.head).slice(0, -1)},\n`
  yield factsJson(profile)
  if (profile.trace !== undefined) {
    yield ',\n"trace":'
    yield* tracePieces(profile, shown.withEvents)
  }
  yield ',\n"methods":['
  yield* elements(hotMethodsJson(profile, shown.top))
  if (METRICS[profile.mode].hasClasses) {
    yield '],\n"classes":['
    yield* elements(classesJson(profile, shown.top))
  }
  yield '],\n'
  if (profile.slowCalls !== undefined) {
    yield* slowJsonPieces(profile.slowCalls, profile, shown.nodes)
    yield ',\n'
  }
  if (shown.threads) {
    yield '"threads":['
    yield* elements(profile.threads, function* ({ id, name, tree }) {
      yield `{"id":${id},"name":${jsonText(name)},"roots":[`
      yield* shown.nodes(tree)
      yield* shown.behind(tree)
      yield ']}'
    })
    yield '],\n'
  }
  yield '"merged":['
  yield* shown.nodes(profile.merged)
  yield* shown.behind(profile.merged)
  yield ']}\n'
}

/** Returns all facts other than trees, as members of a JSON object without its braces. */
function factsJson(profile: Profile): string {
  const { target, jvms, mode, blocks, sampling, allocation, scheme, roots, startedAt, durationMs } = profile
  const { calibration, instrumentation, events, bareCalls, stacks, detach, rootCalls, course } = profile
  const { byHand, ...selection } = profile.selection ?? {}
  const facts = {
    target,
    jvms,
    mode,
    blocks,
    sampling,
    allocation: allocation && { ...allocation, ...attributionOf(profile) },
    scheme,
    roots,
    startedAt,
    jvmStartedAt: profile.jvmStartedAt,
    durationMs,
    range: profile.range,
    calibration,
    instrumentation: { ...instrumentation, longestPauseMs: instrumentation.longestPauseMs ?? 0 },
    warmupMs: profile.warmupMs,
    truncated: profile.truncated !== false,
    warnings: allWarnings(profile),
    selection: profile.selection && selection,
    byHand,
    openCalls: profile.openCalls ?? 0,
    events,
    bareCalls,
    stacks,
    shortMethods: profile.shortMethods,
    detach,
    kept: profile.kept ?? { heapBytes: 0, outsideBytes: 0 },
    followThreads: profile.followedTasks !== undefined,
    followedTasks: profile.followedTasks ?? 0,
    waits: tellsWaits(profile.merged) || undefined,
    values: profile.values,
    rootCalls: rootCalls && rootCallsJson(rootCalls),
    course: course && courseJson(course),
    regions: profile.regions && regionFacts(profile),
    callSites: profile.callSites || undefined,
  }
  return Object.entries(facts)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `"${key}":${jsonText(value)}`)
    .join(',\n')
}

function* hotMethodsJson(profile: Profile, top: number): Generator<object> {
  let left = top
  const metric = writtenMetric(profile.merged)
  const waits = waitsByMethod(profile.merged)
  for (const { method, calls, self, total, objects } of methodsInOrder(profile.merged, metric)) {
    const name = nameOf(profile.methodNames, method)
    if (isAllocation(name)) continue
    if (left-- <= 0) return
    const { class: className, loader, descriptor } = name
    yield {
      class: className,
      loader,
      method: name.method,
      descriptor,
      calls,
      ...(metric.hasClasses && { objects }),
      [metric.self]: self,
      [metric.total]: total,
      ...(!isWait(name) && waits(method)),
    }
  }
}

/**
 * Returns the metric of the costs in the JSON. For trees of waits this is time, since wait rows and wait columns contain times. Back
 * traces of waits have no time columns and keep their own metric.
 */
function writtenMetric(tree: Tree): Metric {
  const metric = metricOf(tree)
  return metric.isTime && tree.metrics[METRICS.exact.total] !== undefined ? METRICS.exact : metric
}

/** Returns the methods with their costs in the metric `written`, sorted by the tree's own metric. */
function methodsInOrder(tree: Tree, written: Metric): HotMethod[] {
  const hot = hotMethods(tree)
  if (written === metricOf(tree)) return hot
  const byMethod = new Map(sumsOf(tree, written.self, written.total).map((it) => [it.method, it]))
  return hot.map(({ method }) => byMethod.get(method)!)
}

function sumsOf(tree: Tree, self: string, total: string): HotMethod[] {
  return hotMethods(tree, { self: column(tree, self), total: column(tree, total) })
}

const NOTHING = { self: 0, total: 0 }

/** Returns a function: the sums of a method's wait columns; an empty object if waits are not recorded. */
function waitsByMethod(tree: Tree): (method: number) => { readonly [column: string]: number } {
  if (!tellsWaits(tree)) return () => ({})
  const [blocked, waited] = [
    sumsOf(tree, 'blockedNs', 'totalBlockedNs'),
    sumsOf(tree, 'waitedNs', 'totalWaitedNs'),
  ].map((sums) => new Map(sums.map((it) => [it.method, it])))
  return (method) => {
    // A method has no sums if all its contexts were collapsed.
    const [b, w] = [blocked!.get(method) ?? NOTHING, waited!.get(method) ?? NOTHING]
    return { blockedNs: b.self, waitedNs: w.self, totalBlockedNs: b.total, totalWaitedNs: w.total }
  }
}

/** Yields allocated classes, most bytes first. */
function* classesJson(profile: Profile, top: number): Generator<object> {
  let left = top
  const survivors = survivorsOf(profile.merged, namesOf(profile.methodNames), 'class')
  const alive = new Map(survivors.map((it) => [it.method, it]))
  const isLooked = profile.merged.metrics.liveBytes !== undefined
  for (const { method, objects, self } of hotMethods(profile.merged)) {
    const name = nameOf(profile.methodNames, method)
    if (!isAllocation(name)) continue
    if (left-- <= 0) return
    const { liveObjects = 0, liveBytes = 0, age = 0 } = alive.get(method) ?? {}
    const live = isLooked && { liveObjects, liveBytes, age }
    yield { class: name.class, loader: name.loader, objects, bytes: self, ...live }
  }
}

/**
 * Returns a function that returns the first part of the JSON of a method's nodes, cached per method.
 * @param places  whether to include the call site, if recorded
 */
export function nodeHeads(profile: Profile, places = true): (id: number) => string {
  const heads: (string | undefined)[] = []
  return (id) => {
    const known = heads[id]
    if (known !== undefined) return known
    const told = nameOf(profile.methodNames, id)
    const name = places ? told : anywhere(told)
    const place = name.bci === undefined ? '' : `,"bci":${name.bci}`
    const line = name.line === undefined ? '' : `,"line":${name.line}`
    const head = `{"class":${jsonText(name.class)},"method":${jsonText(name.method)},"descriptor":${jsonText(name.descriptor)}${place}${line}`
    heads[id] = head
    return head
  }
}

/** Last part of the head of a class node. Every method has a descriptor, so an empty descriptor marks a class. */
const ALLOCATION_HEAD = `,"method":"${ALLOCATION}","descriptor":""`

/** Returns the JSON of a node's own allocations, one object per class. */
function allocatedBy(tree: Tree, node: number, head: (id: number) => string): string[] {
  const objects = column(tree, 'objects')
  const { self } = costsOf(tree)
  const found: string[] = []
  const end = node + tree.size[node]!
  for (let child = node + 1; child < end; child += tree.size[child]!) {
    const name = head(tree.method[child]!)
    if (!name.endsWith(ALLOCATION_HEAD)) continue
    const owner = name.slice(0, -ALLOCATION_HEAD.length)
    found.push(`${owner},"objects":${objects[child]!},"bytes":${self[child]!}${liveJson(tree, child)}}`)
  }
  return found
}

/** Returns the live objects among a node's own allocations; empty if not recorded. */
function liveJson({ metrics }: Tree, node: number): string {
  if (metrics.liveBytes === undefined) return ''
  return LIVE_COLUMNS.map((name) => `,"${name}":${metrics[name]![node]!}`).join('')
}

/** Returns the source of a row (timed or sampled) and its thread states; values of 0 are omitted. */
function sampledJson({ metrics }: Tree, node: number): string {
  const known = metrics.known?.[node] === SAMPLED ? 'sampled' : 'timed'
  const columns = ['samples', 'sdNs', UNSEEN, ...STATE_COLUMNS, UNKNOWN_STATE]
    .map((name) => [name, metrics[name]?.[node] ?? 0] as const)
    .filter(([, value]) => value !== 0)
  return `,"known":"${known}"${columns.map(([name, value]) => `,"${name}":${value}`).join('')}`
}

/** Returns a function: the JSON of a node without children and closing brace; null for a class node, which is in its caller's JSON. */
function nodeTexts(tree: Tree, head: (id: number) => string): (node: number) => string | null {
  const { method } = tree
  const calls = column(tree, 'calls')
  const metric = writtenMetric(tree)
  const [self, total] = [column(tree, metric.self), column(tree, metric.total)]
  const isMeasured = tree.metrics.measuredNs !== undefined
  const isSampled = hasSampledRows(tree)
  const waits = tellsWaits(tree) ? WAIT_COLUMNS.map((name) => ({ name, of: column(tree, name) })) : []
  const objects = column(tree, 'objects')
  const totalObjects = column(tree, 'totalObjects')
  const measured = column(tree, 'measuredNs')
  const warmupCalls = column(tree, 'warmupCalls')
  const warmupSelf = column(tree, 'warmupSelfNs')
  return (i) => {
    const name = head(method[i]!)
    if (name.endsWith(ALLOCATION_HEAD)) return null
    let node = `${name},"calls":${calls[i]!}`
    if (metric.self !== 'calls') node += `,"${metric.self}":${self[i]!}`
    node += `,"${metric.total}":${total[i]!}`
    if (metric.hasClasses && tree.metrics.objects !== undefined) {
      node += `,"objects":${objects[i]!},"totalObjects":${totalObjects[i]!}${liveJson(tree, i)}`
      node += `,"allocated":[${allocatedBy(tree, i, head).join(',')}]`
    }
    if (isMeasured) node += `,"measuredNs":${measured[i]!}`
    for (const { name, of } of waits) if (of[i] !== 0) node += `,"${name}":${of[i]!}`
    if (isSampled) node += sampledJson(tree, i)
    if (warmupCalls[i] !== 0) node += `,"warmupCalls":${warmupCalls[i]!}`
    if (warmupSelf[i] !== 0) node += `,"warmupSelfNs":${warmupSelf[i]!}`
    return node
  }
}

/**
 * Yields the elements of a list of nodes, each node on its own line.
 * @param keep  selects the nodes to show; a node that is not shown hides its subtree
 */
export function* nodePieces(
  tree: Tree,
  head: (id: number) => string,
  keep: (node: number) => boolean = () => true,
): Generator<string> {
  const { count, size } = tree
  const textOf = nodeTexts(tree, head)
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
    const text = keep(i) ? textOf(i) : null
    if (text === null) {
      i += size[i]!
      continue
    }
    yield `${separator}${text},"children":[`
    open.push(i + size[i]!)
    separator = '\n'
    i++
  }
  yield ']}'.repeat(open.length)
}
