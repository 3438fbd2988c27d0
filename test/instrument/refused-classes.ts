// Manually created class files in which no probe can be inserted.

import type { ClassFile } from '../../src/classfile/class-file.ts'
import { parseCode } from '../../src/classfile/code.ts'
import { spliceClass } from '../../src/classfile/splice.ts'
import { assemble } from './assembler.ts'

/** Returns a class with line numbers and with a frame at bci 5. */
export const half = (more = '', major = 61): ClassFile =>
  assemble({
    method: 'half(I)I',
    code: `iload_0 | ifle a | nop | a: ${more} iconst_0 | ireturn`,
    major,
    attributes: { LineNumberTable: [0, 1, 0, 0, 0, 7], StackMapTable: [0, 1, 5] },
  })

/** Returns the class with Integer constants added until its pool has this number of entries. */
export function withEntries(classFile: ClassFile, count: number): Uint8Array {
  const filler = count - classFile.pool.count
  const bytes = new Uint8Array(5 * filler)
  for (let i = 0; i < filler; i++) bytes[5 * i] = 3
  return spliceClass(classFile, filler, bytes, [])
}

/** Returns copies of a class, each with a wrong length of one attribute of the method or its code. */
export function lies(): { what: string; bytes: Uint8Array }[] {
  const classFile = half()
  const [method] = classFile.methods
  return [method.code!, ...parseCode(classFile, method).attributes].flatMap(({ name, offset, length }) =>
    [0, length - 1, length + 1, 0x7fffffff, 0xffffffff].map((lie) => {
      const bytes = Uint8Array.from(classFile.bytes)
      new DataView(bytes.buffer).setUint32(offset - 4, lie)
      return { what: `${name} of ${length} bytes says ${lie}`, bytes }
    }),
  )
}
