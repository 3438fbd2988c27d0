// A few seconds of looking at a whole JVM, to find where a task begins: samples by its flight recorder, or dumps of its threads
// where it has none, and some dumps beside them that show who waits. No agent, and nothing is instrumented.

import { setTimeout as sleep } from 'node:timers/promises'
import { NoFlightRecorder, RecordingRefused } from '../../attach/flight-recorder.ts'
import { type AttachConnection, openAttachSocket } from '../../attach/handshake.ts'
import { dumpThreads } from '../../attach/thread-dump.ts'
import type { MethodName, Snapshot } from '../../cct/tree.ts'
import type { Sampling } from '../../profile/profile.ts'
import { JvmSampling } from '../sampling/jvm-sampling.ts'
import { NoRoomForRecording } from '../sampling/recording-room.ts'
import { type CandidateNames, namesIn } from './candidate-names.ts'
import { type Candidates, rootCandidates, type SeenStack } from './root-candidates.ts'

const EVERY_NS = 10_000_000
/** Dumps of threads take longer than samples, and stop all of them. */
const STACKS_EVERY_NS = 50_000_000
/** Beside samples. A dump stops all threads for a moment. */
const DUMPS = 4

export interface RootSearchOptions {
  readonly durationMs: number
  /** Told what is being done. */
  readonly onPhase?: (phase: string) => void
  /** Told how far it is. */
  readonly onProgress?: (text: string) => void
  /** Ends it early, at whatever step it is. */
  readonly stop?: Promise<unknown>
  /** Whether names of classes and methods are wanted, too. */
  readonly withNames?: boolean
}

export interface FoundRoots {
  readonly pid: number
  readonly target: JvmSampling['target']
  readonly by: Sampling['by']
  readonly durationMs: number
  readonly snapshot: Snapshot
  readonly candidates: Candidates
  /** Empty unless they were asked for. */
  readonly names: CandidateNames
  readonly warnings: readonly string[]
  /** The JVM has gone meanwhile. */
  readonly hasEnded: boolean
  methodName(id: number): MethodName
}

/**
 * @returns null if it was ended before it had begun to sample; the JVM is as it was
 * @throws what `openAttachSocket` throws, and CommandTimeout, AttachProtocolError
 */
export async function searchRoots(pid: number, options: RootSearchOptions): Promise<FoundRoots | null> {
  const { durationMs, onPhase = () => {}, onProgress = () => {} } = options
  const stopping = new AbortController()
  const { signal } = stopping
  void options.stop?.then(() => {
    // What the JVM has been asked to begin is to end again: that may take it a moment.
    onPhase(`leaving ${pid}`)
    stopping.abort()
  })
  onPhase(`attaching to ${pid}`)
  const begun = await beginUnless(signal, pid)
  if (begun === null) return null
  const { connection, session } = begun
  const names = options.withNames === true ? await namesIn(connection, signal) : NO_NAMES
  if (signal.aborted) {
    await session.leave()
    return null
  }
  onPhase('sampling')
  const dumps: SeenStack[][] = []
  const startedAt = performance.now()
  let isOver = false
  const over = Promise.race([options.stop ?? new Promise<never>(() => {}), session.ended]).then(() => {
    isOver = true
  })
  const ticker = setInterval(() => {
    const { elapsedMs, samples, methods } = session.status()
    const seconds = Math.min(elapsedMs, durationMs) / 1000
    onProgress(
      `sampling ${seconds.toFixed(1)}/${(durationMs / 1000).toFixed(1)} s  ${samples} samples  ${methods} methods`,
    )
  }, PROGRESS_MS)
  try {
    for (let dump = 1; dump <= DUMPS && !isOver; dump++) {
      const due = startedAt + (durationMs * dump) / DUMPS
      // The session keeps us alive meanwhile; once it is over, this must not.
      await Promise.race([sleep(due - performance.now(), undefined, { ref: false }), over])
      dumps.push(await dumpThreads(connection))
    }
  } catch (error) {
    // It has ended, perhaps, which the session knows better; without dumps, samples alone must do.
    if (!isOver && session.status().phase !== 'ended' && dumps.length === 0) throw error
  } finally {
    clearInterval(ticker)
    await session.leave()
  }
  const snapshot = session.snapshot()
  const methodName = (id: number): MethodName => session.methodName(id)
  return {
    pid,
    target: session.target,
    by: session.sampling.by,
    durationMs: performance.now() - startedAt,
    snapshot,
    names,
    candidates: rootCandidates(snapshot, methodName, dumps),
    warnings: session.status().warnings,
    hasEnded: session.ending?.how === 'target ended',
    methodName,
  }
}

const PROGRESS_MS = 200
const NO_NAMES: CandidateNames = { classes: [], methods: [] }

/** @returns null if it has been aborted: whatever else went wrong is of no interest then */
async function beginUnless(
  signal: AbortSignal,
  pid: number,
): Promise<{ connection: AttachConnection; session: JvmSampling } | null> {
  try {
    const connection = await openAttachSocket(pid, { signal })
    return { connection, session: await startSampling(pid, signal) }
  } catch (error) {
    if (signal.aborted) return null
    throw error
  }
}

async function startSampling(pid: number, signal: AbortSignal): Promise<JvmSampling> {
  const unit = 'ns'
  try {
    return await JvmSampling.start(pid, { sampling: { every: EVERY_NS, unit, by: 'jfr' }, signal })
  } catch (error) {
    const isOfRecorder =
      error instanceof NoFlightRecorder ||
      error instanceof RecordingRefused ||
      error instanceof NoRoomForRecording
    if (!isOfRecorder) throw error
    return await JvmSampling.start(pid, { sampling: { every: STACKS_EVERY_NS, unit, by: 'stacks' }, signal })
  }
}
