// A session on the screen, from its first picture to the report that stays on the terminal.

import { reportPieces, terminalOptions } from '../profile/report.ts'
import { writePieces } from '../profile/write.ts'
import type { Session } from '../session/session.ts'
import { type Leave, runLiveView } from '../tui/app.ts'
import { runRegionView } from '../tui/region-app.ts'
import { openScreen, type Screen } from '../tui/screen.ts'
import { describeDetach, finish } from './finish.ts'
import { liveSource, regionSource } from './live.ts'
import { describeMatches } from './matches.ts'
import type { ProfilePlace } from './place.ts'
import { say } from './say.ts'
import { endingSignals, stopSignal } from './signals.ts'

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
  // Before anything is printed: the reader of a pipe may have closed it.
  await place?.keep(profile)
  await writePieces(process.stdout, reportPieces(profile, terminalOptions(process.stdout)))
  for (const line of describeMatches(session)) say(line)
  say(describeDetach(session, report))
  if (place !== null) say(`profile written to ${place.path}`)
  return left
}
