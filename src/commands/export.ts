// jfluid export: a recorded profile for other tools.

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
import type { Profile } from '../profile/profile.ts'
import { createProgress } from '../tui/progress.ts'
import { readWithProgress } from './read.ts'
import { say } from './say.ts'
import { signalStatus, stopSignal } from './signals.ts'

/** Until then, nobody wonders. */
const QUIET_MS = 1000
/** Between two lines of progress. */
const STEP_MS = 200
/** Contexts from which on they are told of at once: some formats have nothing to write before they have seen all. */
const MANY = 100_000

export async function exportCommand(file: string, flags: Flags<'export'>): Promise<void> {
  const { out } = flags
  const format = flags.format === undefined ? formatOfFile(out) : formatNamed(flags.format)
  if (out === undefined && format.isBinary && process.stdout.isTTY) {
    throw new BinaryOnTerminal(format.name, format.extension)
  }
  const profile = await readWithProgress(file)
  if (profile.regions !== undefined && !format.saysRegions) throw new NoTreeInProfile(file, format.name)
  if (format.needsTrace && !profile.trace?.calls.length) throw new NoTraceInProfile(file, format.name)
  const options = { threads: flags.threads === true }
  const { count } = profile.merged
  const what = `writing ${out ?? format.name}`
  const progress = createProgress(process.stderr)
  let next = performance.now() + QUIET_MS
  const tell = (bytes: number): void => {
    const now = performance.now()
    if (now < next) return
    next = now + STEP_MS
    progress.update(`${what}: ${(bytes / 1e6).toFixed(0)} MB`)
  }
  // A pager or another program may have the same terminal.
  const isFile = out !== undefined || fstatSync(process.stdout.fd).isFile()
  if (isFile && count >= MANY) progress.update(`${what}: ${count} contexts`)
  try {
    if (out === undefined)
      await exportProfile(profile, format, process.stdout, options, isFile ? tell : undefined)
    else await exportUnlessStopped(profile, format, out, options, tell, () => progress.close())
  } finally {
    progress.close()
  }
}

/** A signal has asked for it: what was written so far is taken back. */
class Stopped extends Error {}

/**
 * Where a signal asks to stop, the file is as it was, which is said, and the exit status is that of the signal.
 *
 * @param tell  told how many bytes there are
 * @param quiet  called before something is said
 * @returns whether it has been written
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
    say(`jfluid: stopped, ${path} is as it was`)
    process.exitCode = signalStatus(stop.signal)
    return false
  } finally {
    stop.dispose()
  }
}
