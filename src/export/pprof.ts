// The format of Go's pprof (github.com/google/pprof, proto/profile.proto): gzip of one protobuf message.
//
// A sample is a context, its first value the calls, the others what the mode measures; values of a sample are its own, without
// callees, and may be negative, as pprof has them in differences. A location is a method, with the line of the call that
// leads on where call sites are told. With `threads`, samples have the labels `thread` and `thread_id`.
//
// Messages one after the other are one message (protobuf, "Last One Wins": lists are joined), so that samples are encoded
// a few hundred at a time, and strings, which these tell, at the end.

import {
  emptyTableToken,
  Profile as Message,
  type ProfileInput,
  type SampleInput,
  StringTable,
} from 'pprof-format'
import { isAllocation } from '../cct/allocation.ts'
import { type CostKind, metricOf } from '../cct/metric.ts'
import type { MethodName, Tree } from '../cct/tree.ts'
import { allWarnings, column, type Profile } from '../profile/profile.ts'
import { fullName } from '../profile/text.ts'
import type { ExportFormat } from './format.ts'
import { type FrameNames, frameNames, leftOut, leftOutText, moveTo, printable, treesOf } from './frames.ts'
import { gzip } from './gzip.ts'
import { wholeNumbers } from './whole-numbers.ts'

/** A kind of value: `pprof -sample_index=<type>`, the unit, the tree's column. */
interface Value {
  readonly type: string
  readonly unit: string
  readonly column: string
  /** Of the rows of classes that are allocated, or of all but these; absent for all. */
  readonly of?: 'classes' | 'methods'
}

/** The last is what is shown unless another one is asked for. */
const VALUES: Readonly<Record<CostKind, readonly Value[]>> = {
  time: [{ type: 'time', unit: 'nanoseconds', column: 'selfNs' }],
  waits: [
    { type: 'time', unit: 'nanoseconds', column: 'selfNs' },
    { type: 'wait', unit: 'nanoseconds', column: 'selfWaitNs' },
  ],
  bytecodes: [{ type: 'bytecodes', unit: 'count', column: 'selfBytecodes' }],
  samples: [{ type: 'samples', unit: 'count', column: 'selfSamples' }],
  calls: [],
  bytes: [
    { type: 'alloc_objects', unit: 'count', column: 'objects', of: 'classes' },
    { type: 'alloc_space', unit: 'bytes', column: 'bytes', of: 'classes' },
  ],
}
const LIVE: readonly Value[] = [
  { type: 'inuse_objects', unit: 'count', column: 'liveObjects', of: 'classes' },
  { type: 'inuse_space', unit: 'bytes', column: 'liveBytes', of: 'classes' },
]
const CALLS: Value = { type: 'calls', unit: 'count', column: 'calls', of: 'methods' }

/** Encoded at once. */
const SAMPLES_AT_ONCE = 256

export const pprof: ExportFormat = {
  name: 'pprof',
  extension: '.pb.gz',
  description: 'go tool pprof, and what else reads it (speedscope, Grafana Pyroscope)',
  isBinary: true,
  sumsCalls: true,
  pieces: (profile, options) => gzip(messages(profile, options.threads === true)),
}

function* messages(profile: Profile, threads: boolean): Generator<Uint8Array> {
  const tables = new Tables(frameNames(profile))
  const { strings } = tables
  const { kind } = metricOf(profile.merged)
  const isLooked = profile.merged.metrics.liveBytes !== undefined
  const values = [CALLS, ...(isLooked ? LIVE : []), ...VALUES[kind]]
  const { target, startedAt, durationMs } = profile
  yield encoded({
    sampleType: values.map(({ type, unit }) => ({ type: strings.dedup(type), unit: strings.dedup(unit) })),
    defaultSampleType: strings.dedup(values.at(-1)?.type ?? ''),
    mapping: [{ id: MAPPING, filename: strings.dedup(printable(target.mainClass)), hasFunctions: true }],
    timeNanos: BigInt(Math.max(0, Date.parse(startedAt))) * 1_000_000n,
    durationNanos: Math.round(durationMs * 1e6),
    comment: comments(profile).map((line) => strings.dedup(printable(line))),
  })
  for (const { tree, thread } of treesOf(profile, threads)) {
    const label =
      thread === undefined
        ? []
        : [
            { key: strings.dedup('thread'), str: strings.dedup(printable(thread.name)) },
            { key: strings.dedup('thread_id'), num: thread.id },
          ]
    let held: SampleInput[] = []
    for (const sample of samples(tree, values, tables)) {
      held.push({ ...sample, label })
      if (held.length < SAMPLES_AT_ONCE) continue
      yield encoded({ sample: held })
      held = []
    }
    yield encoded({ sample: held })
  }
  for (const location of tables.locations()) yield encoded(location)
  yield strings.encode()
}

const MAPPING = 1

function encoded(part: ProfileInput): Uint8Array {
  return new Message({ ...part, stringTable: new StringTable(emptyTableToken) }).encode()
}

/** Lines that `pprof -comments` shows. */
function comments(profile: Profile): string[] {
  const { target, mode, roots } = profile
  return [
    `jfluid, mode ${mode}, pid ${target.pid}, JDK ${target.jdk}`,
    ...(roots.length === 0 ? [] : [`roots: ${roots.join(', ')}`]),
    ...allWarnings(profile).map((warning) => `warning: ${warning}`),
  ]
}

function* samples(tree: Tree, values: readonly Value[], tables: Tables): Generator<SampleInput> {
  const columns = values.map(({ column: name, of }) => ({ of, next: wholeNumbers(column(tree, name)) }))
  const path: number[] = []
  for (let i = 0; i < tree.count; i++) {
    moveTo(path, i, tree.size)
    const kind = isAllocation(tables.nameOf(tree.method[i]!)) ? 'classes' : 'methods'
    const value = columns.map(({ of, next }) => {
      const whole = next(i)
      return of === undefined || of === kind ? whole : 0
    })
    if (value.every((it) => it === 0)) continue
    yield { locationId: stackOf(tree, path, tables), value }
  }
}

/** Locations from the context up to the top node. */
function stackOf(tree: Tree, path: readonly number[], tables: Tables): number[] {
  const skip = leftOut(path)
  const stack: number[] = []
  for (let at = path.length - 1; at >= 0; at--) {
    if (at < skip.to && at >= skip.from) {
      stack.push(tables.gap(leftOutText(skip)))
      at = skip.from
      continue
    }
    const called = path[at + 1]
    const line = called === undefined ? 0 : (tables.nameOf(tree.method[called]!).line ?? 0)
    const id = tree.method[path[at]!]!
    stack.push(tables.location(tree.methodOf?.[id] ?? id, line))
  }
  return stack
}

/** Functions, locations and strings get their numbers when they are first asked for. */
class Tables {
  readonly strings = new StringTable()
  readonly nameOf: (id: number) => MethodName
  /** Of a method, by line; numbers from 1. */
  readonly #locations = new Map<number, number>()
  readonly #gaps = new Map<string, number>()
  readonly #added: { readonly method: number; readonly line: number; readonly gap?: string }[] = []

  constructor(names: FrameNames) {
    this.nameOf = names.nameOf
  }

  location(method: number, line: number): number {
    const key = method * LINES + line
    const known = this.#locations.get(key)
    if (known !== undefined) return known
    const id = this.#added.push({ method, line })
    this.#locations.set(key, id)
    return id
  }

  /** Stands for frames that are left out. */
  gap(text: string): number {
    const id = this.#gaps.get(text) ?? this.#added.push({ method: -1, line: 0, gap: text })
    this.#gaps.set(text, id)
    return id
  }

  /** All locations, with their functions before them. */
  *locations(): Generator<ProfileInput> {
    const functions = new Map<string | number, number>()
    for (const [at, { method, line, gap }] of this.#added.entries()) {
      const key = gap ?? method
      const known = functions.get(key)
      const functionId = known ?? functions.size + 1
      functions.set(key, functionId)
      const location = { id: at + 1, mappingId: MAPPING, line: [{ functionId, line }] }
      if (known !== undefined) yield { location: [location] }
      else yield { function: [this.#function(functionId, method, gap)], location: [location] }
    }
  }

  #function(id: number, method: number, gap: string | undefined) {
    if (gap !== undefined) return { id, name: this.strings.dedup(gap) }
    const name = this.nameOf(method)
    const called = printable(fullName(name))
    return {
      id,
      name: this.strings.dedup(called),
      systemName: this.strings.dedup(called + printable(name.descriptor)),
    }
  }
}

/** More than a class file can number. */
const LINES = 65_536
