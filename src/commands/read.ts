// Reads a profile for a command, with a progress message for a large file.

import { readProfile } from '../profile/file.ts'
import type { Profile } from '../profile/profile.ts'
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
