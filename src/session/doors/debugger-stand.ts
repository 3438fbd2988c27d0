// A thread that stands at an event. A debugger may have only such a thread run a method, so one has to come by: one of the JDK's that can
// be made to (`debugger-cleaner.ts`), else one of the program's at a place where threads are about to wait, else where any enters a method of
// the program, else where any enters any.
//
// Only that thread is stopped; all others run all the time. Whatever comes of it, no request stays in the JVM, and no
// thread of ours stays stopped.

import { EX_TEMPFAIL, JfluidError } from '../../base/errors.ts'
import * as jdwp from '../../jdwp-client/index.ts'
import { commonCleaner, wakeIfWaiting } from './debugger-cleaner.ts'
import { type DebuggerAddress, textOf } from './debugger-port.ts'

/** How long a thread is waited for, unless the user says otherwise. */
export const IDLE_MS = 5000
/** So long only the one that is made to is waited for, if it is there. */
const CLEANER_MS = 1000
/** Then for so long only those that are about to wait: the rest of the program does not notice. */
const QUIETLY_MS = 500
/** From then on any method of the JDK will do, too. */
const ANYWHERE_MS = 1500

export class JvmIdle extends JfluidError {
  static sample = () => [
    new JvmIdle({ host: '10.0.0.7', port: 5005 }, 10_000),
    new JvmIdle({ host: '10.0.0.7', port: 5005 }, 10_000, true),
  ]
  readonly exitCode = EX_TEMPFAIL
  readonly hint = 'Send the program requests while jfluid waits, and try again.'
  /** @param ownersOnly  threads came by that own monitors, for which others would have to wait */
  constructor(address: DebuggerAddress, patienceMs: number, ownersOnly = false) {
    const seconds = patienceMs / 1000
    super(
      ownersOnly
        ? `the JVM at ${textOf(address)} has no thread that jfluid can use: each thread that called a method within ${seconds} s holds a lock`
        : `the JVM at ${textOf(address)} is idle: no thread called a method within ${seconds} s, and jfluid needs one to load its agent`,
    )
  }
}

/** Methods that threads of servers enter all the time, in a state in which they harm nobody who waits for them: not
 * Object.wait, whose callers own the monitor. Native ones cannot be stopped at. */
const QUIET: readonly (readonly [signature: string, methods: RegExp])[] = [
  ['Ljava/util/concurrent/locks/LockSupport;', /^park/],
  ['Ljava/lang/Thread;', /^sleep$/],
  ['Lsun/nio/ch/SelectorImpl;', /^(?:lockAndDoSelect|select|selectNow)$/],
  ['Lsun/nio/ch/NioSocketImpl;', /^(?:accept|read|implRead)$/],
]

/** Of the JDK, the Reference Handler for one. What stops them stops more than them. */
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
 * Waits for a thread to come by. A JVM that has been waiting for a debugger at its start (`suspend=y`) runs from then on: it would,
 * too, if we only left.
 *
 * @param onStart  told of that
 * @returns the thread, which stands until the connection ends or it is resumed
 * @throws JvmIdle: everything is as it was
 */
export async function standingThread(
  jvm: jdwp.JdwpTarget,
  address: DebuggerAddress,
  onStart: () => void,
  patienceMs = IDLE_MS,
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
  const phasesFrom = (afterMs: number) => [
    { afterMs, requests: quiet },
    { afterMs: afterMs + QUIETLY_MS, requests: [{ kind: 'METHOD_ENTRY' as const, modifiers: NOT_THE_JDKS }] },
    { afterMs: afterMs + ANYWHERE_MS, requests: [{ kind: 'METHOD_ENTRY' as const, modifiers: [] }] },
  ]
  try {
    let isWoken = false
    let cleanersPlace: number | null = null
    if (cleaner !== null) {
      cleanersPlace = await places.watch({ kind: 'BREAKPOINT', modifiers: cleaner.place })
      isWoken = await wakeIfWaiting(jvm, cleaner) // one that is at work comes by when it is done
    }
    let begin = performance.now()
    const phases = phasesFrom(isWoken ? CLEANER_MS : 0)
    for (;;) {
      const passed = performance.now() - begin
      while (phases[0] !== undefined && passed >= phases[0].afterMs) {
        for (const request of phases.shift()!.requests) await places.watch(request)
      }
      if (passed >= patienceMs) throw new JvmIdle(address, patienceMs, ownersOnly)
      const timeoutMs = Math.min(phases[0]?.afterMs ?? patienceMs, patienceMs) - passed
      const taken = await jvm.events.next(['VM_START', 'BREAKPOINT', 'METHOD_ENTRY'], { timeoutMs })
      if (taken === null) continue
      const { event, set } = taken
      // A VM_START without suspension is of a JVM that has just started, and waits for nobody.
      if (event.kind === 'VM_START' && set.suspendPolicy !== 'NONE') {
        onStart()
        begin = performance.now()
      }
      if (event.kind !== 'VM_START') {
        // With what is asked of any method it may come in one set.
        const isAtItsPlace = set.events.some((it) => 'request' in it && it.request === cleanersPlace)
        if (isAtItsPlace) return event.thread
        // Anywhere else it is at work, for whoever has said what is to be cleaned up.
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
    // Not waited for: a thread may stand by now, and the JVM carries out commands in their order.
    places.clear()
    // Those that came to another place at the same moment.
    jvm.events.listen((set) => void jvm.resume(set).catch(() => {})) // the connection has ended, and they run
  }
}

/** What is asked of the JVM to be told, so that all of it can be taken back. */
class Places {
  readonly #requests = new Map<number, Request>()

  constructor(private readonly jvm: jdwp.JdwpTarget) {}

  /** @returns its number; null if the JVM does not take it */
  async watch(request: Request): Promise<number | null> {
    // A method entry of every class costs the JVM much: it is told once, and is over then.
    const modifiers: jdwp.Modifier[] = [...request.modifiers, { modifier: 'Count', count: 1 }]
    const asked = await this.jvm.eventRequest.set(request.kind, 'EVENT_THREAD', modifiers)
    // A class may have gone, a method may be native: others will do.
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

  clear(): void {
    if (this.jvm.connection.lost !== undefined) return // they have ended with it
    for (const [id, { kind }] of this.#requests) void this.jvm.eventRequest.clear(kind, id).catch(() => {})
    this.#requests.clear()
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

/** Breakpoints where methods begin that have code. */
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

/** Why a thread is let go again; null if it may stand. */
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
  /** Whether the JVM tells what monitors a thread owns. */
  readonly owners: boolean
}

/** A platform thread of the program, for whose monitors nobody would wait while it stands. */
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
