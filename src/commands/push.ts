// jfluid push: sends a recorded profile to a store.

import { NoTreeInProfile } from '../export/errors.ts'
import type { Flags } from '../options/table.ts'
import { mustHaveData } from '../profile/empty.ts'
import { push } from '../push/push.ts'
import { createProgress } from '../tui/progress.ts'
import { pushTo, warnAboutStore, warnAboutValues } from './push-options.ts'
import { readPart } from './read.ts'
import { stopSignal } from './signals.ts'

export async function pushCommand(file: string, flags: Flags<'push'>): Promise<void> {
  const { from, until, redact } = flags
  const to = pushTo(flags.to, flags.label, redact)
  const profile = await readPart(file, { from, to: until })
  if (profile.regions !== undefined) throw new NoTreeInProfile(file, 'pprof')
  mustHaveData('push', file, profile)
  const progress = createProgress(process.stderr)
  const tell = (line: string): void => progress.note(line)
  const stop = stopSignal()
  const ended = new AbortController()
  void stop.fired.then(() => ended.abort())
  try {
    warnAboutStore(to, tell)
    warnAboutValues(profile, to, tell)
    progress.phase(`pushing to ${to.store.shown}`)
    const filed = await push(profile, to, tell, ended.signal)
    progress.done(`pushed to ${to.store.shown} as ${filed}`)
  } finally {
    stop.dispose()
    progress.close()
  }
}
