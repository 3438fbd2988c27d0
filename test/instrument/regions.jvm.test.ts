// JDK methods with timed regions, both whole methods and random lines. HotSpot's verifier and jfluid's type checker accept the code.
// JFLUID_FULL=1 tests every class of java.base of every JDK, instead of one in 48 of the oldest JDK.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { type MethodInfo, parseClassFile } from '../../src/classfile/class-file.ts'
import { linesOf, parseCode } from '../../src/classfile/code.ts'
import { spliceClass } from '../../src/classfile/splice.ts'
import { instrumentClass, type RegionRecipe } from '../../src/instrument/class.ts'
import type { CodeRegion } from '../../src/instrument/regions.ts'
import { refusedBodies } from '../../src/typecheck/rewritten.ts'
import { seeded } from '../profile/trees.ts'
import { temporaryDirectory } from '../support/java-process.ts'
import { jdks, oldest } from '../support/jdks.ts'
import { FULL } from '../support/lane.ts'
import { compileRuntime, compileTools, imageClasses, runJava, VERIFY_ALL, writeClass } from './jvm.ts'

const EVERY = FULL ? 1 : 48
const EXPECTED =
  /^(abstract|native|would exceed 8000 bytes.*|an empty finalize.*|its frames have no room for another local variable)$/

const REGION_RUNTIME = `
  package java.lang;
  public class JFluid1 {
    public static long regionEnter(long since, int session) { return since != 0 ? since : 1; }
    public static long regionLeave(long since, int id) { return 0; }
    public static void regionExit(long since, int id) {}
    public static void reflectiveCall(Object method) {}
  }`

it.each((FULL ? jdks : [oldest]).map((jdk) => [jdk.version, jdk] as const))(
  "HotSpot's verifier and jfluid's type checker accept methods of java.base %i with up to five timed regions",
  async (_, jdk) => {
    const seed = Number(process.env.REGION_SEED ?? Date.now() % 1e9)
    const random = seeded(seed)
    const tools = await compileTools(jdk)
    const image = (await imageClasses(jdk, tools, ['java.base'])).filter((_, i) => i % EVERY === 0)
    const patches = temporaryDirectory()
    const names: string[] = []
    const reasons = new Set<string>()
    let bodies = 0
    for (const { bytes } of image) {
      const classFile = parseClassFile(bytes)
      const regionsOf = (method: MethodInfo): CodeRegion[] => {
        const lines = linesOf(classFile, parseCode(classFile, method))?.filter((line) => line > 0) ?? []
        const any = () => lines[Math.floor(random() * lines.length)]!
        const ranges = Array.from({ length: lines.length > 0 ? Math.floor(random() * 5) : 0 }, () => {
          const [a, b] = [any(), any()]
          return { from: Math.min(a, b), to: Math.max(a, b) }
        })
        return [null, ...ranges].map((range, i) => ({ id: i + 1, lines: range }))
      }
      const recipe: RegionRecipe = {
        tells: 'regions',
        session: 70_000,
        regionsOf: (_, method) => regionsOf(method),
      }
      const tasks = classFile.methods.map(({ index }) => ({
        methodIndex: index,
        id: 1,
        probe: 'root' as const,
      }))
      const rewritten = instrumentClass(classFile, tasks, recipe)
      for (const { reason } of rewritten.skipped) reasons.add(reason)
      if (rewritten.bodies.length === 0) continue
      bodies += rewritten.bodies.length
      expect([...refusedBodies(classFile, rewritten)], `${classFile.name}, seed ${seed}`).toEqual([])
      const { poolEntries, poolBytes } = rewritten
      writeClass(patches, classFile.name, spliceClass(classFile, poolEntries, poolBytes, rewritten.bodies))
      names.push(`java.base ${classFile.name.replaceAll('/', '.')}`)
    }
    for (const reason of reasons) expect(reason, `seed ${seed}`).toMatch(EXPECTED)
    expect(bodies).toBeGreaterThan(FULL ? 40_000 : 800)

    await compileRuntime(jdk, REGION_RUNTIME, patches)
    const list = join(temporaryDirectory(), 'classes')
    writeFileSync(list, names.join('\n'))
    const patch = ['--patch-module', `java.base=${patches}`]
    const { stdout, stderr } = await runJava(jdk, [...VERIFY_ALL, ...patch, '-cp', tools, 'Link', list])
    expect(stdout.trim(), `seed ${seed}\n${stderr}`).toBe(`accepted ${names.length}`)
  },
  180_000,
)
