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
// that is blocked in native code, such as a socket read, has the state RUNNABLE. A thread that waits for the static initializer of a class,
// which another thread executes, is RUNNABLE, too: `- waiting on the Class initialization monitor for shop.Stock`.
//
// `jcmd Thread.dump_to_file` also lists unmounted virtual threads, but it crashes JDK 25 (decision 137), so jfluid does not use it.

import { AttachProtocolError, attachCommand, type CommandOptions } from './command.ts'
import type { AttachConnection } from './handshake.ts'

export interface DumpedThread {
  /** Java thread id. */
  readonly id: number
  /** Name of the thread; '' for a virtual thread. */
  readonly name: string
  readonly virtual: boolean
  /** `RUNNABLE`, `WAITING`, …; `CARRYING`: the thread carries a virtual thread. */
  readonly state: string
  /** Name of the carrier of a virtual thread. */
  readonly carrier?: string
  /** Frames as `package.Class.method`, innermost first. */
  readonly frames: readonly string[]
  /** Source line of each frame; 0 if unknown. */
  readonly lines?: readonly number[]
  /** Source position of each frame, as `File.java:12`. This and the following fields need `withDetails`. */
  readonly places?: readonly string[]
  /** The lock or object that the thread waits for. */
  readonly awaited?: DumpedLock
  /** Monitors that the thread holds. */
  readonly held?: readonly DumpedLock[]
  /** Processor time since the start of the thread, in ms. */
  readonly cpuMs?: number
  /** Bytes allocated since the start of the thread, which the JVM rounds down to a multiple of `allocatedStep`. */
  readonly allocated?: number
  readonly allocatedStep?: number
}

export interface DumpedLock {
  /** Address of the object at the time of the dump: a garbage collection may move the object. */
  readonly address: string
  readonly class: string
}

/** Suffix of `address` if a thread waits for a static initializer: `address` is then the name of the initializer method. */
export const INITIALIZER = '.<clinit>'

/** State of a carrier thread; the dump prints no state for it. */
export const CARRYING = 'CARRYING'

/** @param withDetails  also returns positions, locks, processor time and allocated bytes, which takes longer to parse */
export async function dumpThreads(
  connection: AttachConnection,
  signal?: AbortSignal,
  withDetails = false,
): Promise<DumpedThread[]> {
  const { text } = await attachCommand(connection, 'threaddump', withDetails ? ['-e'] : [], abortedBy(signal))
  mustBeDump(text)
  return parseThreadDump(text, withDetails)
}

function abortedBy(signal: AbortSignal | undefined): CommandOptions {
  return signal === undefined ? {} : { signal }
}

/** @throws AttachProtocolError if the text is no thread dump, or if its end is missing: the counts of JNI references, then the deadlocks */
export function mustBeDump(text: string): void {
  if (!text.includes('Full thread dump'))
    throw new AttachProtocolError('threaddump', 'the reply is no thread dump')
  const end = endOf(text)
  if (
    !/^JNI global ref[^\n]*\n/.test(end) ||
    (end.includes(DEADLOCK) && !/^Found .* deadlocks?\.\n/m.test(end))
  )
    throw new AttachProtocolError('threaddump', 'the reply ends within the thread dump')
}

/** Begins each deadlock below the threads of a dump. */
const DEADLOCK = '\nFound one Java-level deadlock:'

/** Returns the text below the threads; '' if it is missing. */
function endOf(text: string): string {
  const at = text.lastIndexOf('\nJNI global ref')
  return at < 0 ? '' : text.slice(at + 1)
}

/** One thread of a deadlock. */
export interface DeadlockedThread {
  readonly thread: string
  /** Class of the lock that the thread waits for. */
  readonly awaited: string
  /** Thread that holds this lock. */
  readonly holder: string
}

/** The threads of a deadlock. Each thread waits for a lock that another thread of the list holds. */
export type Deadlock = readonly DeadlockedThread[]

/** Takes one dump with details, and with the deadlocks that the JVM finds in it. */
export async function dumpAll(
  connection: AttachConnection,
  signal?: AbortSignal,
): Promise<{ threads: DumpedThread[]; deadlocks: Deadlock[] }> {
  const { text } = await attachCommand(connection, 'threaddump', ['-e'], abortedBy(signal))
  mustBeDump(text)
  return { threads: parseThreadDump(text, true), deadlocks: parseDeadlocks(text) }
}

/** Returns the number of virtual threads that are ready to run but have no carrier; null if the JVM does not report it (before JDK 24). */
export async function readyVirtualThreads(
  connection: AttachConnection,
  signal?: AbortSignal,
): Promise<number | null> {
  const { code, text } = await attachCommand(
    connection,
    'jcmd',
    ['Thread.vthread_scheduler'],
    abortedBy(signal),
  )
  return code === 0 ? readyIn(text) : null
}

/** Parses `java.util.concurrent.ForkJoinPool@1[Running, parallelism = 2, …, tasks = 3, submissions = 208, delayed = 8]`. */
export function readyIn(text: string): number | null {
  const [, tasks, submissions] = /\btasks = (\d+), submissions = (\d+)\b/.exec(text) ?? []
  return tasks === undefined ? null : Number(tasks) + Number(submissions)
}

/** Parses the deadlocks that the JVM prints below its threads (DeadlockCycle::print_on_with in threadService.cpp). */
export function parseDeadlocks(text: string): Deadlock[] {
  const [, ...sections] = endOf(text).split(DEADLOCK)
  return sections.map((section) => {
    const [cycle = ''] = section.split('\nJava stack information', 1)
    const lines =
      /^"(.*?)":\n {2}waiting (?:to lock monitor \w+ \(object \w+, an? ([^)\n]+)\)|for ownable synchronizer \w+, \(an? ([^)\n]+)\)),\n {2}which is held by "(.*?)"$/gms
    return [...cycle.matchAll(lines)].map(([, thread, monitor, synchronizer, holder]) => ({
      thread: thread!,
      awaited: (monitor ?? synchronizer)!,
      holder: holder!,
    }))
  })
}

/** A thread of a dump: the text after its header ends before the header of the next thread. */
interface Paragraph {
  readonly name: string
  readonly id: string
  /** The header after the id, and the following lines. */
  readonly text: string
}

/**
 * Splits a dump into its Java threads. A thread name may contain line feeds and the text of other threads. So a header is accepted only
 * with the address of a thread of the list at the start of the dump (from JDK 10 on): a program does not know these addresses.
 */
function paragraphsIn(dump: string): Paragraph[] {
  const [list] = /\n_java_thread_list=.*?\n\}\n/s.exec(dump) ?? []
  const threads = list && new Set(list.match(/0x[\da-f]+/g))
  const found: { name: string; id: string; from: number; to: number }[] = []
  let begin = 0
  for (const header of dump.matchAll(/" #(\d+) (?=[^\n"]*? tid=(0x[\da-f]+))/g)) {
    const [all, id, tid] = header
    if (threads && !threads.has(tid!)) continue
    // An empty line ends the previous thread, and a line break ends the text before the first thread.
    const quote = dump.indexOf(found.length === 0 ? '"' : '\n\n"', begin)
    const start = dump.indexOf('"', quote)
    if (quote < 0 || start >= header.index) continue
    const previous = found.at(-1)
    if (previous !== undefined) previous.to = start
    begin = header.index + all.length
    found.push({ name: dump.slice(start + 1, header.index), id: id!, from: begin, to: dump.length })
  }
  const last = found.at(-1)
  const end = dump.indexOf('\n\n', last?.from)
  if (last !== undefined && end >= 0) last.to = end
  return found.map(({ name, id, from, to }) => ({ name, id, text: dump.slice(from, to) }))
}

/** Parses the threads that have Java frames. Ignores text that is not a thread. */
export function parseThreadDump(text: string, withDetails = false): DumpedThread[] {
  const threads: DumpedThread[] = []
  for (const { name, id, text: paragraph } of paragraphsIn(text)) {
    const [own = '', mounted = ''] = paragraph.split('\n   Mounted virtual thread ', 2)
    const state = /^ {3}java\.lang\.Thread\.State: (\w+)/m.exec(own)?.[1] ?? CARRYING
    const { frames, lines } = framesIn(own)
    if (frames.length > 0)
      threads.push({
        id: Number(id),
        name,
        virtual: false,
        state,
        ...{ frames, lines },
        ...(withDetails && detailsIn(own)),
      })
    const carried = framesIn(mounted)
    const [, number] = /^#(\d+)/.exec(mounted) ?? []
    if (carried.frames.length > 0) {
      threads.push({
        id: Number(number),
        name: '',
        virtual: true,
        carrier: name,
        state: 'RUNNABLE',
        ...carried,
        ...(withDetails && detailsIn(mounted)),
      })
    }
  }
  return threads
}

type Details = Pick<DumpedThread, 'places' | 'awaited' | 'held' | 'cpuMs' | 'allocated' | 'allocatedStep'>

function detailsIn(text: string): Details {
  const [, cpu] = /^[^\n]* cpu=([\d.]+)ms /.exec(text) ?? []
  const [, size, unit] = /^[^\n]* allocated=(\d+)([BKMGT]) /.exec(text) ?? []
  const allocatedStep = unit === undefined ? 0 : 1024 ** 'BKMGT'.indexOf(unit)
  const [, initialized] = /^\t- waiting on the Class initialization monitor for (\S+)$/m.exec(text) ?? []
  // The innermost line of this kind belongs to the wait. Outer lines name monitors that Object.wait() has released.
  const [, address, name] =
    /^\t- (?:waiting to lock|waiting to re-lock in wait\(\)|parking to wait for|waiting on) +<(\w+)> \(an? ([^)\n]+)\)/m.exec(
      text,
    ) ?? []
  // Object.wait() has released a monitor that the dump calls locked. For compiled frames, the dump may not show which monitor that is.
  const isReleased =
    address === undefined && /^\tat java\.lang\.Object\.wait0?\(/m.exec(text)?.index === text.indexOf('\tat ')
  const held = [...text.matchAll(/^\t- locked <(\w+)> \(an? ([^)\n]+)\)/gm)]
    .map(([, at, of]) => ({ address: at!, class: of! }))
    .filter((it, at) => it.address !== address && !(isReleased && at === 0))
  return {
    places: [...text.matchAll(/^\tat [^(\n]+\((?:[^)\n]*\/)?([^)\n]*)\)/gm)].map((match) => match[1]!),
    ...(address !== undefined && { awaited: { address, class: name! } }),
    ...(initialized !== undefined && {
      awaited: { address: initialized + INITIALIZER, class: `static initializer of ${initialized}` },
    }),
    ...(held.length > 0 && { held }),
    ...(cpu !== undefined && { cpuMs: Number(cpu) }),
    ...(size !== undefined && { allocated: Number(size) * allocatedStep, allocatedStep }),
  }
}

function framesIn(text: string): Required<Pick<DumpedThread, 'frames' | 'lines'>> {
  const frames: string[] = []
  const lines: number[] = []
  for (const [, frame, line] of text.matchAll(/^\tat ([^(\n]+)\((?:[^)\n]*:(\d+)\))?/gm)) {
    frames.push(frame!)
    lines.push(Number(line ?? 0))
  }
  return { frames, lines }
}
