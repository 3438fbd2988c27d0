// Samples a whole JVM for a few seconds, to find methods where tasks begin. Uses thread dumps, or the flight recorder plus some thread
// dumps. Dumps include threads that wait inside a task and threads that wait for a task. Needs no agent and instruments nothing.

import { setTimeout as sleep } from 'node:timers/promises'
import { type AttachConnection, openAttachSocket } from '../../attach/handshake.ts'
import { dumpThreads } from '../../attach/thread-dump.ts'
import type { MethodName, Snapshot } from '../../cct/tree.ts'
import type { Sampling } from '../../profile/profile.ts'
import { JvmSampling } from '../sampling/jvm-sampling.ts'
import type { DumpOptions } from '../sampling/thread-dumps.ts'
import { type CandidateNames, namesIn } from './candidate-names.ts'
import { type Candidates, Looks, rootCandidates } from './root-candidates.ts'

/** Number of dumps taken in addition to the samples of the flight recorder. */
const DUMPS = 4
/** Sufficient number of samples: with 40 samples, the error of a share of 10 % is at most 5 percentage points. */
export const ENOUGH_SAMPLES = 40
const CHECK_INTERVAL_MS = 100
const CONTINUED_DURATION_MS = 60_000

export interface RootSearchOptions {
  readonly durationMs: number
  /** Maximum duration of sampling if there are fewer than ENOUGH_SAMPLES samples after `durationMs`. Default: `durationMs`. */
  readonly atMostMs?: number
  /** Method of sampling. Default: thread dumps. */
  readonly sampler?: Exclude<Sampling['by'], 'probes'> | undefined
  /** Called before an action in the target that its users may notice. */
  readonly onCost?: (text: string) => void
  /** Receives the name of each phase. */
  readonly onPhase?: (phase: string) => void
  /** Receives the progress. */
  readonly onProgress?: (text: string) => void
  /** Called when the search has its samples, before the session leaves the JVM. */
  readonly onSampled?: () => void
  /** Ends the search early, in any phase. */
  readonly stop?: Promise<unknown>
  /** Options of the thread dumps. After the search, dumps have the usual maximum cost. */
  readonly dumps?: Omit<DumpOptions, 'leastMs' | 'onTooLong'>
  /** Whether names of classes and methods are also collected. */
  readonly withNames?: boolean
  /**
   * Whether thread dumps continue until `finish`, for at most a minute. So more samples are collected while the user chooses a root.
   */
  readonly goesOn?: boolean
}

export interface FoundRoots {
  readonly pid: number
  readonly target: JvmSampling['target']
  readonly sampling: Sampling
  readonly durationMs: number
  readonly snapshot: Snapshot
  readonly candidates: Candidates
  /** Names of classes and methods; empty unless requested. */
  readonly names: CandidateNames
  readonly warnings: readonly string[]
  /** Whether the JVM has ended. */
  readonly hasEnded: boolean
  methodName(id: number): MethodName
  /** Whether sampling continues. */
  readonly goesOn: boolean
  /** Resolves with the reason if sampling ends without a call of `finish`. */
  readonly ended: Promise<string>
  /** Number of samples so far. */
  samplesNow(): number
  /** Ends the sampling. @returns all samples since the search began */
  finish(): Promise<AllSamples>
}

/** All samples, including samples that were taken after the search. */
export type AllSamples = Pick<FoundRoots, 'snapshot' | 'durationMs' | 'hasEnded'>

/**
 * Searches for roots.
 *
 * @returns null if the search was stopped before sampling began; the JVM is then unchanged
 * @throws errors of `JvmSampling.start`, and CommandTimeout, AttachProtocolError
 */
export async function searchRoots(pid: number, options: RootSearchOptions): Promise<FoundRoots | null> {
  const { durationMs, atMostMs = durationMs, onPhase = () => {}, onProgress = () => {} } = options
  const stopping = new AbortController()
  const { signal } = stopping
  void options.stop?.then(() => {
    // The JVM may have begun a flight recording, and stopping the recording takes a moment.
    onPhase(`leaving ${pid}`)
    stopping.abort()
  })
  onPhase(`attaching to ${pid}`)
  const looks = new Looks()
  const begun = await beginUnless(signal, pid, options, looks)
  if (begun === null) return null
  const { connection, session } = begun
  if (signal.aborted) {
    await session.leave()
    return null
  }
  onPhase('sampling')
  const startedAt = performance.now()
  let isOver = false
  const over = Promise.race([
    options.stop ?? new Promise<never>(() => {}),
    session.ended,
    begun.tooLong,
  ]).then(() => {
    isOver = true
  })
  const ticker = setInterval(() => {
    const { elapsedMs, samples, methods } = session.status()
    const wholeMs = elapsedMs < durationMs ? durationMs : atMostMs
    const seconds = Math.min(elapsedMs, wholeMs) / 1000
    onProgress(
      `sampling ${seconds.toFixed(1)}/${(wholeMs / 1000).toFixed(1)} s  ${samples} samples  ${methods} methods`,
    )
  }, PROGRESS_INTERVAL_MS)
  try {
    // The session keeps the process alive. After the session, this timer must not keep the process alive.
    const until = (ms: number): Promise<unknown> =>
      Promise.race([sleep(startedAt + ms - performance.now(), undefined, { ref: false }), over])
    if (session.sampling.by === 'stacks') {
      await until(durationMs)
      for (let ms = durationMs; !isOver && ms < atMostMs && session.status().samples < ENOUGH_SAMPLES; ) {
        ms += CHECK_INTERVAL_MS
        await until(ms)
      }
    } else {
      for (let dump = 1; dump <= DUMPS && !isOver; dump++) {
        await until((durationMs * dump) / DUMPS)
        looks.add(await dumpThreads(connection))
      }
    }
  } catch (error) {
    // If the JVM has ended, the session reports this. Otherwise at least one dump is needed, since samples alone are not enough.
    if (!isOver && session.status().phase !== 'ended' && looks.count === 0) {
      await session.leave()
      throw error
    }
  } finally {
    clearInterval(ticker)
  }
  const sampledMs = performance.now() - startedAt
  options.onSampled?.()
  const goesOn = options.goesOn === true && session.sampling.by === 'stacks' && !isOver
  if (goesOn) session.slowDown()
  const ending = goesOn ? setTimeout(() => void session.leave(), CONTINUED_DURATION_MS) : undefined
  if (!goesOn) await session.leave()
  const { sampling } = session
  const hasEnded = session.ending?.how === 'target ended'
  // Asks for names after sampling, because a JVM that has just started has compiled more methods by the end of sampling.
  const wantsNames = options.withNames === true && !signal.aborted && !hasEnded
  const snapshot = session.snapshot()
  const finish = async (): Promise<AllSamples> => {
    clearTimeout(ending)
    await session.leave()
    return {
      ...{ snapshot: session.snapshot(false), durationMs: session.status().elapsedMs },
      hasEnded: session.ending?.how === 'target ended',
    }
  }
  let names = NO_NAMES
  try {
    if (wantsNames) names = await namesIn(connection, signal)
  } catch (error) {
    await finish()
    throw error
  }
  const methodName = (id: number): MethodName => session.methodName(id)
  return {
    ...{ pid, sampling, snapshot, names, hasEnded, methodName },
    target: session.target,
    durationMs: sampledMs,
    candidates: rootCandidates(snapshot, methodName, looks),
    warnings: session.status().warnings,
    samplesNow: () => session.status().samples,
    goesOn,
    ended: session.ended,
    finish,
  }
}

const PROGRESS_INTERVAL_MS = 200
const NO_NAMES: CandidateNames = { classes: [], methods: [] }

/** Starts sampling. @returns null if the search has been aborted; later errors are then ignored */
async function beginUnless(
  signal: AbortSignal,
  pid: number,
  { sampler: by = 'stacks', onCost, dumps }: RootSearchOptions,
  looks: Looks,
): Promise<{ connection: AttachConnection; session: JvmSampling; tooLong: Promise<void> } | null> {
  let endBecauseTooLong = (): void => {}
  const tooLong = new Promise<void>((resolve) => {
    endBecauseTooLong = resolve
  })
  try {
    const connection = await openAttachSocket(pid, { signal })
    const session = await JvmSampling.start(pid, {
      ...{ sampling: { by }, signal },
      ...(onCost !== undefined && { onCost }),
      dumps: {
        ...dumps,
        onDump: (dump, stoppedMs, isLong) => {
          looks.add(dump)
          dumps?.onDump?.(dump, stoppedMs, isLong)
        },
        onTooLong: endBecauseTooLong,
      },
    })
    return { connection, session, tooLong }
  } catch (error) {
    if (signal.aborted) return null
    throw error
  }
}
