// Sampling by the JVM's own flight recorder: a recording of nothing but samples, read while it grows.
//
// The recorder keeps its files in a repository of the target's; a new one begins with our recording, and whenever it is
// full or another recording begins or ends. Each is held open by us: the JVM deletes it when its last recording ends, and
// the newest samples are in it only then. A recording has an end of its own a few minutes ahead, and is followed by
// another before; so that of a client that was killed does not stay.

import { closeSync, constants, openSync, readdirSync, readSync, rmdirSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  recorderSetup,
  recordings,
  setStackDepth,
  startRecording,
  stopRecording,
} from '../attach/flight-recorder.ts'
import type { AttachConnection } from '../attach/handshake.ts'
import { Chunk, type SampleKind, type SampleSink } from '../jfr/chunk.ts'
import { FRAME_NUMBERS } from '../jfr/constants.ts'
import type { Sampling } from '../profile/profile.ts'
import type { SampledTree } from './sampled-tree.ts'
import { type Sampler, withoutAddress } from './sampler.ts'

/** The recorder's default, 64, is less than a server's stacks have. A thread that is sampled keeps 20 KiB for it. */
export const STACK_DEPTH = 512
export const LEASE_S = 300
/** So long before its end a recording is followed by the next. */
const RENEW_MS = 60_000
/** The JVM may delete a file of ours that is older; we are never that far behind. */
export const KEPT_S = 60
/** The recorder finishes its file when a recording ends. */
const FINISH_MS = 5_000
const LOOK_MS = 20
const O_PATH = 0o10000000 // a handle for a directory that we may enter but not list

/** Nobody else's. */
export function recordingName(): string {
  return `jfluid-${process.pid}-${Math.random().toString(36).slice(2, 8)}`
}

/** Settings of the events that are samples. */
export function sampleSettings({ every, by }: Sampling): string[] {
  const us = Math.round(every / 1000)
  const text = us % 1000 === 0 ? `${us / 1000}ms` : `${us}us`
  return by === 'cpu'
    ? [
        'jdk.CPUTimeSample#enabled=true',
        `jdk.CPUTimeSample#throttle=${text}`,
        'jdk.CPUTimeSamplesLost#enabled=true',
      ]
    : ['jdk.ExecutionSample#enabled=true', `jdk.ExecutionSample#period=${text}`]
}

interface OpenChunk {
  readonly file: number
  readonly chunk: Chunk
  /** By key of a stack: ids of its methods, outermost first. */
  readonly paths: Map<number, Int32Array>
  /** By key of a method. */
  readonly ids: Map<number, number>
}

export class FlightRecording implements Sampler {
  readonly #connect: () => Promise<AttachConnection>
  readonly #tree: SampledTree
  readonly #sampling: Sampling
  readonly #kind: SampleKind
  readonly #chunks: OpenChunk[] = []
  /** File names that need not be looked at any more. */
  readonly #known = new Set<string>()
  /** A handle of what the repository is in: a path in the target's root ends with the target. */
  #parent: number | null = null
  #directory = ''
  /** The recorder had never recorded before. */
  #wasIdle = false
  #stackDepth = STACK_DEPTH
  #name = ''
  #renewAt = 0
  #others: readonly string[] = []
  #lost = 0
  #failed = 0

  /** @param connect to the target; asked again for each renewal and the end */
  constructor(connect: () => Promise<AttachConnection>, tree: SampledTree, sampling: Sampling) {
    this.#connect = connect
    this.#tree = tree
    this.#sampling = sampling
    this.#kind = sampling.by === 'cpu' ? 'cpu' : 'java'
  }

  /** @throws NoFlightRecorder, RecordingRefused */
  async start(): Promise<void> {
    const connection = await this.#connect()
    const before = await recorderSetup(connection)
    this.#wasIdle = before.repository === null
    if (this.#wasIdle && before.stackDepth < STACK_DEPTH) await setStackDepth(connection, STACK_DEPTH)
    this.#others = await recordings(connection)
    if (before.repository !== null) {
      this.#open(connection, before.repository)
      for (const name of this.#files()) this.#known.add(name)
    }
    await this.#begin(connection)
    try {
      const now = await recorderSetup(connection)
      this.#stackDepth = now.stackDepth
      if (before.repository === null) this.#open(connection, now.repository ?? '/')
    } catch (error) {
      await this.stop(true)
      throw error
    }
  }

  /** Takes over a recording that the JVM has begun with its first moment; nobody has recorded in it before. */
  adopt(name: string, repository: string): void {
    this.#wasIdle = true
    this.#directory = repository
    this.#named(name)
    this.#poll()
  }

  #open({ target }: AttachConnection, repository: string): void {
    const parent = openSync(`${target.root}${dirname(repository)}`, O_PATH | constants.O_DIRECTORY)
    this.#parent = parent
    this.#directory = `/proc/self/fd/${parent}/${basename(repository)}`
  }

  async #begin(connection: AttachConnection): Promise<void> {
    const name = recordingName()
    const settings = sampleSettings(this.#sampling)
    await startRecording(connection, { name, settings, durationSeconds: LEASE_S, keptSeconds: KEPT_S })
    this.#named(name)
  }

  #named(name: string): void {
    this.#name = name
    this.#renewAt = performance.now() + LEASE_S * 1000 - RENEW_MS
  }

  async poll(): Promise<void> {
    this.#poll()
    if (performance.now() < this.#renewAt) return
    const before = this.#name
    const connection = await this.#connect()
    await this.#begin(connection)
    await stopRecording(connection, before)
  }

  #poll(): void {
    for (const name of this.#files()) {
      if (this.#known.has(name)) continue
      this.#known.add(name)
      this.#openChunk(name)
    }
    for (const open of [...this.#chunks]) {
      let isOver = true // if it cannot be read, too
      try {
        isOver = open.chunk.poll(this.#sink(open))
      } finally {
        if (isOver) {
          closeSync(open.file)
          this.#chunks.splice(this.#chunks.indexOf(open), 1)
        }
      }
    }
  }

  /** In the order in which they were begun. */
  #files(): string[] {
    try {
      return readdirSync(this.#directory)
        .filter((name) => name.endsWith('.jfr'))
        .sort()
    } catch {
      return [] // gone with the JVM
    }
  }

  #openChunk(name: string): void {
    let file: number
    try {
      file = openSync(join(this.#directory, name), 'r')
    } catch {
      return // deleted meanwhile, by an end of all recordings
    }
    const read = (offset: number, length: number): Buffer => {
      const bytes = Buffer.allocUnsafe(length)
      return bytes.subarray(0, readSync(file, bytes, 0, length, offset))
    }
    this.#chunks.push({ file, chunk: new Chunk(read), paths: new Map(), ids: new Map() })
  }

  #sink(open: OpenChunk): SampleSink {
    return {
      sample: (kind, _ticks, thread, stack) => {
        if (kind !== this.#kind) return // another recording's
        const path = this.#pathOf(open, stack)
        if (path === null) {
          this.#failed++
          return
        }
        const described = open.chunk.constants.thread(thread)
        this.#tree.sample(
          described ?? { id: -thread, name: `thread ${thread}`, virtual: false },
          path,
          open.chunk.constants.stack(stack)?.truncated,
        )
      },
      lost: (count) => {
        this.#lost += count
      },
    }
  }

  #pathOf({ chunk, paths, ids }: OpenChunk, key: number): Int32Array | null {
    const known = paths.get(key)
    if (known !== undefined) return known
    const stack = chunk.constants.stack(key)
    if (stack === undefined || stack.frames.length === 0) return null
    const { frames, truncated } = stack
    const count = frames.length / FRAME_NUMBERS
    const path = new Int32Array(truncated ? count + 1 : count)
    if (truncated) path[0] = this.#tree.truncation
    for (let i = 0; i < count; i++) {
      const method = frames[i * FRAME_NUMBERS]!
      let id = ids.get(method)
      if (id === undefined) {
        const name = chunk.constants.method(method)
        id = this.#tree.idOf({ ...name, class: withoutAddress(name.class) })
        ids.set(method, id)
      }
      path[path.length - 1 - i] = id
    }
    paths.set(key, path)
    return path
  }

  async stop(lives: boolean): Promise<void> {
    try {
      if (lives) {
        try {
          this.#poll() // so that we hold all there is
        } finally {
          await stopRecording(await this.#connect(), this.#name)
        }
        const end = performance.now() + FINISH_MS
        do {
          this.#poll()
          if (this.#chunks.length === 0) break
          await sleep(LOOK_MS)
        } while (performance.now() < end)
      } else {
        this.#poll()
        this.#removeRepository()
      }
    } finally {
      for (const { file } of this.#chunks.splice(0)) closeSync(file)
      if (this.#parent !== null) closeSync(this.#parent)
      this.#parent = null
    }
  }

  /** A JVM that was killed leaves it. One that nobody recorded in before us has nothing of others in it. */
  #removeRepository(): void {
    if (!this.#wasIdle || this.#directory === '') return
    try {
      for (const name of this.#files()) rmSync(join(this.#directory, name))
      rmdirSync(this.#directory)
    } catch {
      // The JVM has removed it itself, or it is not ours to remove.
    }
  }

  warnings(): string[] {
    const { samples, truncated } = this.#tree
    const found: string[] = []
    if (this.#others.length > 0) {
      const names = this.#others.join(', ')
      found.push(
        `the flight recorder records for others, too (${names}): samples come as often as any of them asks`,
      )
    }
    if (truncated > 0) {
      const why = this.#wasIdle ? '' : `, which was set when its first recording began`
      found.push(
        `${truncated} of ${samples} stacks are deeper than the ${this.#stackDepth} frames that the JVM keeps${why}: they are below (truncated)`,
      )
    }
    if (this.#lost > 0) found.push(`samples that were due and that the JVM lost: ${this.#lost}`)
    if (this.#failed > 0)
      found.push(`samples of which the JVM could not walk the stack, and which are left out: ${this.#failed}`)
    return found
  }
}
