// Loads the agent through the debugger's port, for JVMs that refuse attach. A thread suspended at an event starts a thread of jfluid and is
// resumed. The new thread loads the agent, which connects to the client as after an attach. Then the debugger disconnects: the session does
// not need the debugger connection, and the port is free again.
// If the JVM can see the session directory, client and agent use it, as after an attach. Otherwise the jar is sent over the port, and the
// agent connects by TCP to the debugger's address and sends its event buffer (events/remote-ring.ts).

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readTargetProcess, type TargetProcess } from '../../attach/target-process.ts'
import { actingAs, userToBe } from '../../attach/target-user.ts'
import { debug } from '../../base/debug.ts'
import { EX_TEMPFAIL, EX_UNAVAILABLE, JfluidError } from '../../base/errors.ts'
import { afterOwnTime } from '../../base/own-time.ts'
import { type ArrayId, granted, JdwpLost, JdwpSilent } from '../../jdwp-client/index.ts'
import { AgentDidNotConnect, LinkServer, newToken } from '../../wire/link.ts'
import { BUFFER_BYTES } from '../recorder/buffer-size.ts'
import { type AgentJar, agentJar } from './agent-jar.ts'
import { CarriedJar } from './carried-jar.ts'
import { DebuggerCalls, objectIn, securityManager, ThrownInTarget } from './debugger-calls.ts'
import { foreseeLaunch, launch, type SleepingAgent } from './debugger-launch.ts'
import {
  type DebuggedJvm,
  type DebuggerAddress,
  openDebuggerPort,
  processServing,
  textOf,
} from './debugger-port.ts'
import { standingThread } from './debugger-stand.ts'
import { foreseeThread, giveBackPermit, ownThread } from './debugger-thread.ts'
import {
  CONNECT_TIMEOUT_MS,
  launchLine,
  type OpenDoor,
  perfCounter,
  SecurityManagerPresent,
  startProblem,
  TELLS_NOTHING,
  withToken,
} from './door.ts'
import { isPlainPath } from './jar-path.ts'
import { makePipes, needsPipes } from './pipes.ts'
import { AGENT, makeSessionDirectory, ownerFor, type SessionDirectory, SOCKET } from './session-directory.ts'

/** Maximum total time for which a thread of the JVM is suspended. */
const SUSPENSION_TIMEOUT_MS = 5000
/** Time limit for loading the agent in the thread that jfluid has created. */
const LOADING_TIMEOUT_MS = 30_000

/** Thrown if the time limit expired while a thread of the JVM was suspended. */
export class StoodTooLong extends JfluidError {
  static sample = () => new StoodTooLong({ host: '10.0.0.7', port: 5005 }, 'no answer within 5000 ms')
  readonly exitCode = EX_TEMPFAIL
  readonly hint =
    'Restore the network, or end the connection on the machine of the JVM (ss -K). The thread resumes as soon as the JVM notices that the debugger has disconnected.'
  constructor(address: DebuggerAddress, problem: string) {
    super(
      `a thread of the JVM at ${textOf(address)} is stopped, because it did not start the agent in time: ${problem}`,
    )
  }
}

/** Thrown if the time limit expired in the thread that jfluid has created. No thread of the program waits for that thread. */
export class LoadedTooSlowly extends JfluidError {
  static sample = () => new LoadedTooSlowly({ host: '10.0.0.7', port: 5005 }, 'nothing came for 10 s')
  readonly exitCode = EX_TEMPFAIL
  readonly hint =
    'Check the network and the load of the machine, then try again. The program runs on unchanged.'
  constructor(address: DebuggerAddress, problem: string) {
    super(`loading the agent into the JVM at ${textOf(address)} took too long: ${problem}`)
  }
}

/** Thrown if the JVM shares no directory with this process and cannot connect to this process by TCP. */
export class CannotCallBack extends JfluidError {
  static sample = () =>
    new CannotCallBack({ host: '10.0.0.7', port: 5005 }, '10.0.0.9:41234', 'no route to host')
  readonly exitCode = EX_UNAVAILABLE
  readonly hint =
    'Run jfluid on the machine of the JVM, or on one to which the JVM can connect, without a port forward or a firewall between them.'
  constructor(address: DebuggerAddress, ours: string, problem: string) {
    super(
      `the JVM at ${textOf(address)} shares no directory with jfluid, and cannot connect to jfluid at ${ours}: ${problem}`,
    )
  }
}

/**
 * Makes the JVM that listens for a debugger at `address` load the agent, or wake it.
 * @param idleTimeoutMs  time to wait for a thread of the JVM
 * @param onPhase     called with the current phase
 * @throws the errors of `openDebuggerPort`, SecurityManagerPresent, JvmIdle, CannotCallBack, NoInstrumentThere, AnotherAgentThere,
 * ThrownInTarget, AlreadyAttached, AgentDidNotConnect. After each of these errors the JVM runs as before, and its port is free
 */
export async function jdwpDoor(
  address: DebuggerAddress,
  idleTimeoutMs?: number,
  onPhase: (phase: string) => void = () => {},
): Promise<OpenDoor> {
  const jar = agentJar()
  const debugged = await openDebuggerPort(address)
  const { jvm } = debugged
  let entry: Entry | undefined
  try {
    // With a security manager, the agent would not have the permission to read its jar.
    const manager = await securityManager(jvm)
    if (manager !== null) throw new SecurityManagerPresent(`the JVM at ${textOf(address)}`, manager)
    const foreseen = await foresee(debugged, jar)
    const { calls, target } = foreseen
    debug.attach?.(
      `way in: debugger's port ${textOf(address)}; ${target === null ? 'no process of this machine that can be looked at' : `process ${target.pid}`}; agent of an earlier session: ${foreseen.asleep === null ? 'none' : 'asleep'}`,
    )
    onPhase(`waiting for a thread of the JVM at ${textOf(address)} to enter a method`)
    const thread = await standingThread(
      jvm,
      address,
      () => onPhase('the JVM was waiting for a debugger at its start, and runs now'),
      idleTimeoutMs,
    )
    debug.attach?.('a thread is suspended at an event')
    onPhase('starting a thread')
    const tooLong = (problem: string) => new StoodTooLong(address, problem)
    const own = await within(SUSPENSION_TIMEOUT_MS, tooLong, ownThread(jvm, calls, thread))
    debug.attach?.('that thread has started one of ours')
    onPhase('loading the agent')
    const tooSlow = (problem: string) => new LoadedTooSlowly(address, problem)
    const entering = giveBackPermit(calls, thread).then(() => enter(debugged, foreseen, jar))
    entry = await within(LOADING_TIMEOUT_MS, tooSlow, entering, (late) => late.abandon())
    debug.attach?.('the agent has our address')
    // Disconnecting would also resume the thread, but only a moment after the JVM has confirmed the disconnect.
    granted(await jvm.threadReference.resume(own), 'to let the thread end')
  } catch (problem) {
    entry?.abandon()
    throw problem
  } finally {
    await jvm.dispose()
    debug.attach?.('debugger disconnected')
  }
  return await entry.door({
    look: async () => await (await openDebuggerPort(address)).jvm.dispose(),
    open: () => jdwpDoor(address, idleTimeoutMs),
  })
}

/** An agent that was started and has the address of this client. */
interface Entry {
  /** Waits for the agent to connect. Must be called after the debugger has disconnected and all threads run. */
  door(again: NonNullable<OpenDoor['again']>): Promise<OpenDoor>
  abandon(): void
}

/** Results of the requests that need no suspended thread. */
interface Foreseen {
  readonly calls: DebuggerCalls
  /** Process of the JVM. Null if the JVM does not run on this machine. */
  readonly target: TargetProcess | null
  readonly asleep: SleepingAgent | null
  /** Bytes of the jar in the heap of the JVM. Null if they may not be needed. */
  readonly bytes: ArrayId | null
}

async function foresee(debugged: DebuggedJvm, jar: AgentJar): Promise<Foreseen> {
  const calls = new DebuggerCalls(debugged.jvm)
  const target = targetOf(debugged)
  await foreseeThread(calls)
  const asleep = await foreseeLaunch(debugged, calls, jar.build)
  const carries = target === null && asleep === null
  return {
    calls,
    target,
    asleep,
    bytes: carries ? await CarriedJar.bytesInto(debugged.jvm, calls, jar.path) : null,
  }
}

async function enter(debugged: DebuggedJvm, foreseen: Foreseen, jar: AgentJar): Promise<Entry> {
  const { target } = foreseen
  const near = target === null ? null : await enterNear(target, debugged, foreseen, jar)
  return near ?? (await enterFar(debugged, foreseen, jar))
}

/**
 * Limits the time of `work`.
 * @param late  called with a result that arrives after the time limit, to clean up
 * @throws the error of `tooLong` after the time limit, or if the connection to the JVM is lost
 */
async function within<T>(
  ms: number,
  tooLong: (problem: string) => JfluidError,
  work: Promise<T>,
  late: (result: T) => void = () => {},
): Promise<T> {
  let inTime = (): void => {}
  const over = new Promise<typeof OVER>((resolve) => {
    inTime = afterOwnTime(ms, () => resolve(OVER))
  })
  try {
    const result = await Promise.race([work, over])
    if (result !== OVER) return result
  } catch (problem) {
    if (problem instanceof JdwpLost || problem instanceof JdwpSilent) throw tooLong(problem.message)
    throw problem
  } finally {
    inTime()
  }
  work.then(late, () => {}) // an error of `work` is ignored, since the debugger disconnects
  throw tooLong(`that took more than ${ms / 1000} s`)
}

const OVER = Symbol()

/** Returns the process of the JVM. Null if it is not a process of this machine, or if it cannot be inspected. */
export function targetOf(debugged: DebuggedJvm): TargetProcess | null {
  const pid = processServing(debugged)
  const target = pid === null ? undefined : readTargetProcess(pid)
  // The process may only forward the port and not be a JVM. If its libraries are not visible, this cannot be decided, so it is not used.
  return target?.vmLibrary == null ? null : target
}

/**
 * Loads or wakes the agent with a shared directory, as after an attach.
 * @returns null if the JVM does not see the directory
 */
async function enterNear(
  target: TargetProcess,
  debugged: DebuggedJvm,
  { calls, asleep }: Foreseen,
  jar: AgentJar,
): Promise<Entry | null> {
  const dir = makeSessionDirectory(target, BUFFER_BYTES)
  let server: LinkServer | undefined
  let entry: Entry | null = null
  try {
    const token = newToken()
    server = await actingAs(userToBe(target), () => LinkServer.listen(join(dir.inside, SOCKET), token))
    if (needsPipes(debugged.version.major))
      server.alsoBy(actingAs(userToBe(target), () => makePipes(dir.inside)))
    const sees = await eyesOf(calls)
    const path = isPlainPath(jar.path) && (await sees(jar.path)) ? jar.path : carried(jar, dir)
    const owner = ownerFor(target)
    if (owner !== undefined) dir.giveTo(owner)
    if (!(await sees(join(dir.path, SOCKET)))) return null
    const line = withToken(launchLine({ ...jar, path }, dir), token)
    const { refusal, woken } = await launch(debugged, calls, {
      asleep,
      line: () => line,
      bring: async () => ({ path, remove: async () => {} }),
    })
    if (refusal !== null) throw startProblem(target.pid, refusal)
    entry = nearEntry(target, dir, server, woken)
    return entry
  } finally {
    if (entry === null) {
      server?.close()
      dir.remove()
    }
  }
}

function nearEntry(target: TargetProcess, dir: SessionDirectory, server: LinkServer, woken: boolean): Entry {
  return entryOf(server, woken, () => startProblem(target.pid, null), {
    pid: target.pid,
    dir: dir.path,
    inside: dir.inside,
    owner: ownerFor(target),
    acting: (work) => actingAs(userToBe(target), work),
    hadAgent: target.hasJavaAgent,
    perf: () => perfCounter(target),
    leave: () => dir.remove(),
  })
}

/**
 * Returns the entry of an agent that connects to `server`.
 * @param silence  the error if the agent does not connect
 */
function entryOf(
  server: LinkServer,
  woken: boolean,
  silence: () => Error,
  place: Omit<OpenDoor, 'link' | 'woken' | 'again' | keyof typeof TELLS_NOTHING>,
): Entry {
  return {
    async door(again) {
      try {
        const link = await server.accept(CONNECT_TIMEOUT_MS)
        if (link === null) throw silence()
        return { ...TELLS_NOTHING, ...place, link, woken, again }
      } catch (problem) {
        place.leave()
        throw problem
      } finally {
        server.close()
      }
    },
    abandon() {
      server.close()
      place.leave()
    },
  }
}

/** Matches the error of an agent that could not connect: java.net.ConnectException and similar exceptions. */
const UNREACHABLE = /\b(?:Connect|SocketTimeout|NoRouteToHost|Socket|Bind)Exception\b/

/** Loads or wakes the agent, which connects by TCP. */
async function enterFar(debugged: DebuggedJvm, foreseen: Foreseen, jar: AgentJar): Promise<Entry> {
  const { address, jvm, local, remote } = debugged
  const { calls, asleep } = foreseen
  const token = newToken()
  const server = await LinkServer.listen({ host: local.address, from: remote }, token)
  let entry: Entry | undefined
  try {
    const ours = textOf({ host: local.address, port: server.port })
    const { refusal, woken } = await launch(debugged, calls, {
      asleep,
      line: (path) => withToken(`jar=${path};peer=${ours};build=${jar.build}`, token),
      bring: async () => {
        const bytes = foreseen.bytes ?? (await CarriedJar.bytesInto(jvm, calls, jar.path))
        return await CarriedJar.into(jvm, calls, bytes)
      },
    })
    if (refusal !== null && UNREACHABLE.test(refusal)) throw new CannotCallBack(address, ours, refusal)
    if (refusal !== null) throw startProblem(await pidOf(calls), refusal)
    entry = farEntry(debugged, server, woken)
    return entry
  } finally {
    if (entry === undefined) server.close()
  }
}

function farEntry({ address, local, remote }: DebuggedJvm, server: LinkServer, woken: boolean): Entry {
  const silence = () => new AgentDidNotConnect(textOf(address), CONNECT_TIMEOUT_MS, null)
  return entryOf(server, woken, silence, {
    pid: null,
    dir: '',
    inside: '',
    owner: undefined,
    acting: (work) => work(),
    elsewhere: { host: local.address, from: remote },
    perf: () => ({ file: '', offset: 0 }),
    leave: () => {},
  })
}

/** Returns the process id in the JVM's own namespace. */
async function pidOf(calls: DebuggerCalls): Promise<number> {
  const type = await calls.neededClass('java.lang.ProcessHandleImpl', 'ProcessHandle.current()')
  const current = await calls.staticOf(type, 'current()Ljava/lang/ProcessHandleImpl;')
  const handle = objectIn(current)
  const pid = handle === null ? current : await calls.of(handle, type, 'pid()J')
  if (pid.tag !== 'LONG') throw new ThrownInTarget('ProcessHandle.current()', 'the process id is missing')
  return Number(pid.value)
}

/** Returns a function that checks whether the JVM finds a file by its path and may read it. */
async function eyesOf(calls: DebuggerCalls): Promise<(path: string) => Promise<boolean>> {
  const type = await calls.neededClass('java.io.File')
  return async (path) => {
    const file = await calls.create(type, '(Ljava/lang/String;)V', [await calls.string(path)])
    const answer = await calls.of(file, type, 'canRead()Z')
    return answer.tag === 'BOOLEAN' && answer.value
  }
}

/** Copies the jar into the shared directory. */
function carried(jar: AgentJar, dir: SessionDirectory): string {
  dir.put(AGENT, readFileSync(jar.path), undefined)
  return join(dir.path, AGENT)
}
