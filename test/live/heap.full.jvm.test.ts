// The use of the target's heap by a session, according to the JVM's histogram of live objects.
//
// During the first session the JVM loads JDK classes, whose objects stay. The use by jfluid is therefore measured in the second session. It
// must be at most 1 MiB, independent of the number of methods with probes, and close to the value in the profile. The other bounds are 1.5
// times the measured values, so a leak or a doubled use exceeds them.

import { expect, it } from 'vitest'
import { compileBig } from '../fixtures/fixtures.ts'
import { startJava } from '../support/java-process.ts'
import { forNewestJdk } from '../support/jdks.ts'
import { startRecording } from '../support/jfluid.ts'
import { jcmd } from './remains.ts'

/** Number of the program's methods. Thousands of JDK methods are instrumented as well. */
const METHODS = 300
const KIB = 1024
const MIB = 1024 * KIB
/** OTHERS: maximum change of the heap by the program and the JVM between two histograms. LEAST_BODY: minimum size of a method body. */
const OTHERS = 256 * KIB
const LEAST_BODY = 60
/** Maximum heap use of jfluid's classes. 390 KiB were measured, of which the table of threads uses 256 KiB. */
const OWN_CLASSES = 600 * KIB

interface Heap {
  /** Bytes of all live objects. */
  readonly total: number
  /** Bytes of objects of jfluid's classes. */
  readonly ours: number
  readonly byteArrays: number
}

/** Returns the live objects after garbage collection. Collects twice, since objects with finalizers survive the first collection. */
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
  it(`probes in ${METHODS} methods and thousands of JDK methods use little heap, which is freed after the session`, {
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
    // The second attach reads agent properties, for which the JVM loads classes that format a date. They are loaded here in advance.
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
    // The classes of the first session stay loaded, and their heap use does not depend on the number of methods.
    expect(first.after.total - before.total).toBeLessThan(3 * MIB)
    expect(first.during.total - first.after.total).toBeLessThan(MIB)
    const taken = second.during.total - first.after.total
    expect(taken).toBeLessThan(MIB)
    expect(second.kept.heapBytes).toBeLessThan(MIB)
    expect(Math.abs(taken - second.kept.heapBytes)).toBeLessThan(OTHERS)
    expect(second.kept.heapBytes).toBeGreaterThan(second.during.ours / 2) // was measured before the end of the session
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
