// The JDK's compiler, run on a JDK with probes in every method of compiler and JDK.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'vitest'
import { temporaryDirectory } from '../support/java-process.ts'
import { forEachJdk } from '../support/jdks.ts'
import { patchedModules } from './corpus-patches.ts'
import { compileTools, imageClasses, runJava } from './jvm.ts'

const SAMPLE = `
  import java.util.*;
  class Sample {
    record Pair(int a, String b) {}
    static Map<String, List<Pair>> group(List<Pair> pairs) {
      return pairs.stream().collect(java.util.stream.Collectors.groupingBy(p -> p.b() + p.a()));
    }
    int run(Object o) { switch (String.valueOf(o)) { case "a": return 1; default: try { return 2; } finally { o = null; } } }
  }`

const ALL = ['--add-modules', 'ALL-SYSTEM']

forEachJdk((jdk) => {
  it('javac with probes, on a JDK with probes, compiles a class to the same bytes as javac without probes', async () => {
    const image = await imageClasses(jdk, await compileTools(jdk), ['ALL'])
    const { patch } = await patchedModules(jdk, image)
    const source = join(temporaryDirectory(), 'Sample.java')
    writeFileSync(source, SAMPLE)
    const compiled = await Promise.all(
      [[], patch].map(async (options) => {
        const dir = temporaryDirectory()
        const javac = ['-m', 'jdk.compiler/com.sun.tools.javac.Main', '-d', dir, source]
        const { code, stderr } = await runJava(jdk, [...ALL, ...options, ...javac])
        assert.equal(code, 0, stderr)
        return readdirSync(dir).map((name) => [name, readFileSync(join(dir, name)).toString('base64')])
      }),
    )
    assert.deepEqual(compiled[1], compiled[0])
  }, 600_000)
})
