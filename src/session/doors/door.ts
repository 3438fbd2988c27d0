// Ways to get an agent into a JVM: by attach to a running JVM, or by -javaagent at its start (start-door.ts, asking-door.ts).
// Both ways result in a Link, and the rest of jfluid does not depend on the way.
// The files in the session directory are unlinked as soon as both sides have opened them. After that no file is left behind, even if the
// client or the JVM is killed.

import * as fs from 'node:fs'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { JdkTooOld, NotHotSpot } from '../../attach/admission.ts'
import {
  AttachProtocolError,
  agentProperties,
  DynamicLoadingDisabled,
  loadAgent,
  systemProperties,
} from '../../attach/command.ts'
import { featureBehind, featureToldBy, refuseBusyBeforeFlush } from '../../attach/first-redefinition.ts'
import { type AttachConnection, openAttachSocket } from '../../attach/handshake.ts'
import { findPerfData, hasAllOptions } from '../../attach/hsperfdata.ts'
import { compiledCount, compiledMethods } from '../../attach/loaded-code.ts'
import { leftOfMetaspace, refuseWithoutHeap, refuseWithoutMetaspace } from '../../attach/memory-room.ts'
import { takeEarly } from '../../attach/processors.ts'
import { readRegular } from '../../attach/regular-file.ts'
import { DESCRIPTORS_NEEDED, readRoom, THREADS_NEEDED } from '../../attach/room.ts'
import { openTmp } from '../../attach/target-facts.ts'
import type { TargetProcess } from '../../attach/target-process.ts'
import { actingAs, userToBe } from '../../attach/target-user.ts'
import { afterWork, lookAt, MAX_WORK_MS, STARTING } from '../../attach/work.ts'
import { debug } from '../../base/debug.ts'
import { EX_CANTCREAT, EX_TEMPFAIL, EX_UNAVAILABLE, JfluidError } from '../../base/errors.ts'
import { SINCE } from '../../base/jdk-releases.ts'
import {
  AgentDidNotConnect,
  type Link,
  LinkServer,
  type Meeting,
  newToken,
  ranOut,
  TargetRanOut,
} from '../../wire/link.ts'
import { BUFFER_BYTES } from '../recorder/buffer-size.ts'
import { agentInside } from './agent-inside.ts'
import { type AgentJar, agentJar } from './agent-jar.ts'
import { seesJar } from './jar-path.ts'
import { FROM_AGENT, makePipes, NoPipes, needsPipes } from './pipes.ts'
import {
  AGENT,
  believedBy,
  ERROR,
  isLaunchFileInUse,
  launchFileHas,
  makeSessionDirectory,
  type Owner,
  ownerFor,
  removeLaunchFile,
  type SessionDirectory,
  SOCKET,
} from './session-directory.ts'

export const CONNECT_TIMEOUT_MS = 10_000
/** Time limit for another client that is waking the agent. It includes the answer to an attach command. */
const LAUNCH_TIMEOUT_MS = 11_000
/** Interval between attempts to write the launch file. */
const LAUNCH_INTERVAL_MS = 10
/** Maximum size of the error text of an agent. */
const MAX_ERROR_BYTES = 64 << 10

/** Thrown if the JVM has a session already: two sessions would instrument the same methods. */
export class AlreadyAttached extends JfluidError {
  static sample = () => new AlreadyAttached(4711)
  readonly exitCode = EX_TEMPFAIL
  readonly hint: string
  constructor(pid: number) {
    super(`another jfluid is attached to JVM ${pid}`)
    this.hint = `End the other session, or wait until it has detached. If it hangs: jfluid detach ${pid}`
  }
}

/**
 * Thrown if the JVM (JDK 23 or older) has a security manager. The JVM calls the manager before it links a probe. If the application's manager
 * contains probes itself, this recursion never ends. The JDK's own manager grants an agent no permissions.
 */
export class SecurityManagerPresent extends JfluidError {
  static sample = () => new SecurityManagerPresent(4711, 'com.acme.Guard')
  readonly exitCode = EX_UNAVAILABLE
  readonly hint = 'Run the program without a security manager.'
  /** @param who  the process id, or a name of the JVM if its process id is not known */
  constructor(who: number | string, className: string) {
    const jvm = typeof who === 'number' ? `JVM ${who}` : who
    super(`${jvm} has a security manager (${className}), with which jfluid does not work`)
  }
}

/** A JVM without UNIX sockets, below a command of `jfluid run` that is not `java` itself. Its agent cannot ask for a session. */
export class CannotAsk extends JfluidError {
  static sample = () => new CannotAsk(11)
  readonly exitCode = EX_UNAVAILABLE
  readonly hint =
    'Use the command java itself after --, or in another terminal: jfluid record --wait-for <main class>'
  constructor(feature: number) {
    super(
      `the command has started a JVM of JDK ${feature}; the JVMs of a command are profiled from JDK ${SINCE.UNIX_SOCKETS} on`,
    )
  }
}

/** A JVM below `jfluid run` got no answer in time to its question whether it is profiled. */
export class AnsweredTooLate extends JfluidError {
  static sample = () => new AnsweredTooLate(4711)
  readonly exitCode = EX_TEMPFAIL
  readonly hint = 'Give jfluid more processor time, or record fewer JVMs: --jvm <main class>'
  constructor(pid: number) {
    super(`jfluid did not answer JVM ${pid} within ${CONNECT_TIMEOUT_MS / 1000} s`)
  }
}

/** Thrown if the launch file that a sleeping agent reads cannot be written. */
export class CannotWake extends JfluidError {
  static sample = () => new CannotWake(4711, '/tmp/.jfluid_pid4711', 'ENOSPC')
  readonly exitCode = EX_CANTCREAT
  readonly hint = 'Make /tmp of the JVM writable, and free a few KiB there.'
  constructor(pid: number, file: string, code: string) {
    super(`cannot attach to JVM ${pid}: jfluid cannot write ${file} (${code})`)
  }
}

/** Thrown if the agent in the JVM is of another version with other probes. These probes stay until the JVM ends. */
export class OtherBuild extends JfluidError {
  static sample = () => new OtherBuild(4711)
  readonly exitCode = EX_UNAVAILABLE
  readonly hint =
    'Use the jfluid of that agent, or restart the program: without the old agent, or with the option that jfluid agent-path prints now.'
  constructor(pid: number) {
    super(`JVM ${pid} contains the agent of another jfluid build, which stays until the JVM ends`)
  }
}

/** Location of the JVM's safepoint counter; '' and 0 if there is none. */
export interface PerfCounter {
  readonly file: string
  readonly offset: number
}

export interface OpenDoor {
  readonly link: Link
  /** Process id. Null if jfluid started the JVM, since the started process may be a script: the agent then reports the process id. */
  readonly pid: number | null
  /** Path of the session directory as seen by the target. `leave` removes the directory. */
  readonly dir: string
  /** Path of the session directory as seen by this process. It stays valid even if the directory is renamed or replaced. */
  readonly inside: string
  /** User to whom files that the target must open are given. Undefined if the target can open files of this process. */
  readonly owner: Owner | undefined
  /** Runs `work`, which creates files, as a user id that exists in the target's user namespace (`actingAs`). */
  acting<T>(work: () => T): T
  /** Whether jfluid has started the JVM. Its threads then wait longer for answers of jfluid. */
  readonly isStarted?: boolean
  /** Whether a sleeping agent was woken, so that no agent was loaded. */
  readonly woken: boolean
  /** Whether a Java agent was present before this session. It may have redefined classes. Undefined if this cannot be detected. */
  readonly hadAgent?: boolean | undefined
  /**
   * Refuses the session if the JVM is too busy for its first redefinition. Present if the agent was woken. Must be called before the first
   * redefinition in the JVM.
   * @throws BusyBeforeFlush
   */
  refuseBusy?(): Promise<void>
  /** Address to which the agent sends its event buffer if the JVM shares no directory with this process (`dir` and `inside` are ''). */
  readonly elsewhere?: Meeting
  /** Returns methods that are known to have run in the JVM, as `package.Class.method(descriptor)`. */
  executed(): Promise<ReadonlySet<string>>
  /** Returns the number of compiled methods; null if the number is not known. */
  compiled(): Promise<number | null>
  /**
   * Returns the number of compilations since the JVM started. Null or undefined if an earlier agent may have redefined classes, or if the
   * number is not known.
   */
  compilations?(): number | null
  /** Returns the number of free bytes of metaspace; Infinity if metaspace has no limit, or if the limit is not known. */
  metaspaceLeft(): Promise<number>
  /** Returns the location of the safepoint counter. @param pid process id of the JVM */
  perf(pid: number): PerfCounter
  /** Removes all files that were made for the connection. */
  leave(): void
  /** Connects again in the same way after a session. Undefined if the connection is made by attach. */
  readonly again?: {
    /**
     * Checks whether a connection would be possible now.
     * @throws an error with the reason if a connection is not possible
     */
    look(): Promise<void>
    open(): Promise<OpenDoor>
  }
}

export interface AttachDoorOptions {
  /** Whether to refuse an attach that would delay requests to the program for seconds, see `asksFirst`. */
  readonly asks?: boolean
  /** Receives a note if the JVM is slow to load the agent. */
  readonly onPhase?: (phase: string) => void
  /** Ends the wait for a JVM that loads the agent. The JVM then loads the agent without a session. */
  readonly signal?: AbortSignal
}

/**
 * Attaches to a running JVM (report, section 3). A JVM that cannot read the installed jar gets a copy, which is removed with the directory.
 * @throws BusyBeforeFlush, AttachError and others, or the reason of `signal`. No session has then begun, and no file is left
 */
export async function attachDoor(
  pid: number,
  { asks = false, onPhase = () => {}, signal }: AttachDoorOptions = {},
): Promise<OpenDoor> {
  const built = agentJar()
  // Refused before the attach: classes of this build's agent would stay in the JVM until its end.
  if (agentInside(pid, built.path) === 'foreign') throw new OtherBuild(pid)
  const connection = await openAttachSocket(pid)
  // The JVM answers the commands one after the other. The second command is sent without waiting for the first answer.
  await Promise.all([refuseWithoutMetaspace(connection), refuseWithoutHeap(connection)])
  await refuseSecurityManager(connection)
  const { target } = connection
  const owner = ownerFor(target)
  const acting = <T>(work: () => T): T => actingAs(userToBe(target), work)
  const dir = makeSessionDirectory(target, BUFFER_BYTES)
  debug.attach?.(
    `way in: attach; directory ${dir.path}${owner === undefined ? '' : `, given to ${owner.uid}`}`,
  )
  try {
    const token = newToken()
    const server = await acting(() => LinkServer.listen(join(dir.inside, SOCKET), token))
    try {
      const feature = featureToldBy(target) ?? (await featureBehind(connection))
      const noPipes = needsPipes(feature)
        ? offerPipes(server, () => acting(() => makePipes(dir.inside)))
        : null
      if (noPipes !== null && feature !== null) throw noPipes
      if (owner !== undefined) dir.giveTo(owner)
      const isSeen = seesJar(target, built.path)
      const jar = isSeen ? built : { ...built, path: join(dir.path, AGENT) }
      const launch = launchLine(jar, dir)
      const answer = await wake(connection, launch, token)
      const woken = answer === 'woken'
      debug.attach?.(
        `agent of an earlier session: ${answer}; the JVM ${isSeen ? `can read ${jar.path}` : 'cannot read our jar, and gets a copy'}`,
      )
      if (!woken) {
        if (asks && connection.target.hasJavaAgent === false)
          await refuseBusyBeforeFlush(connection, takeEarly(pid))
        const copy = isSeen ? null : fs.readFileSync(built.path)
        if (copy !== null) acting(() => dir.put(AGENT, copy, owner))
        try {
          await loadAgent(connection, jar.path, withToken(launch, token), signal && { signal }, () =>
            onPhase(
              `waiting while JVM ${pid} loads the agent: it is busy, or compiles all code first (-Xcomp)`,
            ),
          )
        } catch (error) {
          // Although the JVM disables dynamic loading, it may have loaded an agent of another build at its start. Reports that agent.
          throw answer === 'another build' && error instanceof DynamicLoadingDisabled
            ? new OtherBuild(pid)
            : error
        }
      }
      const link = await connected(server, () => saidBy(dir, target.euid), target, noPipes)
      return {
        link,
        pid,
        dir: dir.path,
        inside: dir.inside,
        owner,
        acting,
        woken,
        hadAgent: connection.target.hasJavaAgent,
        ...(asks && woken && { refuseBusy: () => refuseBusyBeforeFlush(connection) }),
        executed: () => compiledMethods(connection),
        compiled: () => compiledCount(connection),
        compilations: () => compilationsOf(target),
        metaspaceLeft: () => leftOfMetaspace(connection),
        perf: () => perfCounter(target),
        leave: () => dir.remove(),
      }
    } finally {
      server.close()
    }
  } catch (error) {
    dir.remove()
    throw error
  }
}

/**
 * Refuses a JVM with a security manager. (The agent detects a manager that the program has set at run time.) jfluid asks the JVM only if
 * the JVM's options may name a manager: for its answer, the JVM loads classes and needs more time than for all other requests.
 */
async function refuseSecurityManager(connection: AttachConnection): Promise<void> {
  const facts = findPerfData(connection.target)?.facts
  if (facts !== undefined && hasAllOptions(facts) && !facts.vmArguments?.includes('java.security.manager'))
    return
  const manager = (await systemProperties(connection)).get('java.security.manager')
  if (manager === undefined || manager === 'allow' || manager === 'disallow') return
  throw new SecurityManagerPresent(
    connection.pid,
    manager === '' || manager === 'default' ? 'java.lang.SecurityManager' : manager,
  )
}

/** Lets an agent also connect by named pipes. @returns the problem if there can be no pipes, which a newer JVM does not need */
export function offerPipes(server: LinkServer, make: () => Duplex): NoPipes | null {
  try {
    server.alsoBy(make())
    return null
  } catch (problem) {
    if (!(problem instanceof NoPipes)) throw problem
    debug.attach?.(problem.message)
    return problem
  }
}

/** Default values for a JVM without attach, where these facts cannot be requested. */
export const TELLS_NOTHING: Pick<OpenDoor, 'executed' | 'compiled' | 'metaspaceLeft'> = {
  executed: async () => new Set(),
  compiled: async () => null,
  metaspaceLeft: async () => Number.POSITIVE_INFINITY,
}

export function launchLine(jar: AgentJar, dir: SessionDirectory): string {
  return `jar=${jar.path};dir=${dir.path};build=${jar.build}`
}

/** Appends the token to a launch line. The agent's reply contains the line without the token. */
export function withToken(launch: string, token: string): string {
  return `${launch};token=${token}`
}

const LAUNCH_FLAGS =
  fs.constants.O_CREAT | fs.constants.O_EXCL | fs.constants.O_WRONLY | fs.constants.O_NOFOLLOW

/**
 * Wakes an agent that an earlier session left asleep in the JVM.
 * The attach command agentProperties makes the agent check the launch file; see JFluid1.Wake. The first such command makes a JVM load about
 * 200 classes, so the command is not sent to a JVM that has never had an agent. If another client writes a line first, the agent starts for
 * that client.
 * @returns whether the JVM has an agent, and whether that agent is of this build
 */
async function wake(
  connection: AttachConnection,
  launch: string,
  token: string,
): Promise<'woken' | 'another build' | 'none'> {
  if (connection.target.hasJavaAgent === false) return 'none'
  const told = await tellAgent(connection, withToken(launch, token))
  if (told === null) return 'none'
  const started = told.properties.get('jfluid.started')
  if (started === launch) return 'woken'
  if (started !== undefined) throw new AlreadyAttached(connection.pid) // the agent has read the line of another client
  const error = told.properties.get('jfluid.error')
  if (error === 'another build') return 'another build'
  if (error !== undefined) throw startProblem(connection.pid, error)
  // Any request for these properties makes the agent read the line, so a request of another program may already have woken the agent.
  return told.isRead ? 'woken' : 'none'
}

/**
 * Requests the agent properties of the JVM. A JVM that once ran out of file descriptors may never be able to send them, since a class that
 * it needs has failed to initialise. Then the result is empty, but the agent has read the line.
 */
async function toldByAgent(connection: AttachConnection): Promise<Map<string, string>> {
  try {
    return await agentProperties(connection)
  } catch (problem) {
    if (!(problem instanceof AttachProtocolError)) throw problem
    debug.attach?.(`properties of agents: ${problem.message}`)
    return new Map()
  }
}

/** Result of passing a line to the agent. */
interface Told {
  /** Agent properties of the JVM; they contain the agent's answer. */
  readonly properties: Map<string, string>
  /** Whether an agent has read the line. */
  readonly isRead: boolean
}

/**
 * Makes the agent in the JVM read a line.
 * @returns null if the line cannot be passed, since the JVM has no trusted /tmp
 * @throws CannotWake if the file system has no space for the line or is read-only
 * @throws AlreadyAttached if the file of another client is not removed in time
 */
export async function tellAgent(connection: AttachConnection, line: string): Promise<Told | null> {
  const { target } = connection
  let tmp: number
  try {
    tmp = openTmp(target)
  } catch {
    return null
  }
  const file = `/proc/self/fd/${tmp}/.jfluid_pid${target.nsPid}`
  try {
    const problem = await writeLaunchFile(file, line, target)
    if (problem === null) {
      const properties = await toldByAgent(connection)
      return { properties, isRead: !launchFileHas(file, line, believedBy(target)) }
    }
    // The file cannot be written: it belongs to another user, or the disk is full. A full disk is an error if an agent sleeps in the JVM.
    // Otherwise the agent would not be woken, and each attach would load a new agent.
    if (!FULL.has(problem) || !(await agentProperties(connection)).has('jfluid.build')) return null
    throw new CannotWake(connection.pid, `/tmp/.jfluid_pid${target.nsPid}`, problem)
  } finally {
    removeOurs(file, line, target)
    fs.closeSync(tmp)
  }
}

/** Error codes that affect all users: no user can write to the file system. */
const FULL: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EROFS'])

/**
 * Writes the launch file. The file is also a lock between clients: otherwise one client could wake the agent for another client. If a
 * living client owns the file, waits until the file is removed. The agent ignores a file of an unrelated user.
 * @returns the error code if the file cannot be written; null if it was written
 * @throws AlreadyAttached if the file of another client is not removed in time
 */
async function writeLaunchFile(path: string, line: string, target: TargetProcess): Promise<string | null> {
  const owner = ownerFor(target)
  for (const giveUp = performance.now() + LAUNCH_TIMEOUT_MS; ; await sleep(LAUNCH_INTERVAL_MS)) {
    if (performance.now() > giveUp) throw new AlreadyAttached(target.pid)
    let file: number | undefined
    try {
      file = actingAs(userToBe(target), () => fs.openSync(path, LAUNCH_FLAGS, 0o600))
      fs.writeFileSync(file, line)
      if (owner !== undefined) fs.fchownSync(file, owner.uid, owner.gid)
      return null
    } catch (problem) {
      const code = (problem as NodeJS.ErrnoException).code ?? String(problem)
      if (file !== undefined) fs.rmSync(path, { force: true })
      else if (code === 'EEXIST') {
        const left = takeAway(path, target)
        if (left === null) continue
        return left
      }
      return code
    } finally {
      if (file !== undefined) fs.closeSync(file)
    }
  }
}

/**
 * Removes an existing launch file if it is not in use.
 * @returns the reason why the file cannot be removed; null if the caller must try again, because the file is removed or in use
 */
function takeAway(path: string, target: TargetProcess): string | null {
  const believed = believedBy(target)
  if (isLaunchFileInUse(path, believed, target.root)) return null
  try {
    removeLaunchFile(path, believed, target.root)
  } catch (problem) {
    const { code } = problem as NodeJS.ErrnoException
    // The agent or the client has removed the file, or a third client has created a new file.
    if (code !== 'ENOENT' && code !== 'EEXIST') return code ?? String(problem)
  }
  return null
}

/** Removes the launch file if it is still the file of this client: another client may have created its own file since. */
function removeOurs(file: string, line: string, target: TargetProcess): void {
  try {
    if (launchFileHas(file, line, believedBy(target))) fs.rmSync(file, { force: true })
  } catch {
    // The agent has removed the file and another user has created a new one, or the file system is read-only.
  }
}

/** Waits for the agent to connect. @param said  returns the reason why the agent could not start; null if it has reported no error */
async function connected(
  server: LinkServer,
  said: () => string | null,
  target: TargetProcess,
  noPipes: NoPipes | null,
): Promise<Link> {
  // agentmain() has returned, so the agent has written its error by now if it failed. It may fail even after it has connected.
  const problem = said()
  const late = new AbortController()
  let waitedMs = CONNECT_TIMEOUT_MS
  const look = () => lookAt(target.pid, STARTING)
  const connects = afterWork(CONNECT_TIMEOUT_MS, look, (ms) => {
    waitedMs = ms
    late.abort()
  })
  const link = await server.accept(problem === null ? MAX_WORK_MS : 0, late.signal)
  connects()
  if (link !== null && problem === null) return link
  link?.close()
  const reason = problem ?? said()
  // No error was reported: the agent cannot write its error file if the JVM has no free file descriptor.
  const short = reason === null ? shortOf(target, waitedMs) : null
  throw short ?? startProblem(target.pid, reason, noPipes, waitedMs)
}

/** Returns an error if the target lacks files or threads for an agent. Called if the agent did not connect and reported no error. */
function shortOf(target: TargetProcess, waitedMs: number): TargetRanOut | null {
  const { threads, descriptors } = readRoom(target)
  const what = descriptors < DESCRIPTORS_NEEDED ? 'files' : threads < THREADS_NEEDED ? 'threads' : null
  return what === null ? null : new TargetRanOut(what, `the agent did not connect within ${waitedMs} ms`)
}

/** Reads the error of an agent that could not start. The directory may belong to another user, so only a file of `owner` is trusted. */
export function saidBy(dir: SessionDirectory, owner: number): string | null {
  try {
    return (
      readRegular(join(dir.inside, ERROR), { owner, mostBytes: MAX_ERROR_BYTES })?.toString('utf8') ?? null
    )
  } catch {
    return null // normally there is no error file
  }
}

/**
 * Converts the error text of an agent to an error of jfluid.
 * @param reason   error text of the agent; null if it reported nothing
 * @param noPipes  why there are no named pipes; null if there are
 */
export function startProblem(
  pid: number,
  reason: string | null,
  noPipes: NoPipes | null = null,
  waitedMs = CONNECT_TIMEOUT_MS,
): JfluidError {
  if (noPipes !== null && reason?.includes(FROM_AGENT) === true) return noPipes
  const version = /this is JDK (\S+), and jfluid needs/.exec(reason ?? '')?.[1]
  if (version !== undefined) return new JdkTooOld(pid, version)
  const vm = /the VM is (.+), not HotSpot/.exec(reason ?? '')?.[1]
  if (vm !== undefined) return new NotHotSpot(pid, vm)
  const manager = /security manager: (\S+)/.exec(reason ?? '')?.[1]
  if (manager !== undefined) return new SecurityManagerPresent(pid, manager)
  if (reason?.includes('another jfluid is attached') === true) return new AlreadyAttached(pid)
  if (reason?.includes('the runtime of another jfluid build') === true) return new OtherBuild(pid)
  const older = /a question needs JDK \d+, and this is (\d+)/.exec(reason ?? '')?.[1]
  if (older !== undefined) return new CannotAsk(Number(older))
  if (reason?.includes('did not answer the question in time') === true) return new AnsweredTooLate(pid)
  return ranOut(reason ?? '') ?? new AgentDidNotConnect(pid, waitedMs, reason)
}

function compilationsOf(target: TargetProcess): number | null {
  if (target.hasJavaAgent !== false || typeof target.perfDataName !== 'string') return null
  return findPerfData(target)?.facts?.compilations ?? null
}

/**
 * Returns the path at which the target finds its own safepoint counter. If this process cannot locate the counter, pauses are not
 * subtracted from times, and the profile contains a warning.
 */
export function perfCounter(target: TargetProcess): PerfCounter {
  const found = findPerfData(target)
  if (found?.safepointTimeOffset === undefined) return { file: '', offset: 0 }
  return { file: found.path.slice(target.root.length), offset: found.safepointTimeOffset }
}
