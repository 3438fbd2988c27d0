// Profiles a compiler in a long-lived JVM from the end of one compilation to the end of the next: hundreds of first invocations, JDK
// classes, and trees of millions of nodes. Most errors of jfluid show up here. The output files of the compiler must be identical.
//
// Compiles the sources of a library from Maven Central, and needs mvn once.

import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { JdwpTarget } from '../../src/jdwp-client/target.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import { temporaryDirectory } from '../support/java-process.ts'
import { forNewestJdk } from '../support/jdks.ts'
import { jfluid, startRecording } from '../support/jfluid.ts'
import { COLLECTIONS_SOURCES, unpackedArtifact } from '../support/maven.ts'
import { type LiveCode, liveCode, probed, startDebuggable } from './live-code.ts'
import { filesOf, threadNames } from './remains.ts'

forNewestJdk((jdk) => {
  describe('javac compiles 326 sources of commons-collections4 while javac and JDK methods are profiled', () => {
    it.each(['a', 'b'])(
      'scheme %s does not change the class files that javac writes',
      {
        timeout: 600_000,
      },
      async (scheme) => {
        const dir = temporaryDirectory('jfluid-javac-')
        const classes = await compileFixture(jdk, 'Compiler')
        const { java, jvm } = await startDebuggable(jdk, [
          ...[
            '-cp',
            classes,
            'fix.Compiler',
            await unpackedArtifact(jdk, COLLECTIONS_SOURCES),
            '--release',
            '17',
          ],
        ])
        let compilations = 0
        const compile = async (name: string): Promise<{ output: string; ms: number }> => {
          java.send(`compile ${join(dir, name)}`)
          const line = await java.line(/^(?:compiled|failed)/, ++compilations)
          const [, output = line, ms = ''] = /^(.*) (\d+) ms$/.exec(line) ?? []
          return { output, ms: Number(ms) }
        }
        const before = await compile('before')
        expect(before.output).toMatch(/^compiled \d+ sources \d+ classes [0-9a-f]{64}$/)
        const threads = await threadNames(java.pid)
        const codeBefore = await codeOf(jvm)
        expect(codeBefore.size).toBeGreaterThan(3000)

        const recording = startRecording(
          java.pid,
          ...[
            '--root',
            'com.sun.tools.javac.main.JavaCompiler.compile',
            '--jdk',
            '--yes',
            '--scheme',
            scheme,
          ],
        )
        await recording.started
        const during = await compile('while')
        expect(during.output).toBe(before.output)
        const probes = probed(await liveCode(jvm, 'Lcom/sun/tools/javac/comp/'))
        expect(probes.length, recording.process.stderr()).toBeGreaterThan(100)
        recording.process.child.kill('SIGINT')
        expect((await recording.process.exit).code).toBe(0)
        const after = await compile('after')
        expect(after.output).toBe(before.output)

        // Profiled methods have their original code again, classes loaded during the session have no probes, and no thread or file of
        // jfluid remains.
        const codeAfter = await codeOf(jvm)
        expect(differing(codeBefore, codeAfter)).toEqual([])
        expect(probed(codeAfter)).toEqual([])
        expect((await threadNames(java.pid)).filter((name) => /jfluid/.test(name))).toEqual([])
        expect(threads.filter((name) => /jfluid/.test(name))).toEqual([])
        expect(filesOf(java.pid, recording.process.pid)).toEqual([`/tmp/.java_pid${java.pid}`])
        await jvm.dispose()

        const { stdout } = await jfluid('report', recording.file, '--json', '--top', '100000')
        const report = JSON.parse(stdout) as Report
        const called = new Map(report.methods.map((it) => [`${it.class}.${it.method}`, it.calls]))
        const { gaps, healed, ...how } = report.instrumentation
        const { skipped, ...figures } = how
        console.info(
          `javac on JDK ${jdk.full}, scheme ${scheme}: ${before.output.slice(0, -65)}, ${before.ms} ms before, ` +
            `${during.ms} ms while, ${after.ms} ms after, ${skipped.length} skipped, ` +
            JSON.stringify({ ...figures, gaps, healed, ...report.events, warnings: report.warnings }),
        )
        expect([report.truncated, healed]).toEqual([false, 0])
        expect(report.events.count).toBeGreaterThan(1e6)
        expect(figures.calledMethods).toBeGreaterThan(3000)
        expect(called.get('com.sun.tools.javac.main.JavaCompiler.generate')).toBeGreaterThan(0)
        expect(called.get('java.util.HashMap.getNode')).toBeGreaterThan(1000)
        // Neither the rewriter nor the JVM has refused a method.
        expect(skipped.filter(({ reason }) => /Error|Exception|verif/i.test(reason))).toEqual([])
      },
    )
  })
})

/** Returns the code of the compiler's largest package, and of the JDK package that it uses most. */
async function codeOf(jvm: JdwpTarget): Promise<LiveCode> {
  return new Map([
    ...(await liveCode(jvm, 'Lcom/sun/tools/javac/comp/')),
    ...(await liveCode(jvm, 'Ljava/util/')),
  ])
}

/**
 * Returns the names of methods whose code was changed or removed. Names keep the message of a failed assertion readable, while code would
 * print megabytes.
 */
function differing(before: LiveCode, after: LiveCode): string[] {
  return [...before].filter(([name, text]) => after.get(name) !== text).map(([name]) => name)
}

interface Report {
  truncated: boolean
  warnings: string[]
  events: { count: number; waitMs: number }
  instrumentation: {
    calledMethods: number
    instrumentedMethods: number
    redefinitions: number
    gaps: number
    healed: number
    skipped: { method: string; reason: string }[]
  }
  methods: { class: string; method: string; calls: number }[]
}
