// Each class of the runtime image is parsed and written without a change. With JFLUID_FULL=1, for all modules instead of one; then HotSpot's
// verifier also accepts each class with probes in every method, and the verifying JVM itself runs on these classes.

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, it } from 'vitest'
import { parseClassFile } from '../../src/classfile/class-file.ts'
import { temporaryDirectory } from '../support/java-process.ts'
import { forNewestJdk, oldest } from '../support/jdks.ts'
import { FULL } from '../support/lane.ts'
import { itInFull } from '../support/only-if.ts'
import { patchedModules } from './corpus-patches.ts'
import { compileTools, type ImageClass, imageClasses, runJava, VERIFY_ALL } from './jvm.ts'
import { assertRoundTrip } from './round-trip.ts'

/** Classes that are damaged deliberately, to show that the verifier checks classes of both loaders. */
const DAMAGED = ['java.util.Scanner', 'com.sun.tools.javac.util.Pair']

forNewestJdk((jdk) => {
  const modules = FULL ? ['ALL'] : [jdk === oldest ? 'java.base' : 'jdk.compiler']
  let tools: string
  let image: ImageClass[]
  beforeAll(async () => {
    tools = await compileTools(jdk)
    image = await imageClasses(jdk, tools, modules)
  }, 120_000)

  it('a class that is parsed and written is unchanged, and frames that are decoded and encoded are unchanged', () => {
    for (const { bytes } of image) assertRoundTrip(parseClassFile(bytes))
  })

  itInFull(
    'a JVM that runs on the instrumented classes verifies each class',
    async () => {
      const { patch, names, damaged } = await patchedModules(jdk, image, DAMAGED)
      const list = join(temporaryDirectory(), 'classes')
      writeFileSync(list, names.join('\n'))
      const outcome = await runJava(jdk, [
        ...VERIFY_ALL,
        ...patch,
        '--add-modules',
        'ALL-SYSTEM',
        '-cp',
        tools,
        'Link',
        list,
      ])
      const lines = outcome.stdout.trim().split('\n')
      assert.equal(lines.pop(), `accepted ${names.length - damaged.length}`, outcome.stdout + outcome.stderr)
      assert.ok(damaged.length > 0)
      assert.deepEqual(
        lines.map((line) => line.split(':')[0]),
        damaged,
      )
    },
    180_000,
  )
})
