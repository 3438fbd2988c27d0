// Threads of the JVM that found no room for their trees (`--mode count`, `--mode bytecodes`), and what helps.

import { count } from './text.ts'

const HAD_ROOM = "the trees of the JVM's threads had room for "

/**
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
export function tellsTreeRoom(warnings: readonly string[]): boolean {
  return warnings.some((it) => it.includes(HAD_ROOM))
}
