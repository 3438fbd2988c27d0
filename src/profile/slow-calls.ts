// Converts slow calls for the file, for JSON, and for a section of the report.

import { changesPerCall, sidesOf } from '../cct/baseline.ts'
import { differenceOf } from '../cct/difference.ts'
import { metricOf } from '../cct/metric.ts'
import { SLOWEST } from '../cct/slow-calls.ts'
import type { SlowCallTimes, SlowTimes } from '../cct/slow-times.ts'
import { type MethodName, type Tree, topSum } from '../cct/tree.ts'
import { elements, jsonText } from './json-text.ts'
import { nameOf, type Profile } from './profile.ts'
import { callCost } from './root-calls.ts'
import { hasSampledRows } from './sampled-rows.ts'
import {
  bytesOf,
  list,
  methodId,
  number,
  oneOf,
  optional,
  orNull,
  type Read,
  count as readCount,
  shape,
  string,
} from './shape.ts'
import { clean, count, cut, plural, right, shortName, span, width } from './text.ts'

/** Returns slow calls in their file format, with trees encoded like `merged`. */
export function packSlow({ tree, slowest, threw, latest, ...facts }: SlowTimes): object {
  const packed = ({ tree: own, ...call }: SlowCallTimes): object => ({
    ...call,
    ...(own !== undefined && { tree: packTree(own) }),
  })
  return {
    ...facts,
    ...(tree !== undefined && { tree: packTree(tree) }),
    slowest: slowest.map(packed),
    ...(threw !== undefined && { threw: { count: threw.count, latest: threw.latest.map(packed) } }),
    latest: latest && packed(latest),
  }
}

function packTree({ count: nodes, method, size, metrics }: Tree): object {
  const bytes = (of: Int32Array | Float64Array) => bytesOf(of, nodes)
  return {
    count: nodes,
    method: bytes(method),
    size: bytes(size),
    metrics: Object.fromEntries(Object.entries(metrics).map(([name, values]) => [name, bytes(values)])),
  }
}

/** Returns the reader of slow calls. @param methods  number of names, including the unused name 0 */
export function readSlow(methods: number, tree: Read<Tree>): Read<SlowTimes> {
  const call = shape({
    number: readCount,
    thread: shape({ id: number, name: string }),
    method: methodId(methods),
    time: number,
    atMs: number,
    first: optional(methodId(methods)),
    threw: optional(string),
    values: optional(list(orNull(string))),
    caller: optional(string),
    traceId: optional(string),
    samples: optional(readCount),
    tree: optional(tree),
  })
  return shape({
    unit: oneOf(['ns', 'bytecodes']),
    threshold: (value, what) => (value === 'p99' || value === 'threw' ? value : number(value, what)),
    thresholdNow: orNull(number),
    knownAtMs: optional(orNull(number)),
    shows: optional(list(string)),
    count: readCount,
    dropped: readCount,
    treeFromMs: optional(number),
    treeCount: optional(readCount),
    slowest: list(call),
    threw: optional(shape({ count: readCount, latest: list(call) })),
    latest: orNull(call),
    tree: optional(tree),
  })
}

/** Yields the member `slowCalls` of a JSON object, in pieces. */
export function* slowJsonPieces(
  slow: SlowTimes,
  { methodNames }: Profile,
  nodes: (tree: Tree) => Iterable<string>,
): Generator<string> {
  const {
    unit,
    threshold,
    thresholdNow,
    knownAtMs,
    shows,
    count: calls,
    dropped,
    treeFromMs,
    treeCount,
    ofRecording,
    slowest,
    threw,
    tree,
  } = slow
  const facts = {
    ...{ unit, threshold, thresholdNow },
    ...(knownAtMs !== undefined && { knownAtMs }),
    ...(shows !== undefined && { shows }),
    ...{ count: calls, dropped },
    ...(treeFromMs !== undefined && { treeFromMs, treeCount }),
    ...(threw !== undefined && { threwCount: threw.count }),
    ...(ofRecording !== undefined && { ofRecording }),
  }
  yield `"slowCalls":${jsonText(facts).slice(0, -1)},"roots":[`
  if (tree !== undefined) yield* nodes(tree)
  const callPieces = function* (it: SlowCallTimes): Generator<string> {
    const { number, thread, time, atMs, threw: thrown, values, caller, traceId, samples, tree: own } = it
    const { class: owner, method, descriptor } = nameOf(methodNames, it.method)
    const by = byText(it, methodNames)
    const call = { number, threadId: thread.id, threadName: thread.name }
    const facts = {
      ...(thrown !== undefined && { threw: thrown }),
      ...(by !== null && { by }),
      ...(values !== undefined && { values }),
      ...(caller !== undefined && { caller }),
      ...(traceId !== undefined && { traceId }),
      ...(samples !== undefined && { samples }),
    }
    const text = jsonText({ ...call, class: owner, method, descriptor, time, atMs, ...facts })
    yield `${text.slice(0, -1)},"roots":[`
    if (own !== undefined) yield* nodes(own)
    yield ']}'
  }
  yield '],"slowest":['
  yield* elements(slowest, callPieces)
  if (threw !== undefined) {
    yield '],"threw":['
    yield* elements(threw.latest, callPieces)
  }
  yield ']}'
}

/** Prefix of the name of a pseudo method below a root, which `--by` adds. Such a name has no class. */
const BY = 'by='

/** Returns the value of `--by` of a call; null without `--by`. */
function byText({ first }: SlowCallTimes, names: Profile['methodNames']): string | null {
  if (first === undefined) return null
  const { class: owner, method } = nameOf(names, first)
  return owner === '' && method.startsWith(BY) ? method.slice(BY.length) : null
}

/** With fewer samples than this in a call, the call's time cannot be divided among the methods that were only sampled. */
const ENOUGH_SAMPLES = 3

/** Returns the facts about a call: first what identifies it (values, thread, exception), then its origin and its samples. */
export function callFacts(
  it: SlowCallTimes,
  { shows = [] }: Pick<SlowTimes, 'shows'>,
  nameOfMethod: (id: number) => MethodName,
): { readonly call: string[]; readonly origin: string[] } {
  const { thread, threw, values = [], caller, traceId, samples } = it
  const first = it.first === undefined ? undefined : nameOfMethod(it.first)
  const isBy = first?.class === '' && first.method.startsWith(BY)
  return {
    call: [
      ...(isBy ? [clean(first.method)] : []),
      ...values.map((value, i) => clean(`${shows[i] ?? `value ${i + 1}`}=${value ?? '(not written)'}`)),
      clean(thread.name),
      ...(threw === undefined ? [] : [clean(`threw ${threw}`)]),
    ],
    origin: [
      ...(caller === undefined ? [] : [clean(`called by ${caller}`)]),
      ...(traceId === undefined ? [] : [clean(`trace ${traceId}`)]),
      ...(samples === undefined
        ? []
        : [
            `${samples === 0 ? 'no sample' : plural(samples, 'sample')}${samples < ENOUGH_SAMPLES ? ': too few to divide its time' : ''}`,
          ]),
    ],
  }
}

/** Describes the threshold: "above p99 (now 12.0 ms)" or "of 50.0 ms or more". */
export function thresholdText(
  { threshold, thresholdNow, knownAtMs, ofRecording, unit }: SlowTimes,
  calls?: number,
): string {
  if (threshold === 'threw') return 'that an exception ended'
  if (threshold !== 'p99') return `of ${callCost(threshold, unit)} or more`
  const soFar = calls === undefined ? '' : `, now ${count(calls)}`
  if (thresholdNow === null) return `above p99 (known after 100 calls${soFar})`
  // The current value is that of the end of the recording, also in a time range.
  const now = ofRecording === undefined ? [`now ${callCost(thresholdNow, unit)}`] : []
  const facts = [...now, ...(typeof knownAtMs === 'number' ? [`known from ${span(knownAtMs)}`] : [])]
  return facts.length === 0 ? 'above p99' : `above p99 (${facts.join(', ')})`
}

/**
 * Returns the remark of a time range, whose slow calls are only those of the kept calls that ended in the range; null for a whole
 * recording.
 */
export function keptText({ ofRecording }: SlowTimes): string | null {
  if (ofRecording === undefined) return null
  return `The whole recording has ${plural(ofRecording.count, 'slow call')}. jfluid keeps only the ${SLOWEST} slowest.`
}

/** Returns which slow calls the common tree has: "5 since 14.2 s"; null if it has all. */
export function treePartText({ treeFromMs, treeCount = 0 }: SlowTimes): string | null {
  return treeFromMs === undefined ? null : `${count(treeCount)} since ${span(treeFromMs)}`
}

/** Returns the remark about a common tree that has only a part of the slow calls; null if it has all. */
export function treePartRemark(slow: SlowTimes): string | null {
  const part = treePartText(slow)
  return part === null ? null : `Common tree: ${part}, when the timed methods changed.`
}

/** Returns the noun of `SlowTimes.count`: "3 slow calls", in a time range "3 kept slow calls". */
export function slowCountText({ count: calls, ofRecording }: SlowTimes): string {
  return plural(calls, ofRecording === undefined ? 'slow call' : 'kept slow call')
}

/** Maximum number of contexts listed by `changeLines`. */
const MAX_CHANGES = 5

/** Yields facts about slow calls, without their tree. The first line is the title. Lines have no line feed. */
export function* slowLines(slow: SlowTimes, profile: Profile, cells: number): Generator<string> {
  const { unit, count: calls, dropped, ofRecording, slowest, threw, tree } = slow
  const kept = keptText(slow)
  yield `Slow calls${kept === null ? '' : ' kept of this range'}: ${plural(calls, 'call')} ${thresholdText(slow)}`
  if (kept !== null) yield kept
  if (dropped > 0) yield `${plural(dropped, 'slow call')} too large for the tree`
  const part = treePartRemark(slow)
  if (part !== null) yield part
  if (slowest.length > 0) {
    yield `${right('duration', 10)}${right('ended at', 10)}  root, thread (slowest calls first)`
    for (const it of slowest) yield* callLines(it, slow, profile, cells)
  }
  if (threw !== undefined && threw.latest.length > 0) {
    const latest = ofRecording === undefined ? 'latest' : 'in this range, from the latest'
    const all = plural(ofRecording?.threwCount ?? threw.count, 'call')
    yield `${right('duration', 10)}${right('ended at', 10)}  root, thread (${latest} of ${all} that an exception ended)`
    for (const it of threw.latest) yield* callLines(it, slow, profile, cells)
  }
  if (tree !== undefined && tree.count > 0) yield* changeLines(tree, profile, unit, cells)
}

function* callLines(it: SlowCallTimes, slow: SlowTimes, profile: Profile, cells: number): Generator<string> {
  const name = (id: number) => nameOf(profile.methodNames, id)
  const { call, origin } = callFacts(it, slow, name)
  const room = cells - CALL_COLUMNS
  const begin = `${right(callCost(it.time, slow.unit), 10)}${right(span(it.atMs), 10)}  `
  const indent = ' '.repeat(CALL_COLUMNS)
  const [first, ...more] = inLines([shortName(name(it.method), room), ...call], '  ', room)
  yield cut(begin + first, cells)
  for (const line of [...more, ...inLines(origin, '; ', room)]) yield cut(indent + line, cells)
}

/** Width of the duration and the end of a call. */
const CALL_COLUMNS = 22

/** Joins texts to lines of at most `cells`. A text is not split. */
export function inLines(texts: readonly string[], separator: string, cells: number): string[] {
  const lines: string[] = []
  for (const text of texts) {
    const longer = lines.length === 0 ? text : `${lines.at(-1)}${separator}${text}`
    if (lines.length > 0 && width(longer) <= cells) lines[lines.length - 1] = longer
    else lines.push(text)
  }
  return lines
}

/** A context with more self cost per root call in slow calls than in all calls. */
export interface SlowChange {
  readonly method: number
  /** Node of the tree of slow calls; -1 if no slow call has the context. */
  readonly node: number
  readonly slow: number
  readonly all: number
}

/**
 * Returns the contexts with more self cost in a slow call than in an average call, largest differences first. Returns none if only the tree
 * of all calls has sampled rows: the self cost of a timed row of slow calls then contains what the sampled rows of all calls have.
 */
export function slowChanges(tree: Tree, merged: Tree, most: number): SlowChange[] {
  if (hasSampledRows(merged) && !hasSampledRows(tree)) return []
  const difference = differenceOf(merged, tree)
  const { before, after, change } = changesPerCall(sidesOf(difference))
  return Array.from({ length: difference.count }, (_, i) => i)
    .filter((i) => change.self[i]! > 0)
    .sort((a, b) => change.self[b]! - change.self[a]!)
    .slice(0, most)
    .map((i) => {
      const node = difference.nodeAfter[i]!
      const method = node >= 0 ? tree.method[node]! : merged.method[difference.nodeBefore[i]!]!
      return { method, node, slow: after.self[i]!, all: before.self[i]! }
    })
}

function* changeLines(
  tree: Tree,
  { merged, methodNames }: Profile,
  unit: SlowTimes['unit'],
  cells: number,
): Generator<string> {
  const changes = slowChanges(tree, merged, MAX_CHANGES)
  if (changes.length === 0) return
  yield `${right('slow', 10)}${right('all calls', 10)}  self ${unit === 'ns' ? 'time' : 'bytecodes'} per root call, largest differences first`
  for (const { method, slow, all } of changes) {
    const name = shortName(nameOf(methodNames, method), cells - 22)
    yield `${right(callCost(slow, unit), 10)}${right(callCost(all, unit), 10)}  ${name}`
  }
}

/** Returns "3 slow calls (mean 45.2 ms, of all calls 2.10 ms)", of the slow calls in the common tree. */
export function averageText(slow: SlowTimes, all: Tree): string {
  const { unit, tree, treeFromMs, count: calls, treeCount = calls } = slow
  const mean = (of: Tree | undefined) => {
    if (of === undefined) return '-'
    const times = topSum(of, 'calls')
    return times === 0 ? '-' : callCost(topSum(of, metricOf(of).total) / times, unit)
  }
  const since = treeFromMs === undefined ? '' : ` since ${span(treeFromMs)}`
  return `${plural(treeCount, 'slow call')}${since} (mean ${mean(tree)}, of all calls ${mean(all)})`
}
