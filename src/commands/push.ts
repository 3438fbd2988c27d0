// jfluid push: sends a recorded profile to a store.

import { EX_DATAERR, JfluidError } from '../base/errors.ts'
import { NoTreeInProfile } from '../export/errors.ts'
import type { Flags } from '../options/table.ts'
import { push } from '../push/push.ts'
import { createProgress } from '../tui/progress.ts'
import { pushTo, warnAboutStore } from './push-options.ts'
import { readWithProgress } from './read.ts'
import { stopSignal } from './signals.ts'

/** The profile has no calls, so a store would show nothing. */
export class NothingToPush extends JfluidError {
  static sample = () => new NothingToPush('/tmp/app.jfluid')
  readonly exitCode = EX_DATAERR
  readonly hint =
    'Find the reason in the warnings of jfluid report, for example that the root was not called.'
  constructor(file: string) {
    super(`nothing to push: ${file} contains no calls`)
  }
}

export async function pushCommand(file: string, flags: Flags<'push'>): Promise<void> {
  const to = pushTo(flags.to, flags.label)
  const profile = await readWithProgress(file)
  if (profile.regions !== undefined) throw new NoTreeInProfile(file, 'pprof')
  if (profile.events.count === 0) throw new NothingToPush(file)
  const progress = createProgress(process.stderr)
  const tell = (line: string): void => progress.note(line)
  const stop = stopSignal()
  const ended = new AbortController()
  void stop.fired.then(() => ended.abort())
  try {
    warnAboutStore(to, tell)
    progress.phase(`pushing to ${to.store.shown}`)
    const filed = await push(profile, to, tell, ended.signal)
    progress.done(`pushed to ${to.store.shown} as ${filed}`)
  } finally {
    stop.dispose()
    progress.close()
  }
}
