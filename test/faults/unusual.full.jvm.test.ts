// JVMs with unusual options: each collector during allocation, one or no compiler, other object and table layouts. Two sessions each,
// with counts as in the source.

import { it } from 'vitest'
import { parseExpectation } from '../fixtures/expectation.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import { added, filesOf, mappedFiles, threadNames } from '../live/remains.ts'
import { compileJava, startJava } from '../support/java-process.ts'
import { forEachJdk, type Jdk, newest, oldest } from '../support/jdks.ts'
import { callsByPath, lines, startRecording } from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'
import { type Outcome, times, trials } from './trials.ts'

/** Runs `fix.KnownTree` with two threads that fill the young and the old generation of the heap. */
const PRESSED = `
  package fix;
  public class Pressed {
    static volatile Object[] kept = new Object[1024];
    static void press() {
      for (int i = 0; ; i++) {
        byte[][] some = new byte[64][];
        for (int k = 0; k < some.length; k++) some[k] = new byte[100 + (i + k & 255)];
        kept[i & 1023] = some;
        if ((i & 63) == 0) Thread.yield();
      }
    }
    public static void main(String[] args) throws Exception {
      for (int i = 0; i < Integer.getInteger("pressers", 2); i++) {
        Thread t = new Thread(Pressed::press, "presser");
        t.setDaemon(true);
        t.start();
      }
      KnownTree.main(args);
    }
  }`

interface Unusual {
  readonly name: string
  readonly options: readonly string[]
  /** Minimum version of the JDK. */
  readonly from?: number
  /** JDK on which it runs without JFLUID_FULL. */
  readonly short?: Jdk
  /** Number of threads that allocate. */
  readonly pressers?: number
  /** Output that proves that the option has taken effect. */
  readonly says?: RegExp
}

const HEAP = '-Xmx64m'
const UNLOCK = ['-XX:+UnlockExperimentalVMOptions', '-XX:+UnlockDiagnosticVMOptions']

const UNUSUAL: readonly Unusual[] = [
  { name: 'SerialGC under pressure', options: [HEAP, '-XX:+UseSerialGC'] },
  { name: 'ParallelGC under pressure', options: [HEAP, '-XX:+UseParallelGC'] },
  { name: 'G1 under pressure', options: [HEAP, '-XX:+UseG1GC'] },
  { name: 'Shenandoah under pressure', options: [HEAP, '-XX:+UseShenandoahGC'], short: oldest },
  {
    name: 'generational Shenandoah under pressure',
    options: [HEAP, ...UNLOCK, '-XX:+UseShenandoahGC', '-XX:ShenandoahGCMode=generational'],
    from: 25,
  },
  { name: 'ZGC under pressure', options: [HEAP, '-XX:+UseZGC'] },
  // Epsilon never frees memory.
  { name: 'Epsilon', options: ['-Xmx1g', ...UNLOCK, '-XX:+UseEpsilonGC'], pressers: 0 },
  { name: 'heap verified before GC', options: [HEAP, ...UNLOCK, '-XX:+VerifyBeforeGC', '-XX:+UseSerialGC'] },
  { name: '-Xint', options: [HEAP, '-Xint'] },
  { name: 'no continuations', options: [HEAP, ...UNLOCK, '-XX:-VMContinuations'], from: 25 },
  { name: 'C1 only', options: [HEAP, '-XX:TieredStopAtLevel=1'] },
  { name: 'C2 only', options: [HEAP, '-XX:-TieredCompilation'] },
  // Uses C1 only: on a busy machine a JVM with C2 may need ten seconds to report its properties, and an attach then fails.
  {
    name: 'each method compiled before its first call',
    options: [HEAP, '-Xcomp', '-XX:TieredStopAtLevel=1'],
    pressers: 0,
  },
  { name: 'uncompressed references', options: [HEAP, '-XX:-UseCompressedOops'] },
  { name: 'objects aligned to 32 bytes', options: [HEAP, '-XX:ObjectAlignmentInBytes=32'] },
  {
    name: 'compact headers, ZGC under pressure',
    options: [HEAP, ...UNLOCK, '-XX:+UseCompactObjectHeaders', '-XX:+UseZGC'],
    from: 25,
    short: newest,
  },
  { name: 'compact headers', options: [HEAP, ...UNLOCK, '-XX:+UseCompactObjectHeaders'], from: 25 },
  { name: '-Xcheck:jni', options: [HEAP, '-Xcheck:jni'] },
  { name: 'no hsperfdata', options: [HEAP, '-XX:-UsePerfData'] },
  { name: 'hsperfdata without a file', options: [HEAP, '-XX:+PerfDisableSharedMem'] },
  { name: 'no class data sharing', options: [HEAP, '-Xshare:off'] },
  {
    name: 'verification of all classes',
    options: [HEAP, ...UNLOCK, '-XX:+BytecodeVerificationLocal', '-XX:+BytecodeVerificationRemote'],
  },
  { name: '-Xrs', options: [HEAP, '-Xrs'] },
  { name: 'an attach listener from the start', options: [HEAP, '-XX:+StartAttachListener'] },
  {
    name: 'bytecode rewriting switched off',
    options: [HEAP, '-XX:-RewriteBytecodes', '-XX:-RewriteFrequentPairs'],
  },
  { name: 'transparent huge pages', options: [HEAP, '-XX:+UseTransparentHugePages'] },
  { name: 'a safepoint every millisecond', options: [HEAP, ...UNLOCK, '-XX:GuaranteedSafepointInterval=1'] },
  {
    name: 'a full code cache',
    options: [
      HEAP,
      '-Xcomp',
      '-XX:TieredStopAtLevel=1',
      '-XX:ReservedCodeCacheSize=2560k',
      '-XX:-UseCodeCacheFlushing',
    ],
    pressers: 0,
    says: /CodeCache is full/,
  },
  { name: 'stacks of 180 KiB', options: [HEAP, '-XX:ThreadStackSize=180'] },
  { name: 'stacks of a gigabyte', options: [HEAP, '-XX:ThreadStackSize=1048576'] },
  { name: 'no inlining', options: [HEAP, '-XX:-Inline'] },
  {
    name: 'no escape analysis, no biased or light locks',
    options: [
      HEAP,
      ...UNLOCK,
      '-XX:-DoEscapeAnalysis',
      '-XX:+IgnoreUnrecognizedVMOptions',
      '-XX:LockingMode=0',
    ],
  },
]

/** Profiles the known tree once, and returns the differences. */
async function session(jdk: Jdk, pid: number, run: () => Promise<string>): Promise<string[]> {
  const recording = startRecording(pid, '--root', 'fix.KnownTree.task')
  await recording.started
  const text = await run()
  const expected = lines(parseExpectation(text))
  const profile = await recording.stop()
  const found = lines(callsByPath(profile.merged))
  const wrong: string[] = []
  const { gaps, healed } = profile.instrumentation
  const told = `${gaps} gaps, ${healed} healed, truncated ${profile.truncated}: ${profile.warnings}`
  if (profile.truncated || healed > 0) wrong.push(told)
  const missing = added(found, expected)
  const more = added(expected, found)
  if (gaps > 0) {
    // On a busy machine a wait of a thread may time out. Calls are missing then, but no call is counted twice.
    console.info(`JDK ${jdk.version}: ${told}`)
    const calls = callsByPath(profile.merged)
    const due = parseExpectation(text)
    const many = [...calls].filter(([path, n]) => n > (due.get(path) ?? 0))
    if (many.length > 0) wrong.push(`too many calls: ${many.join(', ')}`)
  } else if (missing.length + more.length > 0) {
    wrong.push(`expected ${missing.join(', ')}, found ${more.join(', ')}`)
  }
  return wrong.map((it) => `JDK ${jdk.version}: ${it}`)
}

forEachJdk((jdk) => {
  const program = async (): Promise<string> => {
    const classes = await compileFixture(jdk, 'KnownTree')
    return `${await compileJava(jdk, { 'fix/Pressed': PRESSED }, { options: ['-cp', classes] })}:${classes}`
  }
  const possible = UNUSUAL.filter(({ from = 0 }) => jdk.version >= from)
  const tried = possible.filter(({ short }) => FULL || short === jdk)

  it.each(tried)(
    'counts are exact in two sessions on a JVM with: $name',
    { timeout: 600_000 },
    async ({ name, options, pressers = 2, says }) => {
      const classes = await program()
      const trial = async (): Promise<Outcome> => {
        const java = startJava(jdk, [
          ...options,
          `-Dpressers=${pressers}`,
          '-cp',
          classes,
          'fix.Pressed',
          '4',
          '50',
        ])
        await java.line(/ready/)
        let rounds = 0
        const run = async (): Promise<string> => {
          java.send('run 1')
          await java.line(/done/, ++rounds)
          const from = java.stdout().length
          java.send('expect')
          await java.line(/^end/, rounds)
          return java.stdout().slice(from)
        }
        const harm: string[] = []
        const wrong = await session(jdk, java.pid, run)
        const before = { threads: await threadNames(java.pid), mapped: mappedFiles(java.pid) }
        wrong.push(...(await session(jdk, java.pid, run)))
        const left = [
          ...added(before.threads, await threadNames(java.pid)),
          ...added(before.mapped, mappedFiles(java.pid)).filter((it) => !/\.so$/.test(it)),
          ...filesOf(java.pid).filter((it) => it !== `/tmp/.java_pid${java.pid}`),
        ]
        const said = java.stderr().replaceAll(/^(WARNING: .*|OpenJDK .* warning: .*)\n/gm, '')
        if (says !== undefined && !says.test(java.stdout() + java.stderr()))
          throw new Error(`it did not say ${says}: it was not so unusual`)
        if (said !== '') harm.push(`it said: ${said}`)
        java.send('quit')
        const { code, signal } = await java.exit
        if (code !== 0) harm.push(`it ended with ${code ?? signal}: ${java.stderr()}`)
        return { harm, wrong, profile: 'kept', left }
      }
      await trials(name, jdk, times(1, 2), trial)
    },
  )
})
