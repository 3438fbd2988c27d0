// Sampling by the JVM's flight recorder. The recording contains only samples and is read while it grows.
// The recorder keeps its files in a repository directory of the target. It begins a new file when jfluid's recording begins, when a file is
// full, and when another recording begins or ends. The newest samples are written only when the last recording ends, and the JVM then
// deletes the file. So jfluid keeps each file open. Each recording has a limited duration of a few minutes, and jfluid replaces it by a new
// recording before it expires. So the recording of a killed client ends by itself. When a new file appears, jfluid requests the list of
// recordings, and checks whether its own recording still runs.

import * as fs from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { CommandTimeout, systemProperties } from '../../attach/command.ts'
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
import { getOrAdd } from '../../base/maps.ts'
import type { MethodName } from '../../cct/tree.ts'
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
import type { SampledThread } from './sampled-tree.ts'
import { type Sampler, withoutAddress } from './sampler.ts'

/** Maximum number of frames per stack. The default of 64 is too small for a server. Each sampled thread needs 20 KiB for 512 frames. */
export const STACK_DEPTH = 512
/** Duration of a recording. A recording of a killed client ends after this time. */
const DURATION_SECONDS = 300
/** Time before the end of a recording at which it is replaced by a new recording. */
const RENEW_BEFORE_DURATION_MS = 60_000
/** Age at which the JVM may delete files of jfluid's recording. jfluid reads the files much earlier. */
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
/** A warning is added if the interval between samples is longer than requested by more than this factor. */
const MAX_RARITY = 1.5
/** Delay before a failed request to the JVM is repeated. */
const RETRY_DELAY_MS = 5_000
const OWNER_ONLY = 0o700

/** Thrown if another client stopped the recording (JFR.stop), or if the recording expired while the jfluid process was stopped. */
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

/** Frames of a stack, outermost first. */
interface Frames {
  /** Method ids. */
  readonly path: Int32Array
  /** Line of each frame; 0 or less if unknown. */
  readonly lines: Int32Array
}

/** Events that a recording contains. */
export interface RecordedSamples {
  readonly kind: SampleKind
  readonly settings: readonly string[]
  /** Requested interval between samples, in ns; null if it is not an interval. */
  readonly everyNs: number | null
}

export function recordedSamples(sampling: Sampling): RecordedSamples {
  const kind = sampling.by === 'cpu' ? 'cpu' : 'java'
  return { kind, settings: sampleSettings(sampling), everyNs: sampling.every }
}

/** Receives the samples of a recording, and numbers their methods. */
export interface StackSink {
  /** Whether only stacks with a root are kept. */
  readonly hasRoots: boolean
  /**
   * Numbers of kept samples (`samples`), of samples outside the roots (`outside`), and of samples without their outermost frames
   * (`truncated`).
   */
  readonly samples: number
  readonly outside: number
  readonly truncated: number
  /** Id of the pseudo-method that replaces missing outermost frames. */
  readonly truncation: number
  idOf(name: MethodName): number
  /**
   * @param path       method ids, outermost first
   * @param lines      line of each frame; 0 or less if unknown
   * @param weight     see SampleSink
   * @param allocated  class of the object, for samples of allocations
   */
  sample(
    thread: SampledThread,
    path: Int32Array,
    isTruncated: boolean | undefined,
    lines: Int32Array,
    weight: number,
    allocated: Pick<MethodName, 'class' | 'loader'> | null,
  ): void
}

interface OpenChunk {
  readonly file: number
  readonly chunk: Chunk
  /** Maps the key of a stack to its frames. */
  readonly stacks: Map<number, Frames>
  /** Maps the key of a method to its id. */
  readonly ids: Map<number, number>
}

export class FlightRecording implements Sampler {
  readonly #onFirst: () => void
  readonly #chunks: OpenChunk[] = []
  /** Names of recording files that jfluid has already opened, or does not need. */
  readonly #known = new Set<string>()
  /** Handle of the repository's parent directory. A path through the target's root would become invalid when the target ends. */
  #parent: number | null = null
  /** Handle of the repository itself. A handle cannot be redirected to another directory. */
  #repository: number | null = null
  /** `#directory` is the path of the repository through its handle. `#path` is its path through the handle of its parent directory. */
  #directory = ''
  #path = ''
  /** User id that must own the files. */
  #owner = process.geteuid!()
  /** Whether the JVM's flight recorder had never recorded before this session. */
  #wasIdle = false
  /** Whether the repository was created for jfluid's recording. It then contains no data of other clients. */
  #isOurs = false
  #stackDepth = STACK_DEPTH
  #name = ''
  #running: string | null = null
  #renewAt = 0
  #endsAt = 0
  /** Names of recordings of other clients. */
  readonly #others = new Set<string>()
  #opened = 0
  /** Whether a file was begun or finished since the last request to the JVM, for example since another recording began or ended. */
  #rotated = false
  /** The running request to the JVM. */
  #asking: Promise<void> | null = null
  #askAt = 0
  #problem: unknown = null
  #lost = 0
  /** Sum of the sampling periods in seconds, and the number of samples that have a period. */
  #seconds = 0
  #told = 0
  #failed = 0

  /**
   * @param connect  connects to the target; called for each renewal of the recording and at the end
   * @param onFirst  called before the flight recorder starts for the first time since the JVM started
   */
  constructor(
    private readonly connect: () => Promise<AttachConnection>,
    private readonly tree: StackSink,
    private readonly recorded: RecordedSamples,
    onFirst: () => void = () => {},
  ) {
    this.#onFirst = onFirst
  }

  /** Name of the recording that the JVM runs or may run; null if it runs none. */
  get running(): string | null {
    return this.#running
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

  /** Uses a recording that the JVM began at its start. The repository contains no data of other clients. */
  adopt(name: string, repository: string): void {
    this.#wasIdle = true
    this.#isOurs = true
    this.#path = this.#directory = repository
    this.#named(name)
    this.#poll()
  }

  /** Opens the repository at the path that the JVM reports. A JVM may report any path, so only a directory of the JVM's user is used. */
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
      // The JVM creates the directory with its own umask, which usually allows all users to read the directory. So its mode is changed.
      if (this.#isOurs) fs.chmodSync(this.#directory, OWNER_ONLY)
    } catch (error) {
      throw unreadable(repository, error)
    }
  }

  /** Notes the recordings of other clients. @param running  names of the running recordings */
  async #note(connection: AttachConnection, running: readonly string[]): Promise<void> {
    for (const name of running) {
      if (name === this.#name) continue
      if (isLeftover(name)) await stopRecording(connection, name)
      else this.#others.add(name)
    }
  }

  async #begin(connection: AttachConnection): Promise<void> {
    const name = recordingName()
    const before = this.#running
    this.#running = name
    try {
      await startRecording(connection, { name, settings: this.recorded.settings, ...BOUNDS })
    } catch (error) {
      if (!(error instanceof CommandTimeout)) this.#running = before // after a timeout, the JVM may still start the recording
      throw error
    }
    this.#named(name)
  }

  #named(name: string): void {
    this.#name = this.#running = name
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

  /** Stops jfluid's recording immediately if the disk is nearly full. */
  async #leaveRoom(): Promise<void> {
    const free = freeBytes(this.#directory)
    if (free >= ROOM_TO_GO_ON) return
    await this.#stopIn(await this.connect())
    throw new NoRoomForRecording('the repository of the JVM', free)
  }

  async #stopIn(connection: AttachConnection): Promise<void> {
    if (this.#running === null) return
    await stopRecording(connection, this.#name)
    this.#running = null
  }

  /** Lists the recordings and renews jfluid's recording. A failed request is repeated until the recording expires. */
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
      if (error instanceof RecordingStopped || now >= this.#endsAt) {
        this.#problem = error
        this.#running = null
      }
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
      let isOver = true // stays true if reading the chunk fails
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
      if (isAbsent(error)) return // the JVM has deleted the file, since all recordings have ended
      throw unreadable(name, error)
    }
    if (file === undefined) return // not a regular file of the JVM's user
    const descriptor = file
    const read = (offset: number, length: number): Buffer => {
      const bytes = Buffer.allocUnsafe(length)
      return bytes.subarray(0, fs.readSync(descriptor, bytes, 0, length, offset))
    }
    this.#chunks.push({ file: descriptor, chunk: new Chunk(read), stacks: new Map(), ids: new Map() })
  }

  #sink(open: OpenChunk): SampleSink {
    return {
      sample: (kind, _ticks, thread, stack, weight, allocated) => {
        if (kind !== this.recorded.kind) return // the sample belongs to another recording
        if (kind === 'cpu' && weight > 0) {
          this.#seconds += weight / open.chunk.header!.ticksPerSecond
          this.#told++
        }
        const frames = this.#framesOf(open, stack)
        if (frames === null) {
          this.#failed++
          return
        }
        const described = open.chunk.constants.thread(thread)
        this.tree.sample(
          described ?? { id: -thread, name: `thread ${thread}`, virtual: false },
          frames.path,
          open.chunk.constants.stack(stack)?.truncated,
          frames.lines,
          weight,
          kind === 'allocation' ? open.chunk.constants.classOf(allocated) : null,
        )
      },
      lost: (count) => {
        this.#lost += count
      },
    }
  }

  #framesOf({ chunk, stacks, ids }: OpenChunk, key: number): Frames | null {
    const known = stacks.get(key)
    if (known !== undefined) return known
    const stack = chunk.constants.stack(key)
    if (stack === undefined || stack.frames.length === 0) return null
    const { frames, truncated } = stack
    const count = frames.length / FRAME_NUMBERS
    const path = new Int32Array(truncated ? count + 1 : count)
    const lines = new Int32Array(path.length)
    if (truncated) path[0] = this.tree.truncation
    for (let i = 0; i < count; i++) {
      const method = frames[i * FRAME_NUMBERS]!
      const id = getOrAdd(ids, method, () => {
        const name = chunk.constants.method(method)
        return this.tree.idOf({ ...name, class: withoutAddress(name.class) })
      })
      path[path.length - 1 - i] = id
      lines[path.length - 1 - i] = frames[i * FRAME_NUMBERS + 1]!
    }
    const found = { path, lines }
    stacks.set(key, found)
    return found
  }

  /** Can be called again if it has thrown: the recording is then stopped, but no further samples are read. */
  async stop(lives: boolean): Promise<void> {
    try {
      if (lives) {
        await this.#asking
        try {
          this.#poll() // opens all remaining files before the JVM deletes them
        } finally {
          const connection = await this.connect()
          try {
            await this.#note(connection, await recordings(connection))
          } finally {
            await this.#stopIn(connection)
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
      // A later handle may get the number of a closed one, so a path through a closed handle must not be used again.
      if (this.#parent !== null) this.#directory = this.#path = ''
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
    const everyMs = (this.recorded.everyNs ?? Number.POSITIVE_INFINITY) / 1e6
    if (meanMs > MAX_RARITY * everyMs) {
      found.push(
        `samples came every ${meanMs.toPrecision(2)} ms of CPU time on average, not every ${everyMs} ms: the system checks CPU time once per clock tick`,
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

/** Returns the directory in which the flight recorder will create its repository. */
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
