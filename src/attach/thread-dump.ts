// Parses the stacks of all threads as the attach operation `threaddump` prints them. The JVM holds every thread at a safepoint while it
// makes the dump. jstack prints the same text (JavaThread::print_stack_on in javaThread.cpp).
//
//   "main" #1 prio=5 os_prio=0 cpu=… elapsed=… tid=0x… nid=… runnable  [0x…]
//      java.lang.Thread.State: RUNNABLE
//   	at shop.Main.serve(Main.java:12)
//   	- locked <0x…> (a java.lang.Object)
//   	at java.lang.Thread.run(java.base@17.0.15/Thread.java:840)
//
// A carrier thread has a line `   Carrying virtual thread #22` instead of its state. From JDK 24 on, its virtual thread's stack follows
// below a line `   Mounted virtual thread #22`. The dump contains no unmounted virtual threads. Frames have no method descriptors. A thread
// that is blocked in native code, such as a socket read, has the state RUNNABLE.

import { attachCommand } from './command.ts'
import type { AttachConnection } from './handshake.ts'

export interface DumpedThread {
  /** Java thread id. */
  readonly id: number
  /** Name of the thread; '' for a virtual thread. */
  readonly name: string
  readonly virtual: boolean
  /** `RUNNABLE`, `WAITING`, …; `CARRYING`: the thread carries a virtual thread. */
  readonly state: string
  /** Frames as `package.Class.method`, innermost first. */
  readonly frames: readonly string[]
}

export async function dumpThreads(
  connection: AttachConnection,
  signal?: AbortSignal,
): Promise<DumpedThread[]> {
  const { text } = await attachCommand(connection, 'threaddump', [], signal === undefined ? {} : { signal })
  return parseThreadDump(text)
}

/** State of a carrier thread; the dump prints no state for it. */
const CARRYING = 'CARRYING'

/** Parses the threads that have Java frames. Ignores text that is not a thread. */
export function parseThreadDump(text: string): DumpedThread[] {
  const threads: DumpedThread[] = []
  for (const paragraph of text.split(/\n(?=")/)) {
    const [, name, id] = /^"(.*)" #(\d+) /.exec(paragraph) ?? []
    if (name === undefined) continue
    const [own = '', mounted = ''] = paragraph.split('\n   Mounted virtual thread ', 2)
    const state = /^ {3}java\.lang\.Thread\.State: (\w+)/m.exec(own)?.[1] ?? CARRYING
    const frames = framesIn(own)
    if (frames.length > 0) threads.push({ id: Number(id), name, virtual: false, state, frames })
    const carried = framesIn(mounted)
    const [, number] = /^#(\d+)/.exec(mounted) ?? []
    if (carried.length > 0) {
      threads.push({ id: Number(number), name: '', virtual: true, state: 'RUNNABLE', frames: carried })
    }
  }
  return threads
}

function framesIn(text: string): string[] {
  return [...text.matchAll(/^\tat ([^(\n]+)\(/gm)].map((match) => match[1]!)
}
