// A session that samples a whole JVM without agent and instrumentation: attach → sample → detach.
// This class controls the steps and holds the facts about the target. A `Sampler` takes the samples. Views and commands use this class like
// `Session`, as far as both classes have the same members.

import { featureOf, NoSuchProcess, type TargetFacts, thisClient } from '../../attach/admission.ts'
import { systemProperties } from '../../attach/command.ts'
import { NoFlightRecorder, NoRecordingSettings } from '../../attach/flight-recorder.ts'
import { openAttachSocket } from '../../attach/handshake.ts'
import { mainClassOf } from '../../attach/java-command.ts'
import { describeJvm } from '../../attach/jvms.ts'
import { readTargetFacts } from '../../attach/target-facts.ts'
import { stillRuns, type TargetProcess } from '../../attach/target-process.ts'
import { EX_SOFTWARE, EX_UNAVAILABLE, JfluidError, messageOf } from '../../base/errors.ts'
import { SINCE } from '../../base/jdk-releases.ts'
import type { MethodLines } from '../../cct/line-samples.ts'
import type { MethodName, Snapshot } from '../../cct/tree.ts'
import { BadRecording } from '../../jfr/problem.ts'
import type { Profile, Sampling } from '../../profile/profile.ts'
import type { RootPattern } from '../../reveal/patterns.ts'
import type { Ending } from '../ending.ts'
import { type JvmThreads, SessionDumps } from '../why/jvm-threads.ts'
import { DEBUG_INFO_STAYS, keepDebugInfo } from './debug-info.ts'
import { FlightRecording, recordedSamples } from './flight-recording.ts'
import { mustDoWithDumps } from './not-by-dumps.ts'
import type { StartedRecording } from './recording-door.ts'
import { SampledTree } from './sampled-tree.ts'
import type { Sampler } from './sampler.ts'
import { type DumpOptions, ThreadDumps } from './thread-dumps.ts'

/**
 * Interval between polls of the sampler. A shorter interval would have no use, since the flight recorder writes its samples once a second.
 */
const POLL_INTERVAL_MS = 200
const UNKNOWN = '?'

/** Thrown if the JVM cannot sample by CPU time, which needs JDK 25 or newer on Linux. */
export class NoCpuTimeSamples extends JfluidError {
  static sample = () => new NoCpuTimeSamples(4711, '21.0.4')
  readonly exitCode = EX_UNAVAILABLE
  readonly hint = 'Use --sampler jfr.'
  constructor(pid: number, version: string) {
    super(`JVM ${pid} cannot sample by CPU time: this needs JDK 25 or newer, and the JVM runs ${version}`)
  }
}

/** The sampler and the interval that the user requests. */
export interface AskedSampling {
  /** Kind of sampler. If undefined, it is chosen by the version of the JVM, so that sampling has no large cost. */
  readonly by?: Exclude<Sampling['by'], 'probes'> | undefined
  /** Sampling interval in ns. Default: 10 ms. Thread dumps use a longer interval if they would cost more than 1 % of the time. */
  readonly every?: number | undefined
}

const USUAL_EVERY = 10_000_000

/** Returns the sampling settings for the flight recorder, if the user has chosen the flight recorder. */
export function recorderSampling({ by, every = USUAL_EVERY }: AskedSampling): Sampling {
  return { every, unit: 'ns', by: by ?? 'jfr' }
}

/** Returns the default sampler: the flight recorder if the JVM keeps its compiled code when the recorder starts, otherwise thread dumps. */
export function usualSampler(feature: number | null): 'jfr' | 'stacks' {
  return (feature ?? 0) < SINCE.SELECTIVE_INVALIDATION ? 'stacks' : 'jfr'
}

export interface JvmSamplingOptions {
  readonly sampling: AskedSampling
  /** Roots. Only samples inside the roots are kept; if the list is empty, all samples are kept. */
  readonly roots?: readonly RootPattern[]
  /** Whether the JVM keeps debug info for the code that it compiles from now on. */
  readonly debugInfo?: boolean
  /** Whether the end of the target is the expected end of the session, as with `run`. */
  readonly untilExit?: boolean
  /** Reason why the session samples although the user requested exact calls. It becomes a warning in the profile. */
  readonly whySamples?: string | undefined
  /** Aborting prevents sampling from starting. */
  readonly signal?: AbortSignal
  /** Called before an action that users of the target will notice. */
  readonly onCost?: (text: string) => void
  /** Options of the thread dumps, used if the JVM is sampled by thread dumps. */
  readonly dumps?: Omit<DumpOptions, 'leastMs'>
}

export interface JvmSamplingStatus {
  readonly phase: 'recording' | 'ended'
  readonly samples: number
  /** Number of distinct methods in the samples. */
  readonly methods: number
  readonly elapsedMs: number
  readonly warnings: readonly string[]
}

function described(facts: TargetFacts): Profile['target'] {
  const { pid, version, vm, mainClass } = describeJvm(facts, thisClient())
  return { pid, jdk: version ?? UNKNOWN, vm: vm ?? UNKNOWN, mainClass: mainClass ?? '' }
}

/** @throws NoCpuTimeSamples if the JVM has no sampling by CPU time */
function mustHaveSampler(by: Sampling['by'], pid: number, jdk: string): void {
  if (by === 'jfr' && (featureOf(jdk) ?? SINCE.RECORDING_SETTINGS) < SINCE.RECORDING_SETTINGS)
    throw new NoRecordingSettings(pid)
  if (by === 'cpu' && Number.parseInt(jdk, 10) < SINCE.CPU_TIME_SAMPLES) throw new NoCpuTimeSamples(pid, jdk)
}

function firstStartText(jdk: string): string {
  return `once in its life, a JVM of JDK ${featureOf(jdk)} discards all its compiled code when its flight recorder starts, and runs slowly for some seconds (omit --sampler to avoid this)`
}

export class JvmSampling {
  #target: Profile['target']
  readonly #sampling: Sampling
  readonly #warnings = new Set<string>()
  readonly #dumps = new SessionDumps()
  #startedAt = new Date()
  #begun = performance.now()
  #durationMs: number | undefined
  #timer: NodeJS.Timeout | undefined
  #polling: Promise<void> = Promise.resolve()
  #ending: Ending | null = null
  #truncated: string | null = null
  #stopped: Promise<void> | undefined
  #wasReset = false
  #endWith: (reason: string) => void = () => {}
  /** Resolves with the reason when the session ends without a call of `leave`. */
  readonly ended: Promise<string>

  private constructor(
    private readonly process: TargetProcess,
    private readonly options: JvmSamplingOptions,
    target: Profile['target'],
    private readonly tree: SampledTree,
    sampling: Sampling,
    private readonly sampler: Sampler,
  ) {
    this.#target = target
    this.#sampling = sampling
    if (options.whySamples !== undefined) this.#warnings.add(options.whySamples)
    this.ended = new Promise((resolve) => {
      this.#endWith = resolve
    })
  }

  /**
   * Starts sampling. If no sampler is requested and the JVM has no flight recorder, thread dumps are used. If the call throws, the target
   * is unchanged.
   * @throws the errors of `openAttachSocket`, NoFlightRecorder, NoRecordingSettings, RecordingRefused, NoRoomForRecording,
   *   NoCpuTimeSamples, DebugInfoRefused, DebugInfoUnused, StacksHaveNoParameters, BadRecording, or the reason of `signal`
   */
  static async start(pid: number, options: JvmSamplingOptions): Promise<JvmSampling> {
    try {
      return await JvmSampling.#start(pid, options)
    } catch (error) {
      if (!(error instanceof NoFlightRecorder) || options.sampling.by !== undefined) throw error
      mustDoWithDumps(options, error.message)
      options.onCost?.(`sampling by thread dumps instead: ${error.message}`)
      return await JvmSampling.#start(pid, { ...options, sampling: { ...options.sampling, by: 'stacks' } })
    }
  }

  static async #start(pid: number, options: JvmSamplingOptions): Promise<JvmSampling> {
    const { signal, sampling: asked } = options
    const connection = await openAttachSocket(pid, { signal })
    signal?.throwIfAborted()
    const properties = await systemProperties(connection)
    const jdk = properties.get('java.version') ?? '?'
    const by = asked.by ?? usualSampler(featureOf(jdk))
    mustHaveSampler(by, pid, jdk)
    if (by === 'stacks')
      mustDoWithDumps(options, `JVM ${pid} (JDK ${featureOf(jdk) ?? '?'}) is sampled by thread dumps`)
    const sampling = recorderSampling({ by, every: asked.every })
    const target = {
      pid,
      jdk,
      vm: properties.get('java.vm.name') ?? '?',
      mainClass: mainClassOf(properties.get('sun.java.command'), connection.target.commandLine) ?? '',
    }
    const tree = new SampledTree(options.roots)
    const sampler =
      by === 'stacks'
        ? new ThreadDumps(connection, tree, { leastMs: sampling.every / 1e6, ...options.dumps })
        : new FlightRecording(
            async () => connection,
            tree,
            recordedSamples(sampling),
            () => {
              if ((featureOf(jdk) ?? 0) < SINCE.SELECTIVE_INVALIDATION) options.onCost?.(firstStartText(jdk))
            },
          )
    try {
      signal?.throwIfAborted()
      await sampler.start(signal)
      if (options.debugInfo === true) {
        options.onCost?.(DEBUG_INFO_STAYS)
        await keepDebugInfo(connection).catch(async (error: unknown) => {
          await sampler.stop(true)
          throw error
        })
      }
    } catch (error) {
      if (!stillRuns(connection.target)) throw new NoSuchProcess(pid, 'has ended')
      throw error
    }
    const session = new JvmSampling(connection.target, options, target, tree, sampling, sampler)
    if (options.debugInfo === true) session.#warnings.add(DEBUG_INFO_STAYS)
    session.#arm()
    return session
  }

  /**
   * Creates a session for a JVM that was started with a recording.
   * @returns null if the JVM has already ended
   * @throws NoCpuTimeSamples: an older JDK accepts the setting, but records nothing
   */
  static adopt({ pid, name, repository }: StartedRecording, options: JvmSamplingOptions): JvmSampling | null {
    const facts = readTargetFacts(pid)
    if (facts === undefined) return null
    const target = described(facts)
    const sampling = recorderSampling(options.sampling)
    mustHaveSampler(sampling.by, pid, target.jdk)
    const tree = new SampledTree(options.roots)
    const recording = new FlightRecording(() => openAttachSocket(pid), tree, recordedSamples(sampling))
    const session = new JvmSampling(facts.process, options, target, tree, sampling, recording)
    recording.adopt(name, repository)
    session.#arm()
    return session
  }

  #arm(): void {
    this.#timer = setTimeout(() => {
      this.#polling = this.#poll()
    }, POLL_INTERVAL_MS)
  }

  async #poll(): Promise<void> {
    try {
      await this.sampler.poll()
    } catch (error) {
      if (stillRuns(this.process)) this.#endByItself(error)
    }
    if (!stillRuns(this.process)) this.#noteTargetEnded()
    else if (this.#target.vm === UNKNOWN) this.#describe()
    if (this.#ending === null && this.#stopped === undefined) this.#arm()
  }

  /** Reads the description of the target again, since the first description may be incomplete: it was read while the JVM started. */
  #describe(): void {
    const facts = readTargetFacts(this.pid)
    if (facts !== undefined) this.#target = described(facts)
  }

  #endByItself(error: unknown): void {
    const reason = messageOf(error)
    const exitCode = error instanceof JfluidError ? error.exitCode : EX_SOFTWARE
    this.#ending = { how: 'by itself', reason, exitCode }
    this.#truncated = reason
    this.#end(reason)
  }

  #noteTargetEnded(): void {
    if (this.#ending !== null) return
    this.#ending = { how: 'target ended' }
    if (!this.options.untilExit) {
      this.#truncated = 'the JVM ended'
      this.#warnings.add('the JVM ended during the recording; the profile ends there')
    }
    this.#end('the JVM ended')
  }

  #end(reason: string): void {
    this.#durationMs ??= performance.now() - this.#begun
    this.#endWith(reason)
  }

  get pid(): number {
    return this.#target.pid
  }

  /** Start of the JVM, ISO 8601. */
  get jvmStartedAt(): string {
    return new Date(this.process.startedAt).toISOString()
  }

  get target(): Profile['target'] {
    return this.#target
  }

  get sampling(): Sampling {
    return { ...this.#sampling, ...this.sampler.facts?.() }
  }

  /** How the session ended. Null while it is active. */
  get ending(): Ending | null {
    return this.#ending
  }

  get rootNames(): string[] {
    return this.tree.rootNames
  }

  /** Always empty, since roots are found only in samples, and no filters exist. `outcome` reports the roots. */
  rootReport(): [] {
    return []
  }

  filterReport(): [] {
    return []
  }

  status(): JvmSamplingStatus {
    return {
      phase: this.#ending === null ? 'recording' : 'ended',
      samples: this.tree.samples,
      methods: this.tree.methods,
      elapsedMs: this.#durationMs ?? performance.now() - this.#begun,
      warnings: [...this.#warnings, ...(this.sampler.warnings?.() ?? []), ...this.#dumps.warnings],
    }
  }

  /** Whether no sample was taken since the start. Samples that `reset` discarded count as taken. */
  get foundNothing(): boolean {
    return this.tree.samples === 0 && !this.#wasReset
  }

  /** Takes a thread dump for the user. See `Session.dumpThreads`. */
  dumpThreads(isConfirmed: boolean): Promise<JvmThreads> {
    return this.#dumps.take(this.pid, isConfirmed)
  }

  snapshot(perThread = true): Snapshot {
    return this.tree.snapshot(perThread)
  }

  methodName(id: number): MethodName {
    return this.tree.methodNames[id] ?? { class: '?', method: `#${id}`, descriptor: '', loader: '' }
  }

  /** From now on, thread dumps stop the JVM for at most the usual share of the time. */
  slowDown(): void {
    this.sampler.slowDown?.()
  }

  /** Returns the samples per source line of a method. */
  linesOf(id: number): MethodLines | undefined {
    return this.tree.lines.of(id)
  }

  /** Discards the samples so far. Does nothing after the end of the session, since no new samples would follow. */
  reset(): void {
    if (this.#ending !== null || this.#stopped !== undefined) return
    this.tree.reset()
    this.#dumps.reset()
    this.#wasReset = true
    this.#startedAt = new Date()
    this.#begun = performance.now()
  }

  /** Notes that a signal has ended the program started by `run`, so the profile is incomplete. */
  endedBy(signal: string): void {
    this.#truncated ??= signal
    this.#warnings.add(`the program was ended by ${signal}; the profile ends there`)
  }

  /** Ends sampling in the target and reads the remaining samples. */
  leave(): Promise<void> {
    this.#stopped ??= this.#leave()
    return this.#stopped
  }

  async #leave(): Promise<void> {
    clearTimeout(this.#timer)
    this.#dumps.end()
    await this.#polling
    this.#durationMs ??= performance.now() - this.#begun
    const lives = stillRuns(this.process)
    try {
      await this.sampler.stop(lives)
      this.#ending ??= { how: 'detached' }
    } catch (error) {
      if (!stillRuns(this.process)) {
        await this.sampler.stop(false)
        this.#noteTargetEnded()
      } else if (error instanceof BadRecording) this.#endByItself(error)
      else {
        this.#warnings.add(`the JVM may continue sampling for some minutes: ${String(error)}`)
        this.#ending ??= { how: 'target silent' }
      }
    }
  }

  /** Returns the profile so far while sampling continues. See `Session.profileSoFar`. */
  profileSoFar(why: string): Profile {
    const profile = this.profile()
    return this.#ending === null ? { ...profile, truncated: why } : profile
  }

  /** Returns the finished profile. Must be called after `leave`. */
  profile(): Profile {
    const { merged, threads } = this.snapshot()
    const { samples, methods, warnings, elapsedMs } = this.status()
    return {
      target: this.#target,
      mode: 'sample',
      sampling: {
        ...this.sampling,
        ...(this.tree.hasRoots && { outside: this.tree.outside }),
      },
      scheme: 'b',
      roots: this.rootNames,
      startedAt: this.#startedAt.toISOString(),
      jvmStartedAt: this.jvmStartedAt,
      durationMs: elapsedMs,
      calibration: { innerNs: 0, outerNs: 0, clock: 'nanoTime' },
      instrumentation: {
        instrumentedMethods: 0,
        calledMethods: methods,
        redefinitions: 0,
        redefinedClasses: 0,
        hotSwapMs: 0,
        analysisMs: 0,
        skipped: [],
        gaps: 0,
        healed: 0,
      },
      warmupMs: 0,
      truncated: this.#truncated ?? false,
      warnings: [...warnings],
      events: { count: samples, waitMs: 0 },
      methodNames: this.tree.methodNames,
      lines: this.tree.lines.table(),
      merged,
      threads,
    }
  }
}
