// Validates and reads the body of a `.jfluid` file (see file.ts) after MessagePack decoding. The input is not trusted.

import { SCHEMES } from '../base/scheme.ts'
import { type LineTable, WHOLE_METHOD } from '../cct/line-samples.ts'
import type { CollapsedMethods, MethodName, Tree } from '../cct/tree.ts'
import { WAIT_COLUMNS } from '../cct/waits.ts'
import { METRICS } from '../measures/columns.ts'
import { SECTIONS } from '../measures/sections.ts'
import { PERCENTILES } from '../regions/times.ts'
import { readDetach } from './detach-facts.ts'
import {
  CLOCKS,
  MODES,
  type Mode,
  methodsByName,
  type Profile,
  type RegionTimes,
  type Sampling,
} from './profile.ts'
import { readCourse, readRootCalls } from './root-calls.ts'
import { readSegments } from './segments.ts'
import {
  boolean,
  byKey,
  column,
  count,
  fields,
  instant,
  integers,
  list,
  methodId,
  number,
  type Optional,
  oneOf,
  optional,
  orNull,
  type Read,
  shape,
  string,
  tuple,
  Unsound,
} from './shape.ts'
import { readShortMethods } from './short-methods.ts'
import { readSlow } from './slow-calls.ts'
import { readStacks } from './stack-facts.ts'
import { LIVE_COLUMNS } from './survivors.ts'
import { readTrace } from './trace-file.ts'
import { BUDGET_COLUMNS, budgetWarnings } from './untimed-calls.ts'
import { readValues } from './values.ts'

/** Reads a profile from the decoded body. @throws Unsound */
export function readBody(content: unknown): Profile {
  const given = fields(content, '')
  const plainNames = readNames(given.methodNames, 'methodNames')
  const hasPlaces = given.callSites !== undefined
  const methodNames = hasPlaces ? withPlaces(plainNames, given.callSites) : plainNames
  const mode = oneOf(MODES)(given.mode, 'mode')
  const read = profileOf(mode, methodNames.length, treeOf(mode, methodNames, hasPlaces))(content, '')
  if (read.jvms !== undefined && read.jvms.length !== read.threads.length)
    throw new Unsound('jvms and threads differ in number')
  const warnings = [...read.warnings, ...budgetWarnings(given.merged, read.merged, methodNames)]
  return { ...read, warnings, ...(hasPlaces && { callSites: true }), methodNames }
}

/** Returns the reader of a profile. Its keys have the order of a written profile, so a file that is read and rewritten keeps its bytes. */
function profileOf(mode: Mode, methods: number, tree: Read<Tree>) {
  // Files of earlier versions may contain `sampling` in modes that measure times, too.
  const sampling = METRICS[mode].isSampled ? { sampling: optional(readSampling) } : {}
  return shape({
    target: shape({ pid: number, jdk: string, vm: string, mainClass: string }),
    jvms: optional(
      list(
        shape({
          pid: count,
          mainClass: string,
          jdk: string,
          durationMs: number,
          threads: count,
          truncated: boolean,
        }),
      ),
    ),
    mode: oneOf(MODES),
    blocks: optional(string),
    ...(sampling as { sampling: Optional<Sampling> }),
    allocation: optional(
      shape({
        liveness: optional(shape({ collections: count, untracked: count })),
        sampleEvery: count,
        jvmBytes: optional(count),
      }),
    ),
    scheme: oneOf(SCHEMES),
    roots: list(string),
    selection: optional(
      shape({
        include: list(string),
        exclude: list(string),
        jdk: (value) => value === true,
        byHand: optional(
          list(
            shape({
              what: oneOf(['exclude', 'include', 'add', 'roots']),
              text: string,
              atMs: number,
              methods: count,
            }),
          ),
        ),
      }),
    ),
    startedAt: instant,
    jvmStartedAt: optional(instant),
    durationMs: number,
    calibration: shape({
      innerNs: number,
      outerNs: number,
      innerSpreadNs: optional(number),
      outerSpreadNs: optional(number),
      clock: oneOf(CLOCKS),
      readNs: optional(number),
      clockMHz: optional(number),
    }),
    instrumentation: shape({
      instrumentedMethods: count,
      calledMethods: count,
      redefinitions: count,
      redefinedClasses: count,
      hotSwapMs: number,
      longestPauseMs: optional(number),
      analysisMs: number,
      skipped: list(shape({ method: string, reason: string })),
      gaps: count,
      healed: count,
      overflows: optional(list(shape({ method: string, errors: count }))),
    }),
    warmupMs: number,
    truncated: (value, what) => (typeof value === 'string' ? value : boolean(value, what)),
    warnings: list(string),
    events: shape({ count, waitMs: number }),
    kept: optional(shape({ heapBytes: count, outsideBytes: count })),
    stacks: optional(readStacks),
    shortMethods: optional(readShortMethods),
    detach: optional(readDetach),
    bareCalls: optional(
      shape({ calls: count, bareNs: number, chargedNs: number, low: number, high: number }),
    ),
    followedTasks: optional(count),
    rootCalls: optional(readRootCalls),
    values: optional(readValues),
    slowCalls: optional(readSlow(methods, tree)),
    course: optional(readCourse),
    openCalls: optional(count),
    segments: optional(readSegments(shapeOf(methods))),
    regions: optional(list(regionOf(methods))),
    trace: optional(readTrace(methods)),
    lines: optional(linesOf(methods)),
    merged: tree,
    threads: list(shape({ id: number, name: string, tree })),
  })
}

const readSampling = shape({
  every: number,
  unit: oneOf(['bytecodes', 'ns']),
  random: optional(count),
  outside: optional(count),
  dumps: optional(count),
  stoppedNs: optional(number),
  samples: optional(count),
  bytecodes: optional(number),
  latencyNs: optional(shape({ p50: number, p90: number, p99: number, max: number })),
  by: oneOf(['probes', 'jfr', 'cpu', 'stacks']),
})

function regionOf(methods: number): Read<RegionTimes> {
  const read = shape({
    region: string,
    method: methodId(methods),
    lines: orNull(shape({ from: count, to: count })),
    count,
    totalNs: number,
    minNs: number,
    meanNs: number,
    maxNs: number,
    firstMs: orNull(number),
    lastMs: orNull(number),
    percentilesNs: byKey(PERCENTILES, number),
    buckets: list(tuple(number, 3)),
    lastNs: list(number),
    intervalMs: number,
    intervals: list(tuple(number, 3)),
  })
  return (value, what) => {
    const { intervals, ...region } = read(value, what)
    return {
      ...region,
      intervals: intervals.map(([count, totalNs, maxNs]) => ({ count, totalNs, maxNs })),
    }
  }
}

function linesOf(methods: number): Read<LineTable> {
  return (value, what) => {
    const rows = count(fields(value, what).count, `${what}.count`)
    const sums = column(rows)
    const ids = integers(rows)
    const found = shape({ method: ids, line: ids, self: sums, total: sums, samples: sums })(value, what)
    if (found.method.some((id) => id < 1 || id >= methods))
      throw new Unsound(`${what} has a method without a name`)
    if (found.line.some((line) => line < WHOLE_METHOD)) throw new Unsound(`${what} has an impossible line`)
    return found
  }
}

const readName = tuple(string, 4)

const readNames: Read<MethodName[]> = (value, what) => [
  { class: '', method: '', descriptor: '', loader: '' },
  ...list((entry, one) => {
    const [className, method, descriptor, loader] = readName(entry, one)
    return { class: className, method, descriptor, loader }
  })(value, what),
]

function withPlaces(names: readonly MethodName[], value: unknown): MethodName[] {
  const ids = integers(names.length - 1)
  const { bci, line } = shape({ bci: ids, line: ids })(value, 'callSites')
  return names.map((name, id) => ({
    ...name,
    ...(id > 0 && bci[id - 1]! >= 0 && { bci: bci[id - 1]! }),
    ...(id > 0 && line[id - 1]! >= 0 && { line: line[id - 1]! }),
  }))
}

/** Columns that only earlier versions wrote, for error bars and an overhead budget. The reader discards them. */
const FORMER_COLUMNS: readonly string[] = ['selfErrorNs', 'errorNs', ...BUDGET_COLUMNS]

function treeOf(mode: Mode, names: readonly MethodName[], hasPlaces: boolean): Read<Tree> {
  const methods = names.length
  const methodOf = hasPlaces ? methodsByName(names) : undefined
  const shapeOfTree = shapeOf(methods)
  return (value, what) => {
    const given = fields(value, what)
    const shaped = shapeOfTree(value, what)
    const nodes = shaped.count
    const metrics: Record<string, Float64Array> = {}
    for (const [name, bytes] of Object.entries(fields(given.metrics, `${what}.metrics`)))
      if (!FORMER_COLUMNS.includes(name)) metrics[name] = column(nodes)(bytes, `${name} of ${what}`)
    const missing = columnsOf(mode, metrics).find((name) => metrics[name] === undefined)
    if (missing !== undefined) throw new Unsound(`${what} has no ${missing}`)
    return {
      ...shaped,
      metrics,
      ...(given.collapsed !== undefined && {
        collapsed: readCollapsed(given.collapsed, methods, `${what}.collapsed`),
      }),
      ...(methodOf !== undefined && { methodOf }),
    }
  }
}

/** Returns the reader of a tree without its columns. */
function shapeOf(methods: number): Read<Pick<Tree, 'count' | 'method' | 'parent' | 'size'>> {
  return (value, what) => {
    const given = fields(value, what)
    const nodes = count(given.count, `${what}.count`)
    const method = integers(nodes)(given.method, `${what}.method`)
    const size = integers(nodes)(given.size, `${what}.size`)
    if (method.some((id) => id < 0 || id >= methods)) throw new Unsound(`${what} has a method without a name`)
    return { count: nodes, method, parent: parentsOf(size, what), size }
  }
}

/** Returns the required columns of a tree, according to its mode and its other columns. */
function columnsOf(mode: Mode, metrics: Tree['metrics']): string[] {
  const { self, total } = METRICS[mode]
  const { fileColumns, hasWaits } = SECTIONS[mode]
  return [
    ...['calls', self, total, ...fileColumns],
    ...(metrics.liveBytes === undefined ? [] : LIVE_COLUMNS),
    ...(hasWaits || metrics[WAIT_COLUMNS[0]] !== undefined ? WAIT_COLUMNS : []),
  ]
}

function readCollapsed(value: unknown, methods: number, what: string): CollapsedMethods {
  const length = count(fields(value, what).count, `${what}.count`)
  const sums = column(length)
  const found = shape({ method: integers(length), calls: sums, self: sums, total: sums })(value, what)
  if (found.method.some((id) => id < 1 || id >= methods))
    throw new Unsound(`${what} has a method without a name`)
  return found
}

/** Checks that subtrees nest, and returns the parents. */
function parentsOf(size: Int32Array, what: string): Int32Array {
  const nodes = size.length
  const parent = new Int32Array(nodes)
  const open: number[] = []
  for (let i = 0; i < nodes; i++) {
    while (open.length > 0 && i >= open[open.length - 1]! + size[open[open.length - 1]!]!) open.pop()
    const above = open.length > 0 ? open[open.length - 1]! : -1
    const end = above < 0 ? nodes : above + size[above]!
    if (size[i]! < 1 || i + size[i]! > end) throw new Unsound(`${what} has a subtree larger than its parent`)
    parent[i] = above
    open.push(i)
  }
  return parent
}
