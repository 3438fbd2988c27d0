// jfluid open: shows a recorded profile in the views of a session.

import { shellWord } from '../base/shell-word.ts'
import type { Profile } from '../profile/profile.ts'
import { runLiveView } from '../tui/app.ts'
import { fileRegionSource, fileSource } from '../tui/file-source.ts'
import { runRegionView } from '../tui/region-app.ts'
import { preloadScreen, terminalProblem } from '../tui/screen.ts'
import { fileKeeper } from './keeper.ts'
import { readWithProgress } from './read.ts'
import { signalStatus } from './signals.ts'
import type { Source } from './source.ts'
import { onScreen } from './view.ts'

export async function open(file: string): Promise<void> {
  const instead = `print it without one: jfluid report ${shellWord(file)}`
  const problem = terminalProblem(process.stdin, process.stdout, process.env, instead)
  if (problem !== null) throw problem
  preloadScreen()
  const show = await openedSource(await readWithProgress(file), file).drawn()
  await onScreen(
    (screen) => show(screen, null),
    async (how) => {
      if (how !== 'quit') process.exitCode = signalStatus(how)
    },
  )
}

/** @param file  file that the profile was read from */
function openedSource(profile: Profile, file: string): Source {
  const { regions } = profile
  const keeper = fileKeeper(profile, file)
  return {
    drawn: async () => (screen) =>
      regions === undefined
        ? runLiveView(fileSource(profile, file, keeper), screen)
        : runRegionView(fileRegionSource({ ...profile, regions }, file, keeper), screen),
  }
}
