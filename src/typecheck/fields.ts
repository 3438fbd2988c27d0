// The fields a class declares, which `parseClassFile` passes over: a constructor may store into them
// before it calls super().

import type { ClassFile } from '../classfile/class-file.ts'
import { Reader } from '../classfile/reader.ts'

/** Access flags of each field by `name:descriptor`. */
export function declaredFields({ bytes, pool }: ClassFile): ReadonlyMap<string, number> {
  const fields = new Map<string, number>()
  const reader = new Reader(bytes, pool.end)
  reader.skip(6) // access, this, super
  reader.skip(2 * reader.u2()) // interfaces
  for (let left = reader.u2(); left > 0; left--) {
    const access = reader.u2()
    fields.set(`${pool.utf8(reader.u2())}:${pool.utf8(reader.u2())}`, access)
    for (let more = reader.u2(); more > 0; more--) {
      reader.skip(2)
      reader.skip(reader.u4())
    }
  }
  return fields
}
