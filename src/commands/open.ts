// jfluid open: the views of a session on a recorded profile.

import { shellWord } from '../base/shell-word.ts'
import { type Leave, runLiveView } from '../tui/app.ts'
import { fileRegionSource, fileSource } from '../tui/file-source.ts'
import { runRegionView } from '../tui/region-app.ts'
import { openScreen, preloadScreen, type Screen, terminalProblem } from '../tui/screen.ts'
import { fileKeeper } from './keeper.ts'
import { readWithProgress } from './read.ts'
import { signalStatus, stopSignal } from './signals.ts'

export async function open(file: string): Promise<void> {
  const instead = `print it without one: jfluid report ${shellWord(file)}`
  const problem = terminalProblem(process.stdin, process.stdout, process.env, instead)
  if (problem !== null) throw problem
  preloadScreen()
  const profile = await readWithProgress(file)
  const { regions } = profile
  const keeper = fileKeeper(profile, file)
  const show = (screen: Screen): Promise<Leave> =>
    regions === undefined
      ? runLiveView(fileSource(profile, file, keeper), screen)
      : runRegionView(fileRegionSource({ ...profile, regions }, file, keeper), screen)
  const screen = await openScreen()
  const stop = stopSignal() // a closed terminal is told twice, see view.ts
  try {
    const left = await show(screen)
    if (left !== 'quit') process.exitCode = signalStatus(left)
  } finally {
    screen.destroy()
    stop.dispose()
  }
}
