// The directory of downloaded and compiled files, outside the repository.

import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'

/** Returns `$XDG_CACHE_HOME/jfluid` or `~/.cache/jfluid`. */
export function cacheDirectory() {
  return join(process.env.XDG_CACHE_HOME || join(home() ?? tmpdir(), '.cache'), 'jfluid')
}

/** Returns the home directory; null for a user without HOME and without an entry in passwd. */
function home() {
  try {
    return homedir()
  } catch {
    return null
  }
}
