// jfluid export: converts a recorded profile for other tools.

import { fstatSync } from 'node:fs'
import { BinaryOnTerminal, NoTraceInProfile, NoTreeInProfile } from '../export/errors.ts'
import type { ExportOptions } from '../export/format.ts'
import {
  type ExportFormat,
  exportProfile,
  exportToFile,
  formatNamed,
  formatOfFile,
} from '../export/formats.ts'
import type { Flags } from '../options/table.ts'
import { mustHaveData } from '../profile/empty.ts'
import type { Profile } from '../profile/profile.ts'
import { NotOfRange } from '../profile/range.ts'
import { createProgress } from '../tui/progress.ts'
import { readPart } from './read.ts'
import { say } from './say.ts'
import { signalStatus, stopSignal } from './signals.ts'

/** Time before the first progress message. */
const FIRST_PROGRESS_DELAY_MS = 1000
/** Interval between two progress messages. */
const PROGRESS_INTERVAL_MS = 200
/**
 * Minimum number of contexts for an immediate progress message. Some formats write nothing before they have read all contexts.
 */
const MANY_CONTEXTS = 100_000

export async function exportCommand(file: string, flags: Flags<'export'>): Promise<void> {
  const { out } = flags
  const format = flags.format === undefined ? formatOfFile(out) : formatNamed(flags.format)
  if (out === undefined && format.isBinary && process.stdout.isTTY) {
    throw new BinaryOnTerminal(format.name, format.extension)
  }
  const profile = await readPart(file, flags)
  if (profile.regions !== undefined && !format.saysRegions) throw new NoTreeInProfile(file, format.name)
  if (format.needsTrace && profile.range !== undefined)
    throw new NotOfRange(`--format ${format.name}`, 'traced calls are')
  if (format.needsTrace && !profile.trace?.calls.length) throw new NoTraceInProfile(file, format.name)
  mustHaveData('export', file, profile)
  const options = { threads: flags.threads === true }
  const { count } = profile.merged
  const what = `writing ${out ?? format.name}`
  const progress = createProgress(process.stderr)
  let next = performance.now() + FIRST_PROGRESS_DELAY_MS
  const tell = (bytes: number): void => {
    const now = performance.now()
    if (now < next) return
    next = now + PROGRESS_INTERVAL_MS
    progress.update(`${what}: ${(bytes / 1e6).toFixed(0)} MB`)
  }
  // If stdout is not a file, a pager or another program may use the same terminal.
  const isFile = out !== undefined || fstatSync(process.stdout.fd).isFile()
  if (isFile && count >= MANY_CONTEXTS) progress.update(`${what}: ${count} contexts`)
  try {
    if (out === undefined)
      await exportProfile(profile, format, process.stdout, options, isFile ? tell : undefined)
    else await exportUnlessStopped(profile, format, out, options, tell, () => progress.close())
  } finally {
    progress.close()
  }
}

/** A signal has stopped the export. The partial output is discarded. */
class Stopped extends Error {}

/**
 * Exports to a file. After a signal, the previous file is kept, a message is printed, and the exit status is 128 + the signal's number.
 *
 * @param tell   receives the number of bytes written so far
 * @param quiet  called before a message is printed
 * @returns whether the file has been written
 */
export async function exportUnlessStopped(
  profile: Profile,
  format: ExportFormat,
  path: string,
  options: ExportOptions,
  tell: (bytes: number) => void = () => {},
  quiet: () => void = () => {},
): Promise<boolean> {
  const stop = stopSignal()
  try {
    await exportToFile(profile, format, path, options, (bytes) => {
      if (stop.signal !== null) throw new Stopped()
      tell(bytes)
    })
    return true
  } catch (error) {
    if (!(error instanceof Stopped) || stop.signal === null) throw error
    quiet()
    say(`jfluid: stopped, ${path} is unchanged`)
    process.exitCode = signalStatus(stop.signal)
    return false
  } finally {
    stop.dispose()
  }
}
