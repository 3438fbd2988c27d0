// After detach the JVM reports the original code of every method. The complete list of what jfluid leaves in and around the JVM is asserted
// here.

import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it } from 'vitest'
import { parseClassFile } from '../../src/classfile/class-file.ts'
import { parseCode } from '../../src/classfile/code.ts'
import { compileBig, compileFixture, compileLate, compileShop } from '../fixtures/fixtures.ts'
import { STATUS } from '../support/exit-codes.ts'
import { ask } from '../support/java-process.ts'
import { forEachJdk, type Jdk, jdks, newestOrAll, oldestOrAll } from '../support/jdks.ts'
import { AUTOSAVED, recordedSoFar, startRecording } from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'
import { liveCode, liveTables, probed, startDebuggable, symbolic } from './live-code.ts'
import {
  added,
  attachConnectionsClosed,
  descriptors,
  filesOf,
  liveObjects,
  mappedFiles,
  threadDump,
  threadNames,
  until,
} from './remains.ts'

const AGENT_JAR = fileURLToPath(new URL('../../dist/agent/jfluid-agent.jar', import.meta.url))

interface Program {
  name: string
  compile(jdk: Jdk, ticker: string): Promise<string>
  args: string[]
  root: string
  scheme: 'a' | 'b'
  /** Whether the program calls the root by itself. If not, the test only compares code. */
  isCalled: boolean
  /** Signature prefix of the program's classes. Default: `Lfix/`. */
  own?: string
  /** The program may load more classes during the test. */
  grows?: true
  /** Whether the test runs in `test:full` only. */
  isSlow?: true
  /** JDKs of the test. Default: all JDKs. */
  on?: readonly Jdk[]
}

/** Line numbers and local variable tables must be restored as well. */
const DEBUG = ['-g']

const PROGRAMS: Program[] = [
  {
    name: 'the program Ticker, which calls its root continuously,',
    compile: (_, ticker) => Promise.resolve(ticker),
    args: ['fix.Ticker', '1', 'tiny'],
    root: 'fix.Ticker.work',
    scheme: 'b',
    isCalled: true,
    on: oldestOrAll,
  },
  {
    name: 'the program Big200 with many kinds of methods',
    compile: (jdk) => compileBig(jdk, 200, DEBUG),
    args: ['fix.Big200'],
    root: 'fix.Big200.all',
    scheme: 'a',
    isCalled: false,
  },
  {
    name: 'the program KnownTree with several classes',
    compile: (jdk) => compileFixture(jdk, 'KnownTree', DEBUG),
    args: ['fix.KnownTree', '2', '10'],
    root: 'fix.KnownTree.task',
    scheme: 'a',
    isCalled: false,
    on: oldestOrAll,
  },
  {
    name: 'the shop service, which answers requests,',
    compile: (jdk) => compileShop(jdk, DEBUG),
    args: ['shop.Main', '--rate', '200'],
    root: 'shop.OrderService.process',
    scheme: 'a',
    isCalled: true,
    own: 'Lshop/',
    grows: true,
    on: newestOrAll,
    isSlow: true,
  },
]

/** Returns the names of methods whose line or variable tables have changed. */
function changed(before: ReadonlyMap<string, string>, now: ReadonlyMap<string, string>): string[] {
  return [...before].filter(([name, rows]) => now.get(name) !== rows).map(([name]) => name)
}

forEachJdk((jdk) => {
  let ticker: string
  beforeAll(async () => {
    ticker = await compileFixture(jdk, 'Ticker', DEBUG)
  })

  describe('every method has its original code after detach', () => {
    it.each(PROGRAMS.filter(({ on = jdks, isSlow = false }) => on.includes(jdk) && (FULL || !isSlow)))(
      '$name has its original code after detach',
      async ({ compile, args, root, scheme, isCalled, own = 'Lfix/', grows }) => {
        const { java, jvm } = await startDebuggable(jdk, ['-cp', await compile(jdk, ticker), ...args])
        // Hidden classes are excluded, because they cannot be redefined and may be unloaded at any time.
        const isStable = ([name]: [string, string]): boolean => !name.includes('$$Lambda')
        const before = new Map([...(await liveCode(jvm, own))].filter(isStable))
        const tablesBefore = new Map([...(await liveTables(jvm, own))].filter(isStable))
        expect(probed(before)).toEqual([])
        const named = [...tablesBefore].filter(([, rows]) => /line/.test(rows) && / in /.test(rows))
        expect(named.length).toBeGreaterThan(2)

        const recording = startRecording(java.pid, '--root', root, '--scheme', scheme, ...AUTOSAVED)
        await (isCalled ? recordedSoFar(recording) : recording.started)
        // Scheme b instruments a method when its caller is entered. Scheme a instruments all methods at the start.
        if (scheme === 'b') await until(async () => probed(await liveCode(jvm, own)).length > 2)
        const during = await liveCode(jvm, own)
        expect([...during.keys()]).toEqual(expect.arrayContaining([...before.keys()]))
        expect(changed(tablesBefore, await liveTables(jvm, own))).not.toEqual([])

        const profile = await recording.stop(isCalled ? 0 : STATUS.rootNeverCalled)
        if (!grows) expect(probed(during)).toHaveLength(profile.instrumentation.instrumentedMethods)
        const after = await liveCode(jvm, own)
        // Classes that the verifier has loaded during the session are ignored, since they were never instrumented.
        expect([...after].filter(([name]) => before.has(name)).sort()).toEqual([...before].sort())
        expect(probed(after)).toEqual([])
        expect(changed(tablesBefore, await liveTables(jvm, own))).toEqual([])
        await jvm.dispose()
      },
    )
  })

  it('after detach, the JVM contains only the remains that this test lists', async () => {
    const { java, jvm } = await startDebuggable(jdk, ['-cp', ticker, 'fix.Ticker', '1'])
    await ask(java, 'rate 50', /^rate \d+/) // creates all resources that requests need
    const threadsBefore = await threadNames(java.pid)
    await attachConnectionsClosed(java.pid)
    const descriptorsBefore = descriptors(java.pid)
    const mappedBefore = mappedFiles(java.pid)

    const recording = startRecording(java.pid, '--root', 'fix.Ticker.work', ...AUTOSAVED)
    await recordedSoFar(recording)
    expect(mappedFiles(java.pid).filter((f) => /jfluid.*ring/.test(f))).toHaveLength(1)
    // The thread jfluid-swap exists only during a redefinition.
    const threads = (await threadNames(java.pid)).filter((n) => /jfluid/.test(n) && n !== 'jfluid-swap')
    expect(threads).toEqual(['jfluid-agent'])
    await recording.stop()

    // No thread, mapping or file remains. Descriptors: the application class loader keeps the agent's jar open. After its first use, the
    // JDK's NIO keeps one socket for closing other sockets, and two random sources for names of UNIX sockets.
    expect(added(threadsBefore, await threadNames(java.pid))).toEqual([])
    // The agent closes its connection shortly after the client reports the end of the session.
    const stay = ['/dev/random', '/dev/urandom', AGENT_JAR, 'socket'].sort()
    await expect.poll(() => added(descriptorsBefore, descriptors(java.pid)).sort()).toEqual(stay)
    // A thread dump opens a socket until the JVM notices that the dump has been read. A compiler thread may still compile code of the
    // agent.
    const dump = (await threadDump(java.pid)).replaceAll(/^ +Compiling: .*$/gm, '')
    expect(dump).not.toMatch(/jfluid/i)
    const libraries = added(mappedBefore, mappedFiles(java.pid))
    expect(libraries.filter((f) => !f.startsWith(join(jdk.home, 'lib')))).toEqual([])
    expect(filesOf(java.pid, recording.process.pid)).toEqual([`/tmp/.java_pid${java.pid}`])

    // Remaining classes: the runtime, the agent and its loader. Remaining objects: only those that the next session needs.
    const ours = await jvm.virtualMachine.allClasses()
    const inJar = execFileSync(join(jdk.tools, 'jar'), ['tf', AGENT_JAR], { encoding: 'utf8' })
      .split('\n')
      .filter((name) => name.endsWith('.class'))
      .map((name) => `L${name.replace(/^(agent|runtime)\//, '').replace(/\.class$/, '')};`)
    const strangers = (ours.ok ? ours.value : [])
      .map((type) => type.signature.replace(/^\[+/, ''))
      .filter((signature) => /jfluid/i.test(signature) && !inJar.includes(signature))
    expect(strangers.filter((signature) => !/^Ljfluid\/agent\/[\w$]+\$\$Lambda/.test(signature))).toEqual([])
    const objects = await liveObjects(java.pid, /jfluid/i)
    expect([...objects].filter(([name]) => !name.includes('$$Lambda')).sort()).toEqual([
      ['[Ljava.lang.JFluid1Allocations$Allocated;', 1], // empty tables of the runtime
      ['[Ljava.lang.JFluid1Nameless$Reflected;', 1],
      ['[Ljava.lang.JFluid1Threads$ThreadInfo;', 1],
      ['[Ljava.lang.JFluid1TraceIds$Source;', 1],
      ['[Ljava.lang.JFluid1Values$Step;', 1],
      ['java.lang.JFluid1$Wake', 1], // used by a second attach
      ['java.lang.JFluid1Caller$CallerOf', 1], // constants without a reference to a class of the program
      ['java.lang.JFluid1Values$Step', 1],
      ['jfluid.Boot$Loader', 1],
      ['jfluid.agent.Main$Sleeper', 1], // receives the options of a second attach
    ])
    await jvm.dispose()
  })

  it('a class that is loaded after detach has the code of its class file', async () => {
    const { classes, a, b } = await compileLate(jdk)
    const { java, jvm } = await startDebuggable(jdk, ['-cp', classes, 'fix.Late', a, b])
    const recording = startRecording(java.pid, '--root', 'fix.Late.run')
    await recording.started
    java.send('inside a')
    await java.line(/done/)
    expect(probed(await liveCode(jvm, 'Lfix/late/'))).not.toEqual([])
    await recording.stop()
    java.send('load b')
    await java.line(/loaded .*late-b/)

    for (const dir of [a, b]) {
      const file = parseClassFile(readFileSync(join(dir, 'fix', 'late', 'Greeter.class')))
      const written = file.methods.map((m) => symbolic(parseCode(file, m).bytecode, file.pool)).sort()
      const types = await jvm.virtualMachine.classesBySignature('Lfix/late/Greeter;')
      expect(types.ok && types.value.length).toBe(2)
      const live = [...(await liveCode(jvm, 'Lfix/late/Greeter;')).values()].sort()
      for (const text of written) expect(live).toContain(text)
    }
    expect(probed(await liveCode(jvm, 'Lfix/'))).toEqual([])
    await jvm.dispose()
  })
})
