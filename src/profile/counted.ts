// Calls that a budget for the overhead had only counted (cct/folds.ts), where nothing tells them from those that were timed.

import { withCountedCalls } from '../cct/folds.ts'
import type { Profile } from './profile.ts'

/** The profile with all calls that are known exactly among its calls. */
export function countedAsCalls(profile: Profile): Profile {
  return {
    ...profile,
    merged: withCountedCalls(profile.merged),
    threads: profile.threads.map((thread) => ({ ...thread, tree: withCountedCalls(thread.tree) })),
  }
}
