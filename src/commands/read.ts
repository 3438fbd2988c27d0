// Reading a profile for a command: a large one says how far it is.

import { readProfile } from '../profile/file.ts'
import type { Profile } from '../profile/profile.ts'
import { createProgress } from '../tui/progress.ts'

/** Until then, nobody wonders. */
const QUIET_MS = 500

/** @throws what `readProfile` throws */
export async function readWithProgress(file: string): Promise<Profile> {
  const progress = createProgress(process.stderr)
  const begun = performance.now()
  try {
    return await readProfile(file, (part) => {
      if (performance.now() - begun < QUIET_MS) return
      progress.update(`reading ${file}: ${Math.round(part * 100)} %`)
    })
  } finally {
    progress.close()
  }
}
