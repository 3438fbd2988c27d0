// Encodes a profile as MessagePack in pieces, so that its body is never in memory twice. Columns of trees are written directly from their
// arrays; all other data are small.

import { Packr } from 'msgpackr/pack'
import type { LineTable } from '../cct/line-samples.ts'
import type { MethodName, Tree } from '../cct/tree.ts'
import type { Profile, RegionTimes } from './profile.ts'
import { packCourse } from './root-calls.ts'
import { packSegments } from './segments.ts'
import { bytesOf } from './shape.ts'
import { packSlow } from './slow-calls.ts'
import { packTrace, withSoundTrace } from './trace-file.ts'

export const CODEC = {
  useRecords: false,
  mapsAsObjects: true,
  variableMapSize: true,
  int64AsType: 'number',
} as const

/** Number of names packed per piece. A large program has a million names, and the event loop must handle keys between two pieces. */
const NAMES_A_PIECE = 4096

/**
 * Yields the body of a `.jfluid` file, as described in `file.ts`. Pieces may be views of the profile's own arrays, so the pieces must be
 * written before the arrays change.
 */
export function* bodyPieces(profile: Profile): Generator<Uint8Array> {
  const {
    methodNames,
    merged,
    threads,
    regions,
    callSites,
    course,
    segments,
    slowCalls,
    trace,
    lines,
    ...facts
  } = withSoundTrace(profile)
  const packr = new Packr(CODEC)
  const names = methodNames.slice(1)
  const entries = Object.entries({
    ...facts,
    ...(course !== undefined && { course: packCourse(course) }),
    ...(slowCalls !== undefined && { slowCalls: packSlow(slowCalls) }),
    ...(segments !== undefined && { segments: packSegments(segments) }),
    ...(regions !== undefined && { regions: regions.map(packRegion) }),
    ...(trace !== undefined && { trace: packTrace(trace) }),
    ...(lines !== undefined && { lines: packLines(lines) }),
    ...(callSites && { callSites: { bci: places(names, 'bci'), line: places(names, 'line') } }),
  }).filter(([, value]) => value !== undefined)
  yield mapHead(entries.length + 3)
  for (const [key, value] of entries) {
    yield packr.pack(key)
    yield packr.pack(value)
  }
  yield packr.pack('methodNames')
  yield arrayHead(names.length)
  for (let at = 0; at < names.length; at += NAMES_A_PIECE) {
    const some = names.slice(at, at + NAMES_A_PIECE)
    yield Buffer.concat(
      some.map((name) => packr.pack([name.class, name.method, name.descriptor, name.loader])),
    )
  }
  yield packr.pack('merged')
  yield* treePieces(merged, packr)
  yield packr.pack('threads')
  yield arrayHead(threads.length)
  for (const { id, name, tree } of threads) {
    yield mapHead(3)
    for (const each of ['id', id, 'name', name, 'tree']) yield packr.pack(each)
    yield* treePieces(tree, packr)
  }
}

function* treePieces(tree: Tree, packr: Packr): Generator<Uint8Array> {
  const { count, method, size, metrics, collapsed } = tree
  yield mapHead(collapsed === undefined ? 4 : 5)
  for (const each of ['count', count, 'method']) yield packr.pack(each)
  yield* binary(method, count)
  yield packr.pack('size')
  yield* binary(size, count)
  yield packr.pack('metrics')
  const columns = Object.entries(metrics)
  yield mapHead(columns.length)
  for (const [name, values] of columns) {
    yield packr.pack(name)
    yield* binary(values, count)
  }
  if (collapsed === undefined) return
  const methods = collapsed.method.length
  yield packr.pack('collapsed')
  yield mapHead(5)
  for (const each of ['count', methods]) yield packr.pack(each)
  for (const name of ['method', 'calls', 'self', 'total'] as const) {
    yield packr.pack(name)
    yield* binary(collapsed[name], methods)
  }
}

function packRegion({ intervals, ...region }: RegionTimes): object {
  return { ...region, intervals: intervals.map(({ count, totalNs, maxNs }) => [count, totalNs, maxNs]) }
}

function packLines({ method, line, self, total, samples }: LineTable): object {
  const bytes = { method, line, self, total, samples }
  return {
    count: method.length,
    ...Object.fromEntries(Object.entries(bytes).map(([name, values]) => [name, bytesOf(values)])),
  }
}

function places(names: readonly MethodName[], of: 'bci' | 'line'): Uint8Array {
  const numbers = Int32Array.from(names, (name) => name[of] ?? -1)
  return bytesOf(numbers)
}

function* binary(values: Int32Array | Float64Array, count: number): Generator<Uint8Array> {
  const bytes = bytesOf(values, count)
  yield head(bytes.length, [0xc4, 1], [0xc5, 2], [0xc6, 4])
  yield bytes
}

function mapHead(entries: number): Uint8Array {
  return entries < 16 ? Uint8Array.of(0x80 | entries) : head(entries, [0xde, 2], [0xdf, 4])
}

function arrayHead(entries: number): Uint8Array {
  return entries < 16 ? Uint8Array.of(0x90 | entries) : head(entries, [0xdc, 2], [0xdd, 4])
}

/** Encodes a type byte and a big-endian length, in the first of `forms` with enough bytes for the length. */
function head(length: number, ...forms: readonly (readonly [type: number, bytes: number])[]): Uint8Array {
  const form = forms.find(([, bytes]) => length < 256 ** bytes)
  if (form === undefined) throw new RangeError(`${length} is more than MessagePack can hold`)
  const [type, bytes] = form
  const piece = Buffer.alloc(1 + bytes)
  piece[0] = type
  piece.writeUIntBE(length, 1, bytes)
  return piece
}
