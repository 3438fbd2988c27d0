// Stands in for classes that a jar refers to and nobody has (optional libraries), so that those classes of
// the jar link that need them. Empty, and interfaces unless the jar uses them as classes: whatever is assigned to an
// interface, the verifier lets it pass.

import { ACC_ABSTRACT, ACC_INTERFACE, ACC_PUBLIC } from '../../src/classfile/access.ts'
import type { ClassFile } from '../../src/classfile/class-file.ts'
import {
  CONSTANT_CLASS,
  CONSTANT_METHODREF,
  CONSTANT_NAME_AND_TYPE,
  CONSTANT_UTF8,
} from '../../src/classfile/constant-pool.ts'
import { u2At } from '../../src/classfile/reader.ts'
import { encodeModifiedUtf8 } from '../../src/classfile/utf8.ts'
import { Writer } from '../../src/classfile/writer.ts'
import type { NamedClass } from '../typecheck/verdicts.ts'

const ACC_SUPER = 0x0020
const VERSION = 49
/** What a class is taken to extend whose name ends so. */
const THROWN: Readonly<Record<string, string>> = {
  Exception: 'java/lang/RuntimeException',
  Error: 'java/lang/Error',
  Throwable: 'java/lang/Throwable',
}

/** A stand-in for each class that `classes` name and `known` has not. */
export function stubsFor(classes: readonly ClassFile[], known: ReadonlySet<string>): NamedClass[] {
  const missing = new Set<string>()
  const asClasses = new Set<string>()
  const refer = (name: string) => {
    // No loader but the JDK's own may define java.…
    if (!known.has(name) && !name.startsWith('java/')) missing.add(name)
  }
  for (const { pool, superName, methods } of classes) {
    if (superName !== null) asClasses.add(superName)
    for (const { descriptor } of methods) for (const name of classesOf(descriptor)) refer(name)
    for (let index = 1; index < pool.count; index++) {
      const tag = pool.tag(index)
      if (tag === CONSTANT_CLASS) {
        const name = pool.className(index)
        for (const it of name.startsWith('[') ? classesOf(name) : [name]) refer(it)
      } else if (tag === CONSTANT_NAME_AND_TYPE) {
        for (const name of classesOf(pool.nameAndType(index).descriptor)) refer(name)
      } else if (tag === CONSTANT_METHODREF) {
        asClasses.add(pool.className(u2At(pool.bytes, pool.offsets[index] + 1)))
      }
    }
  }
  return [...missing].map((name) => ({ name, bytes: stub(name, asClasses.has(name)) }))
}

function classesOf(descriptor: string): string[] {
  return [...descriptor.matchAll(/L([^;]+);/g)].map(([, name]) => name)
}

function stub(name: string, asClass: boolean): Uint8Array {
  const thrown = /(Exception|Error|Throwable)$/.exec(name)?.[1]
  const out = new Writer()
  out.u4(0xcafebabe)
  out.u4(VERSION)
  out.u2(5) // constants: two names, two classes
  for (const [i, text] of [name, thrown === undefined ? 'java/lang/Object' : THROWN[thrown]].entries()) {
    const bytes = encodeModifiedUtf8(text)
    out.u1(CONSTANT_UTF8)
    out.u2(bytes.length)
    out.copy(bytes)
    out.u1(CONSTANT_CLASS)
    out.u2(2 * i + 1)
  }
  out.u2(ACC_PUBLIC | (asClass || thrown !== undefined ? ACC_SUPER : ACC_INTERFACE | ACC_ABSTRACT))
  for (const value of [2, 4, 0, 0, 0, 0]) out.u2(value) // this, super; no interfaces, fields, methods, attributes
  return out.finish()
}
