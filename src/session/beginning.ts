// Begins a session: finds the classes to instrument, instruments them, and lets threads enter the roots. On a server, instrumenting takes
// by far the longest.

import { debug, some } from '../base/debug.ts'
import { RootRefused } from '../reveal/errors.ts'
import { NO_PAST, type Past } from '../reveal/lazy.ts'
import type { Revelation } from '../reveal/revealer.ts'
import { handOverTasks } from './code/hand-over-points.ts'
import { handleTasks, mayKeepOriginalCode } from './code/hidden-handles.ts'
import { waitRecipe, waitTasks } from './code/wait-points.ts'
import type { Engine } from './engine.ts'
import { firstRedefinition } from './first-redefinition.ts'
import type { Pulse } from './pulse.ts'
import { eventsOf, looksAhead, modeOf } from './session-options.ts'
import { compiledPast } from './target-past.ts'

/**
 * Begins a recording with scheme a or b.
 *
 * @param onPhase    receives the name of each phase, for progress
 * @param recording  called when the client has requested the recording
 * @throws RootNotFound and other errors of the revealer, RegionProblem  before the target is changed
 * @throws RootRefused  if the JVM or the rewriter has refused a root
 */
export async function beginBelowRoots(
  engine: Engine,
  pulse: Pulse,
  onPhase: (phase: string) => void,
  recording: () => void,
): Promise<void> {
  const { agent, byHand, classLoads, installation, options, recorder, revealer, turns } = engine
  engine.timeRoots()
  onPhase('reading classes')
  // The compiled methods are read now, since the first redefinition may discard all compiled code.
  const past = looksAhead(options) ? compiledPast(await engine.door.executed()) : NO_PAST
  await agent.enable()
  await agent.watch(byHand.watchesJdk)
  await turns.enqueue(async () => {
    await installation.refreshClasses()
    onPhase(instrumentingPhase(engine))
    const roots = await turns.ask(() => revealer.start())
    debug.reveal?.(foundText(engine))
    await checkRegions(engine, roots)
    await engine.values?.begin(roots)
    await classLoads.beforeRecording(async () => {
      // A program that ends within half a second has no other status. It states whether the JVM counts allocated bytes.
      await pulse.readStatus()
      await hideHandleMembers(engine)
      if (options.followThreads) await installHandOvers(engine)
      if (eventsOf(options).tellsWaits) await installWaits(engine)
      await installation.begin([...(await aheadOfRoots(engine, past)), roots])
    })
    await installation.catchUp()
    await checkRefused(engine)
    if (engine.regionTable !== null) recorder.reset()
    if (engine.traceIds.isDue()) await engine.traceIds.find()
    await engine.beginSlow()
    await agent.go()
    recording()
  })
}

/** @throws RootRefused, RegionProblem  if the root cannot be recorded */
export async function checkRefused({ regionTable, revealer, turns }: Engine): Promise<void> {
  if (!revealer.roots.progress().some((it) => it.failed)) return
  const reports = await turns.ask(() => revealer.roots.report())
  const refused = reports.find((it) => it.problem instanceof RootRefused)
  if (refused !== undefined) throw regionTable?.problems()[0] ?? refused.problem
}

/** Returns the phase name, with a note if the first redefinition may be expensive. The user sees the note before it begins. */
export function instrumentingPhase(engine: Pick<Engine, 'door' | 'facts' | 'options'>): string {
  const { feature } = engine.facts
  switch (firstRedefinition(engine)) {
    case 'is over':
      return 'instrumenting'
    case 'may be over':
      return `instrumenting: the JVM (JDK ${feature}) may discard all its compiled code now and be slower for some seconds, unless another agent has redefined a class before`
    case 'is to come':
      return `instrumenting: the JVM (JDK ${feature}) discards all its compiled code now and is slower for some seconds; this happens only once`
  }
}

/**
 * Adds probes that hide the targets of method handles from the C1 compiler. Otherwise calls through method handles would run code without
 * probes.
 *
 * @param onlyIfNeeded  true: these probes are installed with the first method that needs them, perhaps never (scheme adaptive). false: they
 * are part of the first redefinition (schemes a and b, which count all methods below the roots)
 */
export async function hideHandleMembers(engine: Engine, onlyIfNeeded = false): Promise<void> {
  const { classes, facts, installation, instrumenter, warnings } = engine
  const classBytes = (ids: readonly number[]) => instrumenter.classBytes(ids)
  const { tasks, isComplete } = await handleTasks(classes.bootClasses, classBytes)
  if (onlyIfNeeded) installation.withFirst(tasks, (others) => mayKeepOriginalCode(others, classBytes))
  else installation.withFirst(tasks)
  if (!isComplete)
    warnings.add(
      `calls through method handles may be missing: jfluid does not know how JDK ${facts.feature} implements them`,
    )
}

function foundText({ options, revealer }: Engine): string {
  const roots = revealer.roots
    .report()
    .map(({ text, methods, armed }) => `${text} ${armed ? 'not yet loaded' : `matches ${methods}`}`)
  return `mode ${modeOf(options)}, scheme ${options.scheme}, filters ${options.include.length} in and ${options.exclude.length} out${options.jdk ? ', with the JDK' : ''}; ${some(roots)}`
}

/** @throws RegionProblem */
async function checkRegions(
  { instrumenter, regionTable }: Engine,
  { instrument }: Revelation,
): Promise<void> {
  if (regionTable === null) return
  const bytes = await instrumenter.classBytes(instrument.map((it) => it.classId))
  regionTable.check(instrument, bytes)
}

/**
 * Scheme b: instruments methods that the roots call, and methods below them that are known to run, together with the roots. No
 * thread waits for this redefinition.
 */
async function aheadOfRoots({ options, revealer, turns }: Engine, past: Past): Promise<Revelation[]> {
  const revelations: Revelation[] = []
  if (!looksAhead(options)) return revelations
  const steps = revealer.rootsWillRun(past)
  for (;;) {
    const { done, value } = await turns.ask(() => steps.next())
    if (done) return revelations
    revelations.push(value)
  }
}

/** Installs probes for submitted tasks. Runs before the roots get probes, so that every task that a root submits is recorded. */
async function installHandOvers({
  classes,
  facts,
  installation,
  instrumenter,
  warnings,
}: Engine): Promise<void> {
  const { tasks, unknown } = await handOverTasks(classes.bootClasses, (ids) => instrumenter.classBytes(ids))
  await installation.install(tasks, [])
  for (const kind of unknown) {
    warnings.add(
      `JDK ${facts.feature} hands tasks to other threads in a way that jfluid does not know (${kind}): these tasks are not followed`,
    )
  }
}

async function installWaits(engine: Engine): Promise<void> {
  const { classes, facts, installation, instrumenter, options, warnings } = engine
  const { tasks, unknown } = await waitTasks(
    classes.bootClasses,
    (ids) => instrumenter.classBytes(ids),
    waitRecipe(facts.feature, options.jdk),
  )
  await installation.install(tasks, [])
  for (const kind of unknown) {
    warnings.add(
      `JDK ${facts.feature} waits in a way that jfluid does not know (${kind}): this waiting time has no rows of its own`,
    )
  }
}
