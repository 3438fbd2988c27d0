// Class files as returned by a JVM that has dropped their frames.

import { type ClassFile, parseClassFile } from '../../src/classfile/class-file.ts'
import { CONSTANT_UTF8 } from '../../src/classfile/constant-pool.ts'

/**
 * @param major  new version; default: the version of the class
 * @returns the same class, with its StackMapTables renamed to an unknown attribute
 */
export function withoutFrames({ bytes, pool, major }: ClassFile, newMajor = major): ClassFile {
  const copy = Uint8Array.from(bytes)
  new DataView(copy.buffer).setUint16(6, newMajor)
  pool.offsets.forEach((offset, index) => {
    if (pool.tag(index) !== CONSTANT_UTF8 || pool.utf8(index) !== 'StackMapTable') return
    copy.set(Buffer.from('NoStackFrames'), offset + 3)
  })
  return parseClassFile(copy)
}
