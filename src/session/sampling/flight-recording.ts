// Sampling by the JVM's flight recorder. The recording contains only samples and is read while it grows.
// The recorder keeps its files in a repository directory of the target. It begins a new file when our recording begins, when a file is
// full, and when another recording begins or ends. The newest samples are written only when the last recording ends, and the JVM then
// deletes the file. So jfluid keeps each file open. Each recording has a limited duration of a few minutes and is replaced by a new
// recording before its end. So the recording of a killed client does not stay. When a new file appears, jfluid asks the JVM for all
// recordings, and whether its own recording still runs.

import * as fs from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemProperties } from '../../attach/command.ts'
import {
  recorderSetup,
  recordings,
  setStackDepth,
  startRecording,
  stopRecording,
} from '../../attach/flight-recorder.ts'
import type { AttachConnection } from '../../attach/handshake.ts'
import { O_PATH, openDirectory, openRegular } from '../../attach/regular-file.ts'
import { EX_TEMPFAIL, JfluidError } from '../../base/errors.ts'
import { Chunk, type SampleKind, type SampleSink } from '../../jfr/chunk.ts'
import { FRAME_NUMBERS } from '../../jfr/constants.ts'
import { BadRecording } from '../../jfr/problem.ts'
import type { Sampling } from '../../profile/profile.ts'
import { isLeftover, recordingName } from './recording-names.ts'
import {
  freeBytes,
  KEPT_MIB,
  mustHaveRoom,
  NoRoomForRecording,
  ROOM_TO_BEGIN,
  ROOM_TO_GO_ON,
} from './recording-room.ts'
import type { SampledTree } from './sampled-tree.ts'
import { type Sampler, withoutAddress } from './sampler.ts'

/** Maximum number of frames per stack. The default of 64 is too small for a server. Each sampled thread needs 20 KiB for 512 frames. */
export const STACK_DEPTH = 512
/** Duration of a recording. A recording of a killed client ends after this time. */
const DURATION_SECONDS = 300
/** A recording is replaced this long before its end. */
const RENEW_BEFORE_DURATION_MS = 60_000
/** The JVM may delete files of our recording that are older than this. jfluid reads them much earlier. */
const KEPT_DURATION_SECONDS = 60
/** Limits of a recording: its duration, and the age and size of the data that the JVM keeps. */
export const BOUNDS = {
  durationSeconds: DURATION_SECONDS,
  keptSeconds: KEPT_DURATION_SECONDS,
  keptMib: KEPT_MIB,
} as const
/** Time limit for the recorder to finish its file after a recording has ended. */
const FINISH_TIMEOUT_MS = 5_000
/** Interval between checks whether the file is finished. */
const FINISH_INTERVAL_MS = 20
/** A warning is issued if samples are rarer than requested by more than this factor. */
const MAX_RARITY = 1.5
/** Delay before a failed request to the JVM is repeated. */
const RETRY_DELAY_MS = 5_000
const OWNER_ONLY = 0o700

/** Thrown if another client stopped the recording (JFR.stop), or if it expired while jfluid itself was stopped. */
export class RecordingStopped extends JfluidError {
  static sample = () => new RecordingStopped()
  readonly exitCode = EX_TEMPFAIL
  readonly hint = 'Record again, and do not stop flight recordings named jfluid-….'
  constructor() {
    super('another program has stopped the flight recording of jfluid, or jfluid was stopped for minutes')
  }
}

/** Returns the settings of the sample events. */
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
  /** Maps the key of a stack to its method ids, outermost first. */
  readonly paths: Map<number, Int32Array>
  /** Maps the key of a method to its id. */
  readonly ids: Map<number, number>
}

export class FlightRecording implements Sampler {
  readonly #kind: SampleKind
  readonly #onFirst: () => void
  readonly #chunks: OpenChunk[] = []
  /** Names of files that have already been opened, or that need not be opened. */
  readonly #known = new Set<string>()
  /** Handle of the repository's parent directory. A path through the target's root would become invalid when the target ends. */
  #parent: number | null = null
  /** Handle of the repository itself. A handle cannot be redirected to another directory. */
  #repository: number | null = null
  /** `#directory` is the path by the handle of the repository. `#path` is the path by its parent directory. */
  #directory = ''
  #path = ''
  /** User id that must own the files. */
  #owner = process.geteuid!()
  /** Whether the recorder had never recorded before this session. */
  #wasIdle = false
  /** Whether the repository was created for our recording, so it contains no data of other clients. */
  #isOurs = false
  #stackDepth = STACK_DEPTH
  #name = ''
  #renewAt = 0
  #endsAt = 0
  /** Names of recordings of other clients. */
  readonly #others = new Set<string>()
  #opened = 0
  /** Whether a file has begun or ended since the last request to the JVM. Another client's recording may have begun or ended, too. */
  #rotated = false
  /** The running request to the JVM. */
  #asking: Promise<void> | null = null
  #askAt = 0
  #problem: unknown = null
  #lost = 0
  /** Sum of the sampling periods in seconds, and the number of samples with a period. */
  #seconds = 0
  #told = 0
  #failed = 0

  /**
   * @param connect  connects to the target; called again for each renewal and for the end
   * @param onFirst  called before the recorder starts for the first time in the life of the JVM
   */
  constructor(
    private readonly connect: () => Promise<AttachConnection>,
    private readonly tree: SampledTree,
    private readonly sampling: Sampling,
    onFirst: () => void = () => {},
  ) {
    this.#kind = sampling.by === 'cpu' ? 'cpu' : 'java'
    this.#onFirst = onFirst
  }

  /**
   * Starts the recording.
   * @throws NoFlightRecorder, RecordingRefused, NoRoomForRecording, BadRecording
   */
  async start(signal?: AbortSignal): Promise<void> {
    const connection = await this.connect()
    const { root } = connection.target
    const before = await recorderSetup(connection)
    signal?.throwIfAborted()
    this.#wasIdle = before.repository === null
    const place = before.repository ?? (await placeOfRepositories(connection))
    mustHaveRoom(`${root}${place}`, place, ROOM_TO_BEGIN)
    if (this.#wasIdle && before.stackDepth < STACK_DEPTH) await setStackDepth(connection, STACK_DEPTH)
    const running = await recordings(connection)
    signal?.throwIfAborted()
    const older = before.repository === null ? [] : recordingsIn(`${root}${before.repository}`)
    if (this.#wasIdle) this.#onFirst()
    await this.#begin(connection)
    try {
      // The setup is read again, since a recorder that has never recorded may replace its repository. The new repository has the same name
      // if both were created within the same second (Repository.java).
      const { stackDepth, repository } = await recorderSetup(connection)
      this.#stackDepth = stackDepth
      this.#isOurs = repository !== before.repository || (older.length === 0 && running.length === 0)
      this.#open(connection, repository ?? '/')
      signal?.throwIfAborted()
      if (!this.#isOurs) for (const name of older) this.#known.add(name)
      if (!recordingsIn(this.#directory).some((name) => !this.#known.has(name))) {
        throw new BadRecording(`jfluid finds no file of the recording in ${repository}`)
      }
      mustHaveRoom(this.#directory, repository ?? '/', ROOM_TO_GO_ON)
      await this.#note(connection, running)
    } catch (error) {
      await this.stop(true)
      throw error
    }
  }

  /** Uses a recording that the JVM began at its start. No other client has recorded before. */
  adopt(name: string, repository: string): void {
    this.#wasIdle = true
    this.#isOurs = true
    this.#path = this.#directory = repository
    this.#named(name)
    this.#poll()
  }

  /** Opens the repository. The JVM reports its path and may report any path, so only a directory of the JVM's user is used. */
  #open({ target }: AttachConnection, repository: string): void {
    try {
      this.#owner = target.euid
      this.#parent = fs.openSync(`${target.root}${dirname(repository)}`, O_PATH | fs.constants.O_DIRECTORY)
      this.#path = `/proc/self/fd/${this.#parent}/${basename(repository)}`
      this.#repository = openDirectory(this.#path)
      this.#directory = `/proc/self/fd/${this.#repository}`
      if (fs.fstatSync(this.#repository).uid !== target.euid) {
        throw new BadRecording(`${repository} does not belong to uid ${target.euid}`)
      }
      // The JVM creates the directory with its umask, which usually lets all users read it.
      if (this.#isOurs) fs.chmodSync(this.#directory, OWNER_ONLY)
    } catch (error) {
      throw unreadable(repository, error)
    }
  }

  /** @param running names of recordings */
  async #note(connection: AttachConnection, running: readonly string[]): Promise<void> {
    for (const name of running) {
      if (name === this.#name) continue
      if (isLeftover(name)) await stopRecording(connection, name)
      else this.#others.add(name)
    }
  }

  async #begin(connection: AttachConnection): Promise<void> {
    const name = recordingName()
    const settings = sampleSettings(this.sampling)
    await startRecording(connection, { name, settings, ...BOUNDS })
    this.#named(name)
  }

  #named(name: string): void {
    this.#name = name
    this.#endsAt = performance.now() + DURATION_SECONDS * 1000
    this.#renewAt = this.#endsAt - RENEW_BEFORE_DURATION_MS
  }

  async poll(): Promise<void> {
    this.#poll()
    if (this.#problem !== null) throw this.#problem
    await this.#leaveRoom()
    const now = performance.now()
    if (this.#asking === null && now >= this.#askAt && (this.#rotated || now >= this.#renewAt)) {
      this.#asking = this.#ask().finally(() => {
        this.#asking = null
      })
    }
  }

  /** Stops our recording immediately if it would fill the disk. */
  async #leaveRoom(): Promise<void> {
    const free = freeBytes(this.#directory)
    if (free >= ROOM_TO_GO_ON) return
    await stopRecording(await this.connect(), this.#name)
    throw new NoRoomForRecording('the repository of the JVM', free)
  }

  /** Lists the recordings and renews our recording. A failed request is repeated until the recording expires. */
  async #ask(): Promise<void> {
    try {
      const connection = await this.connect()
      this.#rotated = false
      const running = await recordings(connection)
      await this.#note(connection, running)
      if (!running.includes(this.#name)) throw new RecordingStopped()
      if (performance.now() < this.#renewAt) return
      const before = this.#name
      await this.#begin(connection)
      await stopRecording(connection, before)
    } catch (error) {
      const now = performance.now()
      this.#rotated = true
      this.#askAt = now + RETRY_DELAY_MS
      if (error instanceof RecordingStopped || now >= this.#endsAt) this.#problem = error
    }
  }

  #poll(): void {
    for (const name of recordingsIn(this.#directory)) {
      if (this.#known.has(name)) continue
      this.#known.add(name)
      this.#openChunk(name)
      if (this.#opened++ > 0) this.#rotated = true
    }
    for (const open of [...this.#chunks]) {
      let isOver = true // stays true if the chunk cannot be read
      try {
        isOver = open.chunk.poll(this.#sink(open))
      } finally {
        if (isOver) {
          this.#rotated = true
          fs.closeSync(open.file)
          this.#chunks.splice(this.#chunks.indexOf(open), 1)
        }
      }
    }
  }

  #openChunk(name: string): void {
    let file: number | undefined
    try {
      file = openRegular(join(this.#directory, name), this.#owner)
    } catch (error) {
      if (isAbsent(error)) return // the file was deleted when all recordings had ended
      throw unreadable(name, error)
    }
    if (file === undefined) return // the JVM has not written this file
    const descriptor = file
    const read = (offset: number, length: number): Buffer => {
      const bytes = Buffer.allocUnsafe(length)
      return bytes.subarray(0, fs.readSync(descriptor, bytes, 0, length, offset))
    }
    this.#chunks.push({ file: descriptor, chunk: new Chunk(read), paths: new Map(), ids: new Map() })
  }

  #sink(open: OpenChunk): SampleSink {
    return {
      sample: (kind, _ticks, thread, stack, period) => {
        if (kind !== this.#kind) return // the sample belongs to another recording
        if (period > 0) {
          this.#seconds += period / open.chunk.header!.ticksPerSecond
          this.#told++
        }
        const path = this.#pathOf(open, stack)
        if (path === null) {
          this.#failed++
          return
        }
        const described = open.chunk.constants.thread(thread)
        this.tree.sample(
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
    if (truncated) path[0] = this.tree.truncation
    for (let i = 0; i < count; i++) {
      const method = frames[i * FRAME_NUMBERS]!
      let id = ids.get(method)
      if (id === undefined) {
        const name = chunk.constants.method(method)
        id = this.tree.idOf({ ...name, class: withoutAddress(name.class) })
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
        await this.#asking
        try {
          this.#poll() // opens all files before the JVM deletes them
        } finally {
          const connection = await this.connect()
          try {
            await this.#note(connection, await recordings(connection))
          } finally {
            await stopRecording(connection, this.#name)
          }
        }
        const end = performance.now() + FINISH_TIMEOUT_MS
        do {
          this.#poll()
          if (this.#chunks.length === 0) break
          await sleep(FINISH_INTERVAL_MS)
        } while (performance.now() < end)
      } else {
        this.#poll()
        this.#removeRepository()
      }
    } finally {
      for (const { file } of this.#chunks.splice(0)) fs.closeSync(file)
      for (const handle of [this.#parent, this.#repository]) if (handle !== null) fs.closeSync(handle)
      this.#parent = this.#repository = null
    }
  }

  /** Removes the repository of a JVM that was killed. A repository with recordings of other clients is kept. */
  #removeRepository(): void {
    if (!this.#isOurs || this.#directory === '' || this.#others.size > 0) return
    try {
      for (const name of recordingsIn(this.#directory)) fs.rmSync(join(this.#directory, name))
      fs.rmdirSync(this.#path)
    } catch {
      // The JVM has removed the directory itself, or jfluid has no permission to remove it.
    }
  }

  warnings(): string[] {
    const { samples, outside, truncated, hasRoots } = this.tree
    const found: string[] = []
    if (this.#others.size > 0) {
      const names = [...this.#others].join(', ')
      found.push(
        `the flight recorder has other recordings, too (${names}): samples are taken at the shortest interval of all of them`,
      )
    }
    if (truncated > 0) {
      const why = this.#wasIdle ? '' : `, which was set when its first recording began`
      found.push(
        `${truncated} of ${samples + outside} stacks are deeper than the ${this.#stackDepth} frames that the JVM keeps${why}: ${hasRoots ? 'if the root was among the outermost, they are missing' : 'they are below (truncated)'}`,
      )
    }
    const meanMs = (this.#seconds * 1000) / Math.max(1, this.#told)
    if (meanMs > (MAX_RARITY * this.sampling.every) / 1e6) {
      found.push(
        `samples came every ${meanMs.toPrecision(2)} ms of CPU time on average, not every ${this.sampling.every / 1e6} ms: the system checks CPU time once per clock tick`,
      )
    }
    if (this.#lost > 0) found.push(`samples that the JVM lost: ${this.#lost}`)
    if (this.#failed > 0)
      found.push(`samples left out because the JVM could not walk the stack: ${this.#failed}`)
    return found
  }
}

/** Returns the names of the recording files, oldest first. The list is empty if the JVM has removed the directory. */
export function recordingsIn(directory: string): string[] {
  try {
    return fs
      .readdirSync(directory)
      .filter((name) => name.endsWith('.jfr'))
      .sort()
  } catch (error) {
    if (isAbsent(error)) return []
    throw unreadable(basename(directory), error)
  }
}

/** Returns the directory in which the recorder will create its repository. */
async function placeOfRepositories(connection: AttachConnection): Promise<string> {
  const options = connection.target.commandLine.filter((it) => it.startsWith('-XX:FlightRecorderOptions'))
  const [, chosen] = /[:=,]repository=([^,]+)/.exec(options.at(-1) ?? '') ?? []
  return chosen ?? (await systemProperties(connection)).get('java.io.tmpdir') ?? '/tmp'
}

function isAbsent(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return code === 'ENOENT' || code === 'ENOTDIR'
}

function unreadable(path: string, error: unknown): Error {
  const { code } = error as NodeJS.ErrnoException
  return code === undefined ? (error as Error) : new BadRecording(`cannot open ${path} (${code})`)
}
