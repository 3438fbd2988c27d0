// Reads a profile for a command, with a progress message for a large file.

import { readProfile } from '../profile/file.ts'
import type { Profile } from '../profile/profile.ts'
import { ofRange } from '../profile/range.ts'
import { redacted } from '../profile/values.ts'
import { createProgress } from '../tui/progress.ts'

/** Time before the first progress message. */
const FIRST_PROGRESS_DELAY_MS = 500

/** @throws errors of `readProfile` */
export async function readWithProgress(file: string): Promise<Profile> {
  const progress = createProgress(process.stderr)
  const begun = performance.now()
  try {
    return await readProfile(file, (part) => {
      if (performance.now() - begun < FIRST_PROGRESS_DELAY_MS) return
      progress.update(`reading ${file}: ${Math.round(part * 100)} %`)
    })
  } finally {
    progress.close()
  }
}

/** Options that select a part of the data. */
export interface PartFlags {
  /** Time range. */
  readonly from?: number | undefined
  readonly to?: number | undefined
  /** Whether values of root calls are left out. */
  readonly redact?: boolean | undefined
}

/** Reads a profile, or the part of it that the options select. @throws errors of `readProfile` and `ofRange` */
export async function readPart(file: string, { from, to, redact }: PartFlags): Promise<Profile> {
  const profile = ofRange(await readWithProgress(file), { fromMs: from, toMs: to }, file)
  return redact === true ? redacted(profile) : profile
}
