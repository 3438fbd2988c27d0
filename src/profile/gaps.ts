// Calls that are missing, and why, by what else the profile says.

import { allWarnings, type Profile } from './profile.ts'
import { count, plural } from './text.ts'

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

const HAD_ROOM = "the trees of the JVM's threads had room for "

/**
 * Of threads of the JVM that found no room for their trees (`--mode count`, `--mode bytecodes`), and what helps.
 *
 * @param contexts  so many there is room for
 * @param code      of the error that the buffer met when it was to grow; null where it is as large as it may be
 * @param where     the directory that it is in
 */
export function treeRoomWarning(contexts: number, code: string | null, where: string): string {
  const room = `${HAD_ROOM}${count(contexts)} contexts, and calls for which there was none are missing`
  if (code === null) return `${room}: choose a root that does less, or --exclude what recurses`
  const why = code === 'ENOSPC' || code === 'EDQUOT' ? 'its file system is full' : code
  return `${room}, as the event buffer could not grow (${why}): free some space in ${where} before the next recording`
}

/** Whether a profile says that. */
function tellsTreeRoom(warnings: readonly string[]): boolean {
  return warnings.some((it) => it.includes(HAD_ROOM))
}
