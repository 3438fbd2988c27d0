// A class file that is parsed and written again is identical, and its frames have the same meaning.

import assert from 'node:assert/strict'
import type { ClassFile } from '../../src/classfile/class-file.ts'
import { parseCode } from '../../src/classfile/code.ts'
import { spliceClass } from '../../src/classfile/splice.ts'
import { decodeStackMap, encodeStackMap, initialLocals } from '../../src/classfile/stack-map.ts'

const NOTHING = new Uint8Array(0)

export function assertRoundTrip(classFile: ClassFile): void {
  const { bytes, name } = classFile
  assert.equal(Buffer.compare(spliceClass(classFile, 0, NOTHING, []), bytes), 0, name)
  for (const method of classFile.methods) {
    if (method.code === undefined) continue
    const code = parseCode(classFile, method)
    const attribute = code.attributes.find((it) => it.name === 'StackMapTable')
    if (attribute === undefined) continue
    const frames = decodeStackMap(classFile, method, code)
    const encoded = encodeStackMap(frames, initialLocals(classFile, method))
    const original = bytes.subarray(attribute.offset, attribute.offset + attribute.length)
    if (Buffer.compare(encoded, original) === 0) continue
    // Another compiler may encode the frames differently, but not shorter.
    assert.ok(encoded.length <= original.length, `${name}.${method.name}`)
  }
}
