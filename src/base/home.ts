// The user's home, which not everyone has: in a container with an arbitrary user id HOME is often unset, and no user has that id.

import { homedir } from 'node:os'
import { ifVisible } from './visible.ts'

/** Null without HOME and without an entry of the user in the system's list. */
export function homeDirectory(): string | null {
  return ifVisible(homedir) || null
}
