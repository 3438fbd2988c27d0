// jfluid report and jfluid export: what a recorded profile says, for people and for other tools.

import { createWriteStream } from 'node:fs'
import { finished } from 'node:stream/promises'
import { EX_CANTCREAT, EX_USAGE, JfluidError } from '../base/errors.ts'
import { exportProfile as exportTo, formatNamed } from '../export/formats.ts'
import { readProfile } from '../profile/file.ts'
import { reportJsonPieces, reportPieces, terminalOptions } from '../profile/report.ts'
import { writePieces } from '../profile/write.ts'

/** The export could not be written where it should be. */
export class CannotWriteExport extends JfluidError {
  readonly exitCode = EX_CANTCREAT
  readonly hint = 'Choose a place that you can write to and that has room: --out <file>'
  constructor(path: string, reason: string) {
    super(`cannot write ${path}: ${reason}`)
  }
}

/** A profile of regions, for a format of trees. */
export class NoTreeInProfile extends JfluidError {
  readonly exitCode = EX_USAGE
  readonly hint: string
  constructor(path: string, format: string) {
    super(`${path} holds the times of regions and no tree: there is nothing to write as ${format}`)
    this.hint = `Read it with jfluid report ${path}, or take --format json.`
  }
}

export async function report(
  file: string,
  flags: { readonly top: number; readonly json?: boolean },
): Promise<void> {
  const profile = await readProfile(file)
  const pieces =
    flags.json === true
      ? reportJsonPieces(profile, { top: flags.top })
      : reportPieces(profile, { ...terminalOptions(process.stdout), top: flags.top })
  await writePieces(process.stdout, pieces)
}

export async function exportProfile(
  file: string,
  flags: { readonly format: string; readonly out?: string },
): Promise<void> {
  const format = formatNamed(flags.format)
  const profile = await readProfile(file)
  if (profile.regions !== undefined && format.name !== 'json') throw new NoTreeInProfile(file, format.name)
  if (flags.out === undefined) {
    await exportTo(profile, format, process.stdout)
    return
  }
  const out = createWriteStream(flags.out, { mode: 0o600 })
  try {
    await exportTo(profile, format, out)
    out.end()
    await finished(out)
  } catch (error) {
    throw new CannotWriteExport(flags.out, error instanceof Error ? error.message : String(error))
  }
}
