// jfluid record: attaches without a screen, records for a given time or until a signal, and writes the profile.

import type { Flags } from '../options/table.ts'
import { createProgress } from '../tui/progress.ts'
import { Destination } from './destination.ts'
import { callsOf, type Recorded, recordStarted } from './record-once.ts'
import { sampledInstead } from './samples-instead.ts'
import { keepStatus, type StopSignal, stopSignal } from './signals.ts'
import type { RecordedSource, StartContext, Way } from './source.ts'
import { wayOf } from './ways.ts'

/** Receiver of the messages of a recording, and origin of the signal that ends it. */
export type RecordContext = Pick<StartContext, 'progress' | 'stop'>

export async function record(pidText: string | undefined, flags: Flags<'record'>): Promise<void> {
  if (flags.repeat !== undefined) {
    const { recordRepeatedly } = await import('./repeat.ts')
    await recordRepeatedly(pidText, { ...flags, repeat: flags.repeat })
    return
  }
  const progress = createProgress(process.stderr)
  let stop: StopSignal | undefined
  try {
    await recorded(pidText, flags, { progress, stop: () => (stop ??= stopSignal()) })
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
  const way = await wayOf('record', pidText, flags, () => callsOf(pidText, flags))
  try {
    return await recordBy(way, flags, context)
  } catch (problem) {
    const instead = await sampledInstead(problem, flags)
    if (instead === null) throw problem
    return await recordBy(instead.way, instead.flags, context)
  }
}

/** @returns null if the start was cancelled */
async function recordBy(
  way: Way,
  flags: Flags<'record'>,
  { progress, stop }: RecordContext,
): Promise<Recorded | null> {
  const push = Destination.check(flags)
  const tell = (line: string): void => progress.note(line)
  let to: Destination | undefined
  let source: RecordedSource | null = null
  try {
    const found = async (number: number): Promise<void> => {
      to = await Destination.of(flags, push, number, tell)
      stop()
    }
    source = await way({ progress, isShown: false, tell, untold: () => [], found, stop })
    if (source === null || to === undefined) return null
    const made = await recordStarted(source, flags.duration, to, stop(), progress)
    const { put, parts, problem } = made
    if (put.problem !== null) throw put.problem
    for (const line of [...parts, ...put.lines]) progress.note(line)
    if (problem !== null) throw problem
    return made
  } finally {
    await source?.leave?.()
  }
}
