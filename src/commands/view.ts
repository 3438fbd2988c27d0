// The screen of a recording, from its first frame to the report on the terminal.

import { terminalOptions } from '../profile/report/page.ts'
import { reportPieces } from '../profile/report.ts'
import type { SourceFolders } from '../profile/source-folders.ts'
import { writePieces } from '../profile/write.ts'
import type { Leave } from '../tui/app.ts'
import { openScreen, type Screen } from '../tui/screen.ts'
import type { ProfilePlace } from './place.ts'
import { say } from './say.ts'
import { endingSignals, stopSignal } from './signals.ts'
import type { RecordedSource } from './source.ts'

interface Around {
  /** Folders of --source. */
  readonly sources?: SourceFolders | undefined
  /** Called when the user has left the view, before the report is printed. May add messages. */
  readonly onLeft?: () => void
  /** Prints the final messages, depending on how the user left. */
  readonly told?: (how: Leave) => Promise<void>
}

/**
 * Opens a screen until the user leaves.
 *
 * @param then  runs after the screen has been closed
 */
export async function onScreen<T>(
  show: (screen: Screen) => Promise<T>,
  then: (left: T) => Promise<void> = async () => {},
): Promise<T> {
  const signals = endingSignals()
  const screen = await openScreen()
  // A closed terminal is reported by its streams and by SIGHUP, in any order. The second report must not end the process before the target
  // has its code back.
  const stop = stopSignal(signals)
  try {
    let left: T
    try {
      left = await show(screen)
    } finally {
      screen.destroy()
    }
    await then(left)
    return left
  } finally {
    stop.dispose()
  }
}

/**
 * Shows the recording until the user leaves, then prints the report.
 *
 * @param place  file for the profile; null if there is none
 * @param later  messages from before the screen was opened
 */
export async function view(
  source: RecordedSource,
  place: ProfilePlace | null,
  later: readonly string[],
  { sources, onLeft, told }: Around,
): Promise<void> {
  const show = await source.drawn(sources)
  const shown = (screen: Screen): Promise<Leave> => {
    if (source.saved !== undefined) place?.guard(source.saved)
    return show(screen, place?.path ?? null)
  }
  await onScreen(shown, async (how) => {
    onLeft?.()
    await place?.release()
    const finishing = source.finish(say)
    const finished = await (place === null ? finishing : place.orAutosaved(finishing))
    const { profile, described, parts = [] } = finished
    // The profile is kept before anything is printed, since printing may fail if the reader of a pipe has closed the pipe.
    await place?.keep(profile)
    await writePieces(process.stdout, reportPieces(profile, terminalOptions(process.stdout)))
    for (const line of [...source.matches(), ...described, ...parts]) say(line)
    if (place !== null) say(`${source.called} written to ${place.path}`)
    for (const line of later) say(line)
    await told?.(how)
  })
}
