// jfluid attach: the live view of one task in a running JVM.

import { reportPieces, terminalOptions } from '../profile/report.ts'
import { writePieces } from '../profile/write.ts'
import { preloadRecorder } from '../session/recorder/recorder.ts'
import { Session } from '../session/session.ts'
import { type Leave, runLiveView } from '../tui/app.ts'
import { createProgress } from '../tui/progress.ts'
import { runRegionView } from '../tui/region-app.ts'
import { openScreen, preloadScreen, type Screen, terminalProblem } from '../tui/screen.ts'
import { type AllFlag, checkAll } from './all.ts'
import { withConsent } from './consent.ts'
import { describeDetach, finish } from './finish.ts'
import { liveSource, regionSource } from './live.ts'
import { describeMatches } from './matches.ts'
import { commandOptions, type JdwpFlag, type SessionFlags } from './options.ts'
import { outcome } from './outcome.ts'
import { type PlaceFlags, ProfilePlace } from './place.ts'
import { addressOf } from './remote-session.ts'
import { say } from './say.ts'
import { endingSignals, stopSignal } from './signals.ts'
import { checkWait, type WaitFlags } from './wait-for.ts'
import { checkJdwp, wayIn } from './way-in.ts'
import { isSampledByJvm } from './whole-jvm-options.ts'

export interface AttachFlags extends SessionFlags, PlaceFlags, JdwpFlag, WaitFlags, AllFlag {
  readonly out?: string
}

/** In place of one that is yet to be chosen. */
const ANY_ROOT = 'any.Class.method'

function lacksRoot({ root, region }: AttachFlags): boolean {
  return (root === undefined || root.length === 0) && region === undefined
}

/** Where a root is looked for, that is all a sampler is for. */
function withoutSampler({ sampler: _, ...rest }: AttachFlags): AttachFlags {
  return rest
}

export async function attach(pidText: string | undefined, flags: AttachFlags): Promise<void> {
  checkAll(pidText, flags)
  checkWait(pidText, flags)
  if (flags.all !== undefined) {
    const { attachAll } = await import('./attach-all.ts')
    return await attachAll(flags.all, flags)
  }
  checkJdwp(pidText, flags)
  const address = addressOf(pidText)
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
  let options = await commandOptions(chooses ? { ...withoutSampler(flags), root: [ANY_ROOT] } : flags)
  const later: string[] = []
  const place = await ProfilePlace.maybeAt(flags.out, '--out', flags, (line) => later.push(line))
  if (problem !== null) throw problem
  const way = await wayIn(pidText, flags)
  preloadScreen()
  preloadRecorder()
  if (chooses) {
    const { findRoot } = await import('./choose-root.ts')
    const root = await findRoot(way.number, flags.sampler)
    if (root === null) return
    options = await commandOptions({ ...withoutSampler(flags), root: [root] })
  }
  const progress = createProgress(process.stderr)
  progress.phase(`attaching to ${way.name}`)
  let session: Session
  try {
    const onPhase = (phase: string): void => progress.phase(phase)
    session = await withConsent(
      options,
      async (request) => await Session.start(await way.open(onPhase), request, onPhase),
      () => progress.close(),
    )
  } finally {
    progress.close()
  }
  const left = await view(session, place)
  for (const line of later) say(line)
  const told = outcome(session, left === 'quit' ? null : left, flags.out ?? null)
  if (told !== null) throw told
}

/**
 * Shows a session until the user leaves, then reports to the scrollback.
 *
 * @param place  where the profile is kept; null for nowhere
 * @param onLeft  adds what is known by then to the session, before the report
 */
export async function view(
  session: Session,
  place: ProfilePlace | null,
  onLeft: () => void = () => {},
): Promise<Leave> {
  const signals = endingSignals()
  const screen = await openScreen()
  // A closed terminal is told by its streams and by SIGHUP, in any order: the second must not end us
  // before the target has its code back.
  const stop = stopSignal(signals)
  try {
    return await shown(session, screen, place, onLeft)
  } finally {
    stop.dispose()
  }
}

async function shown(
  session: Session,
  screen: Screen,
  place: ProfilePlace | null,
  onLeft: () => void,
): Promise<Leave> {
  let left: Leave
  const out = place?.path ?? null
  place?.guard(session)
  try {
    left = session.timesRegions
      ? await runRegionView(regionSource(session, out), screen)
      : await runLiveView(liveSource(session, out), screen)
  } finally {
    screen.destroy()
  }
  onLeft()
  await place?.release()
  const finishing = finish(session)
  const { profile, report } = await (place === null ? finishing : place.orAutosaved(finishing))
  // Before anything is said: whoever reads us may have gone.
  await place?.keep(profile)
  await writePieces(process.stdout, reportPieces(profile, terminalOptions(process.stdout)))
  for (const line of describeMatches(session)) say(line)
  say(describeDetach(session, report))
  if (place !== null) say(`profile written to ${place.path}`)
  return left
}
