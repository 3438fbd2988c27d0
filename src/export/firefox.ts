// Writes the processed profile format of the Firefox Profiler (https://profiler.firefox.com, its docs-developer), version 48. Newer
// versions of the Firefox Profiler convert the file when they load it.
// The stack table contains one row per node of the tree, with the parent as prefix, so trees may have any depth. A sample is a context; its
// weight is the self cost: milliseconds (`tracing-ms`), bytes, or a count (`samples`). A tree has no timeline, so the samples are placed
// one after another. If costs are times, a sample lasts for its self time. With `threads`, the file has one thread per thread of the
// profile; otherwise, it has one thread with the merged tree.
// Contexts with a cost of zero or below have no sample, since weights have no sign in this format.

import { Numbers } from '../base/numbers.ts'
import { metricOf } from '../cct/metric.ts'
import type { Tree } from '../cct/tree.ts'
import type { Unit } from '../measures/columns.ts'
import { elements, jsonText } from '../profile/json-text.ts'
import type { Profile } from '../profile/profile.ts'
import type { ExportFormat } from './format.ts'
import { type FrameNames, frameNames, type NamedTree, ownCosts, printable, treesOf } from './frames.ts'
import { titleOf } from './speedscope.ts'

const PROCESSED_VERSION = 48
const GECKO_VERSION = 29

interface Weight {
  readonly type: 'tracing-ms' | 'bytes' | 'samples'
  /** Factor from the tree's unit to the weight's unit. */
  readonly scale: number
}

const WEIGHTS: Readonly<Record<Unit, Weight>> = {
  nanoseconds: { type: 'tracing-ms', scale: 1e-6 },
  bytes: { type: 'bytes', scale: 1 },
  count: { type: 'samples', scale: 1 },
}

/** Columns with the same value in all functions, or in all frames. */
const FUNCTION = {
  ...{ isJS: 'false', relevantForJS: 'false' },
  ...{ resource: '-1', fileName: 'null', lineNumber: 'null', columnNumber: 'null' },
}
const FRAME = {
  ...{ address: '-1', inlineDepth: '0', category: '0', subcategory: '0' },
  ...{ nativeSymbol: 'null', innerWindowID: 'null', implementation: 'null', line: 'null', column: 'null' },
}

export const firefox: ExportFormat = {
  name: 'firefox',
  extension: '.firefox.json',
  description: 'the Firefox Profiler: https://profiler.firefox.com',
  *pieces(profile, options) {
    yield `{"meta":${jsonText(metaOf(profile))},\n"libs":[],"pages":[],"counters":[],"profilerOverhead":[],"threads":[`
    const names = frameNames(profile)
    const trees = treesOf(profile, options.threads)
    yield* elements(trees, (tree) => threadPieces(profile, tree, tree === trees[0], names))
    yield ']}\n'
  },
}

function metaOf(profile: Profile): object {
  return {
    ...{ version: GECKO_VERSION, preprocessedProfileVersion: PROCESSED_VERSION },
    ...{ interval: 1, startTime: Math.max(0, Date.parse(profile.startedAt)), processType: 0, stackwalk: 0 },
    product: printable(profile.target.mainClass),
    importedFrom: 'jfluid',
    ...{ platform: '', oscpu: '', misc: '', abi: '', toolkit: '' },
    appBuildID: titleOf(profile),
    extensions: { id: [], name: [], baseURL: [], length: 0 },
    categories: [{ name: 'Java', color: 'grey', subcategories: ['Other'] }],
    ...{ markerSchema: [], symbolicated: true, debug: false, usesOnlyOneStackType: true },
    ...{ doesNotUseFrameImplementation: true, sourceCodeIsNotOnSearchfox: true },
    sampleUnits: { time: 'ms', eventDelay: 'ms', threadCPUDelta: 'µs' },
  }
}

function* threadPieces(
  profile: Profile,
  of: NamedTree,
  isMain: boolean,
  names: FrameNames,
): Generator<string> {
  const { tree, thread } = of
  const { count } = tree
  const facts = {
    ...{ name: thread === undefined ? 'all threads' : printable(thread.name), isMainThread: isMain },
    ...{ processType: 'default', processName: printable(profile.target.mainClass) },
    processStartupTime: 0,
    processShutdownTime: null,
    registerTime: 0,
    unregisterTime: null,
    pausedRanges: [],
    ...{ pid: String(profile.target.pid), tid: thread?.id ?? 0 },
    markers: { data: [], name: [], startTime: [], endTime: [], phase: [], category: [], length: 0 },
    resourceTable: { lib: [], name: [], host: [], type: [], length: 0 },
    nativeSymbols: { libIndex: [], address: [], name: [], functionSize: [], length: 0 },
  }
  yield `${jsonText(facts).slice(0, -1)},\n`

  // Each method has a frame, a function and a string, all with the same index.
  const index = new Numbers<number>()
  for (let node = 0; node < count; node++) index.of(tree.method[node]!)
  const methods = [...index.keys()]
  yield '"stringArray":['
  yield* list(methods.length, (at) => jsonText(names.frame(methods[at]!)))
  yield '],\n'
  yield* table('funcTable', methods.length, { name: String, ...FUNCTION })
  yield ',\n'
  yield* table('frameTable', methods.length, { func: String, ...FRAME })
  yield ',\n'
  yield* table('stackTable', count, {
    frame: (node) => String(index.of(tree.method[node]!)),
    prefix: (node) => (tree.parent[node]! < 0 ? 'null' : String(tree.parent[node])),
    category: '0',
    subcategory: '0',
  })
  yield ',\n'
  yield* samples(tree, names)
  yield '}'
}

function* samples(tree: Tree, names: FrameNames): Generator<string> {
  const costOf = ownCosts(tree, names)
  const { type, scale } = WEIGHTS[metricOf(tree).unit]
  const nodes = Int32Array.from(withCosts(tree, costOf))
  let at = 0
  const time = (sample: number): string => {
    const began = at
    at += type === 'tracing-ms' ? costOf(nodes[sample]!) * scale : 1
    return String(Number(began.toFixed(6)))
  }
  const columns = {
    stack: (sample: number) => String(nodes[sample]),
    time,
    weight: (sample: number) => String(Number((costOf(nodes[sample]!) * scale).toFixed(6))),
  }
  yield* table('samples', nodes.length, columns, `,"weightType":"${type}"`)
}

function* withCosts({ count }: Tree, costOf: (node: number) => number): Generator<number> {
  for (let node = 0; node < count; node++) if (costOf(node) > 0) yield node
}

/** Writes an object with lists of equal length. A column is either a function that returns the text of a row, or one text for all rows. */
function* table(
  name: string,
  length: number,
  columns: Readonly<Record<string, string | ((row: number) => string)>>,
  others = '',
): Generator<string> {
  yield `"${name}":{"length":${length}${others}`
  for (const [key, column] of Object.entries(columns)) {
    yield `,\n"${key}":[`
    yield* list(length, typeof column === 'string' ? () => column : column)
    yield ']'
  }
  yield '}'
}

function* list(length: number, text: (at: number) => string): Generator<string> {
  for (let at = 0; at < length; at++) yield at === 0 ? text(at) : `,${text(at)}`
}
