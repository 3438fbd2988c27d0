// With --jdk the classes of the JDK are counted like the rest. Held against the counting agent (counting-agent.full.jvm.test.ts),
// which rewrites them as well.
//
// Both JVMs run interpreted: compiled code replaces intrinsics, and with them what those call, when it pleases. A
// redefined method links its `invokedynamic` anew, in code of the JDK, so what is compared is a late run in which
// nothing is left to be linked; a thread for each run tells them apart. The JDK's immutable sets are in the same order in
// all of these JVMs (salt.ts).

import { expect, it } from 'vitest'
import { readProfile } from '../../src/profile/file.ts'
import type { Profile } from '../../src/profile/profile.ts'
import { deniedClass, deniedMethod } from '../../src/reveal/deny-list.ts'
import { differences, methodsOf, type Row, rowsOfTree, sizeOf, treeOf } from '../oracle/call-tree.ts'
import { buildCountingAgent, type CountingAgent, countCallsByAgent } from '../oracle/counting-agent.ts'
import {
  compileProgram,
  DRIVER,
  vmOptions as optionsOf,
  PROGRAMS,
  type Program,
  ROOT,
} from '../oracle/programs.ts'
import { withoutSalt } from '../oracle/salt.ts'
import { startJava } from '../support/java-process.ts'
import { forEachJdk, type Jdk } from '../support/jdks.ts'
import { startRecording } from '../support/jfluid.ts'

const BEFORE = 2
const RUNS = 6
/**
 * Reflection makes its accessors at the first call, not at the sixteenth (JDK 17). Nothing is collected: what the JDK
 * keeps by weak references (method types, lambda forms) it would make anew.
 */
const OPTIONS = [
  ...['-Xint', '-Dsun.reflect.noInflation=true'],
  ...['-XX:+UseSerialGC', '-Xmx5g', '-Xmn4g', '-XX:MetaspaceSize=1g'],
]
/** Reasons for which a method may have no probes. The last: of a class whose optional library is not there, which never runs. */
const REASON =
  /^(native(?:: .*)?|intrinsic: .*|hidden class.*|would exceed 8000 bytes.*|.*class redefinition failed: invalid class|an empty finalize.*)$/
/** The agent leaves them alone, or (classes that XSLT makes) is not shown them. */
const SPUN = /^(jdk\.internal\.reflect\.Generated|.*\.\$Proxy\d|die\.verwandlung\.)/
/** Where a ThreadLocal lies in a thread's table depends on how many were made before it, by whomever. */
const CROWDED = /^java\.lang\.(ThreadLocal\$ThreadLocalMap\.|ref\.Reference\.refersTo)/
/** What is left out with all that it leads to. */
const CUTS = [
  {
    methods: /ConcurrentHashMap\.\w+\(/,
    callers:
      /ClassLoader\.getClassLoadingLock\(|\.Referenced?Key(?:Map|Set)\.|ConcurrentWeakInternSet\.|WeakPairMap\.|ClassSpecializer\.findSpecies\(/,
    why: 'how full these tables are depends on all classes, method types and modules, those of the agents too',
  },
  {
    methods: /./,
    callers: /\.MethodType\.makeImpl\(|ConcurrentWeakInternSet\.expungeStaleElements\(/,
    why: 'the same: whether a method type has been made before',
  },
  {
    methods: /./,
    callers: /BuiltinClassLoader\.loadClassOrNull\(/,
    why: 'whether a loader has been asked for a class before depends on all that it has loaded, the agents too',
  },
  {
    methods: /./,
    callers: /\.Class\.(?:reflectionData|newReflectionData|privateGetDeclared\w+)\(/,
    why: 'the JVM lets go of the reflection data of a class that is redefined',
  },
  {
    methods: /\.acquire(?:Method|Constructor)Accessor\(/,
    callers: /./,
    why: 'the same: accessors are made anew',
  },
  {
    methods: /HashMap\.(?:get|put)\(/,
    callers: /\.PublicMethods\.merge\(/,
    why: 'methods of a class are in no order',
  },
  {
    methods: /./,
    callers: /NativePRNG\$RandomIO\.ensureBufferValid\(/,
    why: 'a buffer of random bytes is filled anew after a tenth of a second',
  },
  {
    methods: /ZipFile\$Source\.getEntry(?:Next|Hash)\(/,
    callers: /ZipFile\$Source\.getEntryPos\(/,
    why: "the agent's jar is on the class path, and is searched too",
  },
  {
    methods: /HashMap\.remove\(/,
    callers: /JarFileFactory\.close\(/,
    why: "the same: all open jars have one identity hash code, and the agent's is among them",
  },
  {
    methods: /\.loadClass\(Ljava\/lang\/String;\)/,
    callers: /\.(?![^.(]*(?:[lL]oad|find))[^.(]+\(/,
    why: 'called by the JVM to find a class, on our thread if a redefinition links it first',
  },
]
/** The JVM adds these to a class after the agent has rewritten it (jfrEventClassTransformer.cpp). */
const ADDED = /^jdk\.internal\.event\.\w+Event\.(isEnabled|shouldCommit|begin|end|commit)\(\)/

async function profiled(
  ...[jdk, classpath, program, scheme, more]: [Jdk, string, Program, string, readonly string[]]
): Promise<Profile> {
  const options = [...more, '-cp', classpath]
  const java = startJava(jdk, [...options, DRIVER, `programs.${program.name}`])
  await java.line(/^ready$/)
  const run = async (nth: number) => {
    java.send('apart')
    await java.line(/^done /, nth)
  }
  for (let i = 1; i <= BEFORE; i++) await run(i)
  const recording = startRecording(java.pid, '--root', ROOT, '--scheme', scheme, '--jdk', '--yes')
  await recording.started
  for (let i = BEFORE + 1; i <= RUNS; i++) await run(i)
  await recording.end()
  const profile = await readProfile(recording.file)
  await java.kill()
  return profile
}

function isDenied(method: string): boolean {
  const [path] = method.split('(')
  const dot = path.lastIndexOf('.')
  const className = path.slice(0, dot).replaceAll('.', '/')
  const name = path.slice(dot + 1)
  return deniedClass(className) !== null || deniedMethod(className, name) !== null
}

forEachJdk((jdk) => {
  let built: Promise<CountingAgent> | undefined
  let saltless: Promise<string[]> | undefined
  const programs = PROGRAMS.filter(({ newestJdk }) => newestJdk === undefined || jdk.version <= newestJdk)
  it.each(programs.map((it) => [it.title, it] as const))(
    'the program %s is counted exactly, including JDK calls',
    { timeout: 900_000 },
    async (_, program) => {
      built ??= buildCountingAgent(jdk)
      const classpath = await compileProgram(jdk, program)
      const agent = await built
      saltless ??= withoutSalt(jdk)
      const vmOptions = [...OPTIONS, ...(await saltless), ...optionsOf(program)]
      const count = () =>
        countCallsByAgent(agent, {
          ...{ jdk, classpath, mainClass: DRIVER, args: [`programs.${program.name}`], root: ROOT },
          vmOptions,
          send: [...Array<string>(RUNS).fill('apart'), 'quit'],
          jdkClasses: true,
        })
      const { runs, intrinsics, failed } = await count()
      const other = await count()
      expect(failed).toEqual([])
      const cuts = [...CUTS, ...(program.cutWithJdk ?? [])]
      const cut = (method: string, caller = '') =>
        cuts.some(({ methods, callers }) => methods.test(method) && callers.test(caller))
      for (const scheme of ['a', 'b']) {
        const profile = await profiled(jdk, classpath, program, scheme, vmOptions)
        const { skipped, gaps, instrumentedMethods } = profile.instrumentation
        const without = new Set(skipped.map(({ method }) => method))
        const skip = (method: string) =>
          intrinsics.has(method) ||
          without.has(method) ||
          isDenied(method) ||
          SPUN.test(method) ||
          CROWDED.test(method) ||
          ADDED.test(method)
        const tree = (rows: readonly Row[]) => treeOf(rows, skip, cut)
        const expected = tree(runs[RUNS - 1])
        expect(differences(tree(other.runs[RUNS - 1]), expected), 'the program varies').toEqual([])
        const thread = profile.threads.find(({ name }) => name === `apart ${RUNS}`)
        const found = tree(thread === undefined ? [] : rowsOfTree(profile.methodNames, thread.tree))
        const called = methodsOf(expected).size
        console.info(
          `JDK ${jdk.version} scheme ${scheme} ${program.title}: ${called} methods in ${sizeOf(expected)} contexts, ` +
            `${instrumentedMethods} instrumented, ${gaps} gaps`,
        )
        const unknown = skipped.filter(({ method, reason }) => !REASON.test(reason) && !isDenied(method))
        const [ours, calls] = [methodsOf(found), methodsOf(expected)]
        const missed = [...calls.keys()].filter((method) => !ours.has(method))
        const extra = [...ours.keys()].filter((method) => !calls.has(method))
        const contexts = differences(expected, found)
        expect
          .soft({ scheme, truncated: profile.truncated, unknown, missed, extra, contexts })
          .toEqual({ scheme, truncated: false, unknown: [], missed: [], extra: [], contexts: [] })
      }
    },
  )
})
