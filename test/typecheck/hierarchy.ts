// The class hierarchy of a set of class files, in the form that HotSpot's verifier uses.

import { ACC_INTERFACE, ACC_PROTECTED } from '../../src/classfile/access.ts'
import type { ClassFile } from '../../src/classfile/class-file.ts'
import type { Hierarchy } from '../../src/typecheck/check.ts'
import { declaredFields } from '../../src/typecheck/members.ts'

export function hierarchyOf(classes: Iterable<ClassFile>): Hierarchy {
  const byName = new Map<string, ClassFile>()
  for (const classFile of classes) byName.set(classFile.name, classFile)

  /** Yields the class and its superclasses. The last element is undefined if a superclass is missing. */
  function* line(name: string): Iterable<ClassFile | undefined> {
    for (let next: string | null = name; next !== null; ) {
      const classFile = byName.get(next)
      yield classFile
      next = classFile?.superName ?? null
    }
  }

  return {
    isAssignable(from, to) {
      const wanted = byName.get(to)
      if (wanted === undefined) return undefined
      if (wanted.access & ACC_INTERFACE) return true
      for (const above of line(from)) {
        if (above === undefined) return undefined
        if (above === wanted) return true
      }
      return false
    },
    isProtected(by, owner, name, descriptor, member) {
      let inherits = false
      for (const above of line(by)) {
        if (above === undefined) return undefined
        if (above.name === owner && owner !== by) inherits = true
      }
      if (!inherits) return false
      for (const above of line(owner)) {
        if (above === undefined) return undefined
        const access =
          member === 'field'
            ? declaredFields(above).get(`${name}:${descriptor}`)
            : above.methods.find((it) => it.name === name && it.descriptor === descriptor)?.access
        if (access !== undefined) {
          return (access & ACC_PROTECTED) !== 0 && packageOf(above.name) !== packageOf(by)
        }
      }
      return false
    },
  }
}

function packageOf(name: string): string {
  return name.slice(0, Math.max(name.lastIndexOf('/'), 0))
}
