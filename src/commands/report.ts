// jfluid report: what a recorded profile says, on a page or as JSON.

import { readProfile } from '../profile/file.ts'
import { reportJsonPieces, reportPieces, terminalOptions } from '../profile/report.ts'
import { writePieces } from '../profile/write.ts'

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
