// HotSpot's verifier accepts every class of the runtime image with probes in every method: the JVM
// that verifies them runs on them. JFLUID_FULL=1 takes all modules instead of one.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, it } from 'vitest'
import { parseClassFile } from '../../src/classfile/class-file.ts'
import { EXACT_TIME, type Recipe } from '../../src/instrument/class.ts'
import { SiteNumbers } from '../../src/instrument/sites.ts'
import { temporaryDirectory } from '../support/java-process.ts'
import { forEachJdk, oldest } from '../support/jdks.ts'
import { FULL } from '../support/lane.ts'
import {
  compileRuntime,
  compileTools,
  type ImageClass,
  imageClasses,
  instrumentAll,
  runJava,
  SILENT_RUNTIME,
  VERIFY_ALL,
  writeClass,
} from './jvm.ts'
import { assertRoundTrip } from './round-trip.ts'

const WAITS: Recipe = { tells: 'time', waits: { nativeWaits: true, jdk: true } }
const SITES: Recipe = { tells: 'time', sites: new SiteNumbers(true) }
const RECIPES = [EXACT_TIME, WAITS, SITES]

/** Its class file is damaged on purpose, to see that the verifier is at work in both loaders. */
const DAMAGED = ['java.util.Scanner', 'com.sun.tools.javac.util.Pair']
/** Reasons for which a method of the JDK may be left alone. */
const EXPECTED = /^(abstract|native|would pass 8000 bytes, which HotSpot never compiles|an empty finalize.*)$/

forEachJdk((jdk) => {
  const modules = FULL ? ['ALL'] : [jdk === oldest ? 'java.base' : 'jdk.compiler']
  let tools: string
  let image: ImageClass[]
  beforeAll(async () => {
    tools = await compileTools(jdk)
    image = await imageClasses(jdk, tools, modules)
  }, 120_000)

  it('every class is the same after parsing and writing, its frames after decoding and encoding', () => {
    for (const { bytes } of image) assertRoundTrip(parseClassFile(bytes))
  })

  it('every class is verified with probes in every method, by a JVM that runs on them', async () => {
    const patches = temporaryDirectory()
    const names: string[] = []
    const damaged: string[] = []
    const repairs: (() => void)[] = []
    const reasons = new Map<string, number>()
    let methods = 0
    let milliseconds = 0
    for (const { module, bytes } of image) {
      const started = performance.now()
      const classFile = parseClassFile(bytes)
      // Of every third class those of waits, too, of another those of call sites.
      const recipe = RECIPES[names.length % RECIPES.length]
      const result = instrumentAll(classFile, (index) => ((methods + index) * 37) % (1 << 22), recipe)
      milliseconds += performance.now() - started
      methods += classFile.methods.length
      for (const { reason } of result.skipped) reasons.set(reason, (reasons.get(reason) ?? 0) + 1)
      const name = classFile.name.replaceAll('/', '.')
      const damage = DAMAGED.includes(name)
      if (damage) {
        damaged.push(`rejected ${name}`)
        repairs.push(() => writeClass(join(patches, module), classFile.name, result.bytes))
      }
      writeClass(join(patches, module), classFile.name, damage ? withoutStack(result.bytes) : result.bytes)
      names.push(`${module} ${name}`)
    }
    const rate = Math.round((1000 * image.length) / milliseconds)
    console.info(
      `JDK ${jdk.version}: ${image.length} classes, ${methods} methods, ${rate} classes/s`,
      reasons,
    )
    for (const reason of reasons.keys()) assert.match(reason, EXPECTED)

    await compileRuntime(jdk, SILENT_RUNTIME, join(patches, 'java.base'))
    const list = join(temporaryDirectory(), 'classes')
    writeFileSync(list, names.join('\n'))
    const patch = readdirSync(patches).flatMap((module) => [
      '--patch-module',
      `${module}=${join(patches, module)}`,
    ])
    const all = FULL ? ['--add-modules', 'ALL-SYSTEM'] : []
    const outcome = await runJava(jdk, [...VERIFY_ALL, ...patch, ...all, '-cp', tools, 'Link', list])
    const lines = outcome.stdout.trim().split('\n')
    assert.equal(lines.pop(), `accepted ${names.length - damaged.length}`, outcome.stdout + outcome.stderr)
    assert.ok(damaged.length > 0)
    assert.deepEqual(
      lines.map((line) => line.split(':')[0]),
      damaged,
    )

    if (!FULL) return
    // The instrumented compiler on an instrumented JDK compiles a class to the same bytes.
    for (const repair of repairs) repair()
    const source = join(temporaryDirectory(), 'Sample.java')
    writeFileSync(source, SAMPLE)
    const compiled = await Promise.all(
      [[], patch].map(async (options) => {
        const dir = temporaryDirectory()
        const javac = ['-m', 'jdk.compiler/com.sun.tools.javac.Main', '-d', dir, source]
        const { code, stderr } = await runJava(jdk, [...all, ...options, ...javac])
        assert.equal(code, 0, stderr)
        return readdirSync(dir).map((name) => [name, readFileSync(join(dir, name)).toString('base64')])
      }),
    )
    assert.deepEqual(compiled[1], compiled[0])
  }, 180_000)
})

const SAMPLE = `
  import java.util.*;
  class Sample {
    record Pair(int a, String b) {}
    static Map<String, List<Pair>> group(List<Pair> pairs) {
      return pairs.stream().collect(java.util.stream.Collectors.groupingBy(p -> p.b() + p.a()));
    }
    int run(Object o) { switch (String.valueOf(o)) { case "a": return 1; default: try { return 2; } finally { o = null; } } }
  }`

/** max_stack of every method is 0, which nothing that pushes survives. */
function withoutStack(bytes: Uint8Array): Uint8Array {
  const damaged = Uint8Array.from(bytes)
  for (const { code } of parseClassFile(bytes).methods) {
    if (code !== undefined) damaged.fill(0, code.offset, code.offset + 2)
  }
  return damaged
}
