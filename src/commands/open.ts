// jfluid open: shows a recorded profile in the views of a session.

import { UsageError } from '../base/errors.ts'
import { shellWord } from '../base/shell-word.ts'
import type { Flags } from '../options/table.ts'
import { mustHaveData } from '../profile/empty.ts'
import type { Profile } from '../profile/profile.ts'
import { NotOfRange } from '../profile/range.ts'
import { runLiveView } from '../tui/app.ts'
import { fileRegionSource, fileSource } from '../tui/file-source.ts'
import { runRegionView } from '../tui/region-app.ts'
import { preloadScreen, terminalProblem } from '../tui/screen.ts'
import { fileKeeper } from './keeper.ts'
import { readPart } from './read.ts'
import { signalStatus } from './signals.ts'
import type { Source } from './source.ts'
import { sourcesOf } from './sources.ts'
import { onScreen } from './view.ts'

/** `--source` is given, but the view of regions shows no source lines. */
export class NoSourceOfRegions extends UsageError {
  static sample = () => new NoSourceOfRegions('/tmp/app.jfluid')
  readonly hint = 'Leave --source out: the view of regions shows no source lines.'
  constructor(path: string) {
    super(`--source cannot be used with ${path}: it contains times of regions`)
  }
}

export async function open(file: string, flags: Flags<'open'> = {}): Promise<void> {
  const sources = await sourcesOf(flags)
  const instead = `print it without one: jfluid report ${shellWord(file)}`
  const problem = terminalProblem(process.stdin, process.stdout, process.env, instead)
  if (problem !== null) throw problem
  preloadScreen()
  const profile = await readPart(file, flags)
  mustHaveData('open', file, profile)
  const show = await openedSource(profile, file).drawn(sources)
  await onScreen(
    (screen) => show(screen, null),
    async (how) => {
      if (how !== 'quit') process.exitCode = signalStatus(how)
    },
  )
}

/** @param file  file that the profile was read from. `drawn` throws NoSourceOfRegions and NotOfRange. */
export function openedSource(profile: Profile, file: string): Source {
  const { regions } = profile
  const keeper = fileKeeper(profile, file)
  return {
    async drawn(sources) {
      if (sources !== undefined && profile.range !== undefined)
        throw new NotOfRange('--source', 'the cost of source lines is')
      if (regions === undefined)
        return (screen) => runLiveView(fileSource(profile, file, keeper, sources), screen)
      if (sources !== undefined) throw new NoSourceOfRegions(file)
      return (screen) => runRegionView(fileRegionSource({ ...profile, regions }, file, keeper), screen)
    },
  }
}
