// Describes missing calls and the reasons, derived from other facts of the profile.

import { allWarnings, type Profile } from './profile.ts'
import { count, plural } from './text.ts'

/** Returns the number of gaps and the reasons why calls are missing. */
export function gapsText(profile: Profile, between = ': '): string {
  const { instrumentation, scheme } = profile
  const { gaps } = instrumentation
  const why = tellsTreeRoom(allWarnings(profile))
    ? 'calls are missing for lack of space in the event buffer, and perhaps calls of methods that ran before they were instrumented'
    : scheme === 'adaptive'
      ? 'calls of roots are missing, for lack of space in the event buffer or because another agent changed a class'
      : 'calls are missing of methods that ran before they were instrumented'
  return `${plural(gaps, 'gap')}${between}${why}`
}

const LIMITED = "the trees of the JVM's threads are limited to "
/** Start of the same warning in profiles of earlier builds. */
const FORMER_LIMITED = "the trees of the JVM's threads had room for "

/**
 * Warns of threads without room for their trees (`--mode count`, `--mode bytecodes`), and suggests a remedy.
 * @param contexts  number of contexts that fit in the trees
 * @param code      error code if the event buffer could not grow; null if the buffer has its maximum size
 * @param where     directory of the event buffer
 */
export function treeRoomWarning(contexts: number, code: string | null, where: string): string {
  const room = `${LIMITED}${count(contexts)} contexts, and further calls are missing`
  if (code === null) return `${room}: choose a root that calls less, or --exclude recursive methods`
  const why = code === 'ENOSPC' || code === 'EDQUOT' ? 'its file system is full' : code
  return `${room}, because the event buffer could not grow (${why}): free some space in ${where} before the next recording`
}

/** Returns whether the warnings contain a `treeRoomWarning`. */
function tellsTreeRoom(warnings: readonly string[]): boolean {
  return warnings.some((it) => it.includes(LIMITED) || it.includes(FORMER_LIMITED))
}
