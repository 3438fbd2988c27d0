// Real programs: a service that is attached to while it serves, and a compiler in a long-lived JVM.

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { compileFixture, compileShop } from '../fixtures/fixtures.ts'
import { writeJavaSources } from '../fixtures/sources.ts'
import { startJava, temporaryDirectory } from '../support/java-process.ts'
import { jdks } from '../support/jdks.ts'
import { callsByMethod, jfluid, startRecording, stderrLine } from '../support/jfluid.ts'

/** Methods that the shop's self-check counts itself. */
const SHOP_METHODS = 44
const full = process.env.JFLUID_FULL !== undefined

describe.each(jdks)('JDK $version', (jdk) => {
  it.each(['a', 'b'])(
    'scheme %s: the shop, which serves, and its self-check agree on every method',
    async (scheme) => {
      const shop = startJava(jdk, ['-cp', await compileShop(jdk), 'shop.Main', '--rate', '100'])
      const port = / on port (\d+), pid/.exec(await shop.line(/^shop ready/))?.[1]
      const get = async (path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).json()
      const recording = startRecording(shop.pid, '--root', 'shop.SelfCheck.run', '--scheme', scheme)
      await recording.started
      const own = (await get('/selfcheck?n=50')) as Record<string, number>
      const profile = await recording.stop()

      expect(Object.keys(own)).toHaveLength(SHOP_METHODS)
      expect([profile.warnings, profile.instrumentation.gaps]).toEqual([[], 0])
      const counted = callsByMethod(profile)
      expect(Object.fromEntries(Object.keys(own).map((name) => [name, counted.get(name)]))).toEqual(own)
      expect(profile.instrumentation).toMatchObject({ gaps: 0, healed: 0 })
      // It serves on as if nobody had been there, and answers the same.
      expect(await get('/selfcheck?n=50')).toEqual(own)
    },
  )

  it('the shop under its own load: every request is in the tree, in the threads that served it', async () => {
    const shop = startJava(jdk, ['-cp', await compileShop(jdk), 'shop.Main', '--rate', '200'])
    const port = / on port (\d+), pid/.exec(await shop.line(/^shop ready/))?.[1]
    const requests = async () =>
      ((await (await fetch(`http://127.0.0.1:${port}/stats`)).json()) as { requests: number }).requests
    const recording = startRecording(shop.pid, '--root', 'shop.OrderService.process')
    await recording.started
    const from = await requests()
    while ((await requests()) < from + 60) await new Promise((resolve) => setTimeout(resolve, 20))
    const profile = await recording.stop()
    expect(profile.merged.map((it) => `${it.class}.${it.method}`)).toEqual(['shop.OrderService.process'])
    expect(profile.merged[0].calls).toBeGreaterThan(0)
    const perThread = profile.threads.flatMap((it) => it.roots).reduce((sum, it) => sum + it.calls, 0)
    expect(perThread).toBe(profile.merged[0].calls)
    expect(profile.truncated).toBe(false)
  })

  // Hundreds of first invocations, classes of the JDK itself, trees of a million nodes: what breaks
  // at all breaks here. Its output files must not change by a bit.
  it('javac, all of it and the JDK below it: the same class files before, while and after', {
    timeout: 240_000,
  }, async () => {
    const dir = temporaryDirectory('jfluid-javac-')
    const sources = join(dir, 'sources')
    mkdirSync(sources)
    writeJavaSources(sources, full ? 300 : 20)
    const java = startJava(jdk, ['-cp', await compileFixture(jdk, 'Compiler'), 'fix.Compiler', sources])
    await java.line(/ready/)
    const compile = async (name: string): Promise<string> => {
      const before = java.stdout().length
      java.send(`compile ${join(dir, name)}`)
      await java.line(/^(compiled|failed) /)
      while (!/\n$/.test(java.stdout().slice(before))) await new Promise((resolve) => setTimeout(resolve, 10))
      return java
        .stdout()
        .slice(before)
        .trim()
        .replace(/ \d+ ms$/, '')
    }
    const unprofiled = await compile('before')
    expect(unprofiled).toMatch(/^compiled \d+ sources \d+ classes [0-9a-f]{64}$/)

    const recording = startRecording(
      ...([java.pid, '--root', 'com.sun.tools.javac.main.JavaCompiler.compile', '--jdk'] as const),
    )
    await recording.started
    expect(await compile('while')).toBe(unprofiled)
    recording.process.child.kill('SIGINT')
    await stderrLine(recording.process, /profile written/)
    expect((await recording.process.exit).code).toBe(0)
    expect(await compile('after')).toBe(unprofiled)

    const { stdout } = await jfluid('report', recording.file, '--json', '--top', '100000')
    const report = JSON.parse(stdout) as Report
    const called = new Map(report.methods.map((it) => [`${it.class}.${it.method}`, it.calls]))
    expect(report.truncated).toBe(false)
    expect(report.events.count).toBeGreaterThan(1e6)
    expect(report.instrumentation.calledMethods).toBeGreaterThan(3000)
    expect(called.get('com.sun.tools.javac.main.JavaCompiler.generate')).toBeGreaterThan(0)
    expect(called.get('java.util.HashMap.getNode')).toBeGreaterThan(1000)
    console.info(
      `javac on JDK ${jdk.full}: ${report.events.count} events, ${Math.round(report.events.waitMs)} ms waited, ` +
        `${report.instrumentation.instrumentedMethods} methods, ${report.instrumentation.redefinitions} redefinitions, ` +
        `${report.instrumentation.gaps} gaps`,
    )
  })
})

interface Report {
  truncated: boolean
  events: { count: number; waitMs: number }
  instrumentation: { calledMethods: number; instrumentedMethods: number; redefinitions: number; gaps: number }
  methods: { class: string; method: string; calls: number }[]
}
