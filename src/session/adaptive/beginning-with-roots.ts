// Start of a session of scheme adaptive: only the roots get probes. Only classes with the names of the roots are listed, and no thread of
// the target waits for the client.

import { setImmediate as turnOfTheLoop } from 'node:timers/promises'
import { debug } from '../../base/debug.ts'
import { AbstractOrNativeRoot } from '../../reveal/errors.ts'
import type { Revelation } from '../../reveal/revealer.ts'
import { LinkLost } from '../../wire/link.ts'
import { MODE_COUNT, MODE_TIME } from '../../wire/messages.ts'
import { checkRefused, hideHandleMembers, instrumentingPhase } from '../beginning.ts'
import type { Engine } from '../engine.ts'
import { MAX_PAUSE_MS } from '../limits.ts'
import { type Batch, batchOf, type NoBatch, patternsOf } from './batch.ts'
import { memorySlowness } from './memory-latency.ts'
import { type JvmSize, withRootsMs } from './pause.ts'

/** Maximum number of JDK classes in this redefinition, for predictions: the class of method handles (`code/hidden-handles.ts`). */
const HANDLE_CLASSES = 1

/**
 * Returns a text for the user about the expected pauses: for the roots, for the batch if there is a batch, and at the session end.
 * @param times  maximum number of pauses, as a text
 */
function pauseText(ms: number | null, times: 'up to three times' | 'up to four times'): string {
  return ms !== null && ms >= 1 ? `; the JVM will stop for about ${Math.round(ms)} ms, ${times}` : ''
}

/**
 * Starts recording at the roots.
 * @param onPhase    called with the current phase, for progress
 * @param recording  called when the client has requested the recording
 * @returns ids of the batch's methods if they were instrumented together with the roots (their probes count calls); otherwise empty
 * @throws RootNotFound and other errors of the revealer: before any change. RootRefused: after the redefinition
 */
export async function beginAtRoots(
  engine: Engine,
  onPhase: (phase: string) => void,
  recording: () => void,
): Promise<readonly number[]> {
  const { agent, arming, inside, installation, options, recorder, revealer, turns, warnings } = engine
  onPhase('looking for the root')
  const size = arming?.size()
  size?.catch(() => {}) // the result is awaited below
  let counted: readonly number[] = []
  await Promise.all([agent.neverWait(), agent.enable()])
  recorder.noThreadWaits()
  await turns.enqueue(async () => {
    arming?.want(patternsOf(options.seen ?? []))
    const listed = installation.refreshClasses()
    // The memory latency is measured (25 ms) while the agent searches the loaded classes. The prediction below uses it.
    if (arming !== null) void turnOfTheLoop().then(memorySlowness)
    await listed
    const roots = await rootsOf(engine)
    if (revealer.roots.progress().every((it) => it.ids.size === 0)) {
      arming?.wantAll()
      await installation.refreshClasses()
    }
    await engine.values?.begin(roots)
    const timed = (await arming?.reveal(options.timed ?? [])) ?? null
    for (const { text } of timed?.missing ?? [])
      warnings.add(`--time ${text}: no loaded class has this method`)
    const asked = timed === null ? [roots] : [roots, timed.revelation]
    const batch = await firstBatch(engine, asked, size)
    const revelations = batch === null ? asked : [...asked, batch]
    const [pauseMs = null] = await Promise.all([
      arming?.predict(classesOf(revelations) + HANDLE_CLASSES, size),
      hideHandleMembers(engine, true),
    ])
    onPhase(
      instrumentingPhase(engine) +
        pauseText(pauseMs, batch === null ? 'up to four times' : 'up to three times'),
    )
    // If no root class is loaded yet, nothing is redefined now, and a later redefinition contains the tasks of `withFirst`.
    const begin = () => installation.begin(revelations)
    await (arming === null ? begin() : arming.redefine(pauseMs, begin))
    engine.timeRoots()
    counted = idsOf(batch)
    if (timed !== null || batch !== null)
      await arming?.switchTo([
        [counted, MODE_COUNT],
        [idsOf(timed?.revelation), MODE_TIME],
      ])
    await checkRefused(engine)
    await inside?.begin()
    if (engine.traceIds.isDue()) await engine.traceIds.find()
    await engine.beginSlow()
    await agent.go()
    recording()
  })
  return counted
}

function classesOf(revelations: readonly Revelation[]): number {
  return new Set(revelations.flatMap((it) => it.instrument.map(({ classId }) => classId))).size
}

function idsOf(revelation: Revelation | null | undefined): number[] {
  return revelation?.instrument.map(({ id }) => id) ?? []
}

/**
 * Returns the batch to be instrumented together with the roots, since the redefinition of the roots stops the JVM in any case.
 * @param asked  the roots, and methods that the user has named, which are in the same redefinition
 * @returns null if no method is chosen by the earlier samples, or if the pause would be too long or would need too much memory; the
 * controller then tries again with new samples
 */
async function firstBatch(
  { arming, door, options }: Engine,
  asked: readonly Revelation[],
  size: Promise<JvmSize> | undefined,
): Promise<Revelation | null> {
  const { seen = [] } = options
  if (arming === null || seen.length === 0) return null
  const beside = classesOf(asked) + HANDLE_CLASSES
  const longestMs = withRootsMs(MAX_PAUSE_MS, await arming.predict(beside, size))
  let batch: Batch | NoBatch | null
  try {
    batch = await batchOf(seen, longestMs, arming, door, options.metaspaceBytes, beside)
  } catch (error) {
    if (error instanceof LinkLost) throw error
    debug.reveal?.(`adaptive: no batch with the roots: ${String(error)}`) // the controller tries again
    return null
  }
  if (batch === null || 'why' in batch) return null
  const { revelation } = await arming.revealWithin(batch.patterns, batch.limits)
  return revelation.instrument.length === 0 ? null : revelation
}

/** Finds the roots. If a root is abstract, all classes are listed, since the error message names its implementations. */
async function rootsOf({ arming, installation, revealer, turns }: Engine): Promise<Revelation> {
  const start = () => turns.ask(() => revealer.start())
  try {
    return await start()
  } catch (problem) {
    if (!(problem instanceof AbstractOrNativeRoot) || problem.kind === 'native') throw problem
    arming?.wantAll()
    await installation.refreshClasses()
    return await start()
  }
}
