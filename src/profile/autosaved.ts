// Files beside a profile that a recording has left which did not end as it should.

import { existsSync } from 'node:fs'

/** "p.jfluid.autosave" */
export const AUTOSAVE_ENDING = '.autosave'

/** Where the profile of such a recording is; undefined if there is none. */
export function autosavedBeside(path: string): string | undefined {
  const autosaved = `${path}${AUTOSAVE_ENDING}`
  return existsSync(autosaved) ? autosaved : undefined
}
