// jfluid attach: the live view of one task in a running JVM.

import { ManyThreads, refuseManyThreads } from '../base/many-threads.ts'
import type { Flags } from '../options/table.ts'
import { WHY_TOP } from '../options/what-to-profile.ts'
import type { SourceFolders } from '../profile/source-folders.ts'
import { preloadRecorder } from '../session/recorder/spare-worker.ts'
import { needsAllCalls } from '../session/session-options.ts'
import { createProgress } from '../tui/progress.ts'
import { preloadScreen, terminalProblem } from '../tui/screen.ts'
import { consentToDumps, DUMPS_HINT, withConsent } from './consent.ts'
import { commandOptions, NoRoot } from './options.ts'
import { ProfilePlace } from './place.ts'
import { sampledInstead, samplesInstead } from './samples-instead.ts'
import { say } from './say.ts'
import { type StopSignal, stopSignal } from './signals.ts'
import type { RecordedSource, Way } from './source.ts'
import { sourcesOf } from './sources.ts'
import { jvmFor } from './wait-for.ts'
import { wayIn } from './way-in.ts'
import { wayOf } from './ways.ts'

/** Placeholder for a root that is chosen later. */
const ANY_ROOT = 'any.Class.method'

function lacksRoot({ root, region }: Flags<'attach'>): boolean {
  return (root === undefined || root.length === 0) && region === undefined
}

/** Removes --sampler. While the user chooses a root, that option applies only to the root search. */
function withoutSampler({ sampler: _, ...rest }: Flags<'attach'>): Flags<'attach'> {
  return rest
}

export async function attach(
  pidText: string | undefined,
  flags: Flags<'attach'>,
  print: (text: string) => void,
): Promise<void> {
  const sources = await sourcesOf(flags)
  /** Options for recording calls. They include a root as soon as the user has chosen a root. */
  let asked = withoutSampler(flags)
  const calls = async (): Promise<Way | null> => {
    const isScreenThere = terminalProblem(process.stdin, process.stdout, process.env) === null
    const chooses = lacksRoot(flags) && isScreenThere
    // Conflicting options are reported before the root search.
    let options = await commandOptions(lacksRoot(flags) ? { ...asked, root: [ANY_ROOT] } : flags)
    if (lacksRoot(flags) && !chooses) {
      if (await answerInstead(pidText, flags, print)) throw new NoRoot()
      return null
    }
    return async ({ progress, found }) => {
      const { name, number, open } = await wayIn(pidText, flags)
      await found(number)
      preloadRecorder()
      if (chooses) {
        await consentToDumps(number, flags.yes, () => progress.close())
        const { findRoot } = await import('./choose-root.ts')
        const isAdaptive =
          options.scheme === 'adaptive' || (options.scheme === 'auto' && needsAllCalls(options) === null)
        const chosen = await findRoot(number, flags.sampler, isAdaptive)
        if (chosen === null) return null
        asked = { ...asked, root: [chosen.root] }
        options = { ...(await commandOptions(asked)), seen: chosen.seen }
      }
      progress.phase(`attaching to ${name}`)
      const onPhase = (phase: string): void => progress.phase(phase)
      return await withConsent(
        options,
        async (request) => {
          // These modules are loaded while the JVM loads the agent.
          const [door, { Session }, { sessionSource }] = await Promise.all([
            open(onPhase, request),
            import('../session/session.ts'),
            import('./session-source.ts'),
            import('./session-view.ts'),
          ])
          return sessionSource(await Session.start(door, request, onPhase), true)
        },
        () => progress.close(),
        samplesInstead(asked) !== null,
      )
    }
  }
  const way = await wayOf('attach', pidText, flags, calls)
  if (way === null) return
  try {
    await attachBy(way, flags, sources)
  } catch (problem) {
    const instead = await sampledInstead(problem, asked)
    if (instead === null) throw problem
    await attachBy(instead.way, instead.flags, sources)
  }
}

/**
 * Used without a terminal, where the user cannot choose a root: prints the lines that the root chooser shows, and the candidates for the
 * root. Prints nothing if the dumps for the answer need the consent of the user.
 *
 * @returns false if a signal ended the command before sampling began; the exit status is set then
 */
async function answerInstead(
  pidText: string | undefined,
  flags: Flags<'attach'>,
  print: (text: string) => void,
): Promise<boolean> {
  if (flags.jdwp !== undefined || (pidText === undefined && flags.waitFor === undefined)) return true
  const { NothingWorked, whyOf } = await import('./why.ts')
  try {
    const pid = await jvmFor(pidText, flags)
    if (flags.yes !== true) refuseManyThreads(pid, DUMPS_HINT)
    return await whyOf(pid, { top: WHY_TOP }, print)
  } catch (problem) {
    if (problem instanceof ManyThreads) return true
    if (!(problem instanceof NothingWorked)) throw problem
    say(problem.message)
    return true
  }
}

/** Starts the recording and shows it until the user leaves. */
async function attachBy(way: Way, flags: Flags<'attach'>, sources: SourceFolders | undefined): Promise<void> {
  /** Messages to print after the view is closed. */
  const later: string[] = []
  const tell = (line: string): void => void later.push(line)
  const { out, all } = flags
  const placeOf = async () => (out === undefined ? null : await ProfilePlace.at(out, flags, tell))
  // With several JVMs, the file of each JVM is checked before the common file.
  let place = all === undefined ? await placeOf() : null
  const problem = terminalProblem(process.stdin, process.stdout, process.env)
  if (problem !== null) throw problem
  const progress = createProgress(process.stderr)
  let stop: StopSignal | undefined
  let source: RecordedSource | null
  let viewing: Promise<typeof import('./view.ts')> | undefined
  try {
    source = await way({
      progress,
      isShown: true,
      tell,
      untold: () => later.splice(0),
      async found() {
        place ??= await placeOf()
        preloadScreen()
        viewing ??= import('./view.ts')
      },
      stop: () => (stop ??= stopSignal()),
    })
  } finally {
    stop?.dispose() // the screen installs its own signal handlers, and checks whether other handlers exist
    progress.close()
  }
  if (source === null) return
  const { outcome, leave } = source
  try {
    const { view } = await (viewing ?? import('./view.ts'))
    await view(source, place, later, {
      sources,
      async told(how) {
        const told = await outcome(how === 'quit' ? null : how, place?.path ?? null)
        if (told !== null) throw told
      },
    })
  } finally {
    await leave?.()
  }
}
