// How a session of scheme adaptive begins: the roots get their probes, and nothing else is touched. No class is listed but those
// of the roots' names, and no thread of the target asks or waits.

import { setImmediate as turnOfTheLoop } from 'node:timers/promises'
import { AbstractOrNativeRoot } from '../../reveal/errors.ts'
import type { Revelation } from '../../reveal/revealer.ts'
import { MODE_TIME } from '../../wire/messages.ts'
import { checkRefused, hideHandleMembers, instrumentingPhase } from '../beginning.ts'
import type { Engine } from '../engine.ts'
import type { Pulse } from '../pulse.ts'

/** Of the JDK: what method handles call is hidden there. */
const HANDLE_CLASSES = 1

/** Before it stands still, for the roots, perhaps for a batch, and at the end: what a user would want to know. */
function pauseText(ms: number | null): string {
  return ms !== null && ms >= 1
    ? `; the JVM will stand still for about ${Math.round(ms)} ms, up to three times`
    : ''
}

/**
 * @param onPhase    told what is being done, for progress
 * @param recording  called when the target has been told to record
 * @throws RootNotFound and other errors of the revealer, before anything is changed. RootRefused
 */
export async function beginAtRoots(
  engine: Engine,
  pulse: Pulse,
  onPhase: (phase: string) => void,
  recording: () => void,
): Promise<void> {
  const { agent, arming, inside, installation, options, revealer, turns, warnings } = engine
  onPhase('looking for the root')
  const size = arming?.size()
  size?.catch(() => {}) // it is waited for below
  await Promise.all([agent.neverWait(), agent.enable()])
  await turns.enqueue(async () => {
    await installation.refreshClasses()
    const roots = await rootsOf(engine)
    if (revealer.rootProgress().every((it) => it.ids.size === 0)) {
      arming?.wantAll()
      await installation.refreshClasses()
    }
    const timed = (await arming?.reveal(options.timed ?? [])) ?? null
    for (const { text } of timed?.missing ?? [])
      warnings.add(`--time ${text}: no class of that name with such a method has been loaded`)
    const revelations = timed === null ? [roots] : [roots, timed.revelation]
    const classes = new Set(revelations.flatMap((it) => it.instrument.map(({ classId }) => classId)))
    const [pauseMs = null] = await Promise.all([
      arming?.predict(classes.size + HANDLE_CLASSES, size),
      // A redefinition is timed in ticks of which the length must be known.
      pulse.readStatus(),
      hideHandleMembers(engine),
    ])
    onPhase(instrumentingPhase(engine) + pauseText(pauseMs))
    // While the agent calibrates the classes are rewritten.
    const calibrated = engine.calibrate()
    calibrated.catch(() => {}) // it is waited for below
    await turnOfTheLoop() // the request is written a few awaits later, and rewriting, which leaves no turn, would come first
    // A class that is still to come brings what goes in first along.
    const begin = () => installation.begin(revelations)
    await (arming === null ? begin() : arming.redefine(pauseMs, begin))
    await calibrated
    engine.timeRoots()
    if (timed !== null) await arming?.switchTo([[timed.revelation.instrument.map(({ id }) => id), MODE_TIME]])
    await checkRefused(engine)
    await inside?.begin()
    await agent.go()
    recording()
  })
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
