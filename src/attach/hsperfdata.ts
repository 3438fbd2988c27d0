// The performance data that a HotSpot JVM shares in /tmp/hsperfdata_<user>/<pid> (jvmstat).
//
// jfluid reads the file without any action of the JVM. The file shows whether attach is disabled, before any signal is sent. JVMs with
// -XX:-UsePerfData or -XX:+PerfDisableSharedMem have no such file, so every fact may be unknown. The JVM may change the file during the
// read, and any user may have created it, so the parser validates every field.

import { EX_DATAERR, JfluidError } from '../base/errors.ts'
import { namesIn } from '../base/visible.ts'
import { readRegular } from './regular-file.ts'
import { type TargetProcess, vmThreadStart } from './target-process.ts'

// Prologue, from HotSpot's perfMemory.hpp. `order` gives the byte order; the magic is always big-endian.
//
//   offset  size  field
//        0     4  magic       ca fe c0 c0
//        4     1  order       0 big-endian, 1 little-endian
//        5     1  major       2
//        6     1  minor
//        7     1  accessible  nonzero once the JVM's startup is complete
//        8     4  used        bytes, prologue included
//       12     4  overflow    bytes that did not fit
//       16     8  modified    ticks
//       24     4  entry       offset of the first entry
//       28     4  entries     number of entries
const MAGIC = 0xcafec0c0
const ORDER = 4
const MAJOR = 5
const MINOR = 6
const ACCESSIBLE = 7
const FIRST_ENTRY = 24
const ENTRIES = 28
const PROLOGUE_BYTES = 32

// An entry, 4-byte aligned:
//
//   offset  size  field
//        0     4  length   bytes, name and data included
//        4     4  name     offset in the entry of a NUL-terminated name
//        8     4  vector   0: a scalar; else elements
//       12     1  type     JVM signature letter: J long, B byte
//       13     1  flags
//       14     1  unit     5 is string
//       15     1  variability
//       16     4  data     offset in the entry
const ENTRY_NAME = 4
const ENTRY_VECTOR = 8
const ENTRY_TYPE = 12
const ENTRY_DATA = 16
const ENTRY_BYTES = 20

const TYPE_LONG = 0x4a // J
const TYPE_BYTE = 0x42 // B

/** Maximum size of a valid file. HotSpot's default is 32 KiB. */
export const MAX_BYTES = 16 << 20

/** The file is not performance data, or is damaged. */
export class BadPerfData extends JfluidError {
  static sample = () => new BadPerfData('12 bytes are no prologue')
  readonly exitCode = EX_DATAERR
  readonly hint = 'Remove the file in /tmp/hsperfdata_<user> if no JVM with that process id runs.'
  constructor(problem: string) {
    super(`cannot read the performance data of a JVM (hsperfdata): ${problem}`)
  }
}

export interface PerfData {
  major: number
  minor: number
  /** False while the JVM starts: entries may be missing. */
  accessible: boolean
  /** Values keyed by name: longs as bigint, strings as string. Other types are omitted. */
  values: Map<string, bigint | string>
  /** File offsets of the longs, for a reader that needs the current value without parsing. */
  offsets: Map<string, number>
}

/**
 * Parses a jvmstat file, format 2.0.
 *
 * @throws BadPerfData for bytes that HotSpot cannot have written
 */
export function parsePerfData(bytes: Uint8Array): PerfData {
  if (bytes.length < PROLOGUE_BYTES) throw new BadPerfData(`${bytes.length} bytes are too few for a prologue`)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const magic = view.getUint32(0)
  if (magic !== MAGIC) throw new BadPerfData(`it begins with 0x${magic.toString(16)}, not 0xcafec0c0`)
  const major = view.getUint8(MAJOR)
  const minor = view.getUint8(MINOR)
  if (major !== 2) throw new BadPerfData(`version ${major}.${minor} is unknown`)
  const little = view.getUint8(ORDER) === 1

  const values: PerfData['values'] = new Map()
  const offsets: PerfData['offsets'] = new Map()
  const entries = view.getUint32(ENTRIES, little)
  let start = view.getUint32(FIRST_ENTRY, little)
  if (start < PROLOGUE_BYTES) throw new BadPerfData(`first entry at ${start}, inside the prologue`)
  for (let index = 0; index < entries; index++) {
    if (start % 4 !== 0 || start + ENTRY_BYTES > bytes.length) {
      throw new BadPerfData(`entry ${index} of ${entries} at ${start} of ${bytes.length} bytes`)
    }
    const length = view.getUint32(start, little)
    if (length === 0) break // HotSpot writes the length last: this entry is incomplete
    const name = view.getUint32(start + ENTRY_NAME, little)
    const vector = view.getUint32(start + ENTRY_VECTOR, little)
    const data = view.getUint32(start + ENTRY_DATA, little)
    if (
      length < ENTRY_BYTES ||
      start + length > bytes.length ||
      name < ENTRY_BYTES ||
      name > data ||
      data > length
    ) {
      throw new BadPerfData(`entry ${index} at ${start}: length ${length}, name at ${name}, data at ${data}`)
    }
    const label = textOf(bytes, start + name, start + data)
    const type = view.getUint8(start + ENTRY_TYPE)
    if (type === TYPE_LONG && vector === 0 && data + 8 <= length) {
      values.set(label, view.getBigInt64(start + data, little))
      offsets.set(label, start + data)
    } else if (type === TYPE_BYTE && vector > 0) {
      values.set(label, textOf(bytes, start + data, start + Math.min(length, data + vector)))
    }
    start += length
  }
  return { major, minor, accessible: view.getUint8(ACCESSIBLE) !== 0, values, offsets }
}

/** Decodes UTF-8 from `start` to a NUL or `end`. */
function textOf(bytes: Uint8Array, start: number, end: number): string {
  const nul = bytes.indexOf(0, start)
  return Buffer.from(bytes.subarray(start, nul >= 0 && nul < end ? nul : end)).toString('utf8')
}

/** Facts from a JVM's performance data. An unknown fact is absent. */
export interface PerfFacts {
  /** False while the JVM starts. */
  complete: boolean
  attachSupported?: boolean
  /** Main class or jar with its arguments, joined by blanks. */
  javaCommand?: string
  javaVersion?: string
  javaHome?: string
  vmName?: string
  /** JVM arguments, joined by blanks and cut after 1,024 bytes (PerfMaxStringConstLength). */
  vmArguments?: string
  loadedClasses?: number
  /** Number of classes unloaded since the start. */
  unloadedClasses?: number
  /** Number of compilations since the start. Larger than the number of compiled methods that exist now. */
  compilations?: number
  /** Committed metaspace in bytes. */
  metaspaceCommitted?: number
  /** Time in safepoints since the start, in ns. */
  safepointNs?: number
  /** Time in stop-the-world collections since the start, in ns. */
  collectionNs?: number
  /** `Copy:MSC` for the serial collector, `ParScav:MSC` for the parallel collector, `GarbageFirst`, … */
  collector?: string
  /** Creation time in ms since 1970. */
  createdAt?: number
}

export function perfFacts({ accessible, values }: Pick<PerfData, 'accessible' | 'values'>): PerfFacts {
  const facts: PerfFacts = { complete: accessible }
  const text = (name: string) => {
    const value = values.get(name)
    return typeof value === 'string' && value !== '' ? value : undefined
  }
  const number = (name: string) => {
    const value = values.get(name)
    return typeof value === 'bigint' ? Number(value) : undefined
  }
  const put = <K extends keyof PerfFacts>(name: K, value: PerfFacts[K] | undefined) => {
    if (value !== undefined) facts[name] = value
  }
  const capabilities = text('sun.rt.jvmCapabilities') // digits 0 and 1; the first digit is 1 if attach is supported
  put('attachSupported', capabilities === undefined ? undefined : capabilities[0] === '1')
  put('javaCommand', text('sun.rt.javaCommand'))
  put('javaVersion', text('java.property.java.version'))
  put('javaHome', text('java.property.java.home'))
  put('vmName', text('java.property.java.vm.name'))
  put('vmArguments', text('java.rt.vmArgs'))
  const loaded = number('java.cls.loadedClasses') // classes of the CDS archive have their own counter
  put(
    'loadedClasses',
    loaded === undefined ? undefined : loaded + (number('java.cls.sharedLoadedClasses') ?? 0),
  )
  const unloaded = number('java.cls.unloadedClasses')
  put(
    'unloadedClasses',
    unloaded === undefined ? undefined : unloaded + (number('java.cls.sharedUnloadedClasses') ?? 0),
  )
  put('compilations', number('sun.ci.standardCompiles'))
  put('metaspaceCommitted', number('sun.gc.metaspace.capacity'))
  put('createdAt', number('sun.rt.createVmBeginTime'))
  const ticks = number('sun.rt.safepointTime')
  const frequency = number('sun.os.hrt.frequency')
  if (ticks !== undefined && frequency !== undefined && frequency > 0) {
    put('safepointNs', (ticks * 1e9) / frequency)
  }
  put('collectionNs', collectionNs(values, frequency))
  put('collector', text('sun.gc.policy.name'))
  return facts
}

const COLLECTION_TIME = /^(sun\.gc\.collector\.\d+\.)time$/

/**
 * Returns the collection time, summed over all collectors. Concurrent collectors count only their pauses. Shenandoah counts its concurrent
 * work (12 times the time of all safepoints on JDK 17, 65 times on 25), so its counters are excluded.
 */
function collectionNs(values: PerfData['values'], frequency: number | undefined): number | undefined {
  if (frequency === undefined || frequency <= 0) return undefined
  let ticks: number | undefined
  for (const [name, value] of values) {
    const [, collector] = COLLECTION_TIME.exec(name) ?? []
    if (collector === undefined || typeof value !== 'bigint') continue
    if (String(values.get(`${collector}name`) ?? '').startsWith('Shenandoah')) continue
    ticks = (ticks ?? 0) + Number(value)
  }
  return ticks === undefined ? undefined : (ticks * 1e9) / frequency
}

/**
 * Returns whether compiled counted loops lack safepoint polls. HotSpot adds the polls for low-pause collectors (`UseCountedLoopSafepoints`,
 * arguments.cpp). For the serial, parallel and CMS collectors, HotSpot adds polls only if this flag is set.
 */
export function loopsHaveNoSafepoints({ collector = '' }: Pick<PerfFacts, 'collector'>): boolean {
  return /:(?:MSC|CMS)$/.test(collector)
}

/** Returns the time in safepoints since the start of the JVM, in ms; undefined if the JVM does not report it. */
export function safepointMs(target: TargetProcess): number | undefined {
  const ns = findPerfData(target)?.facts?.safepointNs
  return ns === undefined ? undefined : ns / 1e6
}

/** Performance data file in the target's /tmp. */
export interface PerfFile {
  path: string
  /** Parsed facts; `undefined` if the file is damaged or unreadable. */
  facts: PerfFacts | undefined
  /** File offset of the total safepoint time; `undefined` if the JVM does not record it. */
  safepointTimeOffset: number | undefined
}

/**
 * Finds the performance data of `target` below the target's root. The file must belong to the target's user.
 * The process's maps name the file. If the maps are unreadable, all directories hsperfdata_<user> are searched for the target's pid in its
 * own namespace. (The user may have another name inside the target.) A file found in this way may be of another JVM, if JVMs of several pid
 * namespaces share one /tmp: see `mayBelongTo`.
 */
export function findPerfData(target: TargetProcess): PerfFile | undefined {
  const { perfDataName, root, euid, nsPid, pid } = target
  const tmp = `${root}/tmp`
  if (perfDataName === null) return undefined
  if (perfDataName !== undefined) return perfFileAt(`${tmp}/${perfDataName}`, euid)
  const vmStartedAt = vmThreadStart(pid)
  if (vmStartedAt === undefined) return undefined
  const directories = (namesIn(tmp) ?? []).filter((name) => name.startsWith('hsperfdata_'))
  for (const directory of directories) {
    const file = perfFileAt(`${tmp}/${directory}/${nsPid}`, euid)
    if (file !== undefined && mayBelongTo(file.facts, { startedAt: target.startedAt, vmStartedAt }))
      return file
  }
  return undefined
}

/** Tolerance for comparing a time from /proc with a time of the JVM: the boot time in /proc is rounded to whole seconds. */
const CLOCK_TOLERANCE_MS = 2000

/**
 * Returns whether performance data may be of a process with a VM thread: the JVM was created after the start of the process and before the
 * start of its VM thread. True if the creation time is unknown (an unreadable file).
 */
export function mayBelongTo(
  facts: PerfFacts | undefined,
  { startedAt, vmStartedAt }: { readonly startedAt: number; readonly vmStartedAt: number },
): boolean {
  const createdAt = facts?.createdAt
  if (createdAt === undefined) return true
  return createdAt >= startedAt - CLOCK_TOLERANCE_MS && createdAt <= vmStartedAt + CLOCK_TOLERANCE_MS
}

function perfFileAt(path: string, owner: number): PerfFile | undefined {
  const bytes = readFileOf(owner, path)
  if (bytes === undefined) return undefined
  if (bytes === 'denied') return { path, facts: undefined, safepointTimeOffset: undefined }
  try {
    const data = parsePerfData(bytes)
    return { path, facts: perfFacts(data), safepointTimeOffset: data.offsets.get('sun.rt.safepointTime') }
  } catch (problem) {
    if (problem instanceof BadPerfData) return { path, facts: undefined, safepointTimeOffset: undefined }
    throw problem
  }
}

/** Returns the contents of a regular file that belongs to `owner`; `undefined` if there is no such file. */
function readFileOf(owner: number, path: string): Uint8Array | 'denied' | undefined {
  try {
    return readRegular(path, { owner, mostBytes: MAX_BYTES })
  } catch (problem) {
    return (problem as NodeJS.ErrnoException).code === 'EACCES' ? 'denied' : undefined
  }
}

/** Returns whether `vmArguments` contains all options. */
export function hasAllOptions({ complete, vmArguments = '' }: PerfFacts): boolean {
  return complete && vmArguments.length < 1000
}
