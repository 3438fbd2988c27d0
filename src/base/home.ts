// The user's home directory. It may be unknown: in a container with an arbitrary user id, HOME is often unset and the id has no passwd
// entry.

import { homedir } from 'node:os'
import { ifVisible } from './visible.ts'

/** Returns null if HOME is unset and the system's user list has no entry. */
export function homeDirectory(): string | null {
  return ifVisible(homedir) || null
}
