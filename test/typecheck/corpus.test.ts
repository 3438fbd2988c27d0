// Every method of the runtime image passes the type checker, with and without our probes, and the
// probes need nothing of other classes that the method did not need before. JFLUID_FULL=1 takes all modules.

import assert from 'node:assert/strict'
import { beforeAll, it } from 'vitest'
import { type ClassFile, MAJOR_6, parseClassFile } from '../../src/classfile/class-file.ts'
import { type Hierarchy, KNOWS_NOTHING, type TypeCheck, TypeChecker } from '../../src/typecheck/check.ts'
import { compileTools, imageClasses, instrumentAll } from '../instrument/jvm.ts'
import { forEachJdk } from '../support/jdks.ts'
import { hierarchyOf } from './hierarchy.ts'

const FULL = process.env.JFLUID_FULL === '1'

forEachJdk((jdk) => {
  let classes: ClassFile[]
  let hierarchy: Hierarchy
  beforeAll(async () => {
    const image = await imageClasses(jdk, await compileTools(jdk), FULL ? ['ALL'] : ['java.base'])
    classes = image.map(({ bytes }) => parseClassFile(bytes))
    hierarchy = hierarchyOf(classes)
  }, 120_000)

  it('every class file of the image is of a version that has frames', () => {
    assert.deepEqual(
      classes.filter(({ major }) => major < MAJOR_6).map(({ name }) => name),
      [],
    )
  })

  it('every method passes, nothing assumed', () => {
    let methods = 0
    const started = performance.now()
    for (const classFile of classes) {
      for (const result of checkAll(classFile, hierarchy)) {
        methods++
        assert.deepEqual([...result.assumptions], [], classFile.name)
      }
    }
    const rate = Math.round((1000 * methods) / (performance.now() - started))
    console.info(`JDK ${jdk.version}: ${methods} methods, ${rate} methods/s`)
    assert.ok(methods > 40_000)
  }, 120_000)

  it('every method passes with probes and needs no more of other classes than before', () => {
    let milliseconds = 0
    let methods = 0
    for (const classFile of classes) {
      const { bytes } = instrumentAll(classFile, (index) => index)
      const started = performance.now()
      const before = new TypeChecker(classFile, KNOWS_NOTHING)
      const rewritten = parseClassFile(bytes)
      const after = new TypeChecker(rewritten, KNOWS_NOTHING)
      for (const method of classFile.methods) {
        if (method.code === undefined) continue
        methods++
        const known = passed(before.check(method), `${classFile.name}.${method.name}`)
        const again = after.check(rewritten.methods[method.index], known.assumptions)
        passed(again, `${classFile.name}.${method.name}${method.descriptor} with probes`)
      }
      milliseconds += performance.now() - started
    }
    const rate = Math.round((1000 * classes.length) / milliseconds)
    console.info(`JDK ${jdk.version}: ${methods} methods twice, ${rate} classes/s`)
  }, 120_000)
})

type Passed = Extract<TypeCheck, { ok: true }>

function* checkAll(classFile: ClassFile, hierarchy: Hierarchy): Iterable<Passed> {
  const checker = new TypeChecker(classFile, hierarchy)
  for (const method of classFile.methods) {
    if (method.code === undefined) continue
    yield passed(checker.check(method), `${classFile.name}.${method.name}${method.descriptor}`)
  }
}

function passed(result: TypeCheck, what: string): Passed {
  if (result.ok !== true) throw new Error(`${what}: ${JSON.stringify(result)}`)
  return result
}
