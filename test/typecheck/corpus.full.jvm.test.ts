// Every method of the runtime image passes the type checker, with and without probes. The
// probes need no facts about other classes that the method did not need before. The same holds for code without frames.
// JFLUID_FULL=1 checks all modules.

import assert from 'node:assert/strict'
import { beforeAll, it } from 'vitest'
import { type ClassFile, MAJOR_6, type MethodInfo, parseClassFile } from '../../src/classfile/class-file.ts'
import { type Hierarchy, KNOWS_NOTHING, type TypeCheck, TypeChecker } from '../../src/typecheck/check.ts'
import { compileTools, imageClasses, instrumentAll } from '../instrument/jvm.ts'
import { forNewestJdk } from '../support/jdks.ts'
import { FULL } from '../support/lane.ts'
import { withoutFrames } from './frameless.ts'
import { hierarchyOf } from './hierarchy.ts'

/** One class in PROBED gets probes, and one class in SAMPLE is checked without its frames. */
const PROBED = 3
const SAMPLE = 6
const LIMIT_MS = FULL ? 600_000 : 120_000

forNewestJdk((jdk) => {
  let classes: ClassFile[]
  /** All or some of these classes, without frames. */
  let bare: ClassFile[]
  let hierarchy: Hierarchy
  beforeAll(async () => {
    const image = await imageClasses(jdk, await compileTools(jdk), FULL ? ['ALL'] : ['java.base'])
    classes = image.map(({ bytes }) => parseClassFile(bytes))
    bare = classes.filter((_, i) => FULL || i % SAMPLE === 0).map((it) => withoutFrames(it))
    hierarchy = hierarchyOf(classes)
  }, LIMIT_MS)

  it('every class file of the runtime image has a version that supports frames', () => {
    assert.deepEqual(
      classes.filter(({ major }) => major < MAJOR_6).map(({ name }) => name),
      [],
    )
  })

  it(
    'every method passes the check without assumptions',
    () => {
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
    },
    LIMIT_MS,
  )

  it(
    'every method with probes passes the check, and the probes add no requirement on other classes',
    () => {
      const probed = classes.filter((_, i) => FULL || i % PROBED === 0)
      probesNeedNoMore('frames', probed, (checker, method, allowed) => checker.check(method, allowed))
    },
    LIMIT_MS,
  )

  it(
    'every method whose frames were removed passes the check without assumptions',
    () => {
      let methods = 0
      const started = performance.now()
      for (const classFile of bare) {
        const checker = new TypeChecker(classFile, hierarchy)
        for (const method of classFile.methods) {
          if (method.code === undefined) continue
          methods++
          const { assumptions } = passed(checker.infer(method), `${classFile.name}.${method.name}`)
          assert.deepEqual([...assumptions], [], classFile.name)
        }
      }
      const rate = Math.round((1000 * methods) / (performance.now() - started))
      console.info(`JDK ${jdk.version}, no frames: ${methods} methods, ${rate} methods/s`)
      assert.ok(methods > 6_000)
    },
    LIMIT_MS,
  )

  it(
    'every method with probes whose frames were removed passes the check, and the probes add no requirement on other classes',
    () => {
      probesNeedNoMore('no frames', bare, (checker, method, allowed) => checker.infer(method, allowed))
    },
    LIMIT_MS,
  )

  function probesNeedNoMore(
    what: string,
    originals: readonly ClassFile[],
    judge: (checker: TypeChecker, method: MethodInfo, allowed?: ReadonlySet<string>) => TypeCheck,
  ): void {
    let milliseconds = 0
    let methods = 0
    for (const classFile of originals) {
      const { bytes } = instrumentAll(classFile, (index) => index)
      const started = performance.now()
      const before = new TypeChecker(classFile, KNOWS_NOTHING)
      const rewritten = parseClassFile(bytes)
      const after = new TypeChecker(rewritten, KNOWS_NOTHING)
      for (const method of classFile.methods) {
        if (method.code === undefined) continue
        methods++
        const known = passed(judge(before, method), `${classFile.name}.${method.name}`)
        const again = judge(after, rewritten.methods[method.index], known.assumptions)
        passed(again, `${classFile.name}.${method.name}${method.descriptor} with probes`)
      }
      milliseconds += performance.now() - started
    }
    const rate = Math.round((1000 * originals.length) / milliseconds)
    console.info(`JDK ${jdk.version}, ${what}: ${methods} methods twice, ${rate} classes/s`)
  }
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
