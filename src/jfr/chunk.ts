// Reads one chunk of a recording that is finished or still growing. Each sample is reported once.
// A chunk consists of a header (chunk-header.ts) and events. An event starts with its size and its type. The format itself defines two
// types: 0 is metadata, 1 is a checkpoint with constants. A sample may precede the constants that it refers to, but a flush contains the
// sample and its constants. Flushed data are therefore read twice: first for the constants, then for the samples.

import { type ChunkHeader, HEADER_BYTES, parseChunkHeader } from './chunk-header.ts'
import { Constants } from './constants.ts'
import { Cursor } from './cursor.ts'
import { parseMetadata, type Type, type Types } from './metadata.ts'
import { BadRecording } from './problem.ts'
import { type Value, Values } from './values.ts'

const CHECKPOINT = 1
/** Number of bytes per read. A larger event is read separately, in one piece. */
const WINDOW_BYTES = 1 << 20
/** Maximum size of an event. Checkpoints of a JVM with 100,000 classes have a few MiB. */
const MAX_EVENT_BYTES = 256 << 20

/** Kind of a sample: the thread was in Java code, in native code, or in either (`cpu`, a sample by CPU time), or allocated an object. */
export type SampleKind = 'java' | 'native' | 'cpu' | 'allocation'

const SAMPLES: ReadonlyMap<string, SampleKind> = new Map([
  ['jdk.ExecutionSample', 'java'],
  ['jdk.NativeMethodSample', 'native'],
  ['jdk.CPUTimeSample', 'cpu'],
  ['jdk.ObjectAllocationSample', 'allocation'],
])
const LOST = 'jdk.CPUTimeSamplesLost'

/** Receives the contents of a chunk in file order, which is time order for each thread. */
export interface SampleSink {
  /**
   * @param ticks   time of the sample, in the JVM's ticks
   * @param thread  key of a thread
   * @param stack   key of a stack trace; 0 if the JVM could not walk it
   * @param weight  for samples by CPU time, the number of ticks that the sample represents; for allocations, the number of bytes; 0 if the
   * JVM does not report it
   * @param allocated  for allocations, key of the class of the object
   */
  sample(
    kind: SampleKind,
    ticks: number,
    thread: number,
    stack: number,
    weight: number,
    allocated: number,
  ): void
  /** Called with a number of samples that were due, but that the JVM has lost. */
  lost(count: number): void
}

/** Reads bytes of the file. Returns fewer bytes than requested at the end of the file. */
export type ReadAt = (offset: number, length: number) => Buffer

interface Wanted {
  readonly type: Type
  readonly kind: SampleKind | 'lost'
}

export class Chunk {
  readonly #begin: number
  #at: number
  #metadataAt = 0
  #types: Types = new Map()
  #wanted: ReadonlyMap<number, Wanted> = new Map()
  #constants: Constants | null = null
  #header: ChunkHeader | null = null

  /** @param begin offset of the chunk in its file */
  constructor(
    private readonly read: ReadAt,
    begin = 0,
  ) {
    this.#begin = begin
    this.#at = HEADER_BYTES
  }

  /** Header at the last `poll`; null before the first successful `poll`. */
  get header(): ChunkHeader | null {
    return this.#header
  }

  /** Constants read so far. Keys are valid in this chunk only. */
  get constants(): Constants {
    this.#constants ??= new Constants(this.#types)
    return this.#constants
  }

  /**
   * Reads the data that were flushed since the last poll.
   *
   * @returns whether the chunk is finished, so it no longer grows
   * @throws BadRecording
   */
  poll(sink: SampleSink): boolean {
    const bytes = this.read(this.#begin, HEADER_BYTES)
    if (bytes.length < HEADER_BYTES) return false // the JVM has just created the file
    // The header is read twice: if the JVM rewrites it during a read, the bytes may be a mixture of the old and the new header.
    if (!this.read(this.#begin, HEADER_BYTES).equals(bytes)) return false
    const header = parseChunkHeader(bytes)
    if (header === null || header.metadata === 0) return false
    if (header.size < this.#at) throw new BadRecording('a chunk has become smaller')
    this.#header = header
    if (header.metadata !== this.#metadataAt) this.#describe(header)
    const { constants } = this
    this.#events(header.size, (type, event) => {
      if (type === CHECKPOINT) constants.add(event)
    })
    this.#events(header.size, (type, event) => {
      const wanted = this.#wanted.get(type)
      if (wanted !== undefined) this.#deliver(wanted, event, sink)
    })
    this.#at = header.size
    return header.finished
  }

  #describe({ metadata, size }: ChunkHeader): void {
    this.#types = parseMetadata(this.#event(metadata, size))
    this.#metadataAt = metadata
    this.constants.retype(this.#types)
    const wanted = new Map<number, Wanted>()
    for (const type of this.#types.values()) {
      const kind = SAMPLES.get(type.name) ?? (type.name === LOST ? 'lost' : undefined)
      if (kind !== undefined) wanted.set(type.id, { type, kind })
    }
    this.#wanted = wanted
  }

  #deliver({ type, kind }: Wanted, event: Buffer, sink: SampleSink): void {
    const cursor = new Cursor(event)
    cursor.varint() // size
    cursor.varint() // type
    const values = new Values(this.#types).struct(cursor, type)
    const of = (name: string): number => {
      const value: Value | undefined = values[type.fields.findIndex((it) => it.name === name)]
      return typeof value === 'number' ? value : 0
    }
    if (kind === 'lost') sink.lost(of('lostSamples'))
    else {
      const thread = of('sampledThread') || of('eventThread')
      const weight = of(kind === 'allocation' ? 'weight' : 'samplingPeriod')
      sink.sample(kind, of('startTime'), thread, of('stackTrace'), weight, of('objectClass'))
    }
  }

  /** Visits all events from the current offset to `end`. */
  #events(end: number, visit: (type: number, event: Buffer) => void): void {
    let window: Buffer = Buffer.alloc(0)
    let from = this.#at
    for (let at = from; at < end; ) {
      if (at - from >= window.length - 16) {
        window = this.#bytes(at, Math.min(WINDOW_BYTES, end - at))
        from = at
      }
      const cursor = new Cursor(window, at - from)
      const size = cursor.varint()
      const type = cursor.varint()
      if (size < cursor.at - (at - from) || at + size > end) {
        throw new BadRecording(`an event at ${at} has the impossible size of ${size} bytes`)
      }
      if (type === CHECKPOINT || this.#wanted.has(type)) {
        if (at - from + size > window.length) {
          window = this.#event(at, end)
          from = at
        }
        visit(type, window.subarray(at - from, at - from + size))
      }
      at += size
    }
  }

  /** Returns all bytes of the event at an offset. */
  #event(at: number, end: number): Buffer {
    const size = new Cursor(this.#bytes(at, Math.min(16, end - at))).varint()
    if (size < 2 || at + size > end)
      throw new BadRecording(`an event at ${at} has the impossible size of ${size} bytes`)
    if (size > MAX_EVENT_BYTES) throw new BadRecording(`an event has ${size} bytes`)
    return this.#bytes(at, Math.min(Math.max(size, WINDOW_BYTES), end - at))
  }

  #bytes(at: number, length: number): Buffer {
    const bytes = this.read(this.#begin + at, length)
    if (bytes.length < length) throw new BadRecording('it ends in the middle of an event')
    return bytes
  }
}
