// The `.jfluid` file: one profile, lossless, written whole or not at all.
//
// All numbers little-endian.
//
//   offset  size  type   field
//        0     8  bytes  magic    89 4A 46 4C 55 49 44 0A, "\x89JFLUID\n"
//        8     4  u32    version  1; 2 of modes that readers of version 1 do not know; 3 of regions and allocations
//       12     4  u32    crc      CRC-32 of the body
//       16     8  u64    length   bytes of the body, which ends the file
//       24     n  bytes  body     MessagePack map
//
// The body is `Profile` with the same keys, except that
//   methodNames   is an array of [class, method, descriptor, loader], id 1 first;
//   regions[].intervals   are arrays of [count, totalNs, maxNs];
//   course        is {first, events, waitNs, pauses, pauseNs, rootCalls: {calls, p50, p95, max}}, all but `first` f64
//     arrays as `bin` of a number each second; rootCalls is absent where these are not timed;
//   slowCalls     has trees as `merged` in `tree`, `slowest[].tree` and `latest.tree`;
//   jvms          is there of several JVMs: then threads[] are these, in that order;
//   callSites     is {bci, line}, i32 arrays as `bin` of a number each method name, -1 for none; absent unless
//     calls are told apart by where they come from;
//   merged and threads[].tree   are {count, method, size, metrics: {name: column}}, where method and
//     size are i32 arrays and a column is an f64 array, each as MessagePack `bin`; the parents follow
//     from the sizes and are not kept. A method 0 is a row of collapsed contexts; then `merged` has `collapsed`, too, by method
//     what these had: {count, method, calls, self, total}, columns as above;
//   trace is drawn in trace-file.ts.
//
// The first byte is not ASCII, so that nothing takes the file for text, and the last is a line feed,
// so that a transfer in text mode shows. A reader refuses what is newer than it, and checks every
// length before use: a file may come from anywhere.

import { constants } from 'node:buffer'
import { type FileHandle, open, stat } from 'node:fs/promises'
import { setImmediate as turnOfTheLoop } from 'node:timers/promises'
import { crc32 } from 'node:zlib'
import { Unpackr } from 'msgpackr/unpack'
import { SCHEMES } from '../base/scheme.ts'
import type { BareCalls } from '../cct/bare-calls.ts'
import type { CollapsedMethods, MethodName, ThreadTree, Tree } from '../cct/tree.ts'
import { WAIT_COLUMNS } from '../cct/waits.ts'
import { METRICS } from '../measures/columns.ts'
import { SECTIONS } from '../measures/sections.ts'
import { PERCENTILES } from '../regions/times.ts'
import type { Checks } from './checks.ts'
import { readDetach } from './detach-facts.ts'
import {
  CannotReadProfile,
  CannotWriteProfile,
  CorruptProfile,
  errorCode,
  NewerProfile,
  NotAProfile,
} from './errors.ts'
import type { Overflow } from './overflows.ts'
import { bodyPieces, CODEC } from './pack.ts'
import {
  type AllocationFacts,
  CLOCKS,
  type HandChange,
  type JvmFacts,
  type Latency,
  MODES,
  type Mode,
  methodsByName,
  type OverheadFacts,
  type Profile,
  type RegionTimes,
  type Sampling,
  type SkippedMethod,
} from './profile.ts'
import { replaceFile } from './replace-file.ts'
import { readCourse, readRootCalls } from './root-calls.ts'
import { readSlow } from './slow-calls.ts'
import { readStacks } from './stack-facts.ts'
import { LIVE_COLUMNS } from './survivors.ts'
import { readTrace } from './trace-file.ts'

export const MAGIC = Buffer.from('\x89JFLUID\n', 'latin1')
export const VERSION = 3
const OFFSET_VERSION = 8
const OFFSET_CRC = 12
const OFFSET_LENGTH = 16
export const HEADER_BYTES = 24

/** The bytes of a `.jfluid` file. */
export function encodeProfile(profile: Profile): Buffer {
  const body = Buffer.concat([...bodyPieces(profile)])
  return Buffer.concat([header(profile, crc32(body), body.length), body])
}

function header(profile: Profile, crc: number, length: number): Buffer {
  const bytes = Buffer.alloc(HEADER_BYTES)
  MAGIC.copy(bytes)
  bytes.writeUInt32LE(versionOf(profile), OFFSET_VERSION)
  bytes.writeUInt32LE(crc, OFFSET_CRC)
  bytes.writeBigUInt64LE(BigInt(length), OFFSET_LENGTH)
  return bytes
}

/** The least that a reader must know. */
function versionOf({ mode, regions, callSites }: Profile): number {
  if (regions !== undefined) return 3
  return Math.max(SECTIONS[mode].fileVersion, callSites ? 2 : 1)
}

/**
 * The profile in the bytes of a `.jfluid` file.
 *
 * @param path  what errors call the file
 * @throws NotAProfile, NewerProfile, CorruptProfile, and nothing else whatever the bytes are
 */
export function decodeProfile(bytes: Uint8Array, path: string): Profile {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const magic = file.subarray(0, MAGIC.length)
  if (!magic.equals(MAGIC)) {
    if (magic.length > 0 && MAGIC.subarray(0, magic.length).equals(magic)) {
      throw new CorruptProfile(path, `it ends after ${file.length} bytes`)
    }
    throw new NotAProfile(path)
  }
  if (file.length < HEADER_BYTES) throw new CorruptProfile(path, `it ends after ${file.length} bytes`)
  const version = file.readUInt32LE(OFFSET_VERSION)
  if (version > VERSION) throw new NewerProfile(path, version, VERSION)
  if (version === 0) throw new CorruptProfile(path, 'format version 0 does not exist')
  const body = file.subarray(HEADER_BYTES)
  const length = file.readBigUInt64LE(OFFSET_LENGTH)
  if (BigInt(body.length) < length) {
    throw new CorruptProfile(path, `it ends after ${file.length} of ${length + BigInt(HEADER_BYTES)} bytes`)
  }
  if (BigInt(body.length) > length) throw new CorruptProfile(path, 'something follows its end')
  if (crc32(body) !== file.readUInt32LE(OFFSET_CRC)) throw new CorruptProfile(path, 'its checksum is wrong')
  let content: unknown
  try {
    content = new Unpackr(CODEC).unpack(body)
  } catch {
    throw new CorruptProfile(path, 'its body is not MessagePack')
  }
  return new Reader(path).profile(content)
}

/** So many bytes are read at a time. */
const READ_AT_ONCE = 16 << 20

/**
 * @param onProgress  told after each piece which part has been read, 0 to 1
 * @throws CannotReadProfile, NotAProfile, NewerProfile, CorruptProfile
 */
export async function readProfile(
  path: string,
  onProgress: (part: number) => void = () => {},
): Promise<Profile> {
  let bytes: Uint8Array
  try {
    // A directory or a pipe would fail late or never end.
    const found = await stat(path)
    if (found.isDirectory()) throw Object.assign(new Error(), { code: 'EISDIR' })
    if (!found.isFile()) throw new NotAProfile(path)
    bytes = await readInPieces(path, onProgress)
  } catch (error) {
    if (error instanceof NotAProfile) throw error
    throw new CannotReadProfile(path, errorCode(error))
  }
  return decodeProfile(bytes, path)
}

/** All of a file; no more than its beginning if that is not ours, however large it is. */
async function readInPieces(path: string, onProgress: (part: number) => void): Promise<Uint8Array> {
  const handle = await open(path, 'r')
  try {
    const { size } = await handle.stat()
    const beginning = Buffer.alloc(Math.min(size, HEADER_BYTES))
    const { bytesRead } = await handle.read(beginning, 0, beginning.length, 0)
    if (!beginning.subarray(0, MAGIC.length).equals(MAGIC)) return beginning.subarray(0, bytesRead)
    if (size > constants.MAX_LENGTH) throw Object.assign(new Error(), { code: 'EFBIG' })
    const bytes = new Uint8Array(size)
    let at = 0
    while (at < size) {
      const { bytesRead } = await handle.read(bytes, at, Math.min(READ_AT_ONCE, size - at), at)
      if (bytesRead === 0) break // it has become shorter
      at += bytesRead
      onProgress(at / size)
    }
    return bytes.subarray(0, at)
  } finally {
    await handle.close()
  }
}

/**
 * Writes a profile so that `path` holds either what it held before or the whole profile (see `replaceFile`). In pieces, with
 * turns of the event loop in between: a million contexts take a while, and a session may go on meanwhile.
 *
 * @throws CannotWriteProfile
 */
export async function writeProfile(profile: Profile, path: string): Promise<void> {
  const body = [...bodyPieces(profile)]
  try {
    const pieces = [await headerInTurns(profile, body), ...body]
    await replaceFile(path, (handle) => writePieces(handle, pieces))
  } catch (error) {
    throw new CannotWriteProfile(path, errorCode(error))
  }
}

/** So many bytes are summed or written at a time. */
const AT_ONCE = 4 << 20

/** Small pieces together, large ones in parts. */
async function writePieces(handle: FileHandle, pieces: readonly Uint8Array[]): Promise<void> {
  let small: Uint8Array[] = []
  let bytes = 0
  const writeSmall = async (): Promise<void> => {
    if (bytes > 0) await handle.writeFile(Buffer.concat(small))
    small = []
    bytes = 0
  }
  for (const piece of pieces) {
    if (bytes + piece.length > AT_ONCE) await writeSmall()
    if (piece.length > AT_ONCE)
      await handle.writeFile(piece) // in parts of its own
    else {
      small.push(piece)
      bytes += piece.length
    }
  }
  await writeSmall()
}

async function headerInTurns(profile: Profile, body: readonly Uint8Array[]): Promise<Buffer> {
  let crc = 0
  let length = 0
  let sinceTurn = 0
  for (const piece of body) {
    for (let at = 0; at < piece.length; at += AT_ONCE) {
      const part = piece.subarray(at, at + AT_ONCE)
      crc = crc32(part, crc)
      sinceTurn += part.length
      if (sinceTurn < AT_ONCE) continue
      sinceTurn = 0
      await turnOfTheLoop()
    }
    length += piece.length
  }
  return header(profile, crc, length)
}

/** Columns that only earlier versions wrote, with error bars: they are not read. */
const FORMER_COLUMNS = ['selfErrorNs', 'errorNs']

type Fields = { readonly [key: string]: unknown }

/** Turns what MessagePack held into a `Profile`, believing nothing. */
class Reader {
  readonly #path: string

  constructor(path: string) {
    this.#path = path
  }

  #bad(what: string): CorruptProfile {
    return new CorruptProfile(this.#path, what)
  }

  profile(content: unknown): Profile {
    const all = this.#fields(content, 'the body')
    const target = this.#fields(all.target, 'target')
    const calibration = this.#fields(all.calibration, 'calibration')
    const instrumentation = this.#fields(all.instrumentation, 'instrumentation')
    const events = this.#fields(all.events, 'events')
    const plainNames = this.#methodNames(all.methodNames)
    const told = all.callSites !== undefined
    const methodNames = told ? this.#withPlaces(plainNames, all.callSites) : plainNames
    const methodOf = told ? methodsByName(methodNames) : undefined
    const mode = this.#oneOf(all.mode, MODES, 'mode')
    const tree = (value: unknown, what: string): Tree => {
      const read = this.#tree(value, mode, methodNames.length, what)
      return methodOf === undefined ? read : { ...read, methodOf }
    }
    return {
      target: {
        pid: this.#number(target.pid, 'target.pid'),
        jdk: this.#string(target.jdk, 'target.jdk'),
        vm: this.#string(target.vm, 'target.vm'),
        mainClass: this.#string(target.mainClass, 'target.mainClass'),
      },
      ...(all.jvms !== undefined && { jvms: this.#jvms(all.jvms, all.threads) }),
      mode,
      ...(all.blocks !== undefined && { blocks: this.#string(all.blocks, 'blocks') }),
      ...(all.sampling !== undefined &&
        METRICS[mode].isSampled && { sampling: this.#sampling(all.sampling) }),
      ...(all.allocation !== undefined && { allocation: this.#allocation(all.allocation) }),
      scheme: this.#oneOf(all.scheme, SCHEMES, 'scheme'),
      roots: this.#strings(all.roots, 'roots'),
      ...(all.selection !== undefined && { selection: this.#selection(all.selection) }),
      startedAt: this.#instant(all.startedAt, 'startedAt'),
      durationMs: this.#number(all.durationMs, 'durationMs'),
      calibration: {
        innerNs: this.#number(calibration.innerNs, 'calibration.innerNs'),
        outerNs: this.#number(calibration.outerNs, 'calibration.outerNs'),
        ...(calibration.innerSpreadNs !== undefined && {
          innerSpreadNs: this.#number(calibration.innerSpreadNs, 'calibration.innerSpreadNs'),
        }),
        ...(calibration.outerSpreadNs !== undefined && {
          outerSpreadNs: this.#number(calibration.outerSpreadNs, 'calibration.outerSpreadNs'),
        }),
        clock: this.#oneOf(calibration.clock, CLOCKS, 'calibration.clock'),
        ...(calibration.readNs !== undefined && {
          readNs: this.#number(calibration.readNs, 'calibration.readNs'),
        }),
        ...(calibration.clockMHz !== undefined && {
          clockMHz: this.#number(calibration.clockMHz, 'calibration.clockMHz'),
        }),
      },
      instrumentation: {
        instrumentedMethods: this.#count(instrumentation.instrumentedMethods, 'instrumentedMethods'),
        calledMethods: this.#count(instrumentation.calledMethods, 'calledMethods'),
        redefinitions: this.#count(instrumentation.redefinitions, 'redefinitions'),
        redefinedClasses: this.#count(instrumentation.redefinedClasses, 'redefinedClasses'),
        hotSwapMs: this.#number(instrumentation.hotSwapMs, 'hotSwapMs'),
        ...(instrumentation.longestPauseMs !== undefined && {
          longestPauseMs: this.#number(instrumentation.longestPauseMs, 'longestPauseMs'),
        }),
        analysisMs: this.#number(instrumentation.analysisMs, 'analysisMs'),
        skipped: this.#array(instrumentation.skipped, 'skipped').map((each) => this.#skipped(each)),
        gaps: this.#count(instrumentation.gaps, 'gaps'),
        healed: this.#count(instrumentation.healed, 'healed'),
        ...(instrumentation.overflows !== undefined && {
          overflows: this.#array(instrumentation.overflows, 'overflows').map((each) => this.#overflow(each)),
        }),
      },
      warmupMs: this.#number(all.warmupMs, 'warmupMs'),
      truncated: this.#truncated(all.truncated),
      warnings: this.#strings(all.warnings, 'warnings'),
      events: {
        count: this.#count(events.count, 'events.count'),
        waitMs: this.#number(events.waitMs, 'events.waitMs'),
      },
      ...(all.kept !== undefined && { kept: this.#kept(all.kept) }),
      ...(all.stacks !== undefined && { stacks: readStacks(all.stacks, this.#checks) }),
      ...(all.detach !== undefined && { detach: readDetach(all.detach, this.#checks) }),
      ...(all.overhead !== undefined && { overhead: this.#overhead(all.overhead, methodNames.length) }),
      ...(all.bareCalls !== undefined && { bareCalls: this.#bareCalls(all.bareCalls) }),
      ...(all.followedTasks !== undefined && {
        followedTasks: this.#count(all.followedTasks, 'followedTasks'),
      }),
      ...(all.rootCalls !== undefined && { rootCalls: readRootCalls(all.rootCalls, this.#checks) }),
      ...(all.slowCalls !== undefined && {
        slowCalls: readSlow(all.slowCalls, this.#checks, tree, methodNames.length),
      }),
      ...(all.course !== undefined && { course: readCourse(all.course, this.#checks) }),
      ...(all.openCalls !== undefined && { openCalls: this.#count(all.openCalls, 'openCalls') }),
      ...(all.regions !== undefined && {
        regions: this.#array(all.regions, 'regions').map((each) => this.#region(each, methodNames.length)),
      }),
      ...(told && { callSites: true as const }),
      ...(all.trace !== undefined && {
        trace: readTrace(all.trace, methodNames.length, (what) => this.#bad(what)),
      }),
      methodNames,
      merged: tree(all.merged, 'the merged tree'),
      threads: this.#array(all.threads, 'threads').map((each) => this.#thread(each, tree)),
    }
  }

  /** As many as there are trees. */
  #jvms(value: unknown, trees: unknown): JvmFacts[] {
    const jvms = this.#array(value, 'jvms').map((each) => this.#jvm(each))
    if (jvms.length !== this.#array(trees, 'threads').length)
      throw this.#bad('jvms and threads differ in number')
    return jvms
  }

  #jvm(value: unknown): JvmFacts {
    const jvm = this.#fields(value, 'one of jvms')
    if (typeof jvm.truncated !== 'boolean')
      throw this.#bad('truncated of one of jvms is neither true nor false')
    return {
      pid: this.#count(jvm.pid, 'pid of one of jvms'),
      mainClass: this.#string(jvm.mainClass, 'mainClass of one of jvms'),
      jdk: this.#string(jvm.jdk, 'jdk of one of jvms'),
      durationMs: this.#number(jvm.durationMs, 'durationMs of one of jvms'),
      threads: this.#count(jvm.threads, 'threads of one of jvms'),
      truncated: jvm.truncated,
    }
  }

  /** For parts of a profile that have files of their own. */
  get #checks(): Checks {
    return {
      bad: (what) => this.#bad(what),
      fields: (value, what) => this.#fields(value, what),
      array: (value, what) => this.#array(value, what),
      number: (value, what) => this.#number(value, what),
      count: (value, what) => this.#count(value, what),
      string: (value, what) => this.#string(value, what),
      oneOf: (value, known, what) => this.#oneOf(value, known, what),
      column: (value, count, what) => {
        const column = new Float64Array(this.#numbers(value, count, 8, what))
        if (!column.every(Number.isFinite)) throw this.#bad(`${what} is not all numbers`)
        return column
      },
    }
  }

  #region(value: unknown, methods: number): RegionTimes {
    const all = this.#fields(value, 'a region')
    const percentiles = this.#fields(all.percentilesNs, 'percentiles of a region')
    const number = (key: string) => this.#number(all[key], `${key} of a region`)
    const moment = (key: string) => (all[key] === null ? null : number(key))
    const method = this.#count(all.method, 'the method of a region')
    if (method < 1 || method >= methods) throw this.#bad('a region has a method without a name')
    const triples = (key: string) =>
      this.#array(all[key], `${key} of a region`).map((each) => {
        const parts = this.#array(each, `one of ${key}`).map((it) => this.#number(it, `one of ${key}`))
        if (parts.length !== 3) throw this.#bad(`one of ${key} does not have three parts`)
        return parts as [number, number, number]
      })
    return {
      region: this.#string(all.region, 'the name of a region'),
      method,
      lines: all.lines === null ? null : this.#lines(all.lines),
      count: this.#count(all.count, 'the count of a region'),
      ...{ totalNs: number('totalNs'), minNs: number('minNs'), meanNs: number('meanNs') },
      ...{ maxNs: number('maxNs'), firstMs: moment('firstMs'), lastMs: moment('lastMs') },
      percentilesNs: Object.fromEntries(
        PERCENTILES.map((it) => [it, this.#number(percentiles[it], `percentile ${it} of a region`)]),
      ) as RegionTimes['percentilesNs'],
      buckets: triples('buckets'),
      lastNs: this.#array(all.lastNs, 'lastNs').map((it) => this.#number(it, 'one of lastNs')),
      intervalMs: number('intervalMs'),
      intervals: triples('intervals').map(([count, totalNs, maxNs]) => ({ count, totalNs, maxNs })),
    }
  }

  #lines(value: unknown): NonNullable<RegionTimes['lines']> {
    const lines = this.#fields(value, 'the lines of a region')
    return { from: this.#count(lines.from, 'a line'), to: this.#count(lines.to, 'a line') }
  }

  #methodNames(value: unknown): MethodName[] {
    const names: MethodName[] = [{ class: '', method: '', descriptor: '', loader: '' }]
    for (const entry of this.#array(value, 'methodNames')) {
      const parts = this.#strings(entry, 'a method name')
      if (parts.length !== 4) throw this.#bad('a method name does not have four parts')
      const [className, method, descriptor, loader] = parts as [string, string, string, string]
      names.push({ class: className, method, descriptor, loader })
    }
    return names
  }

  #withPlaces(names: readonly MethodName[], value: unknown): MethodName[] {
    const fields = this.#fields(value, 'callSites')
    const [bci, line] = (['bci', 'line'] as const).map(
      (of) => new Int32Array(this.#numbers(fields[of], names.length - 1, 4, `${of} of callSites`)),
    ) as [Int32Array, Int32Array]
    return names.map((name, id) => ({
      ...name,
      ...(id > 0 && bci[id - 1]! >= 0 && { bci: bci[id - 1]! }),
      ...(id > 0 && line[id - 1]! >= 0 && { line: line[id - 1]! }),
    }))
  }

  #kept(value: unknown): { heapBytes: number; outsideBytes: number } {
    const kept = this.#fields(value, 'kept')
    return {
      heapBytes: this.#count(kept.heapBytes, 'kept.heapBytes'),
      outsideBytes: this.#count(kept.outsideBytes, 'kept.outsideBytes'),
    }
  }

  #allocation(value: unknown): AllocationFacts {
    const { sampleEvery, jvmBytes, liveness } = this.#fields(value, 'allocation')
    return {
      ...(liveness !== undefined && { liveness: this.#liveness(liveness) }),
      sampleEvery: this.#count(sampleEvery, 'allocation.sampleEvery'),
      ...(jvmBytes !== undefined && { jvmBytes: this.#count(jvmBytes, 'allocation.jvmBytes') }),
    }
  }

  #liveness(value: unknown): NonNullable<AllocationFacts['liveness']> {
    const { collections, untracked } = this.#fields(value, 'allocation.liveness')
    return {
      collections: this.#count(collections, 'allocation.liveness.collections'),
      untracked: this.#count(untracked, 'allocation.liveness.untracked'),
    }
  }

  #overhead(value: unknown, methods: number): OverheadFacts {
    const facts = this.#fields(value, 'overhead')
    return {
      budget: this.#number(facts.budget, 'overhead.budget'),
      windows: this.#array(facts.windows, 'overhead.windows').map((each) => {
        const window = this.#fields(each, 'a window of the overhead')
        return {
          atMs: this.#number(window.atMs, 'atMs of a window'),
          part: this.#number(window.part, 'part of a window'),
          counted: this.#count(window.counted ?? 0, 'counted of a window'),
          folded: this.#count(window.folded, 'folded of a window'),
        }
      }),
      aboveBudget: this.#count(facts.aboveBudget, 'overhead.aboveBudget'),
      changes: this.#count(facts.changes, 'overhead.changes'),
      counted: this.#folds(facts.counted ?? [], 'counted', methods),
      folded: this.#folds(facts.folded, 'folded', methods),
    }
  }

  #bareCalls(value: unknown): BareCalls {
    const { calls, bareNs, chargedNs, low, high } = this.#fields(value, 'bareCalls')
    return {
      calls: this.#count(calls, 'bareCalls.calls'),
      bareNs: this.#number(bareNs, 'bareCalls.bareNs'),
      chargedNs: this.#number(chargedNs, 'bareCalls.chargedNs'),
      low: this.#number(low, 'bareCalls.low'),
      high: this.#number(high, 'bareCalls.high'),
    }
  }

  #folds(value: unknown, how: string, methods: number): OverheadFacts['folded'] {
    return this.#array(value, `overhead.${how}`).map((each) => {
      const fold = this.#fields(each, `a ${how} method`)
      const method = this.#count(fold.method, `a ${how} method`)
      if (method < 1 || method >= methods) throw this.#bad(`a ${how} method has no name`)
      return { method, callsPerSecond: this.#number(fold.callsPerSecond, `the rate of a ${how} method`) }
    })
  }

  #selection(value: unknown): NonNullable<Profile['selection']> {
    const selection = this.#fields(value, 'selection')
    return {
      include: this.#strings(selection.include, 'selection.include'),
      exclude: this.#strings(selection.exclude, 'selection.exclude'),
      jdk: selection.jdk === true,
      ...(selection.byHand !== undefined && {
        byHand: this.#array(selection.byHand, 'selection.byHand').map((each) => this.#handChange(each)),
      }),
    }
  }

  #handChange(value: unknown): HandChange {
    const change = this.#fields(value, 'a change by hand')
    return {
      what: this.#oneOf(change.what, ['exclude', 'include', 'add', 'roots'], 'what was changed by hand'),
      text: this.#string(change.text, 'what was changed by hand'),
      atMs: this.#number(change.atMs, 'the time of a change by hand'),
      methods: this.#count(change.methods, 'methods changed by hand'),
    }
  }

  #overflow(value: unknown): Overflow {
    const { method, errors } = this.#fields(value, 'a stack overflow')
    return {
      method: this.#string(method, 'the method of a stack overflow'),
      errors: this.#count(errors, 'stack overflows'),
    }
  }

  #skipped(value: unknown): SkippedMethod {
    const { method, reason } = this.#fields(value, 'a skipped method')
    return {
      method: this.#string(method, 'a skipped method'),
      reason: this.#string(reason, 'the reason of a skipped method'),
    }
  }

  #thread(value: unknown, treeOf: (value: unknown, what: string) => Tree): ThreadTree {
    const { id, name, tree } = this.#fields(value, 'a thread')
    return {
      id: this.#number(id, 'the id of a thread'),
      name: this.#string(name, 'the name of a thread'),
      tree: treeOf(tree, 'the tree of a thread'),
    }
  }

  #latency(value: unknown): Latency {
    const fields = this.#fields(value, 'sampling.latencyNs')
    const of = (name: string) => this.#number(fields[name], `sampling.latencyNs.${name}`)
    return { p50: of('p50'), p90: of('p90'), p99: of('p99'), max: of('max') }
  }

  #sampling(value: unknown): Sampling {
    const fields = this.#fields(value, 'sampling')
    return {
      every: this.#number(fields.every, 'sampling.every'),
      unit: this.#oneOf(fields.unit, ['bytecodes', 'ns'], 'sampling.unit'),
      ...(fields.random !== undefined && { random: this.#count(fields.random, 'sampling.random') }),
      ...(fields.outside !== undefined && { outside: this.#count(fields.outside, 'sampling.outside') }),
      ...(fields.dumps !== undefined && { dumps: this.#count(fields.dumps, 'sampling.dumps') }),
      ...(fields.stoppedNs !== undefined && {
        stoppedNs: this.#number(fields.stoppedNs, 'sampling.stoppedNs'),
      }),
      ...(fields.samples !== undefined && { samples: this.#count(fields.samples, 'sampling.samples') }),
      ...(fields.bytecodes !== undefined && {
        bytecodes: this.#number(fields.bytecodes, 'sampling.bytecodes'),
      }),
      ...(fields.latencyNs !== undefined && { latencyNs: this.#latency(fields.latencyNs) }),
      by: this.#oneOf(fields.by, ['probes', 'jfr', 'cpu', 'stacks'], 'sampling.by'),
    }
  }

  #tree(value: unknown, mode: Mode, methods: number, what: string): Tree {
    const fields = this.#fields(value, what)
    const count = this.#count(fields.count, `the node count of ${what}`)
    const method = new Int32Array(this.#numbers(fields.method, count, 4, `methods of ${what}`))
    const size = new Int32Array(this.#numbers(fields.size, count, 4, `sizes of ${what}`))
    for (let i = 0; i < count; i++) {
      if (method[i]! < 0 || method[i]! >= methods) throw this.#bad(`${what} has a method without a name`)
    }
    const metrics: Record<string, Float64Array> = {}
    for (const [name, bytes] of Object.entries(this.#fields(fields.metrics, `metrics of ${what}`))) {
      if (FORMER_COLUMNS.includes(name)) continue
      const column = new Float64Array(this.#numbers(bytes, count, 8, `${name} of ${what}`))
      if (!column.every(Number.isFinite)) throw this.#bad(`${name} of ${what} is not all numbers`)
      metrics[name] = column
    }
    const { self, total } = METRICS[mode]
    for (const name of ['calls', self, total, ...SECTIONS[mode].columns]) {
      if (!metrics[name]) throw this.#bad(`${what} has no ${name}`)
    }
    if ((metrics.extrapolatedCalls === undefined) !== (metrics.folded === undefined)) {
      throw this.#bad(`${what} has only one of extrapolatedCalls and folded`)
    }
    if (metrics.liveBytes !== undefined) {
      for (const name of LIVE_COLUMNS) if (!metrics[name]) throw this.#bad(`${what} has no ${name}`)
    }
    const waits = SECTIONS[mode].hasWaits || metrics[WAIT_COLUMNS[0]] !== undefined
    for (const name of waits ? WAIT_COLUMNS : [])
      if (!metrics[name]) throw this.#bad(`${what} has no ${name}`)
    const collapsed =
      fields.collapsed === undefined ? undefined : this.#collapsed(fields.collapsed, methods, what)
    return {
      ...{ count, method, parent: this.#parents(size, what), size, metrics },
      ...(collapsed !== undefined && { collapsed }),
    }
  }

  #collapsed(value: unknown, methods: number, of: string): CollapsedMethods {
    const what = `collapsed contexts of ${of}`
    const fields = this.#fields(value, what)
    const count = this.#count(fields.count, `the methods of ${what}`)
    const method = new Int32Array(this.#numbers(fields.method, count, 4, `methods of ${what}`))
    if (method.some((id) => id < 1 || id >= methods)) throw this.#bad(`${what} have a method without a name`)
    const [calls, self, total] = (['calls', 'self', 'total'] as const).map((name) => {
      const column = new Float64Array(this.#numbers(fields[name], count, 8, `${name} of ${what}`))
      if (!column.every(Number.isFinite)) throw this.#bad(`${name} of ${what} is not all numbers`)
      return column
    }) as [Float64Array, Float64Array, Float64Array]
    return { method, calls, self, total }
  }

  /** Checks that subtrees nest, and says who contains whom. */
  #parents(size: Int32Array, what: string): Int32Array {
    const count = size.length
    const parent = new Int32Array(count)
    const open: number[] = []
    for (let i = 0; i < count; i++) {
      while (open.length > 0 && i >= open[open.length - 1]! + size[open[open.length - 1]!]!) open.pop()
      const above = open.length > 0 ? open[open.length - 1]! : -1
      const end = above < 0 ? count : above + size[above]!
      if (size[i]! < 1 || i + size[i]! > end) throw this.#bad(`${what} has a subtree larger than its parent`)
      parent[i] = above
      open.push(i)
    }
    return parent
  }

  /** A copy of the bytes of `count` numbers: aligned, and no view into the file. */
  #numbers(value: unknown, count: number, bytesEach: number, what: string): ArrayBuffer {
    if (!(value instanceof Uint8Array)) throw this.#bad(`${what} are missing`)
    if (value.byteLength !== count * bytesEach) {
      throw this.#bad(`${what}: ${value.byteLength} bytes for ${count} nodes`)
    }
    const copy = new ArrayBuffer(value.byteLength)
    new Uint8Array(copy).set(value)
    return copy
  }

  #fields(value: unknown, what: string): Fields {
    const prototype: unknown = typeof value === 'object' && value ? Object.getPrototypeOf(value) : undefined
    if (prototype !== Object.prototype) throw this.#bad(`${what} is not a map`)
    return value as Fields
  }

  #array(value: unknown, what: string): readonly unknown[] {
    if (!Array.isArray(value)) throw this.#bad(`${what} is not a list`)
    return value
  }

  #strings(value: unknown, what: string): string[] {
    return this.#array(value, what).map((each) => this.#string(each, `an entry of ${what}`))
  }

  #string(value: unknown, what: string): string {
    if (typeof value !== 'string') throw this.#bad(`${what} is not a string`)
    return value
  }

  #instant(value: unknown, what: string): string {
    const text = this.#string(value, what)
    if (Number.isNaN(Date.parse(text))) throw this.#bad(`${what} is not a time`)
    return text
  }

  #number(value: unknown, what: string): number {
    if (typeof value !== 'number' || !Number.isFinite(value)) throw this.#bad(`${what} is not a number`)
    return value
  }

  #count(value: unknown, what: string): number {
    const number = this.#number(value, what)
    if (!Number.isSafeInteger(number) || number < 0) throw this.#bad(`${what} is not a count`)
    return number
  }

  #oneOf<const T extends string>(value: unknown, known: readonly T[], what: string): T {
    const found = known.find((each) => each === value)
    if (found === undefined) throw this.#bad(`${what} is none of ${known.join(', ')}`)
    return found
  }

  #truncated(value: unknown): boolean | string {
    if (typeof value !== 'boolean' && typeof value !== 'string') throw this.#bad('truncated is neither')
    return value
  }
}
