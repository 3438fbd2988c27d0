// Missing calls and the reasons, derived from other facts of the profile.

import { allWarnings, type Profile } from './profile.ts'
import { count, plural } from './text.ts'

/** Describes calls that ran before a reply or free room was available, with the reasons. */
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

const HAD_ROOM = "the trees of the JVM's threads had room for "

/**
 * Warns of threads without room for their trees (`--mode count`, `--mode bytecodes`), and suggests a remedy.
 * @param contexts  number of contexts that fit
 * @param code      error code when the buffer could not grow; null if it has its maximum size
 * @param where     directory of the buffer
 */
export function treeRoomWarning(contexts: number, code: string | null, where: string): string {
  const room = `${HAD_ROOM}${count(contexts)} contexts, and calls for which there was none are missing`
  if (code === null) return `${room}: choose a root that does less, or --exclude what recurses`
  const why = code === 'ENOSPC' || code === 'EDQUOT' ? 'its file system is full' : code
  return `${room}, as the event buffer could not grow (${why}): free some space in ${where} before the next recording`
}

/** Returns whether a profile has that warning. */
function tellsTreeRoom(warnings: readonly string[]): boolean {
  return warnings.some((it) => it.includes(HAD_ROOM))
}
