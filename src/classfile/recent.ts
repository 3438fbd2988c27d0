// Cache of recently parsed class files. Several steps of a session parse the same class one after the other. Parsing a large class takes
// 20 ms, which would delay the user in each step.

import { type ClassFile, ClassFormatProblem, parseClassFile } from './class-file.ts'

/**
 * Maximum total size of the class files in the cache, bytes: twice the maximum of one batch of scheme adaptive (`MAX_METASPACE_BYTES` /
 * `METASPACE_PER_CLASS_BYTE`). The parsed structures need several times as much memory.
 */
const KEPT_BYTES = 4 << 20

/** Cached class files, least recently used first. */
const recent = new Map<Uint8Array, ClassFile>()
let kept = 0

/**
 * Like `parseClassFile`, but uses the cache. The bytes must not be modified later.
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

/** Like `recentClassFile`, for bytes sent by a JVM: null if the bytes are not a class file. */
export function readableClassFile(bytes: Uint8Array): ClassFile | null {
  try {
    return recentClassFile(bytes)
  } catch (problem) {
    if (problem instanceof ClassFormatProblem) return null
    throw problem
  }
}

/** Clears the cache. Its byte arrays may be views of larger messages, which they keep in memory. */
export function forgetRecent(): void {
  recent.clear()
  kept = 0
}
