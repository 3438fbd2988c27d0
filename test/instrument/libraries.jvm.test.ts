// Every method of every class in whole jars gets probes, and HotSpot's verifier must accept the same classes as without probes.
// JFLUID_FULL=1 tests the libraries of `libraries.ts` and prints a table. By default one jar of the JDK is tested.
//
// Classes that a jar needs and no jar contains are replaced by empty classes. If a class without probes does not link, the class with
// probes must fail with the same kind of error. Classes are also checked by jfluid's type checker. Its verdict, if any, must equal
// HotSpot's verdict.

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type ClassFile, MAJOR_6, parseClassFile } from '../../src/classfile/class-file.ts'
import { forEachInstruction, parseCode } from '../../src/classfile/code.ts'
import { JSR, JSR_W } from '../../src/classfile/opcodes.ts'
import { spliceClass } from '../../src/classfile/splice.ts'
import { EXACT_TIME, instrumentClass, type MethodTask, type Recipe } from '../../src/instrument/class.ts'
import { HUGE_METHOD_BYTES } from '../../src/instrument/limits.ts'
import { readBody } from '../../src/reveal/call-sites.ts'
import { type Hierarchy, TypeChecker } from '../../src/typecheck/check.ts'
import { refusedBodies } from '../../src/typecheck/rewritten.ts'
import { jarClasses } from '../support/jar.ts'
import { newestOrAll, oldest } from '../support/jdks.ts'
import { FULL } from '../support/lane.ts'
import { mavenArtifact } from '../support/maven.ts'
import { hierarchyOf } from '../typecheck/hierarchy.ts'
import type { NamedClass } from '../typecheck/verdicts.ts'
import { compileTools, imageClasses } from './jvm.ts'
import { LIBRARIES } from './libraries.ts'
import { linkPairs, type Pair } from './link.ts'
import { assertRoundTrip } from './round-trip.ts'
import { stubsFor } from './stubs.ts'

/** Valid reasons for a library method with code that gets no probes. */
const EXPECTED = /^(would exceed 8000 bytes: HotSpot never compiles larger methods|an empty finalize.*)$/

/** A jar of the JDK with classes of version 52. */
const SAMPLE = join(oldest.home, 'lib', 'jrt-fs.jar')
const names = FULL ? LIBRARIES.map(({ coordinates }) => coordinates) : [basename(SAMPLE)]

/** Figures of a jar, keyed by column. */
type Row = Record<string, string | number>
const table: Row[] = []

let files: string[]
let image: ClassFile[]
const parsed = new Map<string, ClassFile[]>()

beforeAll(async () => {
  files = [SAMPLE]
  if (FULL) {
    files = []
    for (const artifact of LIBRARIES) files.push(await mavenArtifact(artifact)) // runs one mvn at a time
  }
  assert.ok(files.every(existsSync))
  const classes = await imageClasses(oldest, await compileTools(oldest), [FULL ? 'ALL' : 'java.base'])
  image = classes.map(({ bytes }) => parseClassFile(bytes))
  for (const file of files)
    parsed.set(
      file,
      jarClasses(file).map(({ bytes }) => parseClassFile(bytes)),
    )
}, 1_800_000)

afterAll(() => {
  if (table.length === 0) return
  const columns = Object.keys(table[0])
  const lines = [columns, columns.map(() => '---'), ...table.map((row) => columns.map((it) => row[it]))]
  console.info(`\n${lines.map((line) => `| ${line.join(' | ')} |`).join('\n')}\n`)
})

/** Facts about a jar and about its rewritten classes. */
interface Rewritten {
  readonly after: NamedClass[]
  readonly versions: Map<number, number>
  /** Number of methods with code but without probes, per reason. */
  readonly reasons: Map<string, number>
  /** Bodies that jfluid's type checker would refuse in classes that the JVM does not verify. */
  readonly refused: string[]
  readonly code: { methods: number; huge: number; largest: number; jsr: number }
  milliseconds: number
}

function rewriteAll(classes: readonly ClassFile[], recipe: Recipe): Rewritten {
  const found: Rewritten = {
    after: [],
    versions: new Map(),
    reasons: new Map(),
    refused: [],
    code: { methods: 0, huge: 0, largest: 0, jsr: 0 },
    milliseconds: 0,
  }
  let id = 0
  for (const { bytes } of classes) {
    const started = performance.now()
    const classFile = parseClassFile(bytes)
    const tasks = classFile.methods.map(({ index }): MethodTask => {
      return { methodIndex: index, id: (id++ * 37) % (1 << 22), probe: 'method' }
    })
    const result = instrumentClass(classFile, tasks, recipe)
    const written = spliceClass(classFile, result.poolEntries, result.poolBytes, result.bodies)
    found.milliseconds += performance.now() - started

    const { name, major, methods } = classFile
    found.after.push({ name, bytes: written })
    found.versions.set(major, (found.versions.get(major) ?? 0) + 1)
    assertRoundTrip(classFile)
    measure(classFile, found.code)
    for (const { methodIndex, reason } of result.skipped) {
      if (methods[methodIndex].code === undefined) continue
      found.reasons.set(reason, (found.reasons.get(reason) ?? 0) + 1)
    }
    if (major < MAJOR_6) continue
    for (const [methodIndex, reason] of refusedBodies(classFile, result)) {
      // Frames of version 50 may be wrong, since HotSpot then uses its older verifier without frames.
      if (major === MAJOR_6 && reason.includes('cannot be type-checked')) continue
      found.refused.push(`${name}.${methods[methodIndex].name}: ${reason}`)
    }
  }
  return found
}

function measure(classFile: ClassFile, code: Rewritten['code']): void {
  for (const method of classFile.methods) {
    if (method.code === undefined) continue
    readBody(classFile, method)
    const { bytecode } = parseCode(classFile, method)
    code.methods++
    if (bytecode.length > HUGE_METHOD_BYTES) code.huge++
    code.largest = Math.max(code.largest, bytecode.length)
    forEachInstruction(bytecode, (_, opcode) => {
      if (opcode === JSR || opcode === JSR_W) code.jsr++
    })
  }
}

/** Returns the verdict of jfluid's type checker per class, undefined if it has none, and the number of methods per result. */
function typeCheckAll(classes: readonly ClassFile[], hierarchy: Hierarchy) {
  const methods = { passed: 0, assumed: 0, unchecked: 0, failed: 0 }
  const verdicts = classes.map((classFile) => {
    const checker = new TypeChecker(classFile, hierarchy)
    let verdict: boolean | undefined = true
    for (const method of classFile.methods) {
      if (method.code === undefined) continue
      const result = checker.check(method)
      if (result.ok === undefined) methods.unchecked++
      else if (!result.ok) methods.failed++
      else if (result.assumptions.size > 0) methods.assumed++
      else methods.passed++
      if (result.ok !== true && verdict !== false) verdict = result.ok
    }
    return verdict
  })
  return { verdicts, methods }
}

const RECIPES: readonly Recipe[] = [
  EXACT_TIME,
  { tells: 'bytecodes', blocks: 'precise', jdk: true },
  { tells: 'bytecodes', blocks: 'default', jdk: false },
]
const cases = names.flatMap((name) => RECIPES.map((recipe) => [name, titleOf(recipe), recipe] as const))

function titleOf(recipe: Recipe): string {
  return recipe.tells === 'bytecodes' ? `${recipe.blocks} bytecodes` : recipe.tells
}

it.each(cases)(
  "%s, %s: classes that HotSpot accepts without probes are accepted by HotSpot and by jfluid's type checker with probes",
  async (name, told, recipe) => {
    const file = files[names.indexOf(name)]
    const others = files.filter((it) => it !== file)
    const classes = parsed.get(file)!
    const all = [...image, ...others.flatMap((it) => parsed.get(it)!), ...classes]
    const stubs = stubsFor(classes, new Set(all.map((it) => it.name)))
    const hierarchy = hierarchyOf([...stubs.map(({ bytes }) => parseClassFile(bytes)), ...all])

    const { after, versions, reasons, refused, code, milliseconds } = rewriteAll(classes, recipe)
    const ours = typeCheckAll(classes, hierarchy)
    const unlinked: number[] = []
    const rejected: string[] = []
    const mismatched: string[] = []
    for (const jdk of newestOrAll) {
      const pairs = await linkPairs(jdk, classes, after, others, stubs)
      unlinked.push(pairs.filter((it) => it.before !== 'accepted').length)
      pairs.forEach((pair, i) => {
        const what = `JDK ${jdk.version}, ${classes[i].name}: HotSpot says ${pair.before}`
        if (kindOf(pair.before) !== kindOf(pair.after)) rejected.push(`${what}, with probes ${pair.after}`)
        const [theirs, our] = [verdictOf(pair, classes[i].name), ours.verdicts[i]]
        if (theirs !== undefined && our !== undefined && theirs !== our) mismatched.push(`${what}, we ${our}`)
      })
    }
    const skipped = [...reasons.values()].reduce((sum, count) => sum + count, 0)
    const { passed, assumed, unchecked, failed } = ours.methods
    table.push({
      jar: basename(file).replace(/(-[0-9a-f]{16})?\.jar$/, ''),
      tells: told,
      classes: classes.length,
      versions: [...versions]
        .sort(([a], [b]) => a - b)
        .map(([it, count]) => `${it}: ${count}`)
        .join(', '),
      methods: code.methods,
      jsr: code.jsr,
      huge: code.huge,
      largest: code.largest,
      'round trip': classes.length,
      rejected: rejected.length,
      unlinked: unlinked.join(' / '),
      skipped: skipped === 0 ? 0 : [...reasons].map(([reason, count]) => `${count}: ${reason}`).join(', '),
      'types hold': passed,
      assumed,
      unchecked,
      fail: failed,
      mismatch: mismatched.length + refused.length,
      'classes/s': Math.round((1000 * classes.length) / milliseconds),
    })
    expect([...rejected, ...mismatched, ...refused]).toEqual([])
    for (const reason of reasons.keys()) assert.match(reason, EXPECTED)
    assert.ok(
      skipped <= Math.max(1, code.methods / 1000),
      `${skipped} of ${code.methods} methods are skipped`,
    )
    for (const count of unlinked)
      assert.ok(count < classes.length / 2, `${count} of ${classes.length} do not link`)
  },
  600_000,
)

/** Returns the kind of error. The method and position in the error may differ if several methods are invalid. */
const kindOf = (verdict: string): string => verdict.replace(/:.*/s, '')

/** Returns HotSpot's verdict on the class without probes, or undefined if the error is not a verifier error of this class. */
function verdictOf({ before }: Pair, name: string): boolean | undefined {
  if (before === 'accepted') return true
  return before.includes('VerifyError') && before.includes(`Location:,     ${name}.`) ? false : undefined
}
