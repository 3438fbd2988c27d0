// A few seconds of looking at a whole JVM, to find where a task begins: by dumps of its threads, which see those that wait inside
// a task and those that wait for one; or by its flight recorder, with some dumps beside it. No agent, and nothing is instrumented.

import { setTimeout as sleep } from 'node:timers/promises'
import { type AttachConnection, openAttachSocket } from '../../attach/handshake.ts'
import { dumpThreads } from '../../attach/thread-dump.ts'
import type { MethodName, Snapshot } from '../../cct/tree.ts'
import type { Sampling } from '../../profile/profile.ts'
import { JvmSampling } from '../sampling/jvm-sampling.ts'
import { type CandidateNames, namesIn } from './candidate-names.ts'
import { type Candidates, Looks, rootCandidates } from './root-candidates.ts'

/** Beside samples of the flight recorder. */
const DUMPS = 4
/** A share of a tenth is right to within a half with so many. */
export const FEW_SAMPLES = 40
const LOOK_MS = 100
const GOES_ON_MS = 60_000

export interface RootSearchOptions {
  readonly durationMs: number
  /** Dumps go on for so long while there are few samples; no longer than `durationMs` unless given. */
  readonly atMostMs?: number
  /** Dumps of threads unless it is another. */
  readonly sampler?: Exclude<Sampling['by'], 'probes'> | undefined
  /** Told before something is done to the target that its users will notice. */
  readonly onCost?: (text: string) => void
  /** Told what is being done. */
  readonly onPhase?: (phase: string) => void
  /** Told how far it is. */
  readonly onProgress?: (text: string) => void
  /** Ends it early, at whatever step it is. */
  readonly stop?: Promise<unknown>
  /** Whether names of classes and methods are wanted, too. */
  readonly withNames?: boolean
  /** Whether dumps of threads go on, for a minute, until `finish`: what is below a root is seen better the longer its user looks. */
  readonly goesOn?: boolean
}

export interface FoundRoots {
  readonly pid: number
  readonly target: JvmSampling['target']
  readonly sampling: Sampling
  readonly durationMs: number
  readonly snapshot: Snapshot
  readonly candidates: Candidates
  /** Empty unless they were asked for. */
  readonly names: CandidateNames
  readonly warnings: readonly string[]
  /** The JVM has gone meanwhile. */
  readonly hasEnded: boolean
  methodName(id: number): MethodName
  /** Sampling goes on. */
  readonly goesOn: boolean
  /** Resolves with the reason when that ends otherwise than by `finish`. */
  readonly ended: Promise<string>
  /** So far. */
  samplesNow(): number
  /** Ends what goes on. @returns all that has been sampled */
  finish(): Promise<AllSamples>
}

/** Also of what was sampled later. */
export type AllSamples = Pick<FoundRoots, 'snapshot' | 'durationMs' | 'hasEnded'>

/**
 * @returns null if it was ended before it had begun to sample; the JVM is as it was
 * @throws what `JvmSampling.start` throws, and CommandTimeout, AttachProtocolError
 */
export async function searchRoots(pid: number, options: RootSearchOptions): Promise<FoundRoots | null> {
  const { durationMs, atMostMs = durationMs, onPhase = () => {}, onProgress = () => {} } = options
  const stopping = new AbortController()
  const { signal } = stopping
  void options.stop?.then(() => {
    // What the JVM has been asked to begin is to end again: that may take it a moment.
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
  const over = Promise.race([options.stop ?? new Promise<never>(() => {}), session.ended]).then(() => {
    isOver = true
  })
  const ticker = setInterval(() => {
    const { elapsedMs, samples, methods } = session.status()
    const wholeMs = elapsedMs < durationMs ? durationMs : atMostMs
    const seconds = Math.min(elapsedMs, wholeMs) / 1000
    onProgress(
      `sampling ${seconds.toFixed(1)}/${(wholeMs / 1000).toFixed(1)} s  ${samples} samples  ${methods} methods`,
    )
  }, PROGRESS_MS)
  try {
    // The session keeps us alive meanwhile; once it is over, this must not.
    const until = (ms: number): Promise<unknown> =>
      Promise.race([sleep(startedAt + ms - performance.now(), undefined, { ref: false }), over])
    if (session.sampling.by === 'stacks') {
      await until(durationMs)
      for (let ms = durationMs; !isOver && ms < atMostMs && session.status().samples < FEW_SAMPLES; ) {
        ms += LOOK_MS
        await until(ms)
      }
    } else {
      for (let dump = 1; dump <= DUMPS && !isOver; dump++) {
        await until((durationMs * dump) / DUMPS)
        looks.add(await dumpThreads(connection))
      }
    }
  } catch (error) {
    // It has ended, perhaps, which the session knows better; without looks, samples alone must do.
    if (!isOver && session.status().phase !== 'ended' && looks.count === 0) {
      await session.leave()
      throw error
    }
  } finally {
    clearInterval(ticker)
  }
  const sampledMs = performance.now() - startedAt
  const goesOn = options.goesOn === true && session.sampling.by === 'stacks' && !isOver
  const ending = goesOn ? setTimeout(() => void session.leave(), GOES_ON_MS) : undefined
  if (!goesOn) await session.leave()
  const { sampling } = session
  const hasEnded = session.ending?.how === 'target ended'
  // Once it has been sampled: a JVM that has just begun has compiled more of its methods by then.
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

const PROGRESS_MS = 200
const NO_NAMES: CandidateNames = { classes: [], methods: [] }

/** @returns null if it has been aborted: whatever else went wrong is of no interest then */
async function beginUnless(
  signal: AbortSignal,
  pid: number,
  { sampler: by = 'stacks', onCost }: RootSearchOptions,
  looks: Looks,
): Promise<{ connection: AttachConnection; session: JvmSampling } | null> {
  try {
    const connection = await openAttachSocket(pid, { signal })
    const session = await JvmSampling.start(pid, {
      ...{ sampling: { by }, signal },
      ...(onCost !== undefined && { onCost }),
      onDump: (dump) => looks.add(dump),
    })
    return { connection, session }
  } catch (error) {
    if (signal.aborted) return null
    throw error
  }
}
