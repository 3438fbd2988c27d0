// jfluid attach: the live view of one task in a running JVM.

import type { Flags } from '../options/table.ts'
import { remoteAddress } from '../remote/address.ts'
import { preloadRecorder } from '../session/recorder/spare-worker.ts'
import type { Session } from '../session/session.ts'
import { needsAllCalls } from '../session/session-options.ts'
import { createProgress } from '../tui/progress.ts'
import { preloadScreen, terminalProblem } from '../tui/screen.ts'
import { checkAll } from './all.ts'
import { withConsent } from './consent.ts'
import { commandOptions } from './options.ts'
import { outcome } from './outcome.ts'
import { ProfilePlace } from './place.ts'
import { samplesInstead, whySampled } from './samples-instead.ts'
import { say } from './say.ts'
import type { view } from './session-view.ts'
import { checkWait } from './wait-for.ts'
import { checkJdwp, wayIn } from './way-in.ts'
import { isSampledByJvm } from './whole-jvm-options.ts'

/** In place of one that is yet to be chosen. */
const ANY_ROOT = 'any.Class.method'

function lacksRoot({ root, region }: Flags<'attach'>): boolean {
  return (root === undefined || root.length === 0) && region === undefined
}

/** Where a root is looked for, that is all a sampler is for. */
function withoutSampler({ sampler: _, ...rest }: Flags<'attach'>): Flags<'attach'> {
  return rest
}

export async function attach(pidText: string | undefined, flags: Flags<'attach'>): Promise<void> {
  checkAll('attach', pidText, flags)
  checkWait(pidText, flags)
  if (flags.all !== undefined) {
    const { attachAll } = await import('./attach-all.ts')
    return await attachAll(flags.all, flags)
  }
  checkJdwp(pidText, flags)
  const address = pidText === undefined ? null : remoteAddress(pidText)
  if (address !== null) {
    const { attachRemote } = await import('./remote-attach.ts')
    return await attachRemote(address, flags)
  }
  if (isSampledByJvm(flags)) {
    const { attachWholeJvm } = await import('./whole-jvm.ts')
    return await attachWholeJvm(pidText, flags)
  }
  const problem = terminalProblem(process.stdin, process.stdout, process.env)
  const chooses = lacksRoot(flags) && problem === null
  // What does not go together is told before anybody looks for a root.
  let calls = withoutSampler(flags)
  let options = await commandOptions(chooses ? { ...withoutSampler(flags), root: [ANY_ROOT] } : flags)
  const later: string[] = []
  const place = await ProfilePlace.maybeAt(flags.out, flags, (line) => later.push(line))
  if (problem !== null) throw problem
  const way = await wayIn(pidText, flags)
  preloadScreen()
  preloadRecorder()
  if (chooses) {
    const { findRoot } = await import('./choose-root.ts')
    const isAdaptive =
      options.scheme === 'adaptive' || (options.scheme === 'auto' && needsAllCalls(options) === null)
    const found = await findRoot(way.number, flags.sampler, isAdaptive)
    if (found === null) return
    calls = { ...calls, root: [found.root] }
    options = { ...(await commandOptions(calls)), seen: found.seen }
  }
  const progress = createProgress(process.stderr)
  progress.phase(`attaching to ${way.name}`)
  const onPhase = (phase: string): void => progress.phase(phase)
  let started: { readonly session: Session; readonly view: typeof view }
  try {
    started = await withConsent(
      options,
      async (request) => {
        // The JVM loads its agent while what is needed behind the door is read.
        const [door, { Session }, { view }] = await Promise.all([
          way.open(onPhase, request),
          import('../session/session.ts'),
          import('./session-view.ts'),
        ])
        return { session: await Session.start(door, request, onPhase), view }
      },
      () => progress.close(),
      samplesInstead(calls) !== null,
    )
  } catch (problem) {
    const instead = whySampled(problem, calls)
    if (instead === null) throw problem
    const { attachWholeJvm } = await import('./whole-jvm.ts')
    return await attachWholeJvm(instead.pid, instead.flags, instead.why)
  } finally {
    progress.close()
  }
  const { session } = started
  const left = await started.view(session, place)
  for (const line of later) say(line)
  const told = outcome(session, left === 'quit' ? null : left, flags.out ?? null)
  if (told !== null) throw told
}
