// What a session takes of the target's heap, as its own histogram of live objects counts it.
//
// The first session makes the JVM load classes of the JDK, which keep what they have; what is ours shows in
// the second: 1 MiB at most, however many methods have probes, and about what the profile says. Other bounds are half
// again as much as was measured: a leak, or twice the memory, is over them.

import { expect, it } from 'vitest'
import { compileBig } from '../fixtures/fixtures.ts'
import { startJava } from '../support/java-process.ts'
import { forNewestJdk } from '../support/jdks.ts'
import { startRecording } from '../support/jfluid.ts'
import { jcmd } from './remains.ts'

/** The program's own; thousands of the JDK's come with them. */
const METHODS = 300
const KIB = 1024
const MIB = 1024 * KIB
/** What the program and the JVM do meanwhile is in a difference of histograms, too; and a body has 60 bytes at least. */
const OTHERS = 256 * KIB
const LEAST_BODY = 60
/** The table of threads has 256 KiB of it. 390 KiB were measured. */
const OWN_CLASSES = 600 * KIB

interface Heap {
  /** All live objects. */
  readonly total: number
  /** Those of our classes. */
  readonly ours: number
  readonly byteArrays: number
}

/** Live objects after a collection. The first one of two may leave what waits for its finalizer. */
async function heapOf(pid: number): Promise<Heap> {
  await jcmd(pid, 'GC.class_histogram')
  let [total, ours, byteArrays] = [0, 0, 0]
  for (const line of (await jcmd(pid, 'GC.class_histogram')).split('\n')) {
    const [, size, name] = /^\s*\d+:\s+\d+\s+(\d+)\s+(\S+)/.exec(line) ?? []
    if (name === undefined) continue
    total += Number(size)
    if (/jfluid/i.test(name)) ours += Number(size)
    if (name === '[B') byteArrays = Number(size)
  }
  return { total, ours, byteArrays }
}

const kib = (bytes: number): string => `${Math.round(bytes / KIB)} KiB`
const told = (name: string, from: Heap, to: Heap): string =>
  `${name} ${kib(to.total - from.total)} (byte[] ${kib(to.byteArrays - from.byteArrays)}, own classes ${kib(to.ours)})`

forNewestJdk((jdk) => {
  it(`probes in ${METHODS} methods and thousands of JDK methods use little heap and release it`, {
    timeout: 120_000,
  }, async () => {
    const program = `fix.Big${METHODS}`
    const java = startJava(jdk, ['-Xmx128m', '-cp', await compileBig(jdk, METHODS), program])
    await java.line(/ready/)
    let runs = 0
    const run = async (): Promise<void> => {
      java.send('run 1')
      await java.line(/done/, ++runs)
    }
    await run()
    const session = async () => {
      const recording = startRecording(
        java.pid,
        '--root',
        `${program}.all`,
        '--scheme',
        'a',
        '--jdk',
        '--yes',
      )
      await recording.started
      await run()
      const during = await heapOf(java.pid)
      const { instrumentation, kept } = await recording.stop()
      expect(instrumentation.instrumentedMethods).toBeGreaterThan(2000)
      return { during, after: await heapOf(java.pid), methods: instrumentation.instrumentedMethods, kept }
    }
    // The second attach asks for properties of agents, for which the JVM loads what writes a date.
    await jcmd(java.pid, 'VM.system_properties')
    const before = await heapOf(java.pid)
    const first = await session()
    const second = await session()
    console.info(
      [
        `JDK ${jdk.version}, ${first.methods} methods:`,
        told('during', before, first.during),
        told('after', before, first.after),
        told('during the second', first.after, second.during),
        told('after it', first.after, second.after),
        `by its own count ${kib(second.kept.heapBytes)}, outside ${kib(second.kept.outsideBytes)}`,
      ].join(' '),
    )
    // The first session's classes are there for good; what they keep is no matter of how many methods there were.
    expect(first.after.total - before.total).toBeLessThan(3 * MIB)
    expect(first.during.total - first.after.total).toBeLessThan(MIB)
    const taken = second.during.total - first.after.total
    expect(taken).toBeLessThan(MIB)
    expect(second.kept.heapBytes).toBeLessThan(MIB)
    expect(Math.abs(taken - second.kept.heapBytes)).toBeLessThan(OTHERS)
    expect(second.kept.heapBytes).toBeGreaterThan(second.during.ours / 2) // it was looked at in time
    expect(second.kept.outsideBytes).toBeGreaterThan(LEAST_BODY * second.methods)
    for (const { during, after } of [first, second]) {
      expect(during.ours).toBeGreaterThan(0)
      expect(during.ours).toBeLessThan(OWN_CLASSES)
      expect(after.ours).toBeLessThan(KIB)
    }
    expect(second.after.total - first.after.total).toBeLessThan(256 * KIB)
    expect(second.after.byteArrays - first.after.byteArrays).toBeLessThan(128 * KIB)
  })
})
