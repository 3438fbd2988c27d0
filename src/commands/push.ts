// jfluid push: sends a recorded profile to a store.

import { NoTreeInProfile } from '../export/errors.ts'
import type { Flags } from '../options/table.ts'
import { mustHaveData } from '../profile/empty.ts'
import { pushedValues } from '../profile/values.ts'
import { push } from '../push/push.ts'
import { createProgress } from '../tui/progress.ts'
import { pushTo, warnAboutStore } from './push-options.ts'
import { readPart } from './read.ts'
import { stopSignal } from './signals.ts'

export async function pushCommand(file: string, flags: Flags<'push'>): Promise<void> {
  const to = pushTo(flags.to, flags.label)
  const { from, until, redact } = flags
  const profile = await readPart(file, { from, to: until, redact })
  if (profile.regions !== undefined) throw new NoTreeInProfile(file, 'pprof')
  mustHaveData('push', file, profile)
  const progress = createProgress(process.stderr)
  const tell = (line: string): void => progress.note(line)
  const stop = stopSignal()
  const ended = new AbortController()
  void stop.fired.then(() => ended.abort())
  try {
    warnAboutStore(to, tell)
    const values = pushedValues(profile)
    if (values !== null) tell(`${values}; --redact removes them`)
    progress.phase(`pushing to ${to.store.shown}`)
    const filed = await push(profile, to, tell, ended.signal)
    progress.done(`pushed to ${to.store.shown} as ${filed}`)
  } finally {
    stop.dispose()
    progress.close()
  }
}
