// Calls that are missing, and why, by what else the profile says.

import { allWarnings, type Profile } from './profile.ts'
import { plural } from './text.ts'
import { tellsTreeRoom } from './tree-room.ts'

/** Calls that went on before there was an answer or room, and why. */
export function gapsText(profile: Profile, between = ': '): string {
  const { instrumentation, scheme } = profile
  const { gaps } = instrumentation
  const why = tellsTreeRoom(allWarnings(profile))
    ? 'calls for which there was no room in the event buffer, and perhaps methods that ran before they were instrumented'
    : scheme === 'adaptive'
      ? 'calls of roots for which there was no room in the event buffer, or classes that another agent had changed'
      : 'methods that ran before they were instrumented'
  return `${plural(gaps, 'gap')}${between}${why}`
}
