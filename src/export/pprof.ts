// Writes the format of Go's pprof (github.com/google/pprof, proto/profile.proto): gzip of one protobuf message.
// A sample is a context. Its first value is the number of calls; its other values are the costs in the measures of the mode. The values
// exclude callees and may be negative, as in profile differences made by pprof. locations.ts defines locations. With `threads`, samples
// have the labels `thread` and `thread_id`.
// A concatenation of protobuf messages is one message with joined lists ("Last One Wins"). Samples are therefore encoded a few hundred at a
// time. The string table is encoded at the end, since the samples determine its contents.

import {
  emptyTableToken,
  Profile as Message,
  type ProfileInput,
  type SampleInput,
  StringTable,
} from 'pprof-format'
import { holdsBytes } from '../cct/allocation.ts'
import type { Tree } from '../cct/tree.ts'
import { allWarnings, column, type Profile } from '../profile/profile.ts'
import type { ExportFormat } from './format.ts'
import { frameNames, moveTo, printable, treesOf } from './frames.ts'
import { gzip } from './gzip.ts'
import { Locations } from './locations.ts'
import { type Value, valuesOf } from './values.ts'
import { wholeNumbers } from './whole-numbers.ts'

/** Number of samples encoded at once. */
const SAMPLES_PER_MESSAGE = 256

export const pprof: ExportFormat = {
  name: 'pprof',
  extension: '.pb.gz',
  description: 'go tool pprof, and other tools that read pprof files (speedscope, Grafana Pyroscope)',
  isBinary: true,
  pieces: (profile, options) => gzip(messages(profile, options.threads === true)),
}

/** Writes a profile with 0 in place of negative values, for profile stores that reject negative values. */
export function unsignedPprof(profile: Profile): Iterable<Uint8Array> {
  return gzip(messages(profile, false, 0))
}

/** Yields the encoded messages. @param least  minimum value; smaller values are replaced by the minimum */
function* messages(
  profile: Profile,
  threads: boolean,
  least = Number.NEGATIVE_INFINITY,
): Generator<Uint8Array> {
  const strings = new StringTable()
  const locations = new Locations(frameNames(profile))
  const values = valuesOf(profile)
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
    for (const sample of samples(tree, values, locations, least)) {
      held.push({ ...sample, label })
      if (held.length < SAMPLES_PER_MESSAGE) continue
      yield encoded({ sample: held })
      held = []
    }
    yield encoded({ sample: held })
  }
  for (const location of locationsOf(locations, strings)) yield encoded(location)
  yield strings.encode()
}

const MAPPING = 1

function encoded(part: ProfileInput): Uint8Array {
  return new Message({ ...part, stringTable: new StringTable(emptyTableToken) }).encode()
}

/** Returns the lines that `pprof -comments` prints. */
function comments(profile: Profile): string[] {
  const { target, mode, roots } = profile
  return [
    `jfluid, mode ${mode}, pid ${target.pid}, JDK ${target.jdk}`,
    ...(roots.length === 0 ? [] : [`roots: ${roots.join(', ')}`]),
    ...allWarnings(profile).map((warning) => `warning: ${warning}`),
  ]
}

function* samples(
  tree: Tree,
  values: readonly Value[],
  locations: Locations,
  least: number,
): Generator<SampleInput> {
  const columns = values.map(({ column: name, of }) => ({ of, next: wholeNumbers(column(tree, name)) }))
  const path: number[] = []
  for (let i = 0; i < tree.count; i++) {
    moveTo(path, i, tree.size)
    const kind = holdsBytes(locations.nameOf(tree.method[i]!)) ? 'classes' : 'methods'
    const value = columns.map(({ of, next }) => {
      const whole = next(i)
      return of === undefined || of === kind ? Math.max(whole, least) : 0
    })
    if (value.every((it) => it === 0)) continue
    yield { locationId: locations.stackOf(tree, path), value }
  }
}

/** Encodes all locations, each after its function. */
function* locationsOf(locations: Locations, strings: StringTable): Generator<ProfileInput> {
  let id = 0
  for (const { function: functionId, line, isFirst, name, systemName } of locations.all()) {
    const location = [{ id: ++id, mappingId: MAPPING, line: [{ functionId, line }] }]
    if (!isFirst) {
      yield { location }
      continue
    }
    const named = { id: functionId, name: strings.dedup(name) }
    const known = systemName === '' ? named : { ...named, systemName: strings.dedup(systemName) }
    yield { function: [known], location }
  }
}
