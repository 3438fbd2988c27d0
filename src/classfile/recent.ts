// Class files that were read a moment ago: what is revealed, chosen and rewritten reads a class at each of these steps, and a
// large one takes 20 ms a time, for which a user waits.

import { type ClassFile, parseClassFile } from './class-file.ts'

/** Of class files, together: those of the methods that one redefinition of scheme adaptive takes, and more. */
const KEPT_BYTES = 4 << 20

/** Oldest use first. */
const recent = new Map<Uint8Array, ClassFile>()
let kept = 0

/**
 * As `parseClassFile`, for bytes that nothing changes.
 *
 * @throws ClassFormatProblem
 */
export function recentClassFile(bytes: Uint8Array): ClassFile {
  const known = recent.get(bytes)
  if (known !== undefined) {
    recent.delete(bytes)
    recent.set(bytes, known)
    return known
  }
  const fresh = parseClassFile(bytes)
  recent.set(bytes, fresh)
  kept += bytes.length
  for (const [oldest] of recent) {
    if (kept <= KEPT_BYTES) break
    recent.delete(oldest)
    kept -= oldest.length
  }
  return fresh
}
