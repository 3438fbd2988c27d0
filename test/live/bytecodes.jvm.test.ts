// --mode bytecodes and --mode count: bytecodes executed per method, compared with a debugger that steps through the program
// (test/oracle/StepCounter.java), and equal in every run.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { compileFixture } from '../fixtures/fixtures.ts'
import { stepThrough } from '../oracle/stepping.ts'
import { ask, type JavaProcess, startJava, temporaryDirectory } from '../support/java-process.ts'
import { newestOrAll } from '../support/jdks.ts'
import {
  type JsonNode,
  type JsonProfile,
  jfluid,
  readProfileJson,
  startRecording,
} from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'
import { itInFull, itOnlyIf } from '../support/only-if.ts'

const ROOT = 'fix.Blocks.root'
const N = 12

type Sums = Record<string, number>

/** Returns the sum per method of class fix.Blocks, keyed by "method descriptor". */
function sumsOf({ merged }: JsonProfile, of: (node: JsonNode) => number | undefined): Sums {
  const sums: Sums = {}
  const visit = (node: JsonNode): void => {
    const key = `${node.class}.${node.method}${node.descriptor}`
    sums[key] = (sums[key] ?? 0) + (of(node) ?? Number.NaN)
    for (const child of node.children) visit(child)
  }
  for (const node of merged) visit(node)
  return sums
}

const bytecodesOf = (profile: JsonProfile): Sums => sumsOf(profile, (node) => node.selfBytecodes)
const callsOf = (profile: JsonProfile): Sums => sumsOf(profile, (node) => node.calls)

function addsUp(node: JsonNode): boolean {
  const below = node.children.reduce((sum, child) => sum + child.totalBytecodes!, 0)
  return node.totalBytecodes === node.selfBytecodes! + below && node.children.every(addsUp)
}

describe.each(newestOrAll)('bytecode counts on JDK $version', (jdk) => {
  let classes: string
  let steps: Sums
  let byDefault: JsonProfile
  /** JVM for all tests that attach. */
  let java: JavaProcess
  /** Runs a program that calls the root twice with `jfluid run`. */
  const run = async (...flags: string[]): Promise<JsonProfile> => {
    const file = join(temporaryDirectory('jfluid-bytecodes-'), 'p.jfluid')
    const program = [jdk.java, '-cp', classes, 'fix.Blocks', 'run', String(N), '2']
    const ran = await jfluid('run', '--root', ROOT, '--record', file, ...flags, '--', ...program)
    expect(ran.code, ran.stderr).toBe(0)
    return readProfileJson(file)
  }

  beforeAll(async () => {
    classes = await compileFixture(jdk, 'Blocks')
    const rows = await stepThrough('StepCounter', jdk, classes, `fix.Blocks run ${N} 2`, 'fix.Blocks*')
    steps = Object.fromEntries(
      rows.map((row) => [row.slice(0, row.lastIndexOf(' ')), Number(row.slice(row.lastIndexOf(' ') + 1))]),
    )
    // Methods outside the root and classes that cannot be instrumented are removed.
    for (const method of Object.keys(steps)) if (method.includes('$$Lambda')) delete steps[method]
    delete steps['fix.Blocks.main([Ljava/lang/String;)V']
    delete steps['fix.Blocks.<clinit>()V']
    expect(Object.keys(steps).length).toBeGreaterThan(20)
    byDefault = await run('--mode', 'bytecodes')
    java = startJava(jdk, ['-cp', classes, 'fix.Blocks', 'serve'])
    await java.line(/ready/)
  })

  // The tests that attach use scheme b.
  it.each(FULL ? ['a', 'b'] : ['a'])(
    'scheme %s with --bba precise counts as many bytecodes per method as the JVM',
    async (scheme) => {
      const profile = await run('--mode', 'bytecodes', '--bba', 'precise', '--scheme', scheme)
      expect(profile.instrumentation).toMatchObject({ gaps: 0, healed: 0, skipped: [] })
      expect(bytecodesOf(profile)).toEqual(steps)
      expect(profile.merged.every(addsUp)).toBe(true)
      expect(profile).toMatchObject({ mode: 'bytecodes', blocks: 'precise' })
    },
  )

  it('the default analysis counts as many bytecodes as the JVM, and more bytecodes if an exception ends a basic block', () => {
    const bytecodes = bytecodesOf(byDefault)
    const more = Object.keys(steps).filter((method) => bytecodes[method]! > steps[method]!)
    expect(Object.keys(bytecodes).sort()).toEqual(Object.keys(steps).sort())
    for (const [method, count] of Object.entries(bytecodes))
      expect(count, method).toBeGreaterThanOrEqual(steps[method]!)
    // Only the methods in which an exception is thrown or caught in the middle of a block have higher counts.
    expect(more.map((method) => method.replace('fix.Blocks', '').replace(/\).*/, ')')).sort()).toEqual(
      [
        '$Parsed.<init>(Ljava/lang/String;)',
        ...['.<init>(I)', '.<init>(ID)', '.catches(I)', '.failingConstructors(I)', '.finallyPaths(I)'],
        ...['.monitors(I)', '.nested(I)', '.parsedConstructors(I)', '.through(II)', '.thrower(I)'],
      ].sort(),
    )
    // Three of twelve texts are not numbers. For each of these, two of the block's five instructions are not executed.
    const parsed = 'fix.Blocks$Parsed.<init>(Ljava/lang/String;)V'
    expect(bytecodes[parsed]).toBe(steps[parsed]! + 2 * 3 * 2)
  })

  itInFull(
    'a custom block analysis that ends blocks at calls yields precise counts if only calls throw exceptions',
    async () => {
      const file = join(temporaryDirectory('jfluid-analysis-'), 'calls.mjs')
      // This analysis ends blocks at calls. The counts are precise if only calls throw exceptions.
      writeFileSync(file, 'export default ({ opcode }) => opcode >= 182 && opcode <= 186\n')
      const profile = await run('--mode', 'bytecodes', '--bba', file)
      const bytecodes = bytecodesOf(profile)
      expect(profile.blocks).toMatch(/^calls\.mjs:[0-9a-f]{8}$/)
      const through = 'fix.Blocks.through(II)I'
      expect(bytecodes[through]).toBe(steps[through])
      expect(bytecodes['fix.Blocks.catches(I)I']).toBeGreaterThan(steps['fix.Blocks.catches(I)I']!)
    },
  )

  itInFull('two runs yield the same tree with equal counts in each context', async () => {
    const again = await run('--mode', 'bytecodes')
    expect(JSON.stringify(again.merged)).toBe(JSON.stringify(byDefault.merged))
    expect(again.methods).toEqual(byDefault.methods)
  })

  itInFull('--mode count records the same calls as --mode exact, and no times', async () => {
    const [counted, exact] = [await run('--mode', 'count'), await run()]
    expect(callsOf(counted)).toEqual(callsOf(exact))
    expect(counted.merged[0]).not.toHaveProperty('selfNs')
    expect(counted.mode).toBe('count')
  })

  itInFull(
    'bytecodes are counted for threads that end after the attach, and for classes that were loaded before the attach',
    async () => {
      await ask(java, `run ${N}`, /^done/)
      const recording = startRecording(java.pid, '--root', ROOT, '--mode', 'bytecodes', '--bba', 'precise')
      await recording.started
      await ask(java, `threads 6 ${N}`, /^done/)
      const profile = await recording.stop()
      const each = bytecodesOf(profile)
      for (const [method, count] of Object.entries(steps)) expect(each[method], method).toBe(count * 3)
      const threads = profile.threads.filter(({ roots }) => roots.length > 0)
      expect(threads).toHaveLength(6)
      for (const { roots } of threads) expect(JSON.stringify(roots)).toBe(JSON.stringify(threads[0]!.roots))
      await ask(java, `run ${N}`, /^done/) // restores the code of the root
    },
  )

  const itWithVirtualThreads = itOnlyIf(jdk.version >= 21, 'virtual threads need JDK 21')
  itWithVirtualThreads('bytecodes of virtual threads are counted on any carrier', async () => {
    const recording = startRecording(java.pid, '--root', ROOT, '--mode', 'bytecodes', '--bba', 'precise')
    await recording.started
    await ask(java, `virtual 40 ${N}`, /^done/)
    const profile = await recording.stop()
    expect(profile.instrumentation.gaps).toBe(0)
    const each = bytecodesOf(profile)
    for (const [method, count] of Object.entries(steps)) expect(each[method], method).toBe(count * 20)
  })

  itInFull('bytecodes of tasks in other threads are counted with --follow-threads', async () => {
    const flags = ['--mode', 'bytecodes', '--bba', 'precise', '--follow-threads']
    const recording = startRecording(java.pid, '--root', 'fix.Blocks.fanOut', ...flags)
    await recording.started
    await ask(java, `pool 30 ${N}`, /^done/)
    const profile = await recording.stop()
    const loops = 'fix.Blocks.loops(I)J'
    expect(bytecodesOf(profile)[loops]).toBe((steps[loops]! / 2) * 30)
    expect(profile.merged.every(addsUp)).toBe(true)
    expect(profile.followedTasks).toBe(30)
  })

  itInFull('a call that executes more than 2^31 bytecodes is counted completely', async () => {
    const root = 'fix.Blocks.longLoop'
    const recording = startRecording(java.pid, '--root', root, '--mode', 'bytecodes')
    await recording.started
    await ask(java, 'long 300', /^done/)
    const [node] = (await recording.stop()).merged
    // 4 bytecodes before the loop, nine per iteration, 3 for the last test, and 2 for the return.
    expect(node).toMatchObject({ calls: 1, selfBytecodes: 9 * 300e6 + 9 })
  })
})
