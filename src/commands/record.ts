// jfluid record: attaches without a screen, records for a given time or until a signal, and writes the profile.

import type { Flags } from '../options/table.ts'
import { createProgress } from '../tui/progress.ts'
import { type RecordContext, type Recorded, recordOnce } from './record-once.ts'
import { keepStatus, type StopSignal, stopSignal } from './signals.ts'

export async function record(pidText: string | undefined, flags: Flags<'record'>): Promise<void> {
  if (flags.repeat !== undefined) {
    const { recordRepeatedly } = await import('./repeat.ts')
    await recordRepeatedly(pidText, { ...flags, repeat: flags.repeat })
    return
  }
  const progress = createProgress(process.stderr)
  let stop: StopSignal | undefined
  try {
    await recorded(pidText, flags, { progress, stop: () => (stop ??= stopSignal()), isLast: true })
  } finally {
    keepStatus()
    stop?.dispose()
    progress.close()
  }
}

/** @returns null if the start was cancelled @throws the error of the recording, after the profile has been written */
export async function recorded(
  pidText: string | undefined,
  flags: Flags<'record'>,
  context: RecordContext,
): Promise<Recorded | null> {
  const made = await recordOnce(pidText, flags, context)
  if (made === null) return null
  const { put, parts, problem } = made
  if (put.problem !== null) throw put.problem
  for (const line of [...parts, ...put.lines]) context.progress.note(line)
  if (problem !== null) throw problem
  return made
}
