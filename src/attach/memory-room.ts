// Checks how much metaspace and heap a JVM has left.
// Metaspace may be limited. It holds the agent's classes, and the JDK classes that the agent makes the JVM load. A JVM without free
// metaspace runs two full collections for each further metaspace request. With -XX:+ExitOnOutOfMemoryError the JVM ends.

import { setTimeout as sleep } from 'node:timers/promises'
import { EX_TEMPFAIL } from '../base/errors.ts'
import { AttachError } from './admission.ts'
import { run } from './command.ts'
import { type AttachConnection, openAttachSocket } from './handshake.ts'

/** Metaspace that a session needs. The first session in a JVM used 2.6 MiB, on JDK 17 and 25; instrumented methods need more. */
export const METASPACE_NEEDED = 6 << 20
/** Class space that a session needs, in JVMs with compressed class pointers. */
const CLASS_SPACE_NEEDED = 1 << 20

export class NoMetaspaceLeft extends AttachError {
  static sample = () => new NoMetaspaceLeft(4711, 1_500_000)
  readonly exitCode = EX_TEMPFAIL
  readonly hint = 'Restart the program with a larger -XX:MaxMetaspaceSize.'
  constructor(pid: number, left: number) {
    super(
      pid,
      'no metaspace left',
      `cannot attach to JVM ${pid}: ${mib(left)} of its metaspace are free, and an attach needs up to ${mib(METASPACE_NEEDED)}`,
    )
  }
}

const mib = (bytes: number): string => `${(Math.max(0, bytes) / 2 ** 20).toFixed(1)} MiB`

/**
 * Refuses a JVM without enough metaspace. Uses a command that runs no Java code: reading the system properties would load classes.
 *
 * @throws NoMetaspaceLeft
 */
export async function refuseWithoutMetaspace(connection: AttachConnection): Promise<void> {
  const left = await leftOfMetaspace(connection)
  if (left < METASPACE_NEEDED) throw new NoMetaspaceLeft(connection.pid, left)
}

/** Returns the metaspace that is left, in bytes; Infinity if there is no limit or the JVM does not report the limit. */
export async function leftOfMetaspace(connection: AttachConnection): Promise<number> {
  const { code, text } = await run(connection, 'jcmd', ['VM.metaspace basic scale=KB'])
  return code === 0 ? metaspaceLeft(text) : Number.POSITIVE_INFINITY
}

/** Returns the metaspace that a JVM uses, in bytes; undefined if the JVM does not report it. @throws AttachError and others */
export async function readMetaspaceUsed(pid: number): Promise<number | undefined> {
  const { code, text } = await run(await openAttachSocket(pid), 'jcmd', ['VM.metaspace basic scale=KB'])
  return code === 0 ? metaspaceUsed(text) : undefined
}

/**
 * Returns the used metaspace, in bytes; undefined if the report has an unknown format. Unlike the performance counters, which the JVM
 * updates in collections, the report has the current number.
 *
 * @param report  output of `VM.metaspace basic scale=KB`
 */
export function metaspaceUsed(report: string): number | undefined {
  // With a class space, the last of these lines has the sum. Without it, there is only one line.
  const used = [...report.matchAll(/([\d.]+) KB used\.$/gm)].at(-1)?.[1]
  return used === undefined ? undefined : Number(used) * 1024
}

/** Bytes per unit, keyed by the lower-case letter of the unit. */
const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  b: 1,
  k: 2 ** 10,
  m: 2 ** 20,
  g: 2 ** 30,
  t: 2 ** 40,
}

const bytesOf = (value: string, unit: string): number => Number(value) * UNITS[unit.toLowerCase()]!

/**
 * Returns the metaspace limit in the JVM's options, in bytes; Infinity if the options set no limit.
 *
 * @param options  JVM arguments from the performance data
 */
export function metaspaceLimit(options: string): number {
  const found = [...options.matchAll(/(?:^|\s)-XX:MaxMetaspaceSize=(\d+)([kmgt]?)(?=\s|$)/gi)].at(-1)
  return found === undefined ? Number.POSITIVE_INFINITY : bytesOf(found[1]!, found[2]!)
}

/**
 * Returns the bytes that may still be committed; Infinity without a limit or if the report has an unknown format. Committed memory that is
 * free again is not counted, since it is fragmented.
 *
 * @param report  output of `VM.metaspace basic scale=KB`
 */
export function metaspaceLeft(report: string): number {
  const kib = (pattern: RegExp): number | undefined => {
    const found = pattern.exec(report)?.[1]
    return found === undefined ? undefined : Number(found) * 1024
  }
  const max = kib(/^MaxMetaspaceSize:\s+([\d.]+) KB/m)
  const committed = kib(/^\s+(?:Both|Non-class space):.*reserved,\s+([\d.]+) KB[^,\n]*committed\.\s*$/m)
  const ofClasses = kib(/^\s+Class space:\s+([\d.]+) KB reserved/m)
  const ofClassesCommitted = kib(/^\s+Class space:.*reserved,\s+([\d.]+) KB/m)
  if (ofClasses !== undefined && ofClassesCommitted !== undefined) {
    const left = ofClasses - ofClassesCommitted
    if (left < CLASS_SPACE_NEEDED) return left
  }
  return max === undefined || committed === undefined ? Number.POSITIVE_INFINITY : max - committed
}

// With a full heap even a read-only attach command may do harm: it initialises JDK classes. If a class initialiser runs out of memory, the
// class is unusable from then on (`NoClassDefFoundError: Could not initialize class sun.util.calendar.ZoneInfoFile`).

/** Heap that the first session needs, in bytes. */
export const HEAP_NEEDED = 2 << 20
/** Maximum wait for a garbage collection, since part of the used heap may be garbage. */
const HEAP_ROOM_TIMEOUT_MS = 2000
const HEAP_CHECK_INTERVAL_MS = 50

export class NoHeapLeft extends AttachError {
  static sample = () => new NoHeapLeft(4711, 400_000)
  readonly exitCode = EX_TEMPFAIL
  readonly hint = 'Try again when the program needs less, or restart it with a larger -Xmx.'
  constructor(pid: number, free: number) {
    super(
      pid,
      'no heap left',
      `cannot attach to JVM ${pid}: ${Math.max(0, free) >> 10} KiB of its heap are free, and an attach needs up to ${HEAP_NEEDED >> 10} KiB`,
    )
  }
}

/**
 * Refuses a JVM without enough heap. Uses commands that run no Java code.
 *
 * @throws NoHeapLeft
 */
export async function refuseWithoutHeap(connection: AttachConnection): Promise<void> {
  const ask = async (line: string): Promise<string> => {
    const { code, text } = await run(connection, 'jcmd', [line])
    return code === 0 ? text : ''
  }
  let max: number | undefined
  for (const until = performance.now() + HEAP_ROOM_TIMEOUT_MS; ; ) {
    const info = await ask('GC.heap_info')
    // The maximum is read only once: under load each command takes up to 100 ms, and the user waits for its reply.
    max ??=
      heapMost(info) ??
      Number(/MaxHeapSize=(\d+)/.exec(await ask('VM.flags'))?.[1] ?? Number.POSITIVE_INFINITY)
    const free = max - heapUsed(info)
    if (free >= HEAP_NEEDED) return
    if (performance.now() >= until) throw new NoHeapLeft(connection.pid, free)
    await sleep(HEAP_CHECK_INTERVAL_MS)
  }
}

/**
 * Returns the maximum heap size in bytes, if the output of `GC.heap_info` contains it. G1 prints its reserved address range, other
 * collectors print the size. Formats: G1HeapSummary, ZCollectedHeap::print_on, ShenandoahHeap::print_on.
 *
 * @returns undefined for collectors that report each generation separately
 */
export function heapMost(info: string): number | undefined {
  const [, from, to] = /^\s*garbage-first heap .*\[0x([\da-f]+), 0x([\da-f]+)\)/m.exec(info) ?? []
  if (from !== undefined && to !== undefined) return Number.parseInt(to, 16) - Number.parseInt(from, 16)
  const [, most, unit] =
    /\bmax capacity (\d+)([BKMG])|^\s*(\d+)([BKMG]) max,/m.exec(info)?.filter((it) => it !== undefined) ?? []
  return most === undefined || unit === undefined ? undefined : bytesOf(most, unit)
}

/**
 * Returns the used bytes of all generations, from lines such as ` tenured generation   total 16384K, used 904K` or `64M max, 3M used`.
 * Returns 0 if no line reports used bytes.
 */
export function heapUsed(info: string): number {
  let sum = 0
  const [heap = ''] = info.split(/^ *Metaspace/m)
  for (const line of heap.split('\n')) {
    // The lines below a generation show the used part of its spaces in percent. These lines do not match the pattern.
    const [, a, b, c, d] = /\bused\s+(\d+)([BKMG])|(\d+)([BKMG]) used\b/.exec(line) ?? []
    const [value, unit] = a === undefined ? [c, d] : [a, b]
    if (value !== undefined && unit !== undefined) sum += bytesOf(value, unit)
  }
  return sum
}
