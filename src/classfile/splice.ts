// A changed class: the old bytes with appended constant pool entries and replaced contents of some Code
// attributes. The Java agent's `Splicer` has the same function. This file is the reference for its tests, and is
// used by tests without a JVM.
//
//   old:  … | count | pool           | … | Code | length | content | …
//   new:  … | count | pool | entries | … | Code | length | content | …
//
// Everything else is copied, so a splice without changes gives the same bytes.

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
 * @param bodies       at most one for each method; each method has code
 * @throws RangeError if the bodies do not fit the class: a bug of the caller
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
