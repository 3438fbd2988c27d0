// Converts slow calls for the file, for JSON, and for a section of the report.

import { changesPerCall, sidesOf } from '../cct/baseline.ts'
import { differenceOf } from '../cct/difference.ts'
import { metricOf } from '../cct/metric.ts'
import type { SlowCallTimes, SlowTimes } from '../cct/slow-times.ts'
import { type Tree, topSum } from '../cct/tree.ts'
import { elements, jsonText } from './json-text.ts'
import { nameOf, type Profile } from './profile.ts'
import { callCost } from './root-calls.ts'
import {
  bytesOf,
  count,
  list,
  methodId,
  number,
  oneOf,
  optional,
  orNull,
  type Read,
  shape,
  string,
} from './shape.ts'
import { clean, cut, pad, plural, right, shortName, span } from './text.ts'

/** Returns slow calls in their file format, with trees encoded like `merged`. */
export function packSlow({ tree, slowest, latest, ...facts }: SlowTimes): object {
  const packed = ({ tree: own, ...call }: SlowCallTimes): object => ({
    ...call,
    ...(own !== undefined && { tree: packTree(own) }),
  })
  return {
    ...facts,
    ...(tree !== undefined && { tree: packTree(tree) }),
    slowest: slowest.map(packed),
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
    number: count,
    thread: shape({ id: number, name: string }),
    ...{ method: methodId(methods), time: number, atMs: number, tree: optional(tree) },
  })
  return shape({
    unit: oneOf(['ns', 'bytecodes']),
    threshold: (value, what) => (value === 'p99' ? value : number(value, what)),
    thresholdNow: orNull(number),
    ...{ count, dropped: count, slowest: list(call), latest: orNull(call), tree: optional(tree) },
  })
}

/** Yields the member `slowCalls` of a JSON object, in pieces. */
export function* slowJsonPieces(
  slow: SlowTimes,
  { methodNames }: Profile,
  nodes: (tree: Tree) => Iterable<string>,
): Generator<string> {
  const { unit, threshold, thresholdNow, count: calls, dropped, slowest, tree } = slow
  const facts = { unit, threshold, thresholdNow, count: calls, dropped }
  yield `"slowCalls":${jsonText(facts).slice(0, -1)},"roots":[`
  if (tree !== undefined) yield* nodes(tree)
  yield '],"slowest":['
  yield* elements(slowest, function* ({ number, thread, method: id, time, atMs, tree: own }) {
    const { class: owner, method, descriptor } = nameOf(methodNames, id)
    const call = { number, threadId: thread.id, threadName: thread.name }
    const text = jsonText({ ...call, class: owner, method, descriptor, time, atMs })
    yield `${text.slice(0, -1)},"roots":[`
    if (own !== undefined) yield* nodes(own)
    yield ']}'
  })
  yield ']}'
}

/** Describes the threshold: "above p99 (now 12.0 ms)" or "of 50.0 ms or more". */
export function thresholdText({ threshold, thresholdNow, unit }: SlowTimes): string {
  if (threshold !== 'p99') return `of ${callCost(threshold, unit)} or more`
  if (thresholdNow === null) return 'above p99 (known after 100 calls)'
  return `above p99 (now ${callCost(thresholdNow, unit)})`
}

/** Maximum number of contexts listed by `changeLines`. */
const MAX_CHANGES = 5

/** Yields facts about slow calls, without their tree. The first line is the title. Lines have no line feed. */
export function* slowLines(slow: SlowTimes, profile: Profile, cells: number): Generator<string> {
  const { unit, count: calls, dropped, slowest, tree } = slow
  yield `Slow calls: ${plural(calls, 'call')} ${thresholdText(slow)}`
  if (dropped > 0) yield `${plural(dropped, 'slow call')} too large for the tree`
  if (slowest.length > 0) {
    yield `${right('duration', 10)}${right('ended at', 10)}  thread, root (slowest calls first)`
    for (const { time, atMs, thread, method } of slowest) {
      const root = shortName(nameOf(profile.methodNames, method), Math.max(40, cells - 42))
      const text = `${right(callCost(time, unit), 10)}${right(span(atMs), 10)}  ${pad(clean(thread.name), 20)}  ${root}`
      yield cut(text, cells)
    }
  }
  if (tree !== undefined && tree.count > 0) yield* changeLines(tree, profile, unit, cells)
}

/** Yields the contexts with more self cost in a slow call than in an average call. */
function* changeLines(
  tree: Tree,
  { merged, methodNames }: Profile,
  unit: SlowTimes['unit'],
  cells: number,
): Generator<string> {
  const difference = differenceOf(merged, tree)
  const { before, after, change } = changesPerCall(sidesOf(difference))
  const most = Array.from({ length: difference.count }, (_, i) => i)
    .filter((i) => change.self[i]! > 0)
    .sort((a, b) => change.self[b]! - change.self[a]!)
    .slice(0, MAX_CHANGES)
  if (most.length === 0) return
  yield `${right('slow', 10)}${right('all calls', 10)}  self ${unit === 'ns' ? 'time' : 'bytecodes'} per root call, largest differences first`
  for (const i of most) {
    const node = difference.nodeAfter[i]!
    const method = node >= 0 ? tree.method[node]! : merged.method[difference.nodeBefore[i]!]!
    const name = shortName(nameOf(methodNames, method), cells - 22)
    yield `${right(callCost(after.self[i]!, unit), 10)}${right(callCost(before.self[i]!, unit), 10)}  ${name}`
  }
}

/** Returns "3 slow calls (mean 45.2 ms, of all calls 2.10 ms)". */
export function averageText({ unit, tree, count: calls }: SlowTimes, all: Tree): string {
  const mean = (of: Tree | undefined) => {
    if (of === undefined) return '-'
    const times = topSum(of, 'calls')
    return times === 0 ? '-' : callCost(topSum(of, metricOf(of).total) / times, unit)
  }
  return `${plural(calls, 'slow call')} (mean ${mean(tree)}, of all calls ${mean(all)})`
}
