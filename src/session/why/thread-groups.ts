// Groups the threads of a dump: threads with the same stack and the same state are one group. Pure functions.

import { CARRYING, type Deadlock, type DumpedThread, INITIALIZER } from '../../attach/thread-dump.ts'
import { isJdkName } from '../../base/jdk-names.ts'
import { isIdle } from '../sampling/idle-threads.ts'
import { ownersIn, plainFrame, type ThreadState, threadState } from './observed.ts'

export interface StackGroup {
  readonly state: ThreadState
  /** Whether the threads wait for work. */
  readonly isIdle: boolean
  /**
   * Frame that pins virtual threads to their carriers while they wait, as far as this frame is visible. Null if the threads are not pinned.
   */
  readonly pinnedAt: string | null
  /** Carriers of the threads, if they are virtual threads. */
  readonly carriers: readonly string[]
  /** Names of the threads; `virtual #22` for a virtual thread. */
  readonly threads: readonly string[]
  /** Frames as `package.Class.method(File.java:12)`, innermost first. */
  readonly frames: readonly string[]
  /** Class of the lock or object that the threads wait for. */
  readonly awaited: string | null
  /** Threads that hold the awaited monitors. Empty if unknown, as for locks of java.util.concurrent outside of a deadlock. */
  readonly holders: readonly string[]
  /** Classes of the monitors that the threads hold. */
  readonly held: readonly string[]
}

/** Innermost frames of a virtual thread that waits on its carrier. */
const WAITS_ON_CARRIER =
  /^(?:jdk\.internal\.misc\.Unsafe\.park|java\.lang\.(?:Object\.wait0?|Thread\.sleep(?:Nanos)?0))$/
/** Innermost frames of a virtual thread that is leaving its carrier. */
const LEAVES_CARRIER = /^(?:jdk\.internal\.vm\.Continuation|java\.lang\.VirtualThread)\./

/** Returns the groups: working groups first, in each part sorted by number of threads. */
export function groupThreads(threads: readonly DumpedThread[], deadlocks: readonly Deadlock[]): StackGroup[] {
  const owners = ownersIn(threads)
  const inDeadlock = new Map(deadlocks.flat().map((it) => [`${it.thread}\n${it.awaited}`, it.holder]))
  const groups = new Map<
    string,
    {
      readonly facts: Omit<StackGroup, 'threads' | 'carriers' | 'holders' | 'held'>
      threads: string[]
      carriers: Set<string>
      holders: Set<string>
      held: Set<string>
    }
  >()
  for (const thread of threads) {
    if (thread.state === CARRYING) continue // its virtual thread has a group, from JDK 24 on
    const { frames, places = [], awaited, held = [] } = thread
    const state = threadState(thread)
    const shown = frames.map((frame, at) => `${plainFrame(frame)}(${places[at] ?? 'Unknown Source'})`)
    const key = [state, thread.virtual, thread.state, awaited?.class, ...shown].join('\n')
    let group = groups.get(key)
    if (group === undefined) {
      const pin = pinOf(thread)
      const facts = {
        state,
        isIdle: pin === null && isIdle(thread),
        pinnedAt: pin === null ? null : shown[pin]!,
        frames: shown,
        awaited: awaited?.class ?? null,
      }
      group = { facts, threads: [], carriers: new Set(), holders: new Set(), held: new Set() }
      groups.set(key, group)
    }
    group.threads.push(nameOf(thread))
    if (thread.carrier !== undefined) group.carriers.add(thread.carrier)
    const owner = owners.get(awaited?.address ?? '')
    // Several threads may have one name, and several locks one class.
    const holder = owner === undefined ? inDeadlock.get(`${thread.name}\n${awaited?.class}`) : nameOf(owner)
    if (holder !== undefined) group.holders.add(holder)
    for (const it of held) group.held.add(it.class)
  }
  return [...groups.values()]
    .map(({ facts, threads: names, carriers, holders, held }) => ({
      ...{ ...facts, threads: names },
      ...{ carriers: [...carriers], holders: [...holders], held: [...held] },
    }))
    .sort((a, b) => Number(a.isIdle) - Number(b.isIdle) || b.threads.length - a.threads.length)
}

/** Returns the deadlocks in which at least one thread waits for a static initializer. The JVM does not find these deadlocks. */
export function initializerDeadlocks(threads: readonly DumpedThread[]): Deadlock[] {
  const owners = ownersIn(threads)
  const seen = new Set<DumpedThread>()
  const found: Deadlock[] = []
  for (const first of threads) {
    const path: DumpedThread[] = []
    let thread: DumpedThread | undefined = first
    while (thread !== undefined && !seen.has(thread)) {
      seen.add(thread)
      path.push(thread)
      thread = owners.get(thread.awaited?.address ?? '')
    }
    if (thread === undefined || !path.includes(thread)) continue
    const cycle = path.slice(path.indexOf(thread))
    if (!cycle.some(({ awaited }) => awaited?.address.endsWith(INITIALIZER))) continue
    found.push(
      cycle.map((it, at) => ({
        thread: nameOf(it),
        awaited: it.awaited!.class,
        holder: nameOf(cycle[(at + 1) % cycle.length]!),
      })),
    )
  }
  return found
}

/**
 * Returns the index of the frame that pins a waiting virtual thread to its carrier: the innermost native method or static initializer above
 * the wait, since the JVM cannot unmount their frames. Without such a frame (the JVM itself has called a method), the innermost frame
 * of the application. Null if the thread is not pinned.
 *
 * Without such a frame, a thread that waits to enter a monitor may be about to leave its carrier: HotSpot sets the pending monitor before it
 * unmounts the thread (ObjectMonitor::enter). Such a thread counts as not pinned.
 */
function pinOf({ virtual, frames, places = [], awaited }: DumpedThread): number | null {
  if (!virtual) return null
  const [innermost = ''] = frames
  if (awaited?.address.endsWith(INITIALIZER) === true) return 0
  const waits = WAITS_ON_CARRIER.test(innermost)
  if (!waits && (awaited === undefined || LEAVES_CARRIER.test(innermost))) return null
  const isNative = (at: number): boolean => at > 0 && places[at] === 'Native Method'
  const pin = frames.findIndex((it, at) => it.endsWith(INITIALIZER) || isNative(at))
  if (pin >= 0) return pin
  if (!waits) return null
  return Math.max(
    0,
    frames.findIndex((it) => !isJdkName(it)),
  )
}

function nameOf({ name, virtual, id }: DumpedThread): string {
  return virtual ? `virtual #${id}` : name
}
