// What a JVM has left of its metaspace and of its heap.
//
// Metaspace, where that is limited: classes of the agent, and of the JDK that it makes the JVM load,
// live there. A JVM that finds none collects all of its heap, twice, each time it is asked for more; and one that is to
// end when memory runs out (-XX:+ExitOnOutOfMemoryError) ends.

import { setTimeout as sleep } from 'node:timers/promises'
import { EX_TEMPFAIL } from '../base/errors.ts'
import { AttachError } from './admission.ts'
import { run } from './command.ts'
import type { AttachConnection } from './handshake.ts'

/** The first session in a JVM took 2.6 MiB of it, on 17 and on 25; bodies with probes come to that. */
export const METASPACE_NEEDED = 6 << 20
/** The part of classes themselves, where references to them are compressed. */
const CLASS_SPACE_NEEDED = 1 << 20

export class NoMetaspaceLeft extends AttachError {
  static sample = () => new NoMetaspaceLeft(4711, 1_500_000)
  readonly exitCode = EX_TEMPFAIL
  readonly hint = 'Restart the program with a larger -XX:MaxMetaspaceSize.'
  constructor(pid: number, left: number) {
    super(
      pid,
      'no metaspace left',
      `cannot attach to JVM ${pid}: ${mib(left)} of its metaspace are left, and an attach takes up to ${mib(METASPACE_NEEDED)}`,
    )
  }
}

const mib = (bytes: number): string => `${(Math.max(0, bytes) / 2 ** 20).toFixed(1)} MiB`

/**
 * Asks the JVM, which answers without running any Java code: for its system properties it would load classes.
 *
 * @throws NoMetaspaceLeft
 */
export async function refuseWithoutMetaspace(connection: AttachConnection): Promise<void> {
  const left = await leftOfMetaspace(connection)
  if (left < METASPACE_NEEDED) throw new NoMetaspaceLeft(connection.pid, left)
}

/** Bytes; Infinity where there is no limit, or the JVM does not tell. */
export async function leftOfMetaspace(connection: AttachConnection): Promise<number> {
  const { code, text } = await run(connection, 'jcmd', ['VM.metaspace basic scale=KB'])
  return code === 0 ? metaspaceLeft(text) : Number.POSITIVE_INFINITY
}

/** By their letter, in whatever case. */
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
 * Bytes that options of a JVM allow it; Infinity without such an option.
 *
 * @param options  as its performance data have them
 */
export function metaspaceLimit(options: string): number {
  const found = [...options.matchAll(/(?:^|\s)-XX:MaxMetaspaceSize=(\d+)([kmgt]?)(?=\s|$)/gi)].at(-1)
  return found === undefined ? Number.POSITIVE_INFINITY : bytesOf(found[1]!, found[2]!)
}

/**
 * Bytes that may still be committed; Infinity where there is no limit, or another JVM says it in other words. What has been
 * committed and is free again is not counted: it is in pieces.
 *
 * @param report  of `VM.metaspace basic scale=KB`
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

// Heap: where there is none left, even an attach command that only asks does harm: the classes of the JDK that
// answer it are initialised for it, and one whose initialiser fails for want of memory cannot be used any more by anybody
// (`NoClassDefFoundError: Could not initialize class sun.util.calendar.ZoneInfoFile`).

/** What the first session takes. */
export const HEAP_NEEDED = 2 << 20
/** For a collection to come: what is used is not all in use. */
const HEAP_ROOM_TIMEOUT_MS = 2000
const PAUSE_MS = 50

export class NoHeapLeft extends AttachError {
  static sample = () => new NoHeapLeft(4711, 400_000)
  readonly exitCode = EX_TEMPFAIL
  readonly hint = 'Try again when the program needs less, or restart it with a larger -Xmx.'
  constructor(pid: number, free: number) {
    super(
      pid,
      'no heap left',
      `cannot attach to JVM ${pid}: ${Math.max(0, free) >> 10} KiB of its heap are free, and an attach takes up to ${HEAP_NEEDED >> 10}`,
    )
  }
}

/**
 * Asks the JVM, which answers without running any Java code.
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
    // Under load each question takes up to 100 ms of the time in which a user waits.
    max ??=
      heapMost(info) ??
      Number(/MaxHeapSize=(\d+)/.exec(await ask('VM.flags'))?.[1] ?? Number.POSITIVE_INFINITY)
    const free = max - heapUsed(info)
    if (free >= HEAP_NEEDED) return
    if (performance.now() >= until) throw new NoHeapLeft(connection.pid, free)
    await sleep(PAUSE_MS)
  }
}

/**
 * Bytes that the heap may have, where that is told with what is used: G1 by the addresses that are reserved for it, others in words.
 * G1HeapSummary, ZCollectedHeap::print_on, ShenandoahHeap::print_on.
 *
 * @returns undefined for collectors with generations, of which each has its part
 */
export function heapMost(info: string): number | undefined {
  const [, from, to] = /^\s*garbage-first heap .*\[0x([\da-f]+), 0x([\da-f]+)\)/m.exec(info) ?? []
  if (from !== undefined && to !== undefined) return Number.parseInt(to, 16) - Number.parseInt(from, 16)
  const [, most, unit] =
    /\bmax capacity (\d+)([BKMG])|^\s*(\d+)([BKMG]) max,/m.exec(info)?.filter((it) => it !== undefined) ?? []
  return most === undefined || unit === undefined ? undefined : bytesOf(most, unit)
}

/** Bytes, of all generations together: ` tenured generation   total 16384K, used 904K`, `64M max, 3M used`. 0 if nothing tells. */
export function heapUsed(info: string): number {
  let sum = 0
  const [heap = ''] = info.split(/^ *Metaspace/m)
  for (const line of heap.split('\n')) {
    // Below a generation its spaces are told, as percentages.
    const [, a, b, c, d] = /\bused\s+(\d+)([BKMG])|(\d+)([BKMG]) used\b/.exec(line) ?? []
    const [value, unit] = a === undefined ? [c, d] : [a, b]
    if (value !== undefined && unit !== undefined) sum += bytesOf(value, unit)
  }
  return sum
}
