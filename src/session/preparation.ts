// Prepares a session before any class is read: configures and calibrates the agent, and starts a recorder that reads the runtime's events.

import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { featureOf } from '../attach/admission.ts'
import type { MeasuredCalibration } from '../base/compensation.ts'
import { debug } from '../base/debug.ts'
import { EX_DATAERR, EX_UNAVAILABLE, JfluidError } from '../base/errors.ts'
import { SINCE } from '../base/jdk-releases.ts'
import { createRing } from '../events/ring.ts'
import { chunksOffset } from '../events/ring-layout.ts'
import { PROBES } from '../measures/probes.ts'
import { Agent } from '../wire/agent.ts'
import { AgentRefused, LinkLost, type Meeting, newToken } from '../wire/link.ts'
import type { AgentFacts, LoadedClasses } from '../wire/messages.ts'
import { TargetClock } from './clock.ts'
import { FOLLOWED_CLASSES } from './code/hand-over-points.ts'
import { RegionTable } from './code/regions.ts'
import type { OpenDoor, PerfCounter } from './doors/door.ts'
import { RING } from './doors/session-directory.ts'
import { firstRedefinition } from './first-redefinition.ts'
import { CHUNK_BYTES, CHUNK_COUNT, CHUNKS_BESIDE_TREES, FIRST_BLOCKS } from './recorder/buffer-size.ts'
import { mostContexts } from './recorder/context-bound.ts'
import { type MirrorOffer, NothingComes } from './recorder/mirror-feed.ts'
import { Recorder } from './recorder/recorder.ts'
import { adaptiveAtOnce, chooseScheme } from './scheme-choice.ts'
import {
  eventsOf,
  firstMethodOf,
  firstPlacedOf,
  keepsTrees,
  modeOf,
  type SessionOptions,
  type SessionRequest,
  valueRowsOf,
} from './session-options.ts'
import { answerInTime, TargetSilent } from './target-waits.ts'

const CALIBRATION_DURATION_MS = 80
/** Number of measured blocks, if the JVM executes them slowly. */
const CALIBRATION_ROUNDS = 400
/** Maximum time until the client detects that the agent has closed the link. */
const LINK_CLOSED_TIMEOUT_MS = 1000

export const NO_CALIBRATION: MeasuredCalibration = {
  ...{ innerTicks: 0, outerTicks: 0 },
  spread: { innerTicks: 0, outerTicks: 0 },
  readTicks: 0,
}

/** Thrown if the target could not start the user's profiler. */
export class BadProfiler extends JfluidError {
  static sample = () => new BadProfiler('its manifest names no Jfluid-Profiler')
  readonly exitCode = EX_DATAERR
  readonly hint =
    'Give a jar that the JVM can read, with an ASCII path. Its manifest names a class that implements jfluid.api.Profiler, see docs/measuring.md.'
  constructor(reason: string) {
    super(`cannot use the profiler: ${reason}`)
  }
}

async function startProfiler(agent: Agent, jar: string): Promise<void> {
  try {
    await agent.profiler(jar)
  } catch (error) {
    if (!(error instanceof AgentRefused)) throw error
    throw new BadProfiler(error.reason.replace(/^[\w.]*IOException: /, ''))
  }
}

export interface Prepared {
  readonly door: OpenDoor
  readonly options: SessionOptions
  readonly agent: Agent
  readonly facts: AgentFacts
  readonly recorder: Recorder
  readonly clock: TargetClock
  /** Measured cost of the probes; null if scheme adaptive was chosen at once, since that scheme calibrates while it records. */
  readonly calibration: MeasuredCalibration | null
  /** Table of the timed regions; null unless regions are timed. */
  readonly regionTable: RegionTable | null
  /** Whether the JVM reports the pause of a redefinition. */
  readonly pausesKnown: boolean
  /** Text for the user that explains why this scheme was chosen; null if no explanation is needed. */
  readonly why: string | null
  /** Loaded classes, if they have already been requested from the agent; otherwise null. */
  readonly listed: LoadedClasses | null
}

/** `problem` is the reason why the buffer could not be created. */
type OpeningRing = { readonly recorder: Promise<Recorder> } | { readonly problem: unknown }

/** Timeout for the first answers of a remote agent. The agent uses the same timeout for the client (Session.NO_MESSAGE_TIMEOUT_NANOS). */
const FIRST_ANSWERS_TIMEOUT_MS = 10_000

/** The JVM cannot observe objects without keeping them alive. */
export class NoLiveness extends JfluidError {
  static sample = () => new NoLiveness(4711, '11.0.25')
  readonly exitCode = EX_UNAVAILABLE
  readonly hint = `Leave --liveness out, or run the program on JDK ${SINCE.REFERS_TO} or newer.`
  constructor(pid: number, version: string) {
    super(
      `--liveness is not possible in JVM ${pid} (JDK ${version}): before JDK ${SINCE.REFERS_TO}, a check whether an object is alive may keep it alive`,
    )
  }
}

export class Preparation {
  readonly #agent: Agent
  /** Whether the events contain counts instead of times. */
  readonly #counts: boolean
  #starting: Promise<Recorder> | undefined

  constructor(
    private readonly door: OpenDoor,
    private readonly options: SessionRequest,
  ) {
    this.#agent = new Agent(door.link)
    this.#counts = !eventsOf(options).tellsTime
  }

  /**
   * Prepares the session.
   *
   * @param onPhase  receives the name of each phase, for progress
   * @throws TooManyMethods, RootNotFound and other errors of the revealer
   */
  async prepare(onPhase: (phase: string) => void): Promise<Prepared> {
    const door = this.door
    const options = this.options
    const agent = this.#agent
    const { elsewhere } = door
    const greeted = this.#heard(agent.hello())
    // The buffer is created and opened by the recorder while the agent answers.
    const opening = elsewhere === undefined ? this.#openRing(join(door.inside, RING)) : null
    const facts = await greeted
    // The command line is not printed: arguments may contain secrets.
    debug.attach?.(
      `agent ${facts.build.slice(0, 12)} in process ${facts.pid}: ${facts.vm} ${facts.version}, clock ${facts.clock}`,
    )
    const isAdaptive = adaptiveAtOnce(options, facts.loadedClasses) !== null
    const answered = opening === null ? this.#mirrorRing(elsewhere!) : this.#shareRing(facts, opening)
    const { recorder: opened, configured } = await answered
    // Before any further wait, since `clock` assumes that a pair was read just now.
    const clock = new TargetClock(configured.greeted, facts.clock)
    clock.update(configured.clock)
    if (options.liveness === true && (featureOf(facts.version) ?? SINCE.REFERS_TO) < SINCE.REFERS_TO)
      throw new NoLiveness(facts.pid, facts.version)
    if (options.sampling !== undefined) await agent.sampling(options.sampling)
    if (options.callSites === true) await agent.tellSites()
    if (options.profiler !== undefined) await startProfiler(agent, options.profiler)
    await PROBES[modeOf(options)].begin?.(agent, options)
    const { calibration, regionTable } = await this.#calibrate(onPhase, isAdaptive)
    const recorder = await opened
    const { pausesKnown } = configured
    debug.attach?.(
      `prepared: t_I ${calibration?.innerTicks.toFixed(1) ?? '?'}, t_O ${calibration?.outerTicks.toFixed(1) ?? '?'} ticks, pauses ${pausesKnown ? 'known' : 'unknown'}, buffer ${elsewhere === undefined ? 'shared' : 'sent over TCP'}`,
    )
    onPhase('looking for the root')
    const { scheme, why, listed } = await chooseScheme(options, {
      ...{ agent, door, loadedClasses: facts.loadedClasses },
    })
    if (firstRedefinition({ door, facts, options }) === 'is to come') await door.refuseBusy?.()
    return {
      door,
      options: { ...options, scheme },
      ...{ why, listed },
      agent,
      facts,
      recorder,
      clock,
      calibration,
      regionTable,
      pausesKnown,
    }
  }

  /**
   * Undoes the preparation after an error. The target is then as before, and nothing of jfluid is left.
   *
   * @param answers  whether the target answers. If it does not, the agent detaches once it detects that the client is gone
   */
  async abandon(answers = true): Promise<void> {
    // Errors of the detach are ignored, since the earlier error is reported. A target that does not answer must not delay the report.
    if (answers) await answerInTime(this.#agent.detach(), this.door.pid ?? 0).catch(() => {})
    this.#agent.close()
    this.door.leave()
    await this.#starting?.then(
      (recorder) => recorder.stop(),
      () => {}, // a failed start has the same error, or a later error
    )
  }

  /** Waits for an answer. Uses a timeout for a remote target, since a broken network is not detected otherwise before events arrive. */
  async #heard<T>(answer: Promise<T>): Promise<T> {
    if (this.door.elsewhere === undefined) return await answer
    try {
      return await answerInTime(answer, 0, FIRST_ANSWERS_TIMEOUT_MS)
    } catch (problem) {
      throw problem instanceof TargetSilent ? new NothingComes(FIRST_ANSWERS_TIMEOUT_MS) : problem
    }
  }

  /** Creates the buffer, and a recorder that opens the buffer. The target writes nothing into the buffer before `go`. */
  #openRing(ring: string): OpeningRing {
    const { acting, dir, owner } = this.door
    try {
      const layout = { chunkBytes: CHUNK_BYTES, ...this.#sizes, name: join(dir, RING) }
      acting(() => createRing(ring, { ...layout, ...(owner && { owner }) }))
    } catch (problem) {
      return { problem }
    }
    const recorder = this.#startRecorder(ring).catch((error: unknown) => this.#whyNoRing(error, ring))
    recorder.catch(() => {}) // the recorder is awaited after the agent has answered
    return { recorder }
  }

  /** Waits until both the agent and the recorder have opened the buffer. */
  async #shareRing(facts: AgentFacts, ring: OpeningRing) {
    const door = this.door
    if ('problem' in ring) return await this.#whyNoRing(ring.problem, join(door.inside, RING))
    const { recorder: opened } = ring
    const configured = this.#configure(join(door.dir, RING), door.perf(door.pid ?? facts.pid))
    const recorder = Promise.all([opened, configured]).then(([it]) => {
      // Both sides have opened the buffer. After the removal, no file is left behind, even if the session ends with an error.
      rmSync(join(door.inside, RING), { force: true })
      door.leave()
      return it
    })
    recorder.catch(() => {}) // the recorder is awaited after all requests to the target have been sent
    return { recorder, configured: await Promise.race([configured, recorder.then(() => configured)]) }
  }

  /** Starts a recorder for an agent that has its own buffer and sends the buffer's content. */
  async #mirrorRing(at: Meeting) {
    const token = newToken()
    const recorder = await this.#startRecorder({ at, token }) // the agent receives the recorder's port
    const peer = `${at.host.includes(':') ? `[${at.host}]` : at.host}:${recorder.port}`
    const configured = await this.#heard(
      this.#configure(`peer=${peer};token=${token}`, { file: '', offset: 0 }),
    )
    return { recorder: Promise.resolve(recorder), configured }
  }

  #startRecorder(ring: string | MirrorOffer): Promise<Recorder> {
    const options = this.options
    this.#starting = Recorder.start({
      ring,
      executed: this.#counts,
      firstMethod: firstMethodOf(options),
      regions: options.regions !== undefined,
      firstPlaced: firstPlacedOf(options),
      valueRows: valueRowsOf(options),
      callSites: options.callSites === true,
      mostContexts: mostContexts(options),
      trace: options.slow === undefined ? (options.trace ?? 0) : 0,
      trees: this.#sizes.blockCount > 0,
    })
    return this.#starting
  }

  /** Sizes of the buffer: numbers of chunks and of tree blocks. A buffer that is sent over a network has no trees. */
  get #sizes(): { readonly chunkCount: number; readonly blockCount: number } {
    const hasTrees = this.door.elsewhere === undefined && keepsTrees(this.options)
    return hasTrees
      ? { chunkCount: CHUNKS_BESIDE_TREES, blockCount: FIRST_BLOCKS }
      : { chunkCount: CHUNK_COUNT, blockCount: 0 }
  }

  #configure(ring: string, perf: PerfCounter) {
    const options = this.options
    const { chunkCount, blockCount } = this.#sizes
    return this.#agent.configure({
      ring,
      chunkBytes: CHUNK_BYTES,
      chunkCount,
      chunksOffset: chunksOffset(chunkCount),
      perfFile: perf.file,
      safepointTimeOffset: perf.offset,
      follow: options.followThreads === true ? FOLLOWED_CLASSES : [],
      counts: this.#counts,
      waits: eventsOf(options).tellsWaits,
      trees: blockCount > 0,
      isStarted: this.door.isStarted === true,
    })
  }

  /**
   * Finds out why the buffer is missing. An agent that detaches closes its link, then removes the buffer and the directory. At that time,
   * the recorder may not have opened the buffer yet, or the client may not have created the buffer yet.
   */
  async #whyNoRing(error: unknown, ring: string): Promise<never> {
    const reason = existsSync(ring)
      ? null
      : await Promise.race([this.#agent.closed, sleep(LINK_CLOSED_TIMEOUT_MS, null)])
    throw reason === null ? error : new LinkLost(reason)
  }

  async #calibrate(
    onPhase: (phase: string) => void,
    isAdaptive: boolean,
  ): Promise<Pick<Prepared, 'calibration' | 'regionTable'>> {
    const { regions } = this.options
    if (regions !== undefined) {
      onPhase('calibrating')
      const { session, innerTicks, outerTicks } = await this.#agent.timeRegions(CALIBRATION_DURATION_MS)
      const calibration = { ...NO_CALIBRATION, innerTicks, outerTicks }
      return { calibration, regionTable: new RegionTable(regions, session) }
    }
    if (this.#counts) return { calibration: NO_CALIBRATION, regionTable: null }
    if (isAdaptive) return { calibration: null, regionTable: null }
    onPhase('calibrating')
    return {
      calibration: await this.#agent.calibrate(CALIBRATION_DURATION_MS, CALIBRATION_ROUNDS),
      regionTable: null,
    }
  }
}
