// Class files as a JVM shows them that has dropped their frames.

import { type ClassFile, parseClassFile } from '../../src/classfile/class-file.ts'
import { CONSTANT_UTF8 } from '../../src/classfile/constant-pool.ts'

/**
 * @param major  version to give it, its own unless given
 * @returns the same class, its StackMapTables under a name that says nothing to anybody
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
