// jfluid attach: the live view of one task in a running JVM.

import type { Flags } from '../options/table.ts'
import { preloadRecorder } from '../session/recorder/spare-worker.ts'
import { needsAllCalls } from '../session/session-options.ts'
import { createProgress } from '../tui/progress.ts'
import { preloadScreen, terminalProblem } from '../tui/screen.ts'
import { withConsent } from './consent.ts'
import { commandOptions } from './options.ts'
import { ProfilePlace } from './place.ts'
import { samplesInstead, whySampled } from './samples-instead.ts'
import { type StopSignal, stopSignal } from './signals.ts'
import type { RecordedSource, Way } from './source.ts'
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

export async function attach(pidText: string | undefined, flags: Flags<'attach'>): Promise<void> {
  /** Options for recording calls. They include a root as soon as the user has chosen a root. */
  let asked = withoutSampler(flags)
  const calls = async (): Promise<Way> => {
    const isScreenThere = terminalProblem(process.stdin, process.stdout, process.env) === null
    const chooses = lacksRoot(flags) && isScreenThere
    // Conflicting options are reported before the root search.
    let options = await commandOptions(chooses ? { ...asked, root: [ANY_ROOT] } : flags)
    return async ({ progress, found }) => {
      const { name, number, open } = await wayIn(pidText, flags)
      await found(number)
      preloadRecorder()
      if (chooses) {
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
          return sessionSource(await Session.start(door, request, onPhase))
        },
        () => progress.close(),
        samplesInstead(asked) !== null,
      )
    }
  }
  const way = await wayOf('attach', pidText, flags, calls)
  try {
    await attachBy(way, flags)
  } catch (problem) {
    const instead = whySampled(problem, asked)
    if (instead === null) throw problem
    const { wholeJvm } = await import('./whole-jvm.ts')
    await attachBy(wholeJvm(instead.pid, instead.flags, instead.why), instead.flags)
  }
}

/** Starts the recording and shows it until the user leaves. */
async function attachBy(way: Way, flags: Flags<'attach'>): Promise<void> {
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
      ...{ progress, isShown: true, tell, untold: () => later.splice(0) },
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
      async told(how) {
        const told = await outcome(how === 'quit' ? null : how, place?.path ?? null)
        if (told !== null) throw told
      },
    })
  } finally {
    await leave?.()
  }
}
