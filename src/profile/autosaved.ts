// Autosave files of recordings that did not end normally, beside the profile.

import { existsSync } from 'node:fs'

/** "p.jfluid.autosave" */
export const AUTOSAVE_ENDING = '.autosave'

/** Returns the path of an autosaved profile beside `path`; undefined if there is none. */
export function autosavedBeside(path: string): string | undefined {
  const autosaved = `${path}${AUTOSAVE_ENDING}`
  return existsSync(autosaved) ? autosaved : undefined
}
