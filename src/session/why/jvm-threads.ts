// Sorts the threads of one thread dump into groups, and adds up the cost of the dumps of a session.

import { thisClient } from '../../attach/admission.ts'
import { openAttachSocket } from '../../attach/handshake.ts'
import { safepointMs } from '../../attach/hsperfdata.ts'
import { describeJvm } from '../../attach/jvms.ts'
import { StopCounters } from '../../attach/stops.ts'
import { readTargetFacts } from '../../attach/target-facts.ts'
import {
  CARRYING,
  type Deadlock,
  type DumpedThread,
  dumpAll,
  readyVirtualThreads,
} from '../../attach/thread-dump.ts'
import { EX_TEMPFAIL, EX_UNAVAILABLE, JfluidError } from '../../base/errors.ts'
import { refuseManyThreads } from '../../base/many-threads.ts'
import { plural } from '../../profile/text.ts'
import { costOfDump } from '../sampling/thread-dumps.ts'
import { groupThreads, initializerDeadlocks, type StackGroup } from './thread-groups.ts'

/** Thrown if the JVM is not a process of this machine, so that its attach mechanism cannot be used. */
export class DumpNotPossible extends JfluidError {
  static sample = () => new DumpNotPossible(4711)
  readonly exitCode = EX_UNAVAILABLE
  readonly hint = 'Use jfluid threads on the machine of the JVM.'
  constructor(pid: number) {
    super(`no thread dump of JVM ${pid}: jfluid reaches it only through its debugger port`)
  }
}

/** Thrown if the session ends before the JVM has answered the request for a dump. */
export class DumpAborted extends JfluidError {
  static sample = () => new DumpAborted()
  readonly exitCode = EX_TEMPFAIL
  readonly hint = 'Use jfluid threads to take a thread dump without a session.'
  constructor() {
    super('the session ended before the thread dump was complete')
  }
}

/** Numbers of virtual threads. A dump has no virtual threads without a carrier, so their number is not known. */
export interface VirtualFacts {
  /** Number of virtual threads that occupy a carrier. */
  readonly mounted: number
  /**
   * Number of mounted virtual threads that are pinned: they wait but still occupy their carrier. Null if the dump has no stacks of virtual
   * threads (before JDK 24).
   */
  readonly pinned: number | null
  /** Number of virtual threads that are ready to run but have no carrier. Null if the JVM does not report it (before JDK 24). */
  readonly ready: number | null
}

/** Thread of the JDK that exists since the first virtual thread. */
const OF_VIRTUAL_THREADS = /^VirtualThread-un/

/** Returns the facts without `ready`; null if no thread of the dump shows that the JVM has used virtual threads. */
export function virtualFacts(
  threads: readonly DumpedThread[],
  groups: readonly StackGroup[],
): Omit<VirtualFacts, 'ready'> | null {
  const mounted = threads.filter((it) => it.state === CARRYING).length
  if (mounted === 0 && !threads.some((it) => OF_VIRTUAL_THREADS.test(it.name))) return null
  const pinned = groups.reduce((sum, it) => sum + (it.pinnedAt === null ? 0 : it.threads.length), 0)
  return { mounted, pinned: mounted > 0 && !threads.some((it) => it.virtual) ? null : pinned }
}

export interface JvmThreads {
  readonly pid: number
  readonly mainClass: string
  readonly jdk: string
  /** Time for which the dump stopped the JVM; null if the JVM does not report it. */
  readonly stoppedMs: number | null
  /** Null if the JVM has not used virtual threads. */
  readonly virtual: VirtualFacts | null
  readonly deadlocks: readonly Deadlock[]
  readonly groups: readonly StackGroup[]
}

/**
 * Takes one thread dump. The JVM holds all threads at a safepoint during the dump.
 *
 * @param signal  stops the wait for the JVM
 * @throws the errors of `openAttachSocket` and `attachCommand`
 */
export async function threadsOf(pid: number, signal?: AbortSignal): Promise<JvmThreads> {
  const connection = await openAttachSocket(pid, { signal })
  const counters = new StopCounters(pid)
  const [before, stopsBefore] = [safepointMs(connection.target), counters.read()]
  const { threads, deadlocks: found } = await dumpAll(connection, signal)
  const [after, stopsAfter] = [safepointMs(connection.target), counters.read()]
  const deadlocks = [...found, ...initializerDeadlocks(threads)]
  const groups = groupThreads(threads, deadlocks)
  const virtual = virtualFacts(threads, groups)
  const ready = virtual === null ? null : await readyVirtualThreads(connection, signal)
  const facts = readTargetFacts(pid)
  const jvm = facts === undefined ? undefined : describeJvm(facts, thisClient())
  return {
    pid,
    mainClass: jvm?.mainClass ?? '',
    jdk: jvm?.version ?? '?',
    stoppedMs:
      before === undefined || after === undefined
        ? null
        : costOfDump(after - before, 0, stopsBefore, stopsAfter),
    virtual: virtual && { ...virtual, ready },
    deadlocks,
    groups,
  }
}

/** A thread dump, in ms of `performance.now`. */
interface Dump {
  readonly from: number
  /** Infinity while the dump runs. */
  to: number
  /** Time for which the dump stopped the JVM; Infinity if it is not known. */
  stoppedMs: number
}

/** Number of the latest dumps whose times are known. The cause of a stall is determined within seconds. */
const MAX_DUMPS = 16

/**
 * Takes the thread dumps that the user requests during a session, one after the other, and counts the time for which they stopped the JVM.
 */
export class SessionDumps {
  #count = 0
  #stoppedMs = 0
  /** The latest dumps. */
  readonly #dumps: Dump[] = []
  #turn: Promise<unknown> = Promise.resolve()
  readonly #abort = new AbortController()

  /** @param dumpOf  takes one dump */
  constructor(private readonly dumpOf: typeof threadsOf = threadsOf) {}

  /**
   * @param isConfirmed  whether the user has confirmed a dump of many threads
   * @throws ManyThreads, or the errors of `threadsOf`
   */
  async take(pid: number, isConfirmed: boolean): Promise<JvmThreads> {
    if (!isConfirmed) refuseManyThreads(pid, 'Use the key D again after a second to take the dump.')
    const taken = this.#turn.then(() => this.#take(pid))
    this.#turn = taken.catch(() => {}) // the caller receives the error
    return await taken
  }

  /** A dump is counted at its request, since the JVM may stop for it although the client gets no reply. */
  async #take(pid: number): Promise<JvmThreads> {
    const { signal } = this.#abort
    signal.throwIfAborted()
    const dump: Dump = {
      from: performance.now(),
      to: Number.POSITIVE_INFINITY,
      stoppedMs: Number.POSITIVE_INFINITY,
    }
    if (this.#dumps.push(dump) > MAX_DUMPS) this.#dumps.shift()
    this.#count++
    try {
      const threads = await this.dumpOf(pid, signal)
      this.#stoppedMs += threads.stoppedMs ?? 0
      dump.stoppedMs = threads.stoppedMs ?? Number.POSITIVE_INFINITY
      return threads
    } finally {
      dump.to = performance.now()
    }
  }

  /**
   * Returns an upper bound of the time, in ms, for which dumps stopped the JVM in a period. Both arguments are times of `performance.now`.
   */
  msWithin(from: number, to: number): number {
    return this.#dumps.reduce(
      (sum, dump) =>
        sum + Math.max(0, Math.min(dump.stoppedMs, Math.min(to, dump.to) - Math.max(from, dump.from))),
      0,
    )
  }

  /** Called when the session ends: a dump that still runs is aborted. */
  end(): void {
    this.#abort.abort(new DumpAborted())
  }

  reset(): void {
    this.#count = this.#dumps.filter((it) => it.to === Number.POSITIVE_INFINITY).length
    this.#stoppedMs = 0
  }

  get warnings(): string[] {
    if (this.#count === 0) return []
    const time = this.#stoppedMs > 0 ? ` for ${this.#stoppedMs.toFixed(1)} ms in total` : ''
    return [
      `${plural(this.#count, 'thread dump')} of the live view stopped the JVM${time}: the recorded times contain these stops`,
    ]
  }
}
