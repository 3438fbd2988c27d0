// Writes a CPU snapshot of the NetBeans profiler, which VisualVM also opens: the tree of each thread, with calls and times.
//
// The layout is from LoadedSnapshot.save and CPUResultsSnapshot.writeToStream of NetBeans. Numbers are big-endian. A string has the format
// of Java's writeUTF: u16 length, modified UTF-8.
//
//   bytes    "nBpRoFiLeR", u8 major 1, u8 minor 2
//   i32      type, 1 for CPU
//   i32 i32  length of the snapshot, compressed and uncompressed
//   bytes    the snapshot, zlib
//   i32      length of the settings
//   bytes    the settings, a Java properties file
//   string   comments
//
// The snapshot:
//
//   i32 version 1, i64 start (ms since 1970), i64 end (ms since 1970), bool with thread CPU time: false
//   i32 methods; for each, the strings class, method, descriptor. Method 0 stands for a thread.
//   i32 threads; for each
//     i32 number, string name, bool with thread CPU time: false
//     i32 length of the tree, the tree, i32 length of a node: 18
//     i64 gross time, i64 gross CPU time, f64 f64 time in probes, i64 net time, i64 net CPU time (all in clock ticks or µs,
//     for statistics), i64 i64 net time of the whole tree in µs, i64 calls, bool CPU time known: false
//
// A tree has the thread as its top node. Each node precedes its children:
//
//   u16 method, i32 calls, u40 total in µs, u40 self in µs, u16 children; for each, its offset in the tree: u24, or i32 if the
//   tree has more than 2^24 - 1 bytes
//
// Times are rounded to microseconds so that sums stay correct (whole-numbers.ts); negative values become 0.

import { GrowingBytes } from '../base/growing-bytes.ts'
import { Numbers } from '../base/numbers.ts'
import { metricOf } from '../cct/metric.ts'
import type { Tree } from '../cct/tree.ts'
import { allWarnings, column, nameOf, type Profile } from '../profile/profile.ts'
import { count as countText, placeText } from '../profile/text.ts'
import { DoesNotFit } from './errors.ts'
import type { ExportFormat } from './format.ts'
import { printable } from './frames.ts'
import { wholeNumbers } from './whole-numbers.ts'
import { deflated } from './zlib.ts'

const MAGIC = 'nBpRoFiLeR'
const VERSION = [1, 2]
const TYPE_CPU = 1
const SNAPSHOT_VERSION = 1
const NODE_BYTES = 18
const MAX_NUMBER = 2 ** 31 - 1
const MAX_METHODS = 2 ** 16 - 1
const MAX_CHILDREN = 2 ** 16 - 1
const MAX_TIME_US = 2 ** 40 - 1
const MAX_SHORT_OFFSET = 2 ** 24 - 1
/**
 * Maximum depth of a tree. NetBeans and VisualVM traverse trees recursively, on stacks of one megabyte. Deeper contexts are merged into
 * their ancestor at this depth.
 */
const MAX_DEPTH = 1000
/** Maximum length of a string, in characters of at most three bytes. */
const MAX_TEXT_CHARACTERS = 20_000

export const nps: ExportFormat = {
  name: 'nps',
  extension: '.nps',
  description: 'VisualVM and the NetBeans profiler: the tree of each thread, calls and times',
  isBinary: true,
  *pieces(profile) {
    const times = timesOf(profile)
    const threads = profile.threads.filter(({ tree }) => tree.count > 0)
    const trees = threads.length > 0 ? threads : [{ name: 'all threads', tree: profile.merged }]
    const methods = new Methods(profile)
    const made = trees.map(({ name, tree }) => ({ name, tree: new CompactTree(tree, times, methods) }))
    const { bytes, length } = deflated(snapshot(profile, methods, made))
    if (length > MAX_NUMBER) throw new DoesNotFit('nps', 'more than 2 GiB of contexts')
    const settings = Buffer.from('# written by jfluid\n')
    const compressed = bytes.reduce((sum, it) => sum + it.length, 0)
    const isCut = made.some(({ tree }) => tree.isCut)
    yield new Fields()
      .add(Buffer.from(MAGIC))
      .add(Uint8Array.from(VERSION))
      .uint(TYPE_CPU, 4)
      .uint(compressed, 4)
      .uint(length, 4).bytes
    yield* bytes
    const comments = commentsOf(profile, isCut).join('\n')
    yield new Fields().uint(settings.length, 4).add(settings).text(comments).bytes
  },
}

/** Column of times, and the factor that converts its values to microseconds. `column` is absent if only calls are known. */
interface Times {
  readonly column?: string
  readonly scale: number
}

function timesOf({ merged, mode, sampling }: Profile): Times {
  const { isSampled, isTime, self } = metricOf(merged)
  if (isTime) return { column: 'selfNs', scale: 1e-3 }
  if (self === 'calls') return { scale: 0 }
  if (isSampled && sampling?.unit === 'ns') return { column: 'selfSamples', scale: sampling.every * 1e-3 }
  throw new DoesNotFit('nps', `the costs of --mode ${mode}: it has only calls and times`)
}

function commentsOf(profile: Profile, isCut: boolean): string[] {
  const { mode, roots } = profile
  return [
    `jfluid, mode ${mode}${roots.length === 0 ? '' : `, roots: ${roots.join(', ')}`}`,
    ...(isCut ? [`contexts deeper than ${MAX_DEPTH} are merged into their callers`] : []),
    ...allWarnings(profile).map((warning) => `warning: ${warning}`),
  ]
}

interface Made {
  readonly name: string
  readonly tree: CompactTree
}

function* snapshot(profile: Profile, methods: Methods, threads: readonly Made[]): Generator<Uint8Array> {
  const began = Math.max(0, Date.parse(profile.startedAt))
  yield new Fields()
    .uint(SNAPSHOT_VERSION, 4)
    .i64(began)
    .i64(began + Math.round(profile.durationMs))
    .bool(false)
    .uint(methods.count, 4).bytes
  yield* methods.pieces()
  yield new Fields().uint(threads.length, 4).bytes
  for (const [at, { name, tree }] of threads.entries()) {
    yield new Fields()
      .uint(at + 1, 4)
      .text(name)
      .bool(false)
      .uint(tree.length, 4).bytes
    yield* tree.pieces()
    // The two f64 fields are written as i64, since a 0 has the same bytes in both types.
    const none = new Fields().uint(NODE_BYTES, 4).i64(0).i64(0).i64(0).i64(0)
    yield none.i64(tree.totalUs).i64(0).i64(tree.totalUs).i64(0).i64(tree.calls).bool(false).bytes
  }
}

/** Methods that occur in a tree, numbered from 1. */
class Methods {
  readonly #numbers = new Numbers<number>()

  constructor(private readonly profile: Profile) {}

  /** Number of methods, including method 0. */
  get count(): number {
    return this.#numbers.count + 1
  }

  of(id: number): number {
    const number = this.#numbers.of(id) + 1
    if (number > MAX_METHODS) throw new DoesNotFit('nps', `more than ${countText(MAX_METHODS)} methods`)
    return number
  }

  *pieces(): Generator<Uint8Array> {
    yield new Fields().text('Thread').text('').text('').bytes
    for (const id of this.#numbers.keys()) {
      const name = nameOf(this.profile.methodNames, id)
      const fields = new Fields()
        .text(name.class === '' ? '?' : name.class)
        .text(name.method + placeText(name))
      // Readers parse the descriptor, and a pseudo method such as a wait has none.
      yield fields.text(name.descriptor === '' ? '()V' : name.descriptor).bytes
    }
  }
}

/** Tree with the thread as its top node, written node by node. */
class CompactTree {
  /** Length in bytes. */
  readonly length: number
  readonly totalUs: number
  readonly calls: number
  /** Whether deep contexts were merged into their ancestors. */
  readonly isCut: boolean
  readonly #offsetBytes: 3 | 4
  readonly #children: Uint16Array
  readonly #selfUs: Float64Array
  readonly #totalUs: Float64Array
  readonly #calls: Float64Array
  readonly #depth: Int32Array

  constructor(
    private readonly tree: Tree,
    times: Times,
    private readonly methods: Methods,
  ) {
    const { count, parent } = tree
    this.#calls = column(tree, 'calls')
    this.#depth = new Int32Array(count)
    this.#selfUs = new Float64Array(count)
    this.#totalUs = new Float64Array(count)
    const children = new Float64Array(count)
    const selfUs = wholeNumbers(
      times.column === undefined ? new Float64Array(count) : column(tree, times.column),
      times.scale,
    )
    let [tops, nodes, calls] = [0, 1, 0]
    for (let node = 0; node < count; node++) {
      const above = parent[node]!
      this.#depth[node] = above < 0 ? 1 : this.#depth[above]! + 1
      this.#selfUs[node] = selfUs(node)
      if (this.#depth[node]! > MAX_DEPTH) continue
      nodes++
      calls += this.#calls[node]!
      methods.of(tree.method[node]!)
      if (above < 0) tops++
      else children[above]!++
      if (this.#calls[node]! > MAX_NUMBER)
        throw new DoesNotFit('nps', `${countText(this.#calls[node]!)} calls of one context`)
    }
    let total = 0
    for (let node = count - 1; node >= 0; node--) {
      this.#totalUs[node]! += this.#selfUs[node]!
      const above = parent[node]!
      if (above < 0) total += this.#totalUs[node]!
      else this.#totalUs[above]! += this.#totalUs[node]!
      if (this.#depth[node] === MAX_DEPTH) this.#selfUs[node] = this.#totalUs[node]!
    }
    const most = children.reduce((a, b) => Math.max(a, b), tops)
    if (most > MAX_CHILDREN) throw new DoesNotFit('nps', `${countText(most)} callees of one context`)
    if (total > MAX_TIME_US) throw new DoesNotFit('nps', 'more than 12 days')
    this.#children = Uint16Array.from(children)
    this.isCut = nodes < count + 1
    this.calls = Math.round(calls)
    this.totalUs = Math.max(0, total)
    const short = nodes * NODE_BYTES + (nodes - 1) * 3
    this.#offsetBytes = short > MAX_SHORT_OFFSET ? 4 : 3
    this.length = nodes * NODE_BYTES + (nodes - 1) * this.#offsetBytes
    if (this.length > MAX_NUMBER) throw new DoesNotFit('nps', `${countText(nodes)} contexts of one thread`)
  }

  *pieces(): Generator<Uint8Array> {
    const { count, parent, size, method } = this.tree
    const offsets = this.#offsets()
    const tops: number[] = []
    for (let node = 0; node < count; node += size[node]!) tops.push(node)
    const thread = new Fields().uint(0, 2).uint(1, 4).uint(this.totalUs, 5).uint(0, 5).uint(tops.length, 2)
    for (const top of tops) thread.uint(offsets[top]!, this.#offsetBytes)
    yield thread.bytes
    let fields = new Fields()
    for (let node = 0; node < count; node++) {
      if (this.#depth[node]! > MAX_DEPTH) continue
      fields
        .uint(this.methods.of(method[node]!), 2)
        .uint(Math.max(0, this.#calls[node]!), 4)
        .uint(Math.max(0, this.#totalUs[node]!), 5)
        .uint(Math.max(0, this.#selfUs[node]!), 5)
        .uint(this.#children[node]!, 2)
      const end = this.#children[node] === 0 ? node : node + size[node]!
      for (let child = node + 1; child < end; child += size[child]!) {
        if (parent[child] === node) fields.uint(offsets[child]!, this.#offsetBytes)
      }
      if (fields.length < PIECE_BYTES) continue
      yield fields.bytes
      fields = new Fields()
    }
    yield fields.bytes
  }

  /** Returns each node's offset in the tree. */
  #offsets(): Float64Array {
    const { count, size } = this.tree
    const offsets = new Float64Array(count)
    let tops = 0
    for (let node = 0; node < count; node += size[node]!) tops++
    let next = NODE_BYTES + tops * this.#offsetBytes
    for (let node = 0; node < count; node++) {
      if (this.#depth[node]! > MAX_DEPTH) continue
      offsets[node] = next
      next += NODE_BYTES + this.#children[node]! * this.#offsetBytes
    }
    return offsets
  }
}

const PIECE_BYTES = 1 << 16

/** Big-endian fields, appended one by one. */
class Fields extends GrowingBytes {
  /** Writes an unsigned integer. */
  uint(value: number, bytes: 2 | 3 | 4 | 5): this {
    this.at = this.room(bytes).writeUIntBE(value, this.at, bytes)
    return this
  }

  i64(value: number): this {
    this.at = this.room(8).writeBigInt64BE(BigInt(value), this.at)
    return this
  }

  bool(value: boolean): this {
    return this.add(Uint8Array.of(value ? 1 : 0))
  }

  /** Writes text as UTF-8. Replaces the characters that modified UTF-8 encodes differently: NUL and characters beyond 16 bits. */
  text(value: string): this {
    const safe = printable(value).replace(/[\u{10000}-\u{10ffff}]|\p{Cs}/gu, '?')
    const bytes = Buffer.from(safe.slice(0, MAX_TEXT_CHARACTERS))
    return this.uint(bytes.length, 2).add(bytes)
  }
}
