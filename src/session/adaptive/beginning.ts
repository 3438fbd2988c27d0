// How a session of scheme adaptive begins: the roots get their probes, and nothing else is touched. No class is listed but those
// of the roots' names, and no thread of the target asks or waits.

import { setImmediate as turnOfTheLoop } from 'node:timers/promises'
import { debug } from '../../base/debug.ts'
import { AbstractOrNativeRoot } from '../../reveal/errors.ts'
import type { Revelation } from '../../reveal/revealer.ts'
import { LinkLost } from '../../wire/link.ts'
import { MODE_COUNT, MODE_TIME } from '../../wire/messages.ts'
import { checkRefused, hideHandleMembers, instrumentingPhase } from '../beginning.ts'
import type { Engine } from '../engine.ts'
import { MAX_PAUSE_MS } from '../limits.ts'
import type { Pulse } from '../pulse.ts'
import { type Batch, batchOf, type NoBatch, patternsOf } from './batch.ts'
import { type JvmSize, withRootsMs } from './pause.ts'

/** Of the JDK: what method handles call is hidden there. */
const HANDLE_CLASSES = 1

/**
 * Before it stands still, for the roots, perhaps for a batch and to take that back, and at the end: what a user would want to know.
 *
 * @param times  that it will, at most
 */
function pauseText(ms: number | null, times: 'up to three times' | 'up to four times'): string {
  return ms !== null && ms >= 1 ? `; the JVM will stand still for about ${Math.round(ms)} ms, ${times}` : ''
}

/**
 * @param onPhase    told what is being done, for progress
 * @param recording  called when the target has been told to record
 * @returns ids of the batch, if it went in with the roots: their probes count. Empty if there is none yet
 * @throws RootNotFound and other errors of the revealer, before anything is changed. RootRefused
 */
export async function beginAtRoots(
  engine: Engine,
  pulse: Pulse,
  onPhase: (phase: string) => void,
  recording: () => void,
): Promise<readonly number[]> {
  const { agent, arming, inside, installation, options, recorder, revealer, turns, warnings } = engine
  onPhase('looking for the root')
  const size = arming?.size()
  size?.catch(() => {}) // it is waited for below
  let counted: readonly number[] = []
  await Promise.all([agent.neverWait(), agent.enable()])
  recorder.noThreadWaits()
  await turns.enqueue(async () => {
    arming?.want(patternsOf(options.seen ?? []))
    await installation.refreshClasses()
    const roots = await rootsOf(engine)
    if (revealer.roots.progress().every((it) => it.ids.size === 0)) {
      arming?.wantAll()
      await installation.refreshClasses()
    }
    const timed = (await arming?.reveal(options.timed ?? [])) ?? null
    for (const { text } of timed?.missing ?? [])
      warnings.add(`--time ${text}: no class of that name with such a method has been loaded`)
    const asked = timed === null ? [roots] : [roots, timed.revelation]
    const batch = await firstBatch(engine, asked, size)
    const revelations = batch === null ? asked : [...asked, batch]
    const [pauseMs = null] = await Promise.all([
      arming?.predict(classesOf(revelations) + HANDLE_CLASSES, size),
      // A redefinition is timed in ticks of which the length must be known.
      pulse.readStatus(),
      hideHandleMembers(engine),
    ])
    onPhase(
      instrumentingPhase(engine) +
        pauseText(pauseMs, batch === null ? 'up to four times' : 'up to three times'),
    )
    // While the agent calibrates the classes are rewritten.
    const calibrated = engine.calibrate()
    calibrated.catch(() => {}) // it is waited for below
    await turnOfTheLoop() // the request is written a few awaits later, and rewriting, which leaves no turn, would come first
    // A class that is still to come brings what goes in first along.
    const begin = () => installation.begin(revelations)
    await (arming === null ? begin() : arming.redefine(pauseMs, begin))
    await calibrated
    engine.timeRoots()
    counted = idsOf(batch)
    if (timed !== null || batch !== null)
      await arming?.switchTo([
        [counted, MODE_COUNT],
        [idsOf(timed?.revelation), MODE_TIME],
      ])
    await checkRefused(engine)
    await inside?.begin()
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
 * What goes in with the roots: the JVM stands still for these anyway.
 *
 * @param asked  what else goes in
 * @returns null if samples from before choose nothing, or it would take too long or too much; what there is later is tried again then
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
    batch = await batchOf(seen, longestMs, arming, door, beside)
  } catch (error) {
    if (error instanceof LinkLost) throw error
    debug.reveal?.(`adaptive: no batch with the roots: ${String(error)}`) // the controller tries again
    return null
  }
  if (batch === null || 'why' in batch) return null
  const { revelation } = await arming.revealWithin(batch.patterns, batch.limits)
  return revelation.instrument.length === 0 ? null : revelation
}

/** An error of an abstract root names what implements it, of which nothing has been heard yet. */
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
