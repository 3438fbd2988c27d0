// The user's home directory. It may be unknown: in a container with an arbitrary user id, HOME is often unset, and the user id has no entry
// in /etc/passwd.

import { homedir } from 'node:os'
import { ifVisible } from './visible.ts'

/** Returns the home directory; null if HOME is unset and the system's user list has no entry for the user. */
export function homeDirectory(): string | null {
  return ifVisible(homedir) || null
}
