// Class files that were parsed a moment ago. Revealing, choosing and rewriting parse the same class one after the other, and a large one
// takes 20 ms each time, for which a user waits.

import { type ClassFile, ClassFormatProblem, parseClassFile } from './class-file.ts'

/**
 * Bytes of class files whose structure is kept, together: twice what one batch of scheme adaptive may take (`MAX_METASPACE_BYTES` /
 * `METASPACE_PER_CLASS_BYTE`). The structure takes several times as much.
 */
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
  if (bytes.length > KEPT_BYTES) return fresh
  recent.set(bytes, fresh)
  kept += bytes.length
  for (const [oldest] of recent) {
    if (kept <= KEPT_BYTES) break
    recent.delete(oldest)
    kept -= oldest.length
  }
  return fresh
}

/** The same of bytes that a JVM has sent: null if they are no class file. */
export function readableClassFile(bytes: Uint8Array): ClassFile | null {
  try {
    return recentClassFile(bytes)
  } catch (problem) {
    if (problem instanceof ClassFormatProblem) return null
    throw problem
  }
}

/** Lets go of them: bytes may be part of a larger message. */
export function forgetRecent(): void {
  recent.clear()
  kept = 0
}
