// Creates the bytes of a changed class: the old bytes with appended constant pool entries and replaced contents of some Code
// attributes. `Splicer` in the Java agent does the same, and its tests compare it with this file. Tests without a JVM also
// use this file.
//
//   old:  … | count | pool           | … | Code | length | content | …
//   new:  … | count | pool | entries | … | Code | length | content | …
//
// All other bytes are copied, so without new entries and bodies the result equals the old bytes.

import type { ClassFile } from './class-file.ts'
import { MAX_POOL_COUNT } from './constant-pool.ts'
import { Writer } from './writer.ts'

const POOL_COUNT_OFFSET = 8

export interface SplicedBody {
  readonly methodIndex: number
  /** New content of the Code attribute, from max_stack on. */
  readonly code: Uint8Array
}

/**
 * @param poolEntries  number of slots of `poolBytes`
 * @param poolBytes    raw constant-pool entries
 * @param bodies       new bodies, at most one per method; a method without code has none
 * @throws RangeError if the bodies or the pool entries do not fit the class, which is a bug of the caller
 */
export function spliceClass(
  classFile: ClassFile,
  poolEntries: number,
  poolBytes: Uint8Array,
  bodies: readonly SplicedBody[],
): Uint8Array {
  const { bytes, pool, methods } = classFile
  if (pool.count + poolEntries > MAX_POOL_COUNT) {
    throw new RangeError(`no room for ${poolEntries} constants after ${pool.count}`)
  }
  const writer = new Writer(bytes.length + poolBytes.length + 1024)
  writer.copy(bytes, 0, POOL_COUNT_OFFSET)
  writer.u2(pool.count + poolEntries)
  writer.copy(bytes, POOL_COUNT_OFFSET + 2, pool.end)
  writer.copy(poolBytes)
  let copied = pool.end
  for (const body of [...bodies].sort((a, b) => a.methodIndex - b.methodIndex)) {
    const old = methods[body.methodIndex]?.code
    if (old === undefined) throw new RangeError(`method ${body.methodIndex} has no code to replace`)
    if (old.offset < copied) throw new RangeError(`two bodies for method ${body.methodIndex}`)
    writer.copy(bytes, copied, old.offset - 4)
    writer.u4(body.code.length)
    writer.copy(body.code)
    copied = old.offset + old.length
  }
  writer.copy(bytes, copied)
  return writer.finish()
}
