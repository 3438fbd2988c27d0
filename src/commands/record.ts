// jfluid record: attaches without a screen, records for a given time or until a signal, and writes the profile.

import type { Flags } from '../options/table.ts'
import { createProgress } from '../tui/progress.ts'
import { Destination } from './destination.ts'
import { callsOf, recordStarted } from './record-once.ts'
import { type SampledInstead, sampledInstead } from './samples-instead.ts'
import { keepStatus, type StopSignal, stopSignal } from './signals.ts'
import type { RecordedSource, Way } from './source.ts'
import { wayOf } from './ways.ts'

export async function record(pidText: string | undefined, flags: Flags<'record'>): Promise<void> {
  if (flags.repeat !== undefined) {
    const { recordRepeatedly } = await import('./repeat.ts')
    await recordRepeatedly(pidText, { ...flags, repeat: flags.repeat })
    return
  }
  const way = await wayOf('record', pidText, flags, () => callsOf(pidText, flags))
  const instead = await recordBy(way, flags)
  if (instead !== null) await recordBy(instead.way, instead.flags)
}

/** @returns the sampling to run instead; null if the recording is finished */
async function recordBy(way: Way, flags: Flags<'record'>): Promise<SampledInstead<Flags<'record'>> | null> {
  const push = Destination.check(flags)
  const progress = createProgress(process.stderr)
  const tell = (line: string): void => progress.note(line)
  let to: Destination | undefined
  let stop: StopSignal | undefined
  const listen = (): StopSignal => (stop ??= stopSignal())
  let source: RecordedSource | null = null
  let instead: SampledInstead<Flags<'record'>> | null = null
  try {
    const found = async (number: number): Promise<void> => {
      to = await Destination.of(flags, push, number, tell)
      listen()
    }
    source = await way({
      progress,
      isShown: false,
      tell,
      untold: () => [],
      found,
      stop: listen,
    })
    if (source !== null && to !== undefined) {
      const { put, parts, problem } = await recordStarted(source, flags.duration, to, listen(), progress)
      if (put.problem !== null) throw put.problem
      for (const line of [...parts, ...put.lines]) progress.note(line)
      if (problem !== null) throw problem
    }
  } catch (problem) {
    instead = await sampledInstead(problem, flags)
    if (instead === null) throw problem
  } finally {
    await source?.leave?.()
    if (instead === null) keepStatus()
    stop?.dispose()
    progress.close()
  }
  return instead
}
