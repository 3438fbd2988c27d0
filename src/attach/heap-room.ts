// Whether a JVM has heap left. Where there is none, even an attach command that only asks does harm: the classes of the JDK that
// answer it are initialised for it, and one whose initialiser fails for want of memory cannot be used any more by anybody
// (`NoClassDefFoundError: Could not initialize class sun.util.calendar.ZoneInfoFile`).

import { setTimeout as sleep } from 'node:timers/promises'
import { EX_TEMPFAIL } from '../base/errors.ts'
import { AttachError } from './admission.ts'
import { run } from './command.ts'
import type { AttachConnection } from './handshake.ts'

/** What the first session takes. */
export const HEAP_NEEDED = 2 << 20
/** For a collection to come: what is used is not all in use. */
const PATIENCE_MS = 2000
const PAUSE_MS = 50

export class NoHeapLeft extends AttachError {
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
  for (const until = performance.now() + PATIENCE_MS; ; ) {
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

const UNITS: Readonly<Record<string, number>> = { B: 1, K: 1 << 10, M: 1 << 20, G: 1 << 30 }

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
  return most === undefined || unit === undefined ? undefined : Number(most) * UNITS[unit]!
}

/** Bytes, of all generations together: ` tenured generation   total 16384K, used 904K`, `64M max, 3M used`. 0 if nothing tells. */
export function heapUsed(info: string): number {
  let sum = 0
  const [heap = ''] = info.split(/^ *Metaspace/m)
  for (const line of heap.split('\n')) {
    // Below a generation its spaces are told, as percentages.
    const [, a, b, c, d] = /\bused\s+(\d+)([BKMG])|(\d+)([BKMG]) used\b/.exec(line) ?? []
    const [value, unit] = a === undefined ? [c, d] : [a, b]
    if (value !== undefined && unit !== undefined) sum += Number(value) * UNITS[unit]!
  }
  return sum
}
