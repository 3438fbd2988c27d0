// Obtains a thread that is suspended at an event, since a debugger can run methods only in a thread suspended at an event. First tries a
// JDK thread that jfluid can make reach a breakpoint (`debugger-cleaner.ts`). Then tries program threads that are about to wait, then
// threads that enter a method of the program, then threads that enter any method.
// Only the obtained thread stays suspended; all others continue to run. Even after an error, all event requests are cleared and no other
// thread stays suspended.

import { setTimeout as sleep } from 'node:timers/promises'
import { EX_TEMPFAIL, JfluidError } from '../../base/errors.ts'
import * as jdwp from '../../jdwp-client/index.ts'
import { commonCleaner, wakeIfWaiting } from './debugger-cleaner.ts'
import { type DebuggerAddress, textOf } from './debugger-port.ts'

/** Default time to wait for a thread. */
export const IDLE_TIMEOUT_MS = 5000
/** Time for which jfluid waits only for the cleaner thread, if the cleaner thread was interrupted. */
const CLEANER_DURATION_MS = 1000
/** Time after CLEANER_DURATION_MS in which only threads that are about to wait are used, so that the program is not delayed. */
const QUIET_DURATION_MS = 500
/** Delay after CLEANER_DURATION_MS until threads that enter a JDK method are used, too. */
const ANYWHERE_DELAY_MS = 1500
/**
 * Time for which events that were already under way are resumed after the requests are cleared. If the debugger disconnects while the debug
 * agent of JDK 20 or newer suspends a thread, the thread stays suspended forever, and the port never opens again: threadControl_reset
 * (threadControl.c) resumes all threads, then waits for the callback of the thread, which is suspended after that.
 */
const LATE_EVENTS_DURATION_MS = 100

export class JvmIdle extends JfluidError {
  static sample = () => [
    new JvmIdle({ host: '10.0.0.7', port: 5005 }, 10_000),
    new JvmIdle({ host: '10.0.0.7', port: 5005 }, 10_000, true),
  ]
  readonly exitCode = EX_TEMPFAIL
  readonly hint = 'Send the program requests while jfluid waits, and try again.'
  /** @param ownersOnly  whether every thread that was found owned monitors. Suspending such a thread would block other threads */
  constructor(address: DebuggerAddress, idleTimeoutMs: number, ownersOnly = false) {
    const seconds = idleTimeoutMs / 1000
    super(
      ownersOnly
        ? `the JVM at ${textOf(address)} has no thread that jfluid can use: each thread that called a method within ${seconds} s holds a lock`
        : `the JVM at ${textOf(address)} is idle: no thread called a method within ${seconds} s, and jfluid needs one to load its agent`,
    )
  }
}

/**
 * Methods that server threads enter often, and in which a suspended thread blocks no other thread. Object.wait is excluded, since its
 * callers own the monitor of the object. Native methods are excluded, since they cannot have breakpoints.
 */
const QUIET: readonly (readonly [signature: string, methods: RegExp])[] = [
  ['Ljava/util/concurrent/locks/LockSupport;', /^park/],
  ['Ljava/lang/Thread;', /^sleep$/],
  ['Lsun/nio/ch/SelectorImpl;', /^(?:lockAndDoSelect|select|selectNow)$/],
  ['Lsun/nio/ch/NioSocketImpl;', /^(?:accept|read|implRead)$/],
]

/** Thread group of JDK threads such as the Reference Handler. Suspending a JDK thread may block other threads. */
const SYSTEM_GROUP = 'system'
const NOT_THE_JDKS: readonly jdwp.Modifier[] = ['java.*', 'javax.*', 'jdk.*', 'sun.*'].map((pattern) => ({
  modifier: 'ClassExclude',
  pattern,
}))

const MODIFIER_NATIVE = 0x100

interface Request {
  readonly kind: 'BREAKPOINT' | 'METHOD_ENTRY'
  readonly modifiers: readonly jdwp.Modifier[]
}

/**
 * Waits for a thread to reach one of the breakpoints or method entries. If the JVM waited for a debugger at its start (`suspend=y`), it is
 * allowed to run, as if the debugger had disconnected.
 * @param onStart  called if the JVM waited at its start
 * @returns the thread, which is suspended until it is resumed or the connection ends
 * @throws JvmIdle if no suitable thread is found in time; the JVM is then unchanged
 */
export async function standingThread(
  jvm: jdwp.JdwpTarget,
  address: DebuggerAddress,
  onStart: () => void,
  idleTimeoutMs = IDLE_TIMEOUT_MS,
): Promise<jdwp.ThreadId> {
  const places = new Places(jvm)
  const [can, system, quiet, cleaner] = await Promise.all([
    jvm.virtualMachine.capabilities(),
    systemGroups(jvm),
    quietPlaces(jvm),
    commonCleaner(jvm),
  ])
  const owners = can.ok && can.value.canGetOwnedMonitorInfo
  let ownersOnly = false
  let isIdle = false
  const phasesFrom = (afterMs: number) => [
    { afterMs, requests: quiet },
    {
      afterMs: afterMs + QUIET_DURATION_MS,
      requests: [{ kind: 'METHOD_ENTRY' as const, modifiers: NOT_THE_JDKS }],
    },
    { afterMs: afterMs + ANYWHERE_DELAY_MS, requests: [{ kind: 'METHOD_ENTRY' as const, modifiers: [] }] },
  ]
  try {
    let isWoken = false
    let cleanersPlace: number | null = null
    if (cleaner !== null) {
      cleanersPlace = await places.watch({ kind: 'BREAKPOINT', modifiers: cleaner.place })
      isWoken = await wakeIfWaiting(jvm, cleaner) // a busy cleaner thread reaches the breakpoint when it has finished
    }
    let begin = performance.now()
    const phases = phasesFrom(isWoken ? CLEANER_DURATION_MS : 0)
    for (;;) {
      const passed = performance.now() - begin
      while (phases[0] !== undefined && passed >= phases[0].afterMs) {
        for (const request of phases.shift()!.requests) await places.watch(request)
      }
      isIdle = passed >= idleTimeoutMs
      if (isIdle) throw new JvmIdle(address, idleTimeoutMs, ownersOnly)
      const timeoutMs = Math.min(phases[0]?.afterMs ?? idleTimeoutMs, idleTimeoutMs) - passed
      const taken = await jvm.events.next(['VM_START', 'BREAKPOINT', 'METHOD_ENTRY'], { timeoutMs })
      if (taken === null) continue
      const { event, set } = taken
      // A VM_START event without suspension comes from a JVM that has just started and does not wait for a debugger.
      if (event.kind === 'VM_START' && set.suspendPolicy !== 'NONE') {
        onStart()
        begin = performance.now()
      }
      if (event.kind !== 'VM_START') {
        // The event set may also contain an event of the method entry request.
        const isAtItsPlace = set.events.some((it) => 'request' in it && it.request === cleanersPlace)
        if (isAtItsPlace) return event.thread
        // At any other breakpoint, the cleaner thread is running a cleanup action of the program, so it is not used.
        if (event.thread !== cleaner?.thread) {
          const unfit = await whyUnfit(jvm, event.thread, { system, owners })
          if (unfit === null) return event.thread
          ownersOnly ||= unfit === 'owner'
        }
      }
      jdwp.granted(await jvm.resume(set), 'to let a thread run')
      await places.watchAgain(event.request)
    }
  } finally {
    const cleared = places.clear()
    // Resumes threads that reached another breakpoint at the same moment.
    jvm.events.listen((set) => void jvm.resume(set).catch(() => {})) // if the connection has ended, the threads run in any case
    // Otherwise a thread may be suspended now, so nothing is awaited. The JVM executes commands in order.
    if (isIdle) {
      await cleared
      await sleep(LATE_EVENTS_DURATION_MS)
    }
  }
}

/** The active event requests. They are recorded so that all of them can be cleared. */
class Places {
  readonly #requests = new Map<number, Request>()

  constructor(private readonly jvm: jdwp.JdwpTarget) {}

  /**
   * Sends an event request.
   * @returns the number of the request; null if the JVM rejects it
   */
  async watch(request: Request): Promise<number | null> {
    // A method entry request for every class is expensive for the JVM, so it expires after one event.
    const modifiers: jdwp.Modifier[] = [...request.modifiers, { modifier: 'Count', count: 1 }]
    const asked = await this.jvm.eventRequest.set(request.kind, 'EVENT_THREAD', modifiers)
    // The JVM rejects the request if the class is unloaded or the method is native. Breakpoints at the other methods are sufficient.
    if (!asked.ok) return null
    this.#requests.set(asked.value, request)
    return asked.value
  }

  async watchAgain(id: number): Promise<void> {
    const request = this.#requests.get(id)
    if (request === undefined) return
    this.#requests.delete(id)
    await this.watch(request)
  }

  /** Clears all requests. Resolves when the JVM has answered, or the connection has ended. */
  async clear(): Promise<void> {
    if (this.jvm.connection.lost !== undefined) return // the JVM drops all requests when the connection ends
    const cleared = [...this.#requests].map(([id, { kind }]) => this.jvm.eventRequest.clear(kind, id))
    this.#requests.clear()
    await Promise.allSettled(cleared)
  }
}

async function quietPlaces(jvm: jdwp.JdwpTarget): Promise<Request[]> {
  const requests = QUIET.map(async ([signature, names]) => {
    const types = await jvm.virtualMachine.classesBySignature(signature)
    const starts = (types.ok ? types.value : []).map(({ id: type }) => startsOf(jvm, type, names))
    return (await Promise.all(starts)).flat()
  })
  return (await Promise.all(requests)).flat()
}

/** Returns breakpoints at the starts of methods that have bytecode. */
async function startsOf(jvm: jdwp.JdwpTarget, type: jdwp.TypeId, names: RegExp): Promise<Request[]> {
  const methods = await jvm.referenceType.methods(type)
  if (!methods.ok) return []
  return methods.value
    .filter(({ name, modifiers }) => names.test(name) && (modifiers & MODIFIER_NATIVE) === 0)
    .map(({ id: method }) => ({
      kind: 'BREAKPOINT',
      modifiers: [{ modifier: 'LocationOnly', location: { kind: 'CLASS', type, method, bci: 0 } }],
    }))
}

/** Reason why a thread cannot be used and is resumed at once. */
type Unfit = 'not ordinary' | 'owner'

async function systemGroups(jvm: jdwp.JdwpTarget): Promise<ReadonlySet<jdwp.ThreadGroupId>> {
  const system = new Set<jdwp.ThreadGroupId>()
  const tops = await jvm.virtualMachine.topLevelThreadGroups()
  for (const top of tops.ok ? tops.value : []) {
    const name = await jvm.threadGroupReference.name(top)
    if (name.ok && name.value === SYSTEM_GROUP) system.add(top)
  }
  return system
}

interface Known {
  readonly system: ReadonlySet<jdwp.ThreadGroupId>
  /** Whether the JVM can report the monitors that a thread owns. */
  readonly owners: boolean
}

/** Returns null if a thread is a platform thread of the program and owns no monitors (other threads would wait for them). */
async function whyUnfit(jvm: jdwp.JdwpTarget, thread: jdwp.ThreadId, known: Known): Promise<Unfit | null> {
  const [virtual, group, owned] = await Promise.all([
    jvm.threadReference.isVirtual(thread),
    jvm.threadReference.threadGroup(thread),
    known.owners ? jvm.threadReference.ownedMonitors(thread) : null,
  ])
  if ((virtual.ok && virtual.value) || !group.ok) return 'not ordinary'
  if (owned?.ok && owned.value.length > 0) return 'owner'
  return known.system.has(group.value) ? 'not ordinary' : null
}
