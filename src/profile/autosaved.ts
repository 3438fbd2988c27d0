// Finds the autosave file beside a profile. A recording that did not end normally leaves an autosave file.

import { existsSync } from 'node:fs'

/** Suffix of an autosave file, for example "p.jfluid.autosave". */
export const AUTOSAVE_ENDING = '.autosave'

/** Returns the path of an autosaved profile beside `path`; undefined if there is none. */
export function autosavedBeside(path: string): string | undefined {
  const autosaved = `${path}${AUTOSAVE_ENDING}`
  return existsSync(autosaved) ? autosaved : undefined
}
