// Replacements for missing classes (optional libraries) to which a jar refers, so that its classes can be linked. They are empty, and they
// are interfaces unless the jar uses them as classes: the verifier accepts any value as an interface.

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
/** Superclass of a replacement, keyed by the end of its name. */
const THROWN: Readonly<Record<string, string>> = {
  Exception: 'java/lang/RuntimeException',
  Error: 'java/lang/Error',
  Throwable: 'java/lang/Throwable',
}

/** Returns a replacement for each class that is named in `classes` and missing in `known`. */
export function stubsFor(classes: readonly ClassFile[], known: ReadonlySet<string>): NamedClass[] {
  const missing = new Set<string>()
  const asClasses = new Set<string>()
  const refer = (name: string) => {
    // Only the JDK's own loaders may define classes in java.….
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
