// Sampling by the JVM's own flight recorder: a recording of nothing but samples, read while it grows.
//
// The recorder keeps its files in a repository of the target's; a new one begins with our recording, and whenever it is
// full or another recording begins or ends. Each is held open by us: the JVM deletes it when its last recording ends, and
// the newest samples are in it only then. A recording has an end of its own a few minutes ahead, and is followed by
// another before; so that of a client that was killed does not stay. A new file is also when the JVM is asked who else
// records, and whether ours still runs.

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

/** The recorder's default, 64, is less than a server's stacks have. A thread that is sampled keeps 20 KiB for it. */
export const STACK_DEPTH = 512
const LEASE_S = 300
/** So long before its end a recording is followed by the next. */
const RENEW_MS = 60_000
/** The JVM may delete a file of ours that is older; we are never that far behind. */
const KEPT_S = 60
/** What a recording of ours ends by, and what the JVM keeps of it. */
export const BOUNDS = { durationSeconds: LEASE_S, keptSeconds: KEPT_S, keptMib: KEPT_MIB } as const
/** The recorder finishes its file when a recording ends. */
const FINISH_MS = 5_000
const LOOK_MS = 20
/** Samples that come so many times too seldom are worth a word. */
const RARER = 1.5
/** A JVM that had no time for a question is asked again. */
const RETRY_MS = 5_000
const OWNER_ONLY = 0o700

/** By a JFR.stop of somebody else's; or we did not run ourselves, for longer than it had left. */
export class RecordingStopped extends JfluidError {
  static sample = () => new RecordingStopped()
  readonly exitCode = EX_TEMPFAIL
  readonly hint = 'Record again, and do not stop flight recordings named jfluid-….'
  constructor() {
    super('another program has stopped the flight recording of jfluid, or jfluid was stopped for minutes')
  }
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
  readonly #kind: SampleKind
  readonly #onFirst: () => void
  readonly #chunks: OpenChunk[] = []
  /** File names that need not be looked at any more. */
  readonly #known = new Set<string>()
  /** A handle of what the repository is in: a path in the target's root ends with the target. */
  #parent: number | null = null
  /** Of the repository itself: nothing can take its place. */
  #repository: number | null = null
  /** The way to it, and its name in what it is in. */
  #directory = ''
  #path = ''
  /** Whose the files must be. */
  #owner = process.geteuid!()
  /** The recorder had never recorded before. */
  #wasIdle = false
  /** Its repository began with our recording: nothing of others is in it. */
  #isOurs = false
  #stackDepth = STACK_DEPTH
  #name = ''
  #renewAt = 0
  #endsAt = 0
  /** Names of others' recordings. */
  readonly #others = new Set<string>()
  #opened = 0
  /** A file has come or ended since the JVM was asked: somebody's recording may have begun or ended. */
  #rotated = false
  /** A question to the JVM that is under way. */
  #asking: Promise<void> | null = null
  #askAt = 0
  #problem: unknown = null
  #lost = 0
  /** Seconds that samples stand for, and how many of them say so. */
  #seconds = 0
  #told = 0
  #failed = 0

  /**
   * @param connect  to the target; asked again for each renewal and the end
   * @param onFirst  called before its recorder is started for the first time in the life of the JVM
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

  /** @throws NoFlightRecorder, RecordingRefused, NoRoomForRecording, BadRecording */
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
      // Asked anew: a recorder that has never recorded may give up the repository it had. The new one has the same name
      // if it comes within the same second (Repository.java).
      const { stackDepth, repository } = await recorderSetup(connection)
      this.#stackDepth = stackDepth
      this.#isOurs = repository !== before.repository || (older.length === 0 && running.length === 0)
      this.#open(connection, repository ?? '/')
      signal?.throwIfAborted()
      if (!this.#isOurs) for (const name of older) this.#known.add(name)
      if (!recordingsIn(this.#directory).some((name) => !this.#known.has(name))) {
        throw new BadRecording(`no file of it is to be seen in ${repository}`)
      }
      mustHaveRoom(this.#directory, repository ?? '/', ROOM_TO_GO_ON)
      await this.#note(connection, running)
    } catch (error) {
      await this.stop(true)
      throw error
    }
  }

  /** Takes over a recording that the JVM has begun with its first moment; nobody has recorded in it before. */
  adopt(name: string, repository: string): void {
    this.#wasIdle = true
    this.#isOurs = true
    this.#path = this.#directory = repository
    this.#named(name)
    this.#poll()
  }

  /** The JVM says where it is, and may say anything: what is not its user's is not touched. */
  #open({ target }: AttachConnection, repository: string): void {
    try {
      this.#owner = target.euid
      this.#parent = fs.openSync(`${target.root}${dirname(repository)}`, O_PATH | fs.constants.O_DIRECTORY)
      this.#path = `/proc/self/fd/${this.#parent}/${basename(repository)}`
      this.#repository = openDirectory(this.#path)
      this.#directory = `/proc/self/fd/${this.#repository}`
      if (fs.fstatSync(this.#repository).uid !== target.euid) {
        throw new BadRecording(`${repository} is not the directory of uid ${target.euid}`)
      }
      // The JVM makes it as its umask says, mostly for all to read.
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
    this.#endsAt = performance.now() + LEASE_S * 1000
    this.#renewAt = this.#endsAt - RENEW_MS
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

  /** Ends our recording at once where it would fill the disk, whatever comes of the session. */
  async #leaveRoom(): Promise<void> {
    const free = freeBytes(this.#directory)
    if (free >= ROOM_TO_GO_ON) return
    await stopRecording(await this.connect(), this.#name)
    throw new NoRoomForRecording('its repository', free)
  }

  /** Asks what only the JVM knows. One that has no time for us is asked again, as long as the recording goes on. */
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
      this.#askAt = now + RETRY_MS
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
      let isOver = true // if it cannot be read, too
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
      if (isAbsent(error)) return // deleted meanwhile, by an end of all recordings
      throw unreadable(name, error)
    }
    if (file === undefined) return // none that the JVM has written
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
        if (kind !== this.#kind) return // another recording's
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
          this.#poll() // so that we hold all there is
        } finally {
          const connection = await this.connect()
          try {
            await this.#note(connection, await recordings(connection))
          } finally {
            await stopRecording(connection, this.#name)
          }
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
      for (const { file } of this.#chunks.splice(0)) fs.closeSync(file)
      for (const handle of [this.#parent, this.#repository]) if (handle !== null) fs.closeSync(handle)
      this.#parent = this.#repository = null
    }
  }

  /** A JVM that was killed leaves it; what others had recorded there is theirs to save. */
  #removeRepository(): void {
    if (!this.#isOurs || this.#directory === '' || this.#others.size > 0) return
    try {
      for (const name of recordingsIn(this.#directory)) fs.rmSync(join(this.#directory, name))
      fs.rmdirSync(this.#path)
    } catch {
      // The JVM has removed it itself, or it is not ours to remove.
    }
  }

  warnings(): string[] {
    const { samples, outside, truncated, hasRoots } = this.tree
    const found: string[] = []
    if (this.#others.size > 0) {
      const names = [...this.#others].join(', ')
      found.push(
        `the flight recorder records for others, too (${names}): samples come as often as any of them asks`,
      )
    }
    if (truncated > 0) {
      const why = this.#wasIdle ? '' : `, which was set when its first recording began`
      found.push(
        `${truncated} of ${samples + outside} stacks are deeper than the ${this.#stackDepth} frames that the JVM keeps${why}: ${hasRoots ? 'if the root was among the outermost, they are missing' : 'they are below (truncated)'}`,
      )
    }
    const meanMs = (this.#seconds * 1000) / Math.max(1, this.#told)
    if (meanMs > (RARER * this.sampling.every) / 1e6) {
      found.push(
        `samples came every ${meanMs.toPrecision(2)} ms of CPU time on average, not every ${this.sampling.every / 1e6} ms: the system looks at it with each tick of its clock`,
      )
    }
    if (this.#lost > 0) found.push(`samples that were due and that the JVM lost: ${this.#lost}`)
    if (this.#failed > 0)
      found.push(`samples of which the JVM could not walk the stack, and which are left out: ${this.#failed}`)
    return found
  }
}

/** Names of files, in the order in which they were begun; none where the JVM has removed the directory. */
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

/** Where a recorder that has none yet will make its repository. */
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
  return code === undefined ? (error as Error) : new BadRecording(`${path} does not open (${code})`)
}
